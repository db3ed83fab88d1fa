"""The output of `crosswarp check`: the signatures, a line for each verdict as it comes, the grid, and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswarp.matrix.cell.kinds.check import ASSUMED, LACKING, LATE, NO_KERNEL, PLACE, UNREAL
from crosswarp.matrix.cell.kinds.check.absent import pip_or_stub
from crosswarp.matrix.errors import EXIT_CANCELLED
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import fault, owned
from crosswarp.matrix.results.cause import words
from crosswarp.matrix.results.fault import Fault
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.vocabulary import COMPAT
from crosswarp.matrix.signatures.signature import CONSTEXPR, NONE, Inferred, Signature, shown
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.layout import LONGEST, WIDTH, fill, side_by_side
from crosswarp.reports.text.signs import SIGNS
from crosswarp.reports.text.table import ABSENT, mark

FORMATS = ("text", "json")
_NAME = 28
# Reasons why a kernel has no verdict: it had no time, or the run was cancelled while it was compiled.
COLUMN_LATE = "column limit"
STOPPED = (LATE, COLUMN_LATE, "cancelled")
# Reasons why a kernel was not compiled, or has no verdict.
UNKNOWN = (ASSUMED, LACKING, NO_KERNEL, UNREAL, *STOPPED)


@dataclass(frozen=True)
class Column:
    """An environment in which the file was compiled; `label` describes it in a line."""

    id: str
    label: str
    versions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Checked:
    """
    Attributes:
        chosen: the requested kernels, in the order of the file.
        notes: messages of a run beside its cells.
        seconds: wall time of the runs.
    """

    path: Path
    chosen: Sequence[Inferred]
    targets: Sequence[str]
    modes: Sequence[str]
    dtype: str
    columns: Sequence[Column] = ()
    records: Sequence[Record] = ()
    notes: Sequence[str] = ()
    issues: Mapping[str, Issue] = field(default_factory=dict)
    seconds: float = 0.0
    exit_code: int = 0
    stub: bool = False

    @property
    def unchecked(self) -> list[Inferred]:
        unknown = {item.kernel for item in self.items if item.reason in UNKNOWN}
        unknown |= {kernel.kernel for kernel in self.unreached}
        ran = {item.kernel for item in self.items if item.ran}
        return [
            kernel
            for kernel in self.chosen
            if kernel.why and kernel.kernel not in ran or kernel.kernel in unknown
        ]

    @property
    def unreached(self) -> list[Inferred]:
        """Returns the kernels that a run which was cancelled, or out of time, did not come to on each target."""
        came = {(item.kernel, item.column, item.target) for item in self.items}
        return [
            kernel
            for kernel in self.chosen
            if kernel.signatures
            and any(
                (kernel.kernel, column.id, target) not in came
                and (kernel.kernel, column.id, "*") not in came
                for column in self.columns
                for target in self.targets
            )
        ]

    @property
    def absent(self) -> list[str]:
        """Returns the imports of the file that the environments lack and that have no stand-in."""
        packages = [name for record in self.records for name in record.resources.get(LACKING) or ()]
        return list(dict.fromkeys(packages)) if not self.stub else []

    @property
    def items(self) -> list[Record]:
        """Returns the cells of whole cases, without those of single configurations."""
        return [record for record in self.records if not record.config]

    @property
    def red(self) -> list[Record]:
        return [item for item in self.items if item.red]


def signatures(checked: Checked) -> str:
    """Each kernel with its compile-time signature, and where each part of that was read."""
    lines = [fill("", _plain(f"{_shown(checked.path)}: {_kernels(checked)}"))]
    for kernel in checked.chosen:
        name = escape.line(kernel.kernel, 60)
        if kernel.part_of:
            lines.append(fill("  ", f"{name}: compiled as a part of {', '.join(kernel.part_of)}"))
        if kernel.device:
            lines.append(
                fill(
                    "  ",
                    f"{name}: a function for kernels; no kernel of the file calls it, so nothing is compiled",
                )
            )
        if kernel.why:
            names, colon, options = kernel.why.partition("? : ")
            lines.append(fill("  ", f"{name}: NOT CHECKED: {_plain(names)}"))
            lines += [f"    {escape.line(options, 4 * LONGEST)}"] if colon else []
        for signature in kernel.signatures:
            lines += _signature(name, signature, kernel.tunes)
        for lacking in kernel.lacking:
            lines.append(fill("    ", f"left out: {_plain(lacking)}"))
    return "\n".join(lines)


def _shown(path: Path) -> str:
    """From where the command runs, when it is below."""
    inside = os.path.relpath(path)
    return str(path) if inside.startswith("..") else inside


def _kernels(checked: Checked) -> str:
    count = sum(bool(kernel.signatures) for kernel in checked.chosen)
    every = f"{len(checked.chosen)} {'kernel' if len(checked.chosen) == 1 else 'kernels'}"
    return f"{every}, {count} to be compiled for {', '.join(checked.targets)}"


def _signature(name: str, signature: Signature, tunes: Sequence[str]) -> list[str]:
    where = {"given": "given", "declared": "by itself"}.get(signature.id, _lines(signature.lines))
    lines = [fill("  ", f"{name}, {where}: {_plain(str(signature)) or 'no arguments'}")]
    origins: dict[str, list[str]] = {}
    for argument in signature.arguments:
        if not argument.assumed:
            origins.setdefault(argument.origin, []).append(argument.name)
    for option, origin in signature.origins.items():
        origins.setdefault(origin, []).append(option)
    if signature.left:
        origins[f"its {' and '.join(tunes) or 'decorators'}"] = list(signature.left)
    elif "autotune" in tunes:
        origins["its autotune"] = ["launch options"]
    text = "; ".join(f"{', '.join(names)}: {origin}" for origin, names in origins.items())
    if text:
        lines.append(fill("    from  ", _plain(text)))
    if signature.assumed or signature.spare:
        lines += _assumptions(name, signature)
    for argument in signature.arguments:
        if argument.others:
            text = f"also {', '.join(argument.others)}, which is not compiled"
            lines.append(fill("    ", _plain(f"{argument.name}: {text}")))
    lines += [fill("    ", _plain(note)) for note in signature.notes]
    return lines


def _assumptions(name: str, signature: Signature) -> list[str]:
    """Returns each assumption about a type, its reason, and the option to paste that sets it."""
    why: dict[str, list[str]] = {}
    for argument in signature.assumed:
        why.setdefault(argument.origin, []).append(str(argument).split(":")[0])
    for argument in signature.spare:
        why.setdefault("unless its decorators give it", []).append(str(argument))
    assumed = "; ".join(f"{', '.join(what)} ({origin})" for origin, what in why.items())
    lines = [fill("    ASSUMED: ", _plain(assumed))]
    typed = [guess for guess in signature.assumed if guess.type != CONSTEXPR]
    constants = [
        *[guess for guess in signature.assumed if guess.type == CONSTEXPR],
        *signature.spare,
    ]
    options = []
    if typed:
        types = ",".join(
            f"{guess.name}={'None' if guess.type == NONE else guess.type}" for guess in typed
        )
        options.append(f"--signature '{name}:{types}'")
    if constants:
        values = ",".join(f"{constant.name}={_written(constant.value)}" for constant in constants)
        # As a shell reads a quote inside of quotes.
        quoted = f"{name}:{values}".replace("'", "'\"'\"'")
        options.append(f"--constexpr '{quoted}'")
    # Lines to paste: never broken.
    return [
        *lines,
        *(f"      say otherwise: {escape.line(option, 4 * LONGEST)}" for option in options),
    ]


def _written(value: Any) -> str:
    """Writes a constant for an option; a string in double quotes, as the option stands in single ones."""
    text = value.get("value") if isinstance(value, dict) else None
    return json.dumps(text) if isinstance(text, str) else shown(value)


def _lines(lines: Sequence[int]) -> str:
    numbers = ", ".join(map(str, lines))
    return f"line {numbers}" if len(lines) == 1 else f"lines {numbers}"


def _plain(text: str) -> str:
    return escape.line(text, LONGEST)


def line(records: Sequence[Record], checked: Checked) -> str:
    """The verdict on a case in its modes: one line, and for failures the known causes."""
    by_mode = {record.mode: record for record in records}
    first = by_mode.get("bare") or records[0]
    red = [record for record in records if record.red]
    seconds = sum(record.seconds for record in records)
    place = f"{first.column}  {first.target:<7} {_case(first, checked)}"
    outcome = _outcomes(by_mode)
    if first.reason in UNKNOWN:
        outcome = "not checked"
    head = f"{'FAILS' if red else 'ok ' if first.outcome == 'pass' else '-  '} {place}: {outcome}, {seconds:.1f} s"
    return "\n".join(
        [escape.line(head, LONGEST), *(fill("      ", reason) for reason in _why(records, checked))]
    )


def _outcomes(by_mode: Mapping[str, Record]) -> str:
    outcomes = {mode: record.outcome for mode, record in by_mode.items()}
    if len(set(outcomes.values())) == 1:
        return next(iter(outcomes.values()))
    return ", ".join(f"{outcome} {COMPAT[mode].meaning}" for mode, outcome in outcomes.items())


def _case(record: Record, checked: Checked) -> str:
    several = record.case.startswith("run-") or any(
        len(kernel.signatures) > 1 for kernel in checked.chosen if kernel.kernel == record.kernel
    )
    return f"{record.kernel} ({record.case})" if several else record.kernel


def _why(records: Sequence[Record], checked: Checked) -> Iterable[str]:
    """Yields the failure, its known issue, the fix as a run has seen it, and the assumed parts of the signature."""
    last_words = ""
    if records[0].reason in (LACKING, NO_KERNEL, UNREAL, *STOPPED):
        yield _plain(records[0].message)
        return
    if records[0].reason == ASSUMED:
        yield _plain(records[0].message.splitlines()[0])
        yield "Say its types and values, as below ASSUMED, for a verdict."
        return
    for record in records:
        if record.outcome == "pass" or words(record) == last_words:
            continue
        last_words = words(record)
        if not last_words and not record.message:
            continue
        yield _plain(
            f"{record.reason + ': ' if record.reason and not last_words.startswith(record.reason) else ''}{last_words}"
        )
        issue = checked.issues.get(record.issue)
        if issue is not None:
            known = "known" if owned.claims(issue) else "looks like"
            yield _plain(f"{known}: {issue.title} [{issue.id}] {issue.links[0]}")
            if issue.shim:
                yield f"shim: {issue.shim}"
            elif issue.workaround:
                yield _plain(f"do: {issue.workaround}")
    failed = next((record for record in records if record.red), None)
    if failed is not None:
        yield _plain(str(_fault(failed, records, checked)))
    place = records[0].resources.get(PLACE)
    attempts = _attempts(records[0], checked)
    if isinstance(place, int) and 0 < place < len(attempts):
        first = [str(argument) for argument in attempts[0].assumed]
        assumed = [
            str(argument) for argument in attempts[place].assumed if str(argument) not in first
        ]
        yield _plain(f"ASSUMED, as it fails with the first assumption: {', '.join(assumed)}")
    elif any(record.red for record in records) and attempts and attempts[0].assumed:
        assumed = [str(argument) for argument in attempts[0].assumed]
        yield _plain(f"ASSUMED: {', '.join(assumed)}: see above")


def _fault(failed: Record, records: Sequence[Record], checked: Checked) -> Fault:
    shimmed = next((record for record in records if record.mode == "shimmed"), None)
    bare = next((record for record in records if record.mode == "bare"), None)
    issue = checked.issues.get(failed.issue)
    fixed = shimmed.shims if shimmed and shimmed.outcome == "pass" else None
    sure = issue is not None and (owned.claims(issue) or bool(fixed and issue.shim in fixed))
    return fault.of(
        failed,
        issue if sure else None,
        None if sure else issue,
        fixed,
        failed.mode == "shimmed" and bare is not None and bare.outcome == "pass",
    )


def _attempts(record: Record, checked: Checked) -> Sequence[Signature]:
    return next(
        (
            signature.attempts
            for kernel in checked.chosen if kernel.kernel == record.kernel
            for signature in kernel.signatures if signature.id == record.case
        ),
        (),
    )  # fmt: skip


def grid(checked: Checked) -> str:
    """Kernels by targets, once for each column: a sign, or two where the modes differ."""
    rows = [
        (kernel.kernel, case, len(cases) > 1)
        for kernel in checked.chosen
        for cases in [_cases(kernel, checked)]
        for case in cases
    ]
    cells: dict[tuple[str, str, str, str], list[Record]] = {}
    for item in checked.items:
        # An environment that was not there has no cases.
        for _, case, _ in [
            row for row in rows if row[0] == item.kernel and item.case in (row[1], "*")
        ]:
            cells.setdefault((item.column, item.target, item.kernel, case), []).append(item)
    names = [escape.line(f"{name} ({case})" if more else name, 60) for name, case, more in rows]
    parts, seen = [], set()
    for column in checked.columns:
        shown = []
        for name, (kernel, case, _) in zip(names, rows):
            signs = []
            for target in checked.targets:
                both = mark(cells.get((column.id, target, kernel, case), ())).split(" → ")
                # A single mode shows no change.
                outcomes = [outcome for outcome in both if outcome != ABSENT]
                seen.update(outcomes)
                signs.append("".join(SIGNS[outcome] for outcome in outcomes))
            shown.append((name, signs))
        table = side_by_side("kernel", checked.targets, shown, _NAME, gap=2)
        lines = [escape.line(column.label, WIDTH), *filter(None, table)]
        parts.append("\n".join(lines))
    if seen:
        legend = ", ".join(f"{SIGNS[outcome]} {outcome}" for outcome in SIGNS if outcome in seen)
        parts.append(
            fill(
                "Signs: ", f"{legend}; of two, the first is without compat and the second with it."
            )
        )
    return "\n\n".join(parts)


def _cases(kernel: Inferred, checked: Checked) -> list[str]:
    """Returns the cases of a kernel: those from running its file, else those from its text."""
    ran = [item.case for item in checked.items if item.kernel == kernel.kernel and item.case != "*"]
    known = [signature.id for signature in kernel.signatures]
    other = [case for case in dict.fromkeys(ran) if case not in known]
    return other or known


def ending(checked: Checked) -> str:
    """Returns the result in a sentence, and the reason of the exit status."""
    if not checked.items:
        return f"Nothing was checked. Exit {checked.exit_code}."
    missing = ""
    if checked.absent:
        # One line, for who pastes it.
        missing = (
            f"your environment: not checked as it is imported: {pip_or_stub(checked.absent)}\n"
        )
    cases = {(item.column, item.target, item.kernel, item.case) for item in checked.items}
    red = {(record.column, record.target, record.kernel, record.case) for record in checked.red}
    fixed = sum(_is_fixed(checked, case) for case in red)
    sentence = f"{len(cases)} {'case' if len(cases) == 1 else 'cases'} in {checked.seconds:.0f} s: "
    sentence += f"{len(red)} failed" if red else "none failed"
    if fixed:
        sentence += (
            f", {fixed} of them passes with compat"
            if fixed == 1
            else f", {fixed} of them pass with compat"
        )
    unsupported = sum(
        item.outcome == "unsupported" for item in checked.items if item.mode == checked.modes[0]
    )
    if unsupported:
        sentence += f", {unsupported} for targets that the Triton has not"
    if checked.unchecked:
        names = ", ".join(escape.line(kernel.kernel, 60) for kernel in checked.unchecked)
        why = "not reached, or above is why" if checked.unreached else "above is why"
        sentence += f". Not checked: {names} ({why}; --kernels chooses)"
    if checked.exit_code == EXIT_CANCELLED:
        sentence = f"Cancelled. {sentence}"
    alone = checked.absent and not checked.red and not checked.unchecked
    why = ", because a package is missing" if alone else ""
    return missing + fill("", f"{sentence}. Exit {checked.exit_code}{why}.")


def _is_fixed(checked: Checked, case: tuple[str, str, str, str]) -> bool:
    outcomes = [
        item.outcome
        for item in checked.items
        if item.mode == "shimmed" and (item.column, item.target, item.kernel, item.case) == case
    ]
    return outcomes == ["pass"]


def as_json(checked: Checked) -> str:
    from crosswarp.reports.text import documents

    issues = checked.issues
    cells = [
        {**vars(record), "shim": issues[record.issue].shim if record.issue in issues else ""}
        for record in checked.records
    ]
    document = filled(
        documents.Checked, checked, cells=cells, ending=" ".join(ending(checked).split())
    )
    return escape.document(document)
