"""Measured ranges for people and for programs: on a terminal of 80 columns, as Markdown, as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tabulate import tabulate

from crosswarp.matrix import versions
from crosswarp.matrix.results.supported import Measured, Range, Span, State, Supported
from crosswarp.matrix.results.vocabulary import COMPAT, RELEASES
from crosswarp.matrix.versions import Version
from crosswarp.reports.findings.range import Shown
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.layout import fill
from crosswarp.reports.text.markdown import pipes

_WIDTH = 24
# The same two modes, in words for people who did not write the harness.
_LANE_OF = {"cpu": "the interpret lane", "gpu": "the device lane"}


def terminal(shown: Shown) -> str:
    supported = shown.supported
    parts = [fill("", escape.line(_head(shown)))]
    if shown.declares:
        parts.append("\n".join(fill("", line) for line in declared(shown)))
    for mode, of in supported.suite.items():
        lines = [f"{COMPAT[mode].meaning:<16}{_pasted('triton', of)}"]
        if of.triton.specifier:
            lines.append(f"{'':<16}{_pasted('torch', of)}")
        parts.append("\n".join([*lines, *(fill("  ", line) for line in _ends(of.triton, shown))]))
    parts.append(_table(_releases(supported)))
    parts += [fill("", escape.line(line)) for line in _remarks(shown)]
    rows = [
        [escape.line(kernel, 28), *(_fold(_ranged(of)) for of in modes.values())]
        for kernel, modes in supported.kernels.items()
    ]
    heads = ["kernel, worst first", *(COMPAT[mode].meaning for mode in supported.suite)]
    parts.append(tabulate(rows, heads, disable_numparse=True))
    return "\n\n".join(parts) + "\n"


def markdown(shown: Shown) -> str:
    supported = shown.supported
    ranges = [
        [
            COMPAT[mode].meaning,
            *(escape.code(_pasted(name, of)) for name in ("triton", "torch")),
            " ".join(map(escape.markdown, _ends(of.triton, shown))),
        ]
        for mode, of in supported.suite.items()
    ]  # fmt: skip
    parts = [
        f"**{escape.markdown(_head(shown))}**",
        pipes(["compat", "Triton", "torch", "ends"], ranges),
        _pipes(_releases(supported), escape.markdown),
        *(escape.markdown(line) for line in (*declared(shown), *_remarks(shown))),
        pipes(
            ["kernel", *(f"{COMPAT[mode].meaning}: Triton" for mode in supported.suite)],
            [
                [escape.code(kernel), *(escape.code(_ranged(of)) for of in modes.values())]
                for kernel, modes in supported.kernels.items()
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def export(shown: Shown) -> str:
    from crosswarp.reports.text import run_documents

    document = filled(run_documents.Measured, shown)
    if not shown.declares:
        del document["declares"]
    return escape.document(document)


def declared(shown: Shown) -> list[str]:
    """Compares the library's metadata with the measurement: a line for Triton and one for torch."""
    lines = []
    for name, says in shown.declares.items():
        parts = []
        for mode, of in shown.supported.suite.items():
            span = getattr(of, name)
            parts.append(
                f"{span.specifier or _none(of)}{_untried(span, says)} {COMPAT[mode].meaning}"
            )
        lines.append(escape.line(f"Your metadata says {says}; measured: {', '.join(parts)}."))
    return lines


def _untried(span: Span, says: str) -> str:
    """A floor that only reflects the choice of columns does not contradict the metadata."""
    windows = (re.sub(r"^[\w-]+", "", part) for part in says.split(" or "))
    wanted = [versions.bounds(window) for window in windows if versions.is_window(window)]
    lowest = [min((bound for of, bound in bounds if ">" in of), default=None) for bounds in wanted]
    older = span.floor is not None and any(bound is None or bound < span.floor for bound in lowest)
    tried = span.below is not None and span.below[1] != "unknown"
    return " (nothing older was tried)" if older and not tried else ""


def _head(shown: Shown) -> str:
    run = shown.run
    return f"Measured range of {shown.of}: run {run.id}, {run.started}, {run.status}"


def _pasted(name: str, of: Range) -> str:
    specifier = getattr(of, name).specifier
    return f"{name}{specifier}" if specifier else f"{name}: {_none(of)}"


def _none(of: Range) -> str:
    """In place of a specifier where no release is green: none passes, or nothing is known of any."""
    states = {measured.state for measured in of.releases if measured.release.columns}
    return "unknown" if states <= {"unknown"} else "no release passes"


