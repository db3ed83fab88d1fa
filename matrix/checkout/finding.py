"""What `crosswarp init` finds in a checkout, as settings and in words."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from crosswarp.matrix import reading
from crosswarp.matrix.checkout import metadata
from crosswarp.matrix.checkout.metadata import OF_A_COLUMN, Declared, Wish
from crosswarp.matrix.checkout.settings import document
from crosswarp.matrix.facts.columns import Column

# Installed in every column.
_THERE = (*OF_A_COLUMN, "pytest", "pytest-xdist", "packaging", "numpy", "setuptools", "pyelftools")
_TESTING = re.compile(r"(^|[-_])(dev|develop|development|tests?|testing|ci|all)([-_]|$)", re.I)
_AMD = re.compile(r"rocm|amd|hip", re.I)
# More test functions than this are sampled.
MANY = 100
# What is imported under another name than it is installed by.
_IMPORTED_AS = {"pyyaml": "yaml", "pillow": "pil", "scikit-learn": "sklearn", "ml-dtypes": "ml_dtypes"}  # fmt: skip


@dataclass
class Found:
    """Settings to be written, in their order, and what was seen on the way."""

    values: dict[str, Any] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def find(folder: Path, table: Sequence[Column]) -> Found:
    """What the checkout in `folder` says of itself.

    Raises:
        ConfigError: its pyproject.toml cannot be read.
    """
    declared = metadata.declared(folder)
    found = Found(told=[f"The library {declared.name}, in {folder.resolve()}."])
    tests = _tests(folder, found)
    _requires(folder, declared, tests, found)
    amd = [w.extra for w in declared.wishes if w.extra and _AMD.search(w.extra)]
    found.values["targets"] = ["sm_90", "gfx942"] if amd else ["sm_90"]
    if amd:
        found.told.append(f'It has an extra "{amd[0]}": gfx942 is a target as well.')
    _columns(declared, table, found)
    count = sum(1 for path in _python(folder, tests) for _ in _test_functions(path))
    found.told.append(f"{count} test functions in {', '.join(tests) or 'no folder of tests'}.")
    if count > MANY:
        found.values["sample"] = MANY
        found.told.append(f"A sample of {MANY} tests is set; without `sample` all of them run.")
    stubs = metadata.modules_of_extensions(folder)
    if stubs:
        found.values["stub"] = stubs
        found.told.append(f"setup.py builds {', '.join(stubs)}, which are stubbed.")
    return found


def text(found: Found) -> str:
    """The file crosswarp.toml."""
    lines = [
        "# How crosswarp tests this library: see docs/your-library.md of crosswarp.",
        *(f"{key} = {_toml(value)}" for key, value in found.values.items()),
    ]
    return "\n".join(lines) + "\n"


def tests_of(folder: Path) -> list[str]:
    """Where pytest's own settings say that the tests are; else `tests` or `test`, where there is one."""
    project = folder / "pyproject.toml"
    named: Any = []
    if project.is_file():
        tool = document(project).get("tool")
        for key in ("pytest", "ini_options"):
            tool = tool.get(key) if isinstance(tool, dict) else None
        named = tool.get("testpaths", []) if isinstance(tool, dict) else []
    named = named.split() if isinstance(named, str) else named
    if not (isinstance(named, list) and all(isinstance(one, str) for one in named)):
        named = []
    return [one.rstrip("/") for one in named if (folder / one).exists()] or [
        name for name in ("tests", "test") if (folder / name).is_dir()
    ][:1]


def _tests(folder: Path, found: Found) -> list[str]:
    tests = tests_of(folder)
    if tests:
        found.values["tests"] = tests
    else:
        found.told.append("No folder of tests was found: name it with `tests`.")
    return tests


