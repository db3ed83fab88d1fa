"""docs/evidence/libraries.md: op x column for every release and target, made from the records. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswarp.compat.doctor_text import short_link
from crosswarp.matrix import versions
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.work import library_ops
from crosswarp.matrix.work.library_ops import Cause, Cell, Library, Verdict
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

ABSENT = "-"


@dataclass(frozen=True)
class Facts:
    """Facts that the page has besides the table."""

    # When the oldest and the newest of its cells were run.
    first: str
    last: str
    configurations: int
    # Columns whose cells with compat ran with other shims, virtual GPU or launchers than those of now.
    outdated: tuple[str, ...] = ()


def page(cells: Sequence[Cell], file: library_ops.LibraryFile, facts: Facts) -> str:
    verdict = library_ops.judge(cells, file.cause)
    notes = {cause.id: number for number, cause in enumerate(_used(verdict, file.cause), 1)}
    parts = [*_head(cells, verdict, facts)]
    for library in file.library:
        own = [cell for cell in cells if cell.library == library]
        if own:
            parts += [f"## {escape.markdown(library.name)} {escape.markdown(library.release)}"]
            parts += [_asks(library, own), *_tables(own, verdict, notes)]
    parts += _causes(verdict, file.cause, notes)
    parts += _shims(cells)
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(cells: Sequence[Cell], verdict: Verdict, facts: Facts) -> list[str]:
    red = [cell for cell in cells if cell.bare and cell.bare.red]
    fixed = [cell for cell in red if cell.shimmed and cell.shimmed.outcome == "pass"]
    dates = facts.first if facts.first == facts.last else f"{facts.first} to {facts.last}"
    tried = (
        "every configuration"
        if not facts.configurations
        else f"{facts.configurations} configurations (the first and the last that survive its pruning)"
    )
    return [
        "# Published libraries",
        "Made by `crosswarp libraries`; change libraries.toml and the code, not this page.",
        "Each op is imported from the unmodified release and called, forward and backward, in a process of its own on "
        "the virtual GPU: it binds, compiles with the published compiler and is checked against the limits of the "
        "target; "
        "nothing is executed, so no numbers are compared. A cell is without compat → with `crosswarp.compat` "
        "installed, one word "
        "when both agree; `ok` means that forward and backward launched.",
        f"Run {escape.markdown(dates)}. An autotuned kernel is compiled with {tried}. torch answers for the target "
        "(matrix/cell/standins/virtual_torch says with what), and what a library leaves to `torch.compile` runs "
        "uncompiled.",
        f"{len(cells)} cells: {len(red)} fail without compat, of these {len(fixed)} pass with it, "
        f"{len(verdict.explained)} fail for a cause below"
        + (f", **{len(verdict.unexplained)} fail without a cause**" if verdict.unexplained else "")
        + (
            f"; **{len(verdict.broken)} pass without compat and fail with it**"
            if verdict.broken
            else ""
        )
        + (f"; **{len(verdict.not_run)} not run**" if verdict.not_run else "")
        + ".",
        "The shims, the virtual GPU or the suite have changed since the cells with compat of these columns were run: "
        f"{', '.join(map(_short, sorted(facts.outdated, key=_version)))}."
        if facts.outdated
        else "",
    ]


def _asks(library: Library, cells: Sequence[Cell]) -> str:
    """Returns the requirements of the release's metadata, and the columns outside of them."""
    asked = ", ".join(
        f"{name} {spec}"
        for name, spec in (("triton", library.triton), ("torch", library.torch))
        if spec
    )
    outside = [column for column in _columns(cells) if not _within(library, cells, column)]
    if not asked:
        return ""
    text = f"Its metadata asks for {escape.markdown(asked)}."
    if outside:
        text += f" Outside of that, and run all the same: {', '.join(_short(c) for c in outside)}."
    return text


