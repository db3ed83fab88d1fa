"""Every kernel of the suite on every target: docs/evidence/suite-on-targets.md, from stores of runs.

Run by hand, on the host.

    crosswarp run --columns triton-3.6.0 --targets sm_86,gfx1100 --lanes compile --store STORE
    python tests/proofs/suite_on_targets.py STORE..          take in what they hold, and write the page
    python tests/proofs/suite_on_targets.py                  write the page again, as issues.toml is now

All releases and targets take hours on two cores, so they are run in parts, of targets or of kernels: what each part
found is kept in suite_on_targets.json, by release and target, added to by the next that runs other kernels there, and
replaced by one that runs the same. Red cells are kept with their fingerprints and judged when the page is written. The
cases of kernels/known_issues are not counted: they are to be red. The exit status is 1 where a cell is neither green
nor declared nor known.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from emulate_table import Found, read
from packaging.version import Version

from crosswarp.kernels import SUITE
from crosswarp.matrix import versions
from crosswarp.matrix.facts import issues, targets
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_suffix(".json")
PAGE = ROOT / "docs" / "evidence" / "suite-on-targets.md"
LANE = "compile"
# The kernels that the suite began with, which take seconds where the whole takes an hour.
FOUNDING = frozenset(
    "chunk_gated_delta_rule fused_linear_cross_entropy layer_norm matmul rms_norm softmax".split()
)
# Of what was not run, behind the number of a pair.
MARKS = ("\\*", "†", "‡", "§", "¶", "‖")
# The text of a fingerprint that a record of issues.toml may ask for.
LONGEST = 300


@dataclass
class Part:
    """One release and target: how many cells of each mode were green or declared unsupported, and the red ones."""

    day: str
    green: Mapping[str, int] = field(default_factory=dict)
    unsupported: Mapping[str, int] = field(default_factory=dict)
    # mode, kernel, case, configuration, outcome, fingerprint and acting shims of each cell that is red in either mode
    red: list[list[str]] = field(default_factory=list)
    # kernels of the suite of that day that were not run
    lacks: list[str] = field(default_factory=list)

    def records(self, triton: str, target: str) -> Iterator[Record]:
        for mode, kernel, case, config, outcome, fingerprint, shims in self.red:
            yield Record(
                f"triton-{triton}",
                target,
                LANE,
                mode,
                kernel,
                case,
                config,
                outcome=outcome,
                fingerprint=fingerprint,
                shims=tuple(filter(None, shims.split(","))),
                versions={"triton": triton},
            )


Table = dict[str, dict[str, Part]]


def suite() -> set[str]:
    """The kernels in `triton.language`; those in Gluon and TLX came after the stored runs."""
    return {name for name in SUITE if not name.startswith(("gluon_", "tlx_"))}


def taken(found: Found, day: str) -> Table:
    """What the stores hold of release-and-target pairs: both modes, nothing cut off."""
    table: Table = {}
    wanted = suite()
    for lane, row in found:
        if lane != LANE or row.mode != MODES[0]:
            continue
        both = {mode: found.get((LANE, row._replace(mode=mode)), {}).values() for mode in MODES}
        counted = {m: [r for r in those if r.kernel in wanted] for m, those in both.items()}
        ran = [{record.kernel for record in those} for those in counted.values()]
        if (
            not ran[0]
            or ran[0] != ran[1]
            or any(record.outcome == "not-run" for those in counted.values() for record in those)
        ):
            print(f"{row.triton} {row.target}: cut off, or not in both modes; left out")
            continue
        table.setdefault(row.triton, {})[row.target] = Part(
            day,
            {m: sum(r.outcome == "pass" for r in those) for m, those in counted.items()},
            {m: sum(r.outcome == "unsupported" for r in those) for m, those in counted.items()},
            _red(r for those in counted.values() for r in those),
            sorted(wanted - ran[0]),
        )
    return table


def merged(old: Part | None, new: Part, wanted: set[str]) -> Part:
    """Both, where they are of different kernels; otherwise the new one, unless it says less than the old."""
    if old is None:
        return new
    before, now = wanted - set(old.lacks), wanted - set(new.lacks)
    if before <= now:
        return new
    if before & now:
        return old
    return Part(
        max(old.day, new.day),
        {mode: old.green[mode] + new.green[mode] for mode in MODES},
        {mode: old.unsupported[mode] + new.unsupported[mode] for mode in MODES},
        sorted([*old.red, *new.red]),
        sorted(wanted - before - now),
    )


def _red(records: Iterable[Record]) -> list[list[str]]:
    records = list(records)
    red = {(r.item, r.config) for r in _bare(records) if r.outcome not in ("pass", "unsupported")}
    return sorted(
        [r.mode, r.kernel, r.case, r.config, r.outcome, r.fingerprint[:LONGEST], ",".join(r.shims)]
        for r, bare in zip(records, _bare(records))
        if (bare.item, bare.config) in red
    )


def _bare(records: Iterable[Record]) -> list[Record]:
    """One name for both modes of a cell."""
    return [replace(record, mode=MODES[0]) for record in records]


def load() -> Table:
    if not DATA.exists():
        return {}
    document = json.loads(DATA.read_text("utf-8"))
    return {v: {name: Part(**one) for name, one in those.items()} for v, those in document.items()}


def dumped(table: Table) -> str:
    """A line for a release and target, so that a change shows as one."""
    parts = []
    for version in sorted(table, key=Version):
        lines = [
            f"{json.dumps(n)}: {json.dumps(vars(table[version][n]))}"
            for n in sorted(table[version])
        ]
        parts.append(f"{json.dumps(version)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def page(table: Table) -> tuple[str, list[str]]:
    """The page, and a line for each cell that is neither green nor declared nor known."""
    known = issues.load()
    marks = _marks(table)
    wrong: list[str] = []
    causes: dict[str, Counter] = {}
    releases = sorted(table, key=Version)
    listed = targets.load()
    rows = []
    for name, target in listed.items():
        row = [f"`{name}`"]
        for version in releases:
            part = table[version].get(name)
            if part is None:
                row.append("" if versions.within(version, target.triton) else "–")
                continue
            judged = verdict.judge(part.records(version, name), known)
            bad = [*judged.unexpected_red, *(record for record, _ in judged.shim_failed)]
            wrong += [f"{one.id}: {one.outcome} {one.fingerprint[:160]}" for one in bad]
            for _, issue in judged.known:
                causes.setdefault(issue.id, Counter())[version, name] += 1
            of_bare = sum(r.mode == MODES[0] for r, _ in judged.known)
            row.append(_cell(part, len(bad), of_bare, marks.get(tuple(part.lacks), "")))
        rows.append(row)
    days = sorted({one.day for those in table.values() for one in those.values()})
    compiled = [
        one
        for version, those in table.items()
        for name, one in those.items()
        if versions.within(version, listed[name].triton)
    ]
    whole = sum(not one.lacks for one in compiled)
    possible = sum(
        versions.within(version, target.triton)
        for target in listed.values()
        for version in releases
    )
    cells = sum(
        sum(one.green.values()) + sum(one.unsupported.values()) + len(one.red)
        for those in table.values()
        for one in those.values()
    )
    parts = [
        "# The suite on every target",
        f"Every case of the {len(suite())} kernels of `kernels/` that are not Gluon's, compiled bare and with the "
        "shims, on "
        f"{whole} of {possible} pairs of a release and a target that it compiles for, and of some of them on "
        f"{len(compiled) - whole} more: {cells:,} cells. Made by "
        f"`python tests/proofs/suite_on_targets.py STORE..`, of {' to '.join(dict.fromkeys((days[0], days[-1])))}. No "
        f"GPU was used, and nothing was executed. {_verdict(wrong)}",
        "The number is how many cells are green bare; with an arrow, bare and then with the shims; in brackets, how "
        "many are red bare, each by a known issue. What a release or a target has no word for is `unsupported`, as "
        "declared, and not counted. –: that release does not compile for it ([targets](../targets.md)). Empty: not run."
        + "".join(f" {mark}: {_told(lacks)}." for lacks, mark in marks.items()),
        pipes(("target", *releases), rows),
        "## What is red, and why",
        pipes(
            ("known issue", "red cells, bare and shimmed", "where"),
            [
                [escape.markdown(name), f"{where.total()}", escape.markdown(_where(where))]
                for name, where in sorted(causes.items())
            ],
        ),
    ]
    if wrong:
        parts += ["## Not known", "\n".join(f"- {escape.code(line)}" for line in wrong)]
    return "\n\n".join(parts) + "\n", wrong


def _verdict(wrong: list[str]) -> str:
    if wrong:
        return f"{len(wrong)} red cells have no record yet (below)."
    return "Every red cell is a known issue inside its window."


def _marks(table: Table) -> dict[tuple[str, ...], str]:
    """By what was not run, a mark: the shortest first."""
    found = {tuple(one.lacks) for those in table.values() for one in those.values() if one.lacks}
    ordered = sorted(found, key=lambda lacks: (len(lacks), lacks))
    if len(ordered) > len(MARKS):
        sys.exit(f"{len(ordered)} kinds of lack: run what is missing, or add to MARKS.")
    return dict(zip(ordered, MARKS))


def _told(lacks: tuple[str, ...]) -> str:
    ran = suite() - set(lacks)
    if ran <= FOUNDING and len(ran) < len(lacks):
        return f"{_listed(ran)} alone, of the {len(FOUNDING)} kernels that the suite began with"
    return f"without {_listed(lacks)}, which were not run there"


def _cell(part: Part, bad: int, known: int, mark: str) -> str:
    bare, shimmed = (part.green[mode] for mode in MODES)
    text = f"{bare}" if bare == shimmed else f"{bare} → {shimmed}"
    if known:
        text += f" ({known})"
    return f"**{text}{mark}**" if bad else text + mark


def _listed(names: Iterable[str]) -> str:
    *first, last = (f"`{name}`" for name in sorted(names))
    return f"{', '.join(first)} and {last}" if first else last


def _where(where: Counter) -> str:
    by_release: dict[str, list[str]] = {}
    for version, name in where:
        by_release.setdefault(version, []).append(name)
    return "; ".join(
        f"{version}: {', '.join(sorted(by_release[version]))}"
        for version in sorted(by_release, key=Version)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", type=Path, nargs="*", metavar="STORE")
    options = parser.parse_args()
    table = load()
    for path in options.stores:
        found, open_ended = read([path])
        for line in open_ended:
            print(line)
        for version, parts in taken(found, _day(path)).items():
            there = table.setdefault(version, {})
            for name, part in parts.items():
                there[name] = merged(there.get(name), part, suite())
                if there[name] is not part and there[name].lacks:
                    print(f"{version} {name}: still without {', '.join(there[name].lacks)}")
    DATA.write_text(dumped(table), encoding="utf-8")
    text, wrong = page(table)
    PAGE.write_text(text, encoding="utf-8")
    print("\n".join([*wrong, f"{PAGE.relative_to(ROOT)}: {sum(map(len, table.values()))} pairs"]))
    return 1 if wrong else 0


def _day(path: Path) -> str:
    with Store(path, read_only=True) as store:
        return max(run.started for run in store.runs())[:10]


if __name__ == "__main__":
    sys.exit(main())
