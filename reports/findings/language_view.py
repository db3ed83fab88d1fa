"""The language table as rows: of sections, of names and their options, each with a square for each release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from crosswarp.matrix import versions
from crosswarp.matrix.cell import spelled
from crosswarp.matrix.facts import language_table
from crosswarp.matrix.facts.language_table import INTERPRETER, PASS, TARGETS, Release, Table

UNPROBED = "?"
SIGNS = (
    ("✓", "compiles for NVIDIA and AMD, where the release and the name are for both; the interpreter is right"),
    ("✓≠", "compiles so, and the interpreter's numbers are wrong"),
    ("✓!", "compiles so, and the interpreter fails"),
    ("✓°", "compiles so; not compared in the interpreter"),
    ("N", "compiles for NVIDIA only; of the interpreter as above: N≠, N!, N°"),
    ("A", "compiles for AMD only, likewise"),
    ("✗", "exists, and compiles for neither"),
    (UNPROBED, "exists; no probe of ours says more"),
    ("", "does not exist"),
)  # fmt: skip
_SECTIONS = (
    ("tl.", "triton.language", "tl is triton.language."),
    ("tensor.", "Methods of a tensor", "They take what the function of that name takes."),
    ("tensor_descriptor.", "Methods of a tensor descriptor", ""),
    ("tl.math.", "triton.language.math", "In Triton 2.3 it was NVIDIA's libdevice."),
    ("launch.", "Launch options of CUDA", "Fields of the backend's options, as in `kernel[grid](…, num_warps=8)`. What "
     "is probed compiles a tl.dot with another value than the default."),
    ("launch.hip.", "Launch options of AMD", "Of HIPOptions, for gfx942."),
    ("tl.extra.cuda.", "triton.language.extra.cuda", ""),
    ("tl.extra.hip.", "triton.language.extra.hip", ""),
    ("libdevice.", "libdevice", "In triton.language.extra; each backend has its own behind it."),
)  # fmt: skip


@dataclass(frozen=True)
class Square:
    """One row in one release: its sign, and its failures, as place and outcome."""

    sign: str
    why: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Row:
    """A name, or an option of the name above it."""

    label: str
    option: bool
    squares: tuple[Square, ...]


@dataclass(frozen=True)
class Section:
    title: str
    about: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Failure:
    """One error in one place: the probes that end with it, and in which releases."""

    outcome: str
    place: str
    probes: tuple[str, ...]
    releases: str


def sections(table: Table) -> list[Section]:
    """All that is not empty."""
    names = sorted({name for release in table.values() for name in release.names})
    probed = _probes_by_name(table)
    prefixes = [prefix for prefix, *_ in _SECTIONS]
    made = []
    for prefix, title, about in _SECTIONS:
        longer = tuple(other for other in prefixes if other.startswith(prefix) and other != prefix)
        own = [n for n in names if n.startswith(prefix) and not (longer and n.startswith(longer))]
        if own:
            rows = tuple(row for name in own for row in rows_of(table, name, probed.get(name, [])))
            made.append(Section(title, about, rows))
    return made


def rows_of(table: Table, name: str, probed: Sequence[str] | None = None) -> list[Row]:
    """Returns the row of a name, and one for each of its options and probed values. `probed`: pass it to avoid a
    search for each of many names."""
    if probed is None:
        probed = probes_of(table, name)
    if name.startswith("launch."):
        # The probe is of a value of the option, which has no row without one.
        probe = probed[0] if probed else name
        value = language_table.option_of(probe).partition("=")[2]
        return [_row(table, f"{name}={value}" if value else name, probe)]
    rows = [_row(table, name, name)]
    for option in sorted({text for release in table.values() for text in options(release, name)}):
        own = [
            probe for probe in probed if language_table.option_of(probe).startswith(f"{option}=")
        ]
        for probe in own or [f"{name}({option}=)"]:
            label = language_table.option_of(probe) if own else option
            rows.append(_row(table, label, probe, option))
    return rows


def _row(table: Table, label: str, probe: str, option: str = "") -> Row:
    name = language_table.name_of(probe)
    return Row(
        label,
        bool(option),
        tuple(
            square(release, probe) if not option or option in options(release, name) else Square("")
            for release in table.values()
        ),
    )


def probes_of(table: Table, name: str) -> list[str]:
    """The probes about options of a name, of any release."""
    return _probes_by_name(table).get(name, [])


def _probes_by_name(table: Table) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = defaultdict(list)
    for probe in sorted({probe for release in table.values() for probe in release.probes}):
        name = language_table.name_of(probe)
        if probe != name:
            by_name[name].append(probe)
    return by_name


def options(release: Release, name: str) -> dict[str, str]:
    """The parameters of a function that have a default, with it."""
    entry = release.names.get(name)
    # A method takes the arguments of the function with its name, which has separate rows.
    function = f"tl.{name.removeprefix('tensor.')}"
    if entry is None or (function != name and function in release.names):
        return {}
    return _with_defaults(entry.signature)


@cache
def _with_defaults(signature: str) -> dict[str, str]:
    """Parsed once: most releases spell a function's signature alike."""
    parameters = spelled.parameters(signature)
    return {name: default for name, default in parameters.items() if default}


def square(release: Release, probe: str) -> Square:
    """Whether it exists, compiles, and is right in the interpreter: no more than was probed."""
    if language_table.name_of(probe) not in release.names:
        return Square("")
    places = release.probes.get(probe)
    if not places:
        return Square(UNPROBED)
    why = tuple((place, outcome) for place, outcome in places.items() if outcome != PASS)
    compiled = {place: places[place] == PASS for place in TARGETS if place in places}
    if compiled and not any(compiled.values()):
        return Square("✗", why)
    return Square(_compiles(compiled) + _interpreted(places.get(INTERPRETER)), why)


def _compiles(answers: Mapping[str, bool]) -> str:
    if not answers:
        return UNPROBED
    if all(answers.values()):
        return "✓"
    return "N" if answers.get(TARGETS[0]) else "A"


def _interpreted(outcome: str | None) -> str:
    if outcome is None:
        return "°"
    if outcome == PASS:
        return ""
    return "≠" if outcome.startswith("mismatch") else "!"


def failures(table: Table) -> list[Failure]:
    """By place, then by error."""
    by_place: dict[tuple[str, str], dict[str, list[str]]] = {}
    for version, release in table.items():
        for probe, places in release.probes.items():
            for place, outcome in places.items():
                if outcome != PASS:
                    by_place.setdefault((place, outcome), {}).setdefault(probe, []).append(version)
    order = sorted(table, key=versions.sort_key)
    return [
        Failure(
            outcome,
            place,
            tuple(sorted(probes)),
            language_table.runs({*chain(*probes.values())}, order),
        )
        for (place, outcome), probes in sorted(by_place.items())
    ]
