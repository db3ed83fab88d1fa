"""The findings of `crosswarp init` in a checkout, as settings and in words."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from crosswarp.matrix import reading
from crosswarp.matrix.cell.kinds.check.absent import INSTALLED_AS
from crosswarp.matrix.checkout import apart, metadata, pytests
from crosswarp.matrix.checkout.imports import Imports, syntax, walked
from crosswarp.matrix.checkout.metadata import OF_A_COLUMN, Declared, Wish
from crosswarp.matrix.facts.columns import Column

# Installed in every column.
_THERE = (*OF_A_COLUMN, "pytest", "pytest-xdist", "packaging", "numpy", "setuptools", "pyelftools")
_TESTING = re.compile(r"(^|[-_])(dev|develop|development|tests?|testing|ci|all)([-_]|$)", re.I)
_AMD = re.compile(r"rocm|amd|hip", re.I)
# More test functions than this are sampled.
MANY = 100
_IMPORTED_AS = {package: module for module, package in INSTALLED_AS.items()}


@dataclass
class Found:
    """Settings to be written, in their order, and what was seen on the way.

    Attributes:
        tests: how many test functions there are.
        columns: the releases of Triton that its metadata allows, oldest first.
        kernels: where there are none, the files with kernels.
        idle: whether the tests import neither torch nor Triton, themselves or through the library.
    """

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tests: int = 0
    columns: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    idle: bool = False


def find(folder: Path, table: Sequence[Column]) -> Found:
    """Reads the settings and facts of the checkout in `folder`.

    Raises:
        ConfigError: its pyproject.toml cannot be read.
    """
    declared = metadata.with_mentions(folder)
    facts = Found(notes=[f"The library {declared.name}, in {folder.resolve()}."])
    tests = tests_of(folder)
    facts.tests = test_functions(folder, tests)
    if facts.tests:
        facts.values["tests"] = tests
    else:
        facts.notes.append(
            f"{', '.join(tests)}: no test functions." if tests else "No test functions anywhere."
        )
    _requires(folder, declared, tests, facts)
    amd = [w.extra for w in declared.wishes if w.extra and _AMD.search(w.extra)]
    facts.values["targets"] = ["sm_90", "gfx942"] if amd else ["sm_90"]
    if amd:
        facts.notes.append(f'It has an extra "{amd[0]}": gfx942 is a target as well.')
    _columns(declared, table, facts)
    if facts.tests:
        facts.notes.append(f"{facts.tests} test functions in {', '.join(tests)}.")
    if facts.tests > MANY:
        facts.values["sample"] = MANY
        facts.notes.append(f"A sample of {MANY} tests is set; without `sample` all of them run.")
    if not any((folder / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        facts.notes.append(
            "Neither pyproject.toml nor setup.py: its files are put on the path as they are, and nothing is built."
        )
    stubs = metadata.modules_of_extensions(folder)
    if stubs:
        facts.values["stub"] = stubs
        are = "is" if len(stubs) == 1 else "are"
        facts.notes.append(f"setup.py builds {', '.join(stubs)}, which {are} stubbed.")
    facts.kernels = [] if facts.tests else list(_with_kernels(folder))
    return facts


def text(facts: Found) -> str:
    """The file crosswarp.toml."""
    lines = [
        "# How crosswarp tests this library: see docs/your-library.md of crosswarp.",
        *(f"{key} = {_toml(value)}" for key, value in facts.values.items()),
    ]
    return "\n".join(lines) + "\n"


def tests_of(folder: Path) -> list[str]:
    """Where pytest's settings say that the tests are; else `tests` or `test`; else wherever files of tests are."""
    named = [path.rstrip("/") for path in pytests.testpaths(folder) if (folder / path).exists()]
    if named:
        return named
    usual = [name for name in ("tests", "test") if (folder / name).is_dir()][:1]
    if any(True for path in _python(folder, usual) for _ in _test_functions(path)):
        return usual
    return _odd_places(folder) or usual


def _odd_places(folder: Path) -> list[str]:
    """The outermost folders with the library's own test files; for tests at the root, the files."""
    folders: dict[str, None] = {}
    for path in walked(folder):
        inside = path.relative_to(folder)
        if apart.of(inside.as_posix()) is None and any(True for _ in _test_functions(path)):
            folders[inside.parent.as_posix() if len(inside.parts) > 1 else inside.as_posix()] = None
    return [
        inner
        for inner in sorted(folders)
        if not any(inner.startswith(f"{other}/") for other in folders)
    ]