def _requires(folder: Path, declared: Declared, tests: Sequence[str], found: Found) -> None:
    imported = set(_imported(folder, tests))
    taken: dict[str, str] = {}
    passed: list[str] = []
    for wish in declared.wishes:
        if wish.name in _THERE or wish.name == canonicalize_name(declared.name):
            continue
        if not wish.sure:
            # Anything in the text of a setup.py: what a test imports is meant.
            if _module(wish.name) in imported:
                taken.setdefault(wish.name, _plain(wish))
        elif not wish.extra or _used(wish, imported):
            taken.setdefault(wish.name, _plain(wish))
        elif _TESTING.search(wish.extra):
            passed.append(wish.name)
    found.values["requires"] = list(taken.values())
    found.told.append(f"It needs {', '.join(taken) or 'nothing'} besides Triton and torch.")
    names = {_module(name) for name in (*taken, *_THERE)}
    names |= {path.stem.lower() for path in _own(folder, tests)} | {"torch", "triton"}
    unknown = sorted(imported - names - {name.lower() for name in sys.stdlib_module_names})
    if unknown:
        found.told.append(
            f"The tests also import {', '.join(unknown)}: where that is installed from an index, name it in `requires`."
        )
    left = [name for name in dict.fromkeys(passed) if name not in taken]
    if left:
        found.told.append(f"Not taken, because no test imports it: {', '.join(left)}.")


def _used(wish: Wish, imported: set[str]) -> bool:
    """Of an extra for developers only what tests import, and plugins of pytest."""
    if not _TESTING.search(wish.extra):
        return False
    return wish.name.startswith("pytest-") or _module(wish.name) in imported


def _module(name: str) -> str:
    return _IMPORTED_AS.get(name, name.replace("-", "_")).lower()


def _own(folder: Path, tests: Sequence[str]) -> Iterator[Path]:
    """Packages and modules of the checkout itself, wherever it keeps them, and helpers beside tests."""
    for place in (folder, folder / "src", folder / "python"):
        if place.is_dir():
            yield from place.iterdir()
    for name in tests:
        # A folder of tests may be named for what it tests.
        yield from (folder / name).glob("*.py")
        yield from (path.parent for path in (folder / name).glob("*/__init__.py"))


def _plain(wish: Wish) -> str:
    extras = f"[{','.join(sorted(wish.requirement.extras))}]" if wish.requirement.extras else ""
    if wish.requirement.url:
        return f"{wish.name}{extras} @ {wish.requirement.url}"
    return f"{wish.name}{extras}{wish.requirement.specifier}"


def _columns(declared: Declared, table: Sequence[Column], found: Found) -> None:
    ranges = [told for name in ("triton", "torch") if (told := declared.range_of(name))]
    allowed = [column.id for column in declared.columns(table)]
    if not ranges:
        found.told.append(
            "Its metadata says no range of Triton or torch: every published pair is a column. Name fewer with "
            "`columns`."
        )
    elif not allowed:
        found.told.append(f"{'; '.join(ranges)}: no column lies in that. Name some with `columns`.")
    else:
        found.told.append(
            f"{'; '.join(ranges)}: the columns are {', '.join(allowed)}. Name others with `columns`."
        )
    if any(not wish.sure for name in ("triton", "torch") for wish in declared.of(name)):
        # A program decides: what was found in its text is written down, to be corrected.
        found.values["columns"] = allowed


def _imported(folder: Path, tests: Sequence[str]) -> Iterator[str]:
    """The top-level modules that the tests import, in lower case."""
    for path in _python(folder, tests):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0].lower() for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0].lower()


def _test_functions(path: Path) -> Iterator[str]:
    if path.name.startswith("test_") or path.name.endswith("_test.py"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                yield node.name


def _python(folder: Path, tests: Sequence[str]) -> Iterator[Path]:
    for name in tests:
        path = folder / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _tree(path: Path) -> ast.AST:
    try:
        return ast.parse(reading.data(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _toml(value: Any) -> str:
    """Numbers, texts and lists of texts, whose spelling JSON and TOML share."""
    return json.dumps(value, ensure_ascii=False)