def _ends(span: Span, shown: Shown) -> list[str]:
    """Returns the evidence for the ends and the inside of a range."""
    if not span.specifier:
        return []
    lines = []
    if span.below is None:
        lines.append(f"Floor: nothing older than {span.floor} was tried.")
    else:
        lines.append(f"Floor: {_is(span.below)}.")
    if span.holes:
        lines.append(f"Holes: {_list(span.holes)}.")
    if span.above is None:
        lines.append(f"Ceiling: open; nothing newer than {span.ceiling} was tried.")
    else:
        lines.append(f"Ceiling: {_is(span.above)}.")
    if span.inside:
        single = len(span.inside) == 1
        lines.append(
            f"UNKNOWN: {_list(span.inside)} {'lies' if single else 'lie'} inside and {'was' if single else 'were'} not "
            f"run (or not whole): {_how(span.inside, shown)}"
        )
    return lines


def _is(beyond: tuple[Version, State]) -> str:
    version, state = beyond
    return f"{version} " + (
        "was not run, or not whole" if state == "unknown" else RELEASES[state].short
    )


def _how(releases: Sequence[Version], shown: Shown) -> str:
    command = shown.run.described.command
    names = ",".join(map(str, releases))
    return f"crosswarp {command} --triton {names if len(releases) < 3 else 'all'}"


def _releases(supported: Supported) -> list[list[str]]:
    """A row for each release: its name, and its result in each mode."""
    heads = ["triton", "torch", *(COMPAT[mode].meaning for mode in supported.suite)]
    modes = [of.releases for of in supported.suite.values()]
    rows = [
        [
            str(each[0].release.triton),
            str(each[0].release.torch or "?"),
            *(_state(measured) for measured in each),
        ]
        for each in zip(*modes)
    ]
    return [heads, *rows]


def _state(measured: Measured) -> str:
    if measured.state == "red":
        kernels = len({record.kernel for record in measured.red})
        return f"fails ({len(measured.red)} cells, {kernels} kernel{'s' if kernels > 1 else ''})"
    if measured.state == "unknown" and measured.release.columns:
        return f"not whole ({measured.missing or 'some'} not run)"
    return RELEASES[measured.state].short


def _remarks(shown: Shown) -> list[str]:
    remarks: dict[str, list[str]] = {}
    for of in shown.supported.suite.values():
        for release in of.releases:
            if release.lacking:
                lacking = ", ".join(_LANE_OF.get(name, name) for name in release.lacking)
                releases = remarks.setdefault(lacking, [])
                if str(release.release.triton) not in releases:
                    releases.append(str(release.release.triton))
    lines = [
        f"On {', '.join(releases)}, declared unsupported: {lacking}."
        for lacking, releases in remarks.items()
    ]
    for release in next(iter(shown.supported.suite.values())).releases:
        stand_ins = [name for name in release.release.columns if not name.startswith("triton-")]
        if stand_ins:
            lines.append(f"{release.release.triton} was measured as {', '.join(stand_ins)}.")
    lines += [f"Left out: {column}: {why}." for column, why in shown.supported.left_out.items()]
    if shown.apart:
        lines.append(
            f"Left out: {shown.apart} reproducers of known issues, which fail by design (--reproducers)."
        )
    if shown.run.status != "finished":
        lines.append(f"Run {shown.run.id} is not whole: {shown.run.status}.")
    return lines


def _ranged(of: Range) -> str:
    """A kernel's specifier, or why it has none; and its cells that did not run though its column did."""
    missing = [
        release.release.triton
        for release in of.releases
        if release.state == "unknown" and release.missing
    ]
    missing = [
        version
        for version in missing
        if any(
            release.release.columns for release in of.releases if release.release.triton == version
        )
    ]
    text = of.triton.specifier or _without_green(of.releases)
    return f"{text} (not whole: {_list(missing)})" if missing and of.triton.specifier else text


def _without_green(releases: Sequence[Measured]) -> str:
    states = {release.state for release in releases if release.release.columns}
    return next(
        (state for state in ("red", "unsupported") if state in states), RELEASES["unknown"].short
    )


def _table(rows: list[list[str]]) -> str:
    return tabulate(rows[1:], rows[0], disable_numparse=True)


def _pipes(rows: list[list[str]], escaped: Callable[[str], str]) -> str:
    return pipes(rows[0], [[escaped(text) for text in row] for row in rows[1:]])


def _fold(text: str) -> str:
    """A specifier has no blanks, and is legal with them: folded after a comma, so that a row fits."""
    lines = [""]
    for part in text.replace(",", ", ").split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > _WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {part}".strip()
    return "\n".join(lines)


def _list(releases: Sequence[Version]) -> str:
    return ", ".join(map(str, releases))
