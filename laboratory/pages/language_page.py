"""docs/language.md: the names in `triton.language`, a row for each name and option, made from language.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crosswarp.matrix.cell.spelled import parameters
from crosswarp.matrix.facts import language_table
from crosswarp.matrix.facts.language_table import Table
from crosswarp.reports.findings import language_view
from crosswarp.reports.findings.language_view import Row
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

_NAMED = 8
# Modules that follow the language and are in its tables, or are separate compilers.
_NOT_SHOWN = tuple(
    f"triton.{name}."
    for name in (
        "language",
        "experimental.gluon",
        "runtime.interpreter",
        "backends.amd",
        "backends.nvidia",
    )
)


def page(table: Table) -> str:
    parts = [*_head(table), *_came_and_went(table)]
    for section in language_view.sections(table):
        rows = [
            [_label(row), *(square.sign or " " for square in row.squares)] for row in section.rows
        ]
        parts += [f"## {section.title}", section.about, pipes(["", *table], rows)]
    parts += [*_host(table), *_signatures(table)]
    parts += _failures(table)
    return "\n\n".join(part for part in parts if part) + "\n"


def _label(row: Row) -> str:
    return f"⋅ {escape.code(row.label)}" if row.option else escape.code(row.label)


def _head(table: Table) -> list[str]:
    names = _language({name for release in table.values() for name in release.names})
    probes = {probe for release in table.values() for probe in release.probes}
    dates = sorted(release.about.get("checked", "") for release in table.values())
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    unprobed = sum(
        not any(release.probes.get(name) for release in table.values())
        and not language_view.probes_of(table, name)
        for name in names
    )
    return [
        "# The language, release by release",
        "Made by `crosswarp docs` from matrix/facts/language.json, which `crosswarp language --write` makes; change "
        "neither by hand.",
        f"Every public name of `triton.language` in Triton {', '.join(table)}, with the torch that pins each: found by "
        "introspection, then probed with a kernel of a few lines, which the published compiler compiles for sm_90 and "
        "gfx942 on the virtual GPU (2.3 has no AMD), and which Triton's interpreter runs, compared with PyTorch. "
        f"Nothing here ran on a GPU: that it compiles does not say that its numbers are right. Checked {when}.",
        pipes(
            ["sign", "means"],
            [
                [escape.code(sign) if sign else "(empty)", meaning]
                for sign, meaning in language_view.SIGNS
            ],
        ),
        "A row that begins with ⋅ is an option of the name above it, with the value that was tried. The reason of a "
        "failure stands [at the end](#what-fails-by-its-error).",
        f"{len(names)} names and {len(probes)} probes; {unprobed} names have none.",
    ]


def _language(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not language_table.of_host(name))


def _came_and_went(table: Table) -> list[str]:
    releases = list(table.items())
    rows = []
    for (_, before), (version, now) in zip(releases, releases[1:], strict=False):
        came = _language(now.names.keys() - before.names.keys())
        went = _language(before.names.keys() - now.names.keys())
        rows.append([escape.markdown(version), _names(came), _names(went)])
    if not rows:
        return []
    intro = "Against the column before. Launch options and libdevice are in their own tables."
    return ["## What came and went", intro, pipes(["", "came", "went"], rows)]


def _names(names: Iterable[str]) -> str:
    """The language's own names; those that became a method or moved out of tl.math are counted."""
    own, counted = [], {"tensor.": 0, "tl.math.": 0}
    for name in names:
        if name.startswith(("libdevice.", "launch.")):
            continue
        prefix = next((start for start in counted if name.startswith(start)), None)
        if prefix:
            counted[prefix] += 1
        else:
            own.append(escape.code(name))
    many = [f"{count} of {escape.code(prefix + '*')}" for prefix, count in counted.items() if count]
    return ", ".join([*own, *many])