def _within(library: Library, cells: Sequence[Cell], column: str) -> bool:
    record = next(
        (cell.shimmed or cell.bare for cell in cells if cell.column == column and cell.op != "*"),
        None,
    )
    torch = record.versions.get("torch") if record else None
    return versions.within(versions.of_column(column), library.triton) and (
        torch is None or versions.within(torch, library.torch)
    )


def _tables(cells: Sequence[Cell], verdict: Verdict, notes: Mapping[str, int]) -> list[str]:
    parts = []
    # The same page whatever order the cells ended in.
    for target in sorted({cell.target for cell in cells}, key=lambda t: (t.startswith("gfx"), t)):
        at = {(cell.op, cell.column): cell for cell in cells if cell.target == target}
        columns = _columns(list(at.values()))
        rows = [
            [escape.code(op), *(mark(at.get((op, column)), verdict, notes) for column in columns)]
            for op in sorted({op for op, _ in at})
        ]
        parts += [f"**{escape.markdown(target)}**", pipes(["op", *map(_short, columns)], rows)]
    return parts


def mark(cell: Cell | None, verdict: Verdict, notes: Mapping[str, int]) -> str:
    """`ok`, `crash → ok`, `limit → limit [1](#causes)`."""
    if cell is None:
        return ABSENT
    bare, shimmed = _word(cell.bare), _word(cell.shimmed)
    text = bare if bare == shimmed else f"{bare} → {shimmed}"
    cause = verdict.explained.get(cell)
    if cause:
        text += f" [{notes[cause.id]}](#causes)"
    elif cell in verdict.unexplained or cell in verdict.broken:
        text = f"**{text}**"
    return text


def _word(record: Record | None) -> str:
    if record is None:
        return ABSENT
    return {"pass": "ok", "unsupported": "no target"}.get(record.outcome, record.outcome)


def _used(verdict: Verdict, causes: Sequence[Cause]) -> list[Cause]:
    used = {cause.id for cause in verdict.explained.values()}
    return [cause for cause in causes if cause.id in used]


def _causes(verdict: Verdict, causes: Sequence[Cause], notes: Mapping[str, int]) -> list[str]:
    used = _used(verdict, causes)
    if not used:
        return []
    counted = Counter(cause.id for cause in verdict.explained.values())
    rows = [
        [
            str(notes[cause.id]),
            " ".join([escape.markdown(cause.title), *(escape.link(short_link(url), url) for url in cause.links)]),
            escape.markdown(cause.of),
            escape.code(cause.fingerprint),
            str(counted[cause.id]),
        ]
        for cause in used
    ]  # fmt: skip
    heads = ["", "cause", "whose", "error (a regular expression)", "cells"]
    return ["## Causes", "The failures with compat, and their causes.", pipes(heads, rows)]


def _shims(cells: Sequence[Cell]) -> list[str]:
    """Returns the shims that acted where a failing op passes with compat."""
    fixed: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.bare and cell.bare.red and cell.shimmed and cell.shimmed.outcome == "pass":
            # A shim that adds a name or an argument when it is installed does not know who uses it.
            for shim in cell.shimmed.shims or ("",):
                fixed.setdefault(shim, []).append(cell)
    if not fixed:
        return []
    rows = [
        [
            f"[{escape.code(shim)}](../shims.md#{shim})"
            if shim
            else "one that adds names or arguments",
            ", ".join(map(_short, sorted(_columns(own), key=_version))),
            ", ".join(sorted({cell.target for cell in own})),
            str(len(own)),
        ]
        for shim, own in sorted(fixed.items())
    ]
    heads = ["shim", "Triton", "targets", "cells"]
    intro = "Shims that acted where an op fails without compat and passes with it; several may act in one."
    return ["## Fixed by", intro, pipes(heads, rows)]


def _columns(cells: Sequence[Cell]) -> list[str]:
    return sorted(dict.fromkeys(cell.column for cell in cells), key=_version)


def _version(column: str) -> tuple:
    return versions.sort_key(versions.of_column(column))


def _short(column: str) -> str:
    return escape.markdown(column.removeprefix("triton-"))
