"""The table of what releases.py has run, a section of docs/evidence/ecosystem.md. Reads WORK, runs nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.reports.text import escape

_LACKS = re.compile(r"No module named '?([\w.]+)'?")
_ASKS = re.compile(r"[Pp]lease install `?([\w-]+)")
BEGIN, END = "<!-- releases: made by releases.py -->", "<!-- end of releases -->"


@dataclass(frozen=True)
class Told:
    """What WORK holds of one library on one column."""

    about: Mapping[str, Any]
    records: Sequence[Record]


def told(work: Path) -> list[Told]:
    found = []
    for path in sorted((work / "runs").glob("*.json")):
        store = path.with_suffix(".db")
        records: list[Record] = []
        if store.exists():
            with Store(store, read_only=True) as opened:
                for one in opened.runs()[:1]:
                    records = opened.records(one.id)
        found.append(Told(json.loads(path.read_text("utf-8")), records))
    return sorted(found, key=lambda one: (one.about["library"], _number(one.about["column"])))


def _number(column: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", column)]


def lacks(record: Record, library: str) -> str:
    """The package besides Triton, torch and the library itself that a red says is not there; else nothing."""
    if not record.red:
        return ""
    asked = _ASKS.search(record.fingerprint)
    if asked:
        return asked[1]
    found = _LACKS.search(f"{record.fingerprint}\n{record.message}")
    package = found[1].partition(".")[0] if found else ""
    own = ("triton", "torch", library.replace("-", "_").partition("_")[0])
    return "" if not package or package.startswith(own) else package


def page(runs: Sequence[Told]) -> str:
    """The section of docs/evidence/ecosystem.md: a row a release and target, a column a Triton.

    Text that comes from a library is escaped.
    """
    ids = sorted({one.about["column"] for one in runs}, key=_number)
    heads = [column.removeprefix("triton-") for column in ids]
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    why: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    stopped = []
    for one in runs:
        column = one.about["column"].removeprefix("triton-")
        named = escape.markdown(_named(one.about.get("release", one.about["library"])))
        if one.about["error"] and not one.records:
            stopped.append(f"- {named}, {column}: {escape.markdown(one.about['error'][:200])}")
            continue
        sides: dict[tuple[str, str], dict[str, str]] = {}
        for what, target, mode, records in _parts(one.records, one.about["tests"]):
            counts = Counter(_became(record, one.about["library"], what) for record in records)
            sides.setdefault((what, target), {})[mode] = _cell(counts)
            for record in records:
                missing = lacks(record, one.about["library"])
                if record.red and record.outcome != "timeout":
                    text = f"lacks {missing}" if missing else record.fingerprint
                    places = why.setdefault((one.about["library"], text), {})
                    places.setdefault(f"{target} {mode}", Counter())[column] += 1
        for (what, target), modes in sides.items():
            told = list(dict.fromkeys(modes.values()))
            text = told[0] if len(told) == 1 else f"{modes['bare']} → {modes['shimmed']}"
            rows.setdefault((named, what, target), {})[column] = text
    lines = [
        f"| release | what | target | {' | '.join(heads)} |",
        f"| --- | --- | --- |{' --- |' * len(heads)}",
        *(
            f"| {' | '.join(place)} | {' | '.join(cells.get(head, '') for head in heads)} |"
            for place, cells in rows.items()
        ),
    ]
    if stopped:
        lines += ["", "Not installed, or not collected:", "", *stopped]
    lines += ["", "### What is red, and why", ""]
    for (library, text), sorts in sorted(why.items()):
        where = "; ".join(
            f"{sort}: {', '.join(f'{column} × {number}' for column, number in places.items())}"
            for sort, places in sorts.items()
        )
        lines.append(f"- {escape.markdown(library)}: {escape.markdown(text[:200])} ({where})")
    return "\n".join(lines) + "\n"


def _cell(counts: Mapping[str, int]) -> str:
    """``5``, ``3, 2 red``, or ``3 (2)`` where two say nothing."""
    silent = counts["no launch"] + counts["untold"] + counts["lacks"]
    return (
        str(counts["green"])
        + (f" ({silent})" if silent else "")
        + (f", {counts['red']} red" if counts["red"] else "")
    )


def _named(archive: str) -> str:
    """``liger_kernel 0.8.5`` of an archive's name."""
    found = re.match(r"(.+?)-(\d[^-]*?)(?:\.tar\.gz|\.zip|-.*)?$", archive)
    return f"{found[1]} {found[2]}" if found else archive


def _parts(records: Sequence[Record], own: bool) -> Iterator[tuple[str, str, str, list[Record]]]:
    """`own`: the release has tests; else its records are of imports and of ops."""
    parts: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        what = "tests" if own else "ops" if record.kernel.startswith("test_ops::") else "imports"
        parts.setdefault((what, record.target, record.mode), []).append(record)
    for part, found in sorted(parts.items(), key=lambda item: item[0][0]):
        yield *part, found


def _became(record: Record, library: str, what: str) -> str:
    if record.outcome == "timeout":
        # Of this machine, and its load.
        return "untold"
    if record.red:
        return "lacks" if lacks(record, library) else "red"
    if record.outcome == "pass":
        return "green"
    if record.reason == "no launch":
        # A module that was imported has done all that was asked of it.
        return "green" if what == "imports" else "no launch"
    return "untold"


def missing(runs: Sequence[Told], every: Sequence[str]) -> str:
    """What was not run, of all libraries and all published pairs: a table of a part is no table of the whole."""
    have: dict[str, set[str]] = {}
    for one in runs:
        have.setdefault(one.about["column"], set()).add(one.about["library"])
    lacking = [f"{column}: {', '.join(name for name in every if name not in names)}"
               for column, names in have.items() if set(every) - names]  # fmt: skip
    others = [
        one.id for one in columns.load() if one.triton and one.official and one.id not in have
    ]
    if others:
        lacking.append(f"all of them on {', '.join(others)}")
    return f"**Not run yet**: {'; '.join(lacking)}." if lacking else "All that is wanted was run."


def section(work: Path, every: Sequence[str]) -> str:
    """What WORK holds, for docs/evidence/ecosystem.md. `every`: the names of the libraries of which that is a part."""
    runs = told(work)
    dates = sorted({one.about["date"] for one in runs})
    commands = dict.fromkeys(
        one.about["command"].strip() for one in runs if one.about.get("command")
    )
    said = " or ".join(f"`crosswarp test … {command}`" for command in sorted(commands))
    return "\n".join([
        BEGIN,
        "## The newest releases of the package index",
        "",
        f"Written by `nox -s ecosystem` ([tests/ecosystem](../../tests/ecosystem/README.md)), run on "
        f"{' to '.join(dict.fromkeys(dates[:1] + dates[-1:]))}, lane compile, with {said}.",
        "Each row is a sample of a release; a cell says how many are green, and how many red; in brackets those that "
        "say nothing of Triton: nothing was launched, skipped, not applicable, too slow for this machine, or a package "
        "was not there. Behind an arrow: with the shims, where that differs. What is `tests` are the release's own. Of "
        "a release without any, modules that import Triton are imported (`imports`), and public ops are called, "
        "forward and where there is one backward (`ops`: tests/ecosystem/ops).",
        missing(runs, every),
        "",
        page(runs) + END,
        "",
    ])  # fmt: skip


def insert(text: str, new: str) -> str:
    """`text` with its section exchanged, or with one more at its end."""
    before, found, rest = text.partition(BEGIN)
    after = rest.partition(END)[2].lstrip("\n") if found else ""
    return f"{before.rstrip()}\n\n{new.rstrip()}\n" + (f"\n{after}" if after else "")