def _with_kernels(folder: Path) -> Iterator[str]:
    """The files of a checkout that have kernels, from its root."""
    for path in walked(folder):
        try:
            text = reading.data(path)
        except OSError:
            continue
        inside = path.relative_to(folder).as_posix()
        if b"triton.jit" in text and apart.of(inside) is None:
            yield inside


def _requires(folder: Path, declared: Declared, tests: Sequence[str], facts: Found) -> None:
    imports = Imports(folder, files_of(folder, tests))
    imported = {name.lower() for name in imports.all}
    facts.idle = bool(facts.tests) and imported.isdisjoint(("torch", "triton"))
    requirements: dict[str, str] = {}
    passed: list[str] = []
    for wish in declared.wishes:
        if wish.name in _THERE or wish.name == canonicalize_name(declared.name):
            continue
        if not wish.sure:
            # The text of a setup.py may have anything: requirements that tests import count.
            if _module(wish.name) in imported:
                requirements.setdefault(wish.name, _plain(wish))
        elif not wish.extra or _used(wish, imported):
            requirements.setdefault(wish.name, _plain(wish))
        elif _TESTING.search(wish.extra):
            passed.append(wish.name)
    names = {_module(name) for name in (*requirements, *_THERE)}
    # A file for developers pins what nobody else must have: what is imported is taken, in any release.
    for name in metadata.listed(folder):
        if _module(name) not in names and _module(name) in map(str.lower, imports.of_others):
            requirements[name] = name
            names.add(_module(name))
    facts.values["requires"] = list(requirements.values())
    facts.notes.append(f"It needs {', '.join(requirements) or 'nothing'} besides Triton and torch.")
    for who, modules in (("tests", imports.by_tests), ("library", imports.by_library)):
        unknown = [
            f"{name} ({place})"
            for name, place in sorted(modules.items())
            if name.lower() not in names and name not in imports.beside
        ]
        if unknown:
            facts.notes.append(
                f"Not declared, but imported by the {who}: {', '.join(unknown)}. Name in `requires` what provides it."
            )
    left = [name for name in dict.fromkeys(passed) if name not in requirements]
    if left:
        facts.notes.append(f"Not taken, because no test imports it: {', '.join(left)}.")


def _used(wish: Wish, imported: set[str]) -> bool:
    """Whether tests use a requirement: from an extra for developers, only imported packages and pytest plugins."""
    if not _TESTING.search(wish.extra):
        return False
    return wish.name.startswith("pytest-") or _module(wish.name) in imported


def _module(name: str) -> str:
    return _IMPORTED_AS.get(name, name.replace("-", "_")).lower()


def _plain(wish: Wish) -> str:
    extras = f"[{','.join(sorted(wish.requirement.extras))}]" if wish.requirement.extras else ""
    if wish.requirement.url:
        return f"{wish.name}{extras} @ {wish.requirement.url}"
    return f"{wish.name}{extras}{wish.requirement.specifier}"


def _columns(declared: Declared, table: Sequence[Column], facts: Found) -> None:
    ranges = [versions for name in ("triton", "torch") if (versions := declared.range_of(name))]
    allowed = [column.id for column in declared.columns(table)]
    facts.columns = [column.triton for column in declared.columns(table) if column.triton]
    if not ranges:
        facts.notes.append(
            "Its metadata says no range of Triton or torch: every published pair is a column. Name fewer with "
            "`columns`."
        )
    elif not allowed:
        facts.notes.append(
            f"{'; '.join(ranges)}: no column lies in that. Name some with `columns`."
        )
    else:
        near = "" if any(map(declared.allows_pair, table)) else ", of the same minor release"
        facts.notes.append(
            f"{'; '.join(ranges)}: the columns are {', '.join(allowed)}{near}. Name others with `columns`."
        )
    if any(not wish.sure for name in ("triton", "torch") for wish in declared.of(name)):
        # A program decides: the requirements in its text are written down, to be corrected.
        facts.values["columns"] = allowed


def test_functions(folder: Path, tests: Sequence[str]) -> int:
    """How many test functions there are in folders of tests."""
    return sum(1 for path in _python(folder, tests) for _ in _test_functions(path))


def files_of(folder: Path, tests: Sequence[str]) -> list[Path]:
    """The Python files in folders of tests."""
    return list(_python(folder, tests))


def _test_functions(path: Path) -> Iterator[str]:
    if path.name.startswith("test_") or path.name.endswith("_test.py"):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                yield node.name


def _python(folder: Path, tests: Sequence[str]) -> Iterator[Path]:
    for name in tests:
        path = folder / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _toml(value: Any) -> str:
    """Numbers, texts and lists of texts, whose spelling JSON and TOML share."""
    return json.dumps(value, ensure_ascii=False)
