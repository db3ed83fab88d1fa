"""For each unexpected root cause an `[[issue]]` entry, ready to paste into issues.toml.

All of it comes from the run's measurements, except the link to the upstream report: its placeholder is refused until
somebody fills it in.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from crosswarp.matrix import versions
from crosswarp.matrix.facts import columns
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import windows
from crosswarp.matrix.results.record import LANES, Record
from crosswarp.matrix.results.verdict import triton_of
from crosswarp.matrix.versions import Version
from crosswarp.reports.findings.causes import Cause, unexpected
from crosswarp.reports.findings.view import View, day
from crosswarp.reports.text import escape

# No web address, so the schema asks for one.
LINK = "the address of the upstream report"
# No date, likewise, of a run that has none.
DAY = "the day on which it was seen"
_LONGEST_TITLE = 120
_MOST_CASES = 8
_SPECIAL = re.compile(r"([\\.^$*+?{}\[\]|()])")
_GLOB = re.compile(r"([*?\[])")


def drafts(view: View, known: Sequence[Issue]) -> list[str]:
    """The text of each record, under a comment where something speaks against it."""
    ids = {issue.id for issue in known}
    made = []
    for cause in unexpected(view):
        name = _id(cause, ids)
        ids.add(name)
        made.append(draft(view, cause, name))
    return made


def draft(view: View, cause: Cause, name: str) -> str:
    bare = [record for record in cause.records if record.mode == "bare"]
    if not bare:
        return (
            f"# {escape.line(cause.records[0].id, 300)}\n# fails with compat only: a bug of crosswarp.compat, "
            "for which issues.toml has no entry.\n"
        )
    lanes = sorted({record.lane for record in bare}, key=LANES.index)
    kernels = sorted({record.kernel for record in bare})
    # The results of other kernels prove nothing about these.
    mine = [record for kernel in kernels for record in view.by_kernel[kernel]]
    window, fixed = _window(view, mine, bare)
    targets = _targets(mine, bare)
    proof = _proof(mine, bare, window, targets, lanes)
    shim = _shim(mine, bare)
    fields: list[tuple[str, object]] = [
        ("id", name),
        (
            "title",
            escape.line(f"{', '.join(kernels)}: {cause.outcome}: {_plain(cause)}", _LONGEST_TITLE),
        ),
        ("status", "reproduced" if proof else "unverified"),
        ("triton", window),
        ("targets", targets),
        ("lanes", lanes),
        ("kernels", kernels),
        ("outcome", cause.outcome),
        ("fingerprint", pattern(bare[0].fingerprint)),
        ("links", [LINK]),
        ("fixed_in", fixed),
        ("shim", shim),
    ]
    lines = [] if proof else ["# No case of it fails on all of these releases, so none proves it."]
    lines += entry(fields)
    if len(proof) == 1:
        lines.append(f"case = {{ {_inline(proof[0])} }}")
    elif proof:
        lines += ["case = [", *(f"    {{ {_inline(case)} }}," for case in proof), "]"]
    checked = day(view.run.started) or _toml(DAY)
    return "\n".join([*lines, f"checked = {checked}"]) + "\n"


def entry(fields: Iterable[tuple[str, object]]) -> list[str]:
    """The lines of an `[[issue]]`, without those that are empty."""
    return ["[[issue]]", *(f"{field} = {_toml(value)}" for field, value in fields if value)]


def pattern(text: str) -> str:
    """A regular expression that matches the text."""
    return _SPECIAL.sub(r"\\\1", text)


def _id(cause: Cause, ids: set[str]) -> str:
    words = re.sub(r"[^a-z0-9._-]+", "-", f"{cause.kernels[0]}-{cause.outcome}".lower()).strip(
        "-._"
    )
    name, number = words or cause.key, 1
    while name in ids:
        number += 1
        name = f"{words or cause.key}-{number}"
    return name


def _plain(cause: Cause) -> str:
    return cause.fingerprint.removeprefix(f"{cause.outcome}: ")


def _window(view: View, mine: Sequence[Record], red: Sequence[Record]) -> tuple[str, str]:
    """Returns the specifier of Triton's versions, and the first later one that passes."""
    cells = {_cell(record) for record in red}
    places = {(record.target, record.lane) for record in red}
    bad = _releases(red)
    good = _releases(
        record
        for record in mine
        if record.mode == "bare"
        and record.outcome == "pass"
        and _cell(record) in cells
        and (record.target, record.lane) in places
    )
    published = _published()
    below = bool(bad) and min(bad) == min(published)
    window = windows.measured(bad, good, below, published | view.releases)
    newer = sorted(release for release in good - bad if release > max(bad)) if bad else []
    return window, str(newer[0]) if newer else ""


