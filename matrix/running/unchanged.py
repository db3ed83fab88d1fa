"""What need not run again: cells for which all that decides on them is as it was in a run of the store.

That is their key: the text of the kernel and of the files that it imports, the target's row, the mode, the limits of
time and memory, the environment with the hashes of what is installed, the shims in whose window the column's Triton
lies, and the code that judges. What happens by chance is never taken from there: a crash, or what took too long.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from crosswarp import compat, kernels, matrix
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan, kernel_names

# Each of these decides on cells of its lane alone. What runs no suite decides on none.
_ONLY = {"emulate": ("emulate", "machines", "observers")}
_NONE = ("pytest_plugin",)
# Not the lane device: what is measured there is measured.
LANES = ("compile", "emulate", "interpret")
CHANCE = ("crash", "timeout", "not-run")


class Coordinate(NamedTuple):
    """What has a key: all cases of a kernel in a lane and a mode on a target."""

    target: str
    lane: str
    mode: str
    kernel: str

    @classmethod
    def of(cls, cell: Record) -> Coordinate:
        return cls(cell.target, cell.lane, cell.mode, cell.kernel)


@dataclass
class Taken:
    """Of one column, what is taken over.

    Attributes:
        cells: the records, and the run in which each of them ran.
        again: the items that run again by themselves, for what became of them may have been chance.
        whole: the run that had nothing else to run in the same lanes either, so that there is nothing left but these.
    """

    cells: list[tuple[Record, int]] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    whole: int | None = None
    # Of that run, how many cases each lane has.
    planned: dict[str, int] = field(default_factory=dict)

    @property
    def again_by_lane(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for item in sorted(self.again):
            found.setdefault(lane_of(item), []).append(item)
        return found

    @property
    def items(self) -> list[str]:
        return sorted({cell.item for cell, _ in self.cells})


def said(column: str, sources: Mapping[str, int]) -> str:
    """For people, of the items that are taken and the runs that they are from; empty where nothing is."""
    if not sources:
        return ""
    of = ", ".join(map(str, sorted(set(sources.values()))))
    return (
        f"{column}: {len(sources)} cases are unchanged since run {of} and are taken from there; "
        "--fresh runs them all."
    )


def keys(plan: Plan, column: str, environment: Environment) -> dict[Coordinate, str]:
    """The key of each coordinate of `plan` in a column; empty where a key cannot say all that decides on a cell."""
    if plan.libraries or plan.tests:
        return {}
    installed = _installed(environment, plan.beside.get(column, ()))
    if installed is None:
        return {}
    judges = {lane: _judge(lane) for lane in LANES}
    # What was found: of an interpreter at hand nothing is expected.
    version = str(environment.versions.get("triton") or environment.expect.get("triton", "0"))
    shims = _digest(_shims(version))
    texts = {
        name: _digest(reach(path, plan.suite, environment.sources))
        for name, path in _paths(plan.suite)
        if any(fnmatchcase(name, glob) for glob in plan.kernels)
    }
    found = {}
    for lane in set(plan.lanes) & set(LANES):
        for target in plan.targets_of(lane):
            row = plan.targets[target].model_dump(mode="json") if target in plan.targets else None
            for mode in plan.modes:
                for kernel, text in texts.items():
                    one = Coordinate(target, lane, mode, kernel)
                    said = [
                        one, column, text, judges[lane], installed, environment.versions, row,
                        shims if mode == "shimmed" else "", plan.sanitize, str(plan.suite),
                        plan.time_limit, plan.memory_limit_mb,
                    ]  # fmt: skip
                    found[one] = hashlib.sha256(
                        json.dumps(said, sort_keys=True).encode()
                    ).hexdigest()
    return found


def of_share(key: str, shard: tuple[int, int] | None) -> str:
    """The key of a coordinate of which a run has a share of the cases alone."""
    return f"{key} {shard[0]}/{shard[1]}" if shard else key


def of_whole(key: str) -> str:
    """The key of the coordinate as a whole, whatever share of it a run had."""
    return key.partition(" ")[0]


def take(
    store: Store, plan: Plan, column: str, known: Mapping[Coordinate, str], *, crashes: bool = False
) -> Taken:
    """What runs of `store` say of the cases that `plan` asks a column for, of each coordinate the newest run.

    Args:
        known: the keys of now.
        crashes: whether crashes and timeouts are taken as well.
    """
    # A share may be taken from a run of the same share and from one of the whole.
    runs = store.with_keys(
        column,
        {
            of_share(key, shard): tuple(one)
            for one, key in known.items()
            for shard in {None, plan.shard}
        },
    )
    wanted: dict[int, set[Coordinate]] = {}
    for coordinate, run in runs.items():
        wanted.setdefault(run, set()).add(Coordinate(*coordinate))
    taken = Taken()
    for run, coordinates in sorted(wanted.items()):
        sources = store.taken(run)
        by_item: dict[str, list[Record]] = {}
        for cell in store.records(run, column):
            if Coordinate.of(cell) in coordinates:
                by_item.setdefault(cell.item, []).append(cell)
        for item, cells in by_item.items():
            asked = any(fnmatchcase(cells[0].case, glob) for glob in plan.cases)
            # Its cell as a whole comes last.
            if not asked or not any(not cell.config for cell in cells):
                continue
            if crashes or not any(cell.outcome in CHANCE for cell in cells):
                source = sources.get((column, item), run)
                taken.cells += [(replace(cell, issue=""), source) for cell in cells]
            else:
                taken.again.append(item)
    if len(wanted) == 1 and runs.keys() == {tuple(one) for one in known}:
        (run,) = wanted
        if _nothing_left(store, plan, column, run, taken):
            taken.whole = run
            planned = store.planned(run)
            taken.planned = {lane: planned[column, lane] for lane in plan.lanes}
    return taken


def _nothing_left(store: Store, plan: Plan, column: str, run: int, taken: Taken) -> bool:
    """Whether the lanes of that run had planned just what is taken, and what can run again by its name alone."""
    then = store.run(run).plan
    # Which cases there are of these is to be found out; which are of a share, the suite alone knows.
    if taken.again and (plan.shard or any(item.endswith(_NO_CASES) for item in taken.again)):
        return False
    if any(
        then.get(name, default) != plan.describe().get(name, default)
        for name, default in _SELECTION
    ):
        return False
    known = [*taken.items, *taken.again]
    count = {lane: sum(lane_of(item) == lane for item in known) for lane in plan.lanes}
    planned = store.planned(run)
    return all(planned.get((column, lane)) == number for lane, number in count.items())


def lane_of(item: str) -> str:
    return item.split("/", 2)[1]


# What stands for the cases of a module that could not be asked for them.
_NO_CASES = ("/*", "/import")
# What decides on which cases a run has: of the same selection a kernel's text decides on the rest.
_SELECTION: Sequence[tuple[str, Any]] = (
    ("targets", None), ("lanes", None), ("modes", None), ("kernels", None), ("suite", None),
    ("cases", ["*"]), ("emulated", None), ("sanitize", False), ("shard", None),
)  # fmt: skip


def whole_column(
    store: Store, run: int, column: str, again: Iterable[str] = ()
) -> Iterator[protocol.Event]:
    """What the suite of a column had said in `run` beside its cells; of lanes in which it has to run again, nothing."""
    versions, left = store.sessions(run), set(map(lane_of, again))
    for (one, lane), planned in store.planned(run).items():
        if one == column and lane not in left:
            yield protocol.Session(lane, planned, versions[one, lane])
    for (one, target), (supported, message) in store.targets(run).items():
        if one == column:
            yield protocol.Target(target, supported, message)


def reach(path: Path, suite: Path | None, sources: Sequence[Path] = ()) -> list[Path]:
    """`path` and the files that it imports, at first or second hand, of the folder that it lies in, and of `sources`.

    Nothing is imported to find out. What comes from elsewhere is the environment's, or crosswarp's.
    """
    roots = [Path(kernels.__file__).parent] if suite is None else [suite, *sources]
    found: dict[Path, None] = {}
    left = [path]
    while left:
        one = left.pop()
        if one in found or not one.is_file():
            continue
        found[one] = None
        text = one.read_bytes()
        for root in roots:
            for names in _imports(text, one, root):
                left += _files(root.joinpath(*names))
                # What a package does on import it does for each module of it.
                left += [root.joinpath(*names[:end], "__init__.py") for end in range(1, len(names))]
    return list(found)


# Each column asks anew, of a text that may have changed since.
@functools.lru_cache(maxsize=None)
def _imports(text: bytes, path: Path, root: Path) -> Sequence[Sequence[str]]:
    try:
        return list(_imported(ast.parse(text), path, root))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _imported(tree: ast.AST, path: Path, root: Path) -> Iterator[Sequence[str]]:
    """Names below `root` that are imported anywhere in the file."""
    own = ("crosswarp", "kernels")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                yield parts[2:] if parts[:2] == own else parts
        elif isinstance(node, ast.ImportFrom):
            parts = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                up = path.parent
                for _ in range(node.level - 1):
                    up = up.parent
                if not up.is_relative_to(root):
                    continue
                parts = (*up.relative_to(root).parts, *parts)
            elif parts[:2] == own:
                parts = parts[2:]
            elif parts == own[:1]:
                continue
            if parts:
                yield parts
            for alias in node.names:
                yield (*parts, alias.name)


def _files(path: Path) -> list[Path]:
    """Of a module: its file, or all of a package."""
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
    """Of the code that runs a cell of this lane and judges it."""
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
    """Of the hashes of all files that are installed, but for crosswarp's own; None where there are none to read."""
    if environment.identity:
        return environment.identity
    home = environment.python.parent.parent
    found = [*home.glob("lib/python*/site-packages/*.dist-info/RECORD")]
    if not found:
        return None
    found += [path for folder in beside for path in folder.glob("*.dist-info/RECORD")]
    return _digest(path for path in found if not path.parent.name.startswith("crosswarp-"))


def _digest(paths: Iterable[Path]) -> str:
    """Of names and contents, in the order of the names."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.parent.name.encode() + b"/" + path.name.encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
