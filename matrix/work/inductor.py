"""A run of `crosswarp inductor`: which torch writes the kernels, where they lie, and who compiles them.

WORK/inductor/KEY/...            what one environment wrote (matrix/cell/kinds/inductor/writing.py)
WORK/inductor/suite/NAME.py      one kernel of a suite for each program, of all that was written: a folder for
                                 `crosswarp run --suite`, so that reports, diff and bisect take it as any other
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.cell.asked import AskedInductor, Programs
from crosswarp.matrix.cell.kinds.inductor import programs
from crosswarp.matrix.cell.kinds.inductor.replay.names import PREFIX
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.verdict import classify
from crosswarp.matrix.running.plan import Work
from crosswarp.matrix.work import brought
from crosswarp.matrix.work.suite import Suite

HARVEST = "harvest.json"
WRITTEN = "written"
_PROGRAMS = Path(programs.__file__).parent
_MODULE = '''"""What inductor wrote of {program}: made by `crosswarp inductor`, of {digest}."""

from pathlib import Path

from crosswarp.matrix.cell.kinds.inductor.replay import kernel

KERNEL = kernel({program!r}, str(Path(__file__).parent.parent), {configurations})
'''


@dataclass(frozen=True)
class Asked:
    """The programs to compile: programs of ours by glob, or one function of a file.

    Attributes:
        file: the file, and `name` in it; None for ours.
        dynamic: compile it for any size; ours say it themselves.
    """

    programs: tuple[str, ...] = ("*",)
    file: Path | None = None
    name: str = ""
    dynamic: bool = False


def asked(text: str | None, programs: Sequence[str], dynamic: bool = False) -> Asked:
    """Reads ``my_module.py:step``, or globs of our programs.

    Raises:
        UsageError: there is no such file, or no name in it is given.
    """
    if text is None:
        return Asked(tuple(programs) or ("*",))
    path, colon, name = text.rpartition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise UsageError(f'"{text}" names no function. Write my_module.py:step.')
    file = Path(path)
    if not file.is_file():
        raise UsageError(
            f"{path}: there is no such file. Write the path of a Python file, a colon and the name of a function in it."
        )
    if programs:
        raise UsageError(
            "--programs are crosswarp's own, and a file was named. Leave one of them out."
        )
    return Asked(file=file.resolve(), name=name, dynamic=dynamic)


def key(column: str, installed: Mapping[str, str], lock: str) -> str:
    """The folder of an environment's kernels: by its versions for people, by its lock for certainty.

    Args:
        column: its id, or the path of an interpreter.
        installed: the versions of torch and Triton.
        lock: all that it is built from (`Builder.lock`), or what is known of that.
    """
    readable = "-".join(f"{name}-{installed.get(name, 'unknown')}" for name in ("torch", "triton"))
    digest = hashlib.sha256(f"{column}\n{lock}\n{sorted(installed.items())}".encode())
    return f"{re.sub('[^A-Za-z0-9.+_-]', '-', readable)}-{digest.hexdigest()[:8]}"


def write_suite(root: Path, configurations: int, asked: Asked) -> Path:
    """Makes the suite of all kernels below `root`, anew.

    Args:
        configurations: the most of each kernel; 0: all.
        asked: selects the programs.
    """
    only = check_programs(asked)
    suite = root / "suite"
    shutil.rmtree(suite, ignore_errors=True)
    suite.mkdir(parents=True)
    digests: dict[str, list[str]] = {}
    for harvest in sorted(root.glob(f"*/{HARVEST}")):
        harvested = json.loads(harvest.read_text("utf-8"))
        for names in harvested["targets"].values():
            for name in names:
                digests.setdefault(name, []).append(harvested["digest"])
    for program, parts in digests.items():
        if program in only:
            digest = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
            text = _MODULE.format(program=program, digest=digest, configurations=configurations)
            (suite / f"{PREFIX}{program}.py").write_text(text, "utf-8")
    return suite


def own_programs() -> dict[str, str]:
    """Our programs by name, each with the first line of its docstring. Read from their files: they need torch."""
    summaries = {}
    for family in programs.FAMILIES:
        tree = ast.parse((_PROGRAMS / f"{family}.py").read_bytes())
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "program"
                for decorator in node.decorator_list
            ):  # fmt: skip
                summaries[node.name] = (ast.get_docstring(node) or "").partition("\n")[0]
    return summaries


def check_programs(asked: Asked) -> tuple[str, ...]:
    """The names that `asked` means.

    Raises:
        UsageError: a glob is none of ours.
    """
    if asked.file:
        return (asked.name,)
    names = list(own_programs())
    return tuple(
        selection.choose(asked.programs, names, "program", f"There are: {', '.join(names)}.")
    )


@dataclass(frozen=True)
class Inductor(Work):
    """Programs of which torch.compile is to write the kernels.

    Attributes:
        links: the crosswarp that was brought along.
        folder: where the written kernels go; None: none are stored, and its own Triton compiles them.
    """

    MODULE = "crosswarp.matrix.cell.kinds.inductor"
    BY_PART = True

    chosen: Asked
    links: Path
    folder: Path | None

    def argv(self, python: Path, spec: Path) -> list[str]:
        return brought.argv(self.links, self.MODULE, python, spec)

    def asked(self, column: str, common: Mapping[str, Any]) -> AskedInductor:
        chosen = self.chosen
        programs = Programs(
            folder=str(self.folder or ""),
            programs=list(chosen.programs),
            compile=self.folder is None,
            file=str(chosen.file or ""),
            name=chosen.name,
            dynamic=chosen.dynamic,
        )
        return AskedInductor(**common, inductor=programs)

    def about(self) -> Mapping[str, Any]:
        return {"inductor": str(self.chosen.file or "") or list(self.chosen.programs)}

    def judge(self, records: Sequence[Record], issues: Sequence[Issue]) -> Judged:
        return Judged(records, issues)


@dataclass(frozen=True)
class Replayed(Suite):
    """The written kernels, as a suite, in an interpreter that need not have crosswarp.

    Attributes:
        links: the crosswarp that was brought along.
    """

    links: Path = Path()

    def argv(self, python: Path, spec: Path) -> list[str]:
        return brought.argv(self.links, self.MODULE, python, spec)


@dataclass(frozen=True)
class Judged:
    """Expectations for written programs and pairs: no cell fails, unless its issue is known."""

    records: Sequence[Record]
    issues: Sequence[Issue] = ()

    @property
    def as_expected(self) -> bool:
        return all(self.known(record) for record in self.records if record.red)

    def known(self, record: Record) -> bool:
        # An issue of some torch releases alone is known only when the whole run is judged.
        triton = versions.base(record.versions["triton"]) if "triton" in record.versions else None
        return classify(record, self.issues, str(triton) if triton else None) is not None


def written(records: Iterable[Record]) -> list[Record]:
    """The cells of programs whose kernels were written."""
    return [record for record in records if record.outcome == "pass" and record.case == WRITTEN]
