"""A failing cell of a library's own tests as a shell script: what to install, and the pytest that shows it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.cell.kinds.library_tests import names
from crosswarp.matrix.checkout import metadata, settings
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import targets
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.view import View
from crosswarp.reports.reproducing import needs
from crosswarp.reports.text import escape

_LONGEST = 1200
# The parts of a column, in that order. Its Python is named, and not installed.
_INSTALLED = ("triton", "torch", "numpy")


def script(view: View, record: Record, root: Path, table: Mapping[str, Target], name: str) -> str:
    """Returns the text of the script, to be run in the library's checkout, which is in `root`.

    Raises:
        UsageError: `root` is the checkout of another library, or the test's name is not safe in a shell.
    """
    about = view.run.described.library
    library = str(about.get("name") or "")
    here = metadata.declared(root).name
    if here != library:
        raise UsageError(
            f"run {view.run.id} is of the tests of {escape.line(library, 100)}, and {root} is the checkout of {here}. "
            "Name its checkout with --library."
        )
    own_settings = settings.load(root).settings
    test = _test(record, about, root)
    if not all(part.isprintable() for part in test):
        raise UsageError(f"{escape.line(record.id, 300)}: a shell cannot be given its name.")
    virtual = [
        "--virtual-gpu", _target(record, view, table), "--virtual-gpu-lane", record.lane,
        "--crosswarp-shims" if record.mode == "shimmed" else "--crosswarp-bare",
        *(word for module in own_settings.stub for word in ("--crosswarp-stub", module)),
    ]  # fmt: skip
    if own_settings.time_limit != settings.Settings().time_limit:
        virtual += ["--crosswarp-time-limit", str(own_settings.time_limit)]
    installed = record.versions
    requirements = [
        f"{package}=={versions.public(installed[package])}"
        for package in _INSTALLED
        if _plain(installed.get(package))
    ]
    triton = [requirement for requirement in requirements if requirement.startswith("triton==")]
    others = [requirement for requirement in requirements if requirement not in triton]
    install = [
        *others,
        "pytest",
        "crosswarp",
        *needs.pinned(view, record.column, own_settings.requires),
    ]
    case = (
        record.kernel if record.case == names.NO_PARAMETERS else f"{record.kernel}, {record.case}"
    )
    named = [package for package in (*_INSTALLED, "python", "ptxas") if installed.get(package)]
    seen = ", ".join(f"{package} {installed[package]}" for package in named) or record.column
    commit = view.run.described.commit
    shimmed = ", with compat" if record.mode == "shimmed" else ""
    head = [
        case,
        f"{record.outcome}: {record.fingerprint or record.reason}",
        f"Seen on {record.target}, lane {record.lane}{shimmed} with {seen}"
        + (f", {library} at commit {commit}." if commit else f", {library}."),
        "In the checkout of the library; on a GPU the same pytest without its options --virtual-gpu and --crosswarp.",
    ]
    python, file = escape.line(str(installed.get("python") or "3"), 40), escape.line(name, 200)
    lines = ["#!/bin/sh", *(f"# {escape.line(line, _LONGEST)}" for line in head)]
    lines += [
        "#", f"#   sh {file} install   first, in an environment of Python {python}", f"#   sh {file}", "set -eu",
        *(f"export {key}={shlex.quote(value)}" for key, value in own_settings.env.items()),
        'if [ "${1:-}" = install ]; then',
        f"    python -m pip install {shlex.join(install)}",
        "    # torch, and the library, may ask for another Triton",
        f"    exec python -m pip install --no-deps {shlex.join([*triton, '.'])}", "fi",
        f"exec pytest {shlex.join(virtual)} {shlex.join(test)}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _test(record: Record, about: Mapping[str, Any], root: Path) -> list[str]:
    """Returns pytest's arguments: the test, its file where that cannot be imported, or all where none can."""
    tests = about.get("tests")
    paths = [test for test in tests if isinstance(test, str)] if isinstance(tests, list) else []
    folders = [path for path in paths if not path.endswith(".py")]
    module, separator, function = record.kernel.partition("::")
    if not separator and record.case == names.IMPORT and module == names.COLLECTION:
        return [_argument(path) for path in paths]
    files = [
        path for path in paths if path.endswith(".py") and names.module(path, folders) == module
    ]
    guessed = [f"{folder}/{module.replace('.', '/')}.py" for folder in folders]
    files += [path for path in guessed if (root / path).is_file()] or guessed[:1]
    path = files[0] if files else f"{module.replace('.', '/')}.py"
    case = "" if record.case in (names.NO_PARAMETERS, "*") else f"[{record.case}]"
    return [_argument(f"{path}::{function}{case}" if separator else path)]


def _argument(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def _target(record: Record, view: View, table: Mapping[str, Target]) -> str:
    """The virtual GPU of a cell; the lane interpret claims the first of the run's targets."""
    if record.target in table:
        return record.target
    first = next((target for target in view.run.described.targets if target in table), "")
    return first or targets.named(table, ["sm_90"])[0]


def _plain(version: object) -> bool:
    return isinstance(version, str) and version.replace(".", "").replace("+", "").isalnum()