@cache
def _published() -> frozenset[Version]:
    published = (versions.parse(column.triton) for column in columns.load())
    return frozenset(version for version in published if version)


def _releases(records: Iterable[Record]) -> set[Version]:
    releases = (versions.base(triton_of(record) or "") for record in records)
    return {release for release in releases if release}


def _targets(mine: Sequence[Record], red: Sequence[Record]) -> list[str]:
    """Returns the targets; empty where the cells fail on every target that they ran on."""
    cells = {(record.lane, *_cell(record)) for record in red}
    names = sorted({record.target for record in red})
    elsewhere = {
        record.target
        for record in mine
        if record.ran and record.mode == "bare" and (record.lane, *_cell(record)) in cells
    } - set(names)
    return names if elsewhere else []


def _proof(
    mine: Sequence[Record], red: Sequence[Record], window: str, targets: Sequence[str], lanes: Sequence[str]
) -> list[Mapping[str, object]]:  # fmt: skip
    """Returns the kernels, cases and configurations that fail on all affected releases, as few entries as suffice."""
    ids = {record.id for record in red}
    always: dict[tuple[str, str, str], bool] = {}
    for record in mine:
        if (
            record.mode == "bare"
            and record.ran
            and record.lane in lanes
            and (not targets or record.target in targets)
            and versions.within(triton_of(record), window)
        ):
            always[_cell(record)] = always.get(_cell(record), True) and record.id in ids
    by_case: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for (kernel, case, config), is_red in always.items():
        by_case[kernel, case][config] = is_red
    made: list[Mapping[str, object]] = []
    for kernel in sorted({kernel for kernel, _ in by_case}):
        cases = {case: configs for (name, case), configs in by_case.items() if name == kernel}
        if all(all(configs.values()) for configs in cases.values()):
            made.append({"kernel": kernel})
            continue
        for case, configs in cases.items():
            chosen = [_glob(config) for config, is_red in configs.items() if is_red]
            if chosen:
                some = {"configs": chosen} if len(chosen) < len(configs) else {}
                made.append({"kernel": kernel, "case": _glob(case), **some})
    return made[:_MOST_CASES]


def _shim(mine: Sequence[Record], red: Sequence[Record]) -> str:
    """Returns the one shim with which all of it passes, if there is one."""
    twins = {(r.column, r.target, r.lane, *_cell(r)): r for r in mine if r.mode == "shimmed"}
    with_compat = [twins.get((r.column, r.target, r.lane, *_cell(r))) for r in red]
    shims = {twin.shims if twin and twin.outcome == "pass" else () for twin in with_compat}
    (only,) = shims if len(shims) == 1 else ((),)
    return only[0] if len(only) == 1 else ""


def _cell(record: Record) -> tuple[str, str, str]:
    return record.kernel, record.case, record.config


def _glob(text: str) -> str:
    return _GLOB.sub(r"[\1]", text)


def _inline(case: Mapping[str, object]) -> str:
    return ", ".join(f"{field} = {_toml(value)}" for field, value in case.items())


def _toml(value: object) -> str:
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    assert isinstance(value, (list, tuple))
    return f"[{', '.join(map(_toml, value))}]"


def _character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    # Lone surrogates are not characters, in TOML either.
    if "\ud800" <= char <= "\udfff":
        return "\\ufffd"
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
