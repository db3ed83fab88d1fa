"""The key of a suite's cell: everything that its result depends on.

That is the text of the kernel and of the files that it imports, the target's row, the mode, the limits of time and
memory, the environment with the hashes of its packages, the shims that the column's Triton needs, and the code that
judges.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp import compat, kernels, matrix
from crosswarp.compat.versions import in_window
from crosswarp.matrix import reading
from crosswarp.matrix.checkout.imports import imported
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.running.plan import Coordinate, Plan
from crosswarp.matrix.work.suite_modules import kernel_names

# Each of these decides on cells of its lane alone. Modules that run no suite decide on none.
_ONLY = {"emulate": ("emulate", "estimate", "machines", "observers")}
_NONE = ("pytest_plugin",)
# Stands for a root in the names of what lies below it.
_ROOT = "/"
# Not the lane device: its measurements are never reused.
LANES = ("compile", "emulate", "interpret")


def keys(
    plan: Plan, column: str, environment: Environment, suite: Path | None, beside: Sequence[Path]
) -> dict[Coordinate, str]:
    """The key of each coordinate of `plan` in a column; empty where a key cannot say all that decides on a cell."""
    installed = _installed(environment, beside)
    if installed is None:
        return {}
    judges = {lane: _judge(lane) for lane in LANES}
    # The versions that were found: nothing is expected of an installed interpreter.
    version = str(environment.versions.get("triton") or environment.expect.get("triton", "0"))
    shims = _digest(_shims(version))
    texts = {
        name: _digest(reach(path, suite, environment.sources))
        for name, path in _paths(suite)
        if any(fnmatchcase(name, glob) for glob in plan.kernels)
    }
    digests = {}
    for lane in set(plan.lanes) & set(LANES):
        for target in plan.targets_of(lane):
            row = asdict(plan.targets[target]) if target in plan.targets else None
            for mode in plan.modes:
                for kernel, text in texts.items():
                    coordinate = Coordinate(target, lane, mode, kernel)
                    inputs = [
                        coordinate, column, text, judges[lane], installed, environment.versions, row,
                        shims if mode == "shimmed" else "", plan.sanitize, plan.sample, plan.estimate,
                        plan.batch, plan.warps,
                        str(suite), plan.time_limit, plan.memory_limit_mb,
                    ]  # fmt: skip
                    digests[coordinate] = hashlib.sha256(
                        json.dumps(inputs, sort_keys=True).encode()
                    ).hexdigest()
    return digests


def reach(path: Path, suite: Path | None, sources: Sequence[Path] = ()) -> list[Path]:
    """`path` and the files that it imports, at first or second hand, of the folder that it lies in, and of `sources`.

    Nothing is imported for this. Other imports are the environment's, or crosswarp's.
    """
    roots = [Path(kernels.__file__).parent] if suite is None else [suite, *sources]
    files: dict[Path, None] = {}
    left = [path]
    while left:
        file = left.pop()
        if file in files or not file.is_file():
            continue
        files[file] = None
        text = reading.data(file)
        for root in roots:
            for names in _imports(text, file, root):
                left += _files(root.joinpath(*names))
                # A package's import code runs for each module of it.
                left += [root.joinpath(*names[:end], "__init__.py") for end in range(1, len(names))]
    return list(files)


# Each column asks anew, of a text that may have changed since.
@functools.lru_cache(maxsize=None)
def _imports(text: bytes, path: Path, root: Path) -> Sequence[Sequence[str]]:
    try:
        return list(_imported(ast.parse(text), path, root))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _imported(tree: ast.AST, path: Path, root: Path) -> Iterator[Sequence[str]]:
    """Names below `root` that are imported anywhere in the file."""
    below = path.is_relative_to(root)
    package = ".".join((_ROOT, *path.parent.relative_to(root).parts)) if below else ""
    for name, _ in imported(ast.walk(tree), package):
        parts = tuple(name.split("."))
        if parts[:2] == ("crosswarp", "kernels"):
            parts = parts[2:]
        elif parts[0] == _ROOT:
            parts = parts[1:]
        yield from filter(None, (parts[:-1], parts))


def _files(path: Path) -> list[Path]:
    """Returns a module's file, or all files of a package."""
    if path.is_dir():
        return sorted(path.rglob("*.py")) if (path / "__init__.py").is_file() else []
    file = path.with_name(f"{path.name}.py")
    return [file] if file.is_file() else []


def _paths(suite: Path | None) -> list[tuple[str, Path]]:
    if suite is not None:
        return [(name, suite / f"{name}.py") for name in kernel_names(suite)]
    home = Path(kernels.__file__).parent
    return [
        (name, home / ("known_issues" if name in kernels.KNOWN_ISSUES else "") / f"{name}.py")
        for name in kernel_names()
    ]


def _judge(lane: str) -> str:
    """The digest of the code that runs a cell of this lane and judges it."""
    cell = Path(matrix.__file__).parent / "cell"
    left_out = {name for other, rooms in _ONLY.items() if other != lane for name in rooms}
    left_out |= set(_NONE)
    rooms = [room for room in cell.iterdir() if room.name not in {*left_out, "kinds"}]
    rooms.append(cell / "kinds" / "suite")
    files = [
        path for room in rooms for path in ([room] if room.suffix == ".py" else room.rglob("*.py"))
    ]
    home = Path(compat.__file__).parent
    files += [*home.glob("*.py"), cell.parent / "errors.py"]
    files += [Path(kernels.__file__), Path(kernels.__file__).with_name("case.py")]
    return _digest(files)


def _shims(version: str) -> list[Path]:
    """The files of the shims that act on this Triton."""
    home = Path(compat.__file__).parent / "shims"
    return [
        home / f"{shim.name}.py" for shim in compat.all_shims() if in_window(shim.window, version)
    ]


def _installed(environment: Environment, beside: Sequence[Path]) -> str | None:
    """The digest of the hashes of all installed files but crosswarp's own; None where there are none to read."""
    if environment.identity:
        return environment.identity
    home = environment.python.parent.parent
    records = [*home.glob("lib/python*/site-packages/*.dist-info/RECORD")]
    if not records:
        return None
    records += [path for folder in beside for path in folder.glob("*.dist-info/RECORD")]
    return _digest(path for path in records if not path.parent.name.startswith("crosswarp-"))


def _digest(paths: Iterable[Path]) -> str:
    """Returns the digest of the files' names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.parent.name.encode() + b"/" + path.name.encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