def _host(table: Table) -> list[str]:
    """Lists host-side names that some releases lack; a module that comes or goes as a whole has one row."""
    order = list(table)
    where: dict[str, list[str]] = {}
    for version, release in table.items():
        for name in filter(language_table.of_host, release.names):
            where.setdefault(name, []).append(version)
    rows = []
    for name, releases in sorted(where.items()):
        parent = name.rpartition(".")[0]
        public = not any(part.startswith("_") for part in name.split("."))
        if (
            public
            and releases != order
            and not name.startswith(_NOT_SHOWN)
            and where.get(parent) != releases
        ):
            rows.append([escape.code(name), language_table.runs(releases, order)])
    if not rows:
        return []
    asked = {host for release in table.values() if (host := release.about.get("host"))}
    how = " ".join(
        f"{', '.join(v for v in table if table[v].about.get('host') == reason)}: {escape.markdown(reason)}."
        for reason in sorted(asked)
    )
    intro = (
        "What libraries import from Triton itself, and not every release has. Of a module that came or went as a whole "
        f"there is one row; private names, and those of the backends, are in language.json. {how}"
    )
    return ["## The host side", intro.strip(), pipes(["", "Triton"], rows)]


def _signatures(table: Table) -> list[str]:
    rows = []
    for name in sorted({name for release in table.values() for name in release.names}):
        # Functions of tl.math and libdevice have only changed the names of their one to four arguments.
        if name.startswith(("tl.math.", "libdevice.")) or _inside(name):
            continue
        before: Mapping[str, str] | None = None
        for version, release in table.items():
            entry = release.names.get(name)
            now = None if entry is None else _parameters(entry.signature)
            if before and now and before != now:
                rows.append(
                    [escape.code(name), escape.markdown(version), "; ".join(_changes(before, now))]
                )
            before = now
    if not rows:
        return []
    return ["## Signatures that changed", pipes(["", "in", "change"], rows)]


def _inside(name: str) -> bool:
    """Whether it is a name of the host side that few call: `triton` and `triton.testing` are for all."""
    if not language_table.of_host(name):
        return False
    return name.rpartition(".")[0] not in ("triton", "triton.testing") or name.startswith(
        "triton._"
    )


def _parameters(signature: str) -> dict[str, str]:
    """Parameter -> default, in order, with `*` among them."""
    if not signature.startswith("("):
        # A launch option: its default alone.
        return {"": signature.removeprefix("=")} if signature else {}
    named = parameters(signature)
    keyword_only = signature.partition("*, ")[2]
    return named if not keyword_only else _with_star(named, parameters(f"({keyword_only}"))


def _with_star(named: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """`named` with a `*` before the keyword-only parameters."""
    before = {name: default for name, default in named.items() if name not in after}
    return {**before, "*": "", **after}


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    added = [_spelled(name, now[name]) for name in now if name not in before and name != "*"]
    gone = [escape.code(name) for name in before if name not in now and name != "*"]
    changed = [
        f"{_spelled(name, before[name])} → {escape.code(now[name] or 'required')}"
        for name in now
        if name in before and before[name] != now[name]
    ]
    texts = [f"+ {text}" for text in added] + [f"− {text}" for text in gone] + changed
    common = [name for name in before if name in now], [name for name in now if name in before]
    if not texts or common[0] != common[1] or ("*" in now) != ("*" in before):
        texts.append(f"now {escape.code(f'({_joined(now)})')}")
    return texts


def _joined(parameters: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name}={default}" if default else name for name, default in parameters.items()
    )


def _spelled(name: str, default: str) -> str:
    return escape.code(f"{name}={default}" if name and default else name or default or "no default")


def _failures(table: Table) -> list[str]:
    """Each error with its place, name and releases."""
    rows = []
    for failure in language_view.failures(table):
        shown = ", ".join(map(escape.code, failure.probes[:_NAMED]))
        if len(failure.probes) > _NAMED:
            shown += f" and {len(failure.probes) - _NAMED} more"
        rows.append([escape.code(failure.outcome), failure.place, shown, failure.releases])
    if not rows:
        return []
    shown = "`…` stands for the name itself. What a release does not have is not here."
    return [
        "## What fails, by its error",
        shown,
        pipes(["error", "where", "what", "Triton"], rows),
    ]
