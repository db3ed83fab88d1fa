"""Every word for an outcome, once: of a cell, of a case in both modes, of a run, a release, two results.

Documents, pages, badges and the terminal have their words, signs and order from here, and docs/concepts.md has the
tables (`markdown`). Imports nothing but the standard library: `crosswarp why` has it with the base alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple


class Word(NamedTuple):
    # For a reader who knows the word, and for one who does not.
    short: str
    meaning: str
    sign: str = ""


# A cell's outcome: the result of one case on one column, target and lane, in one mode.
Outcome = Literal[
    "pass", "mismatch", "api-error", "compile-error", "crash", "fault", "limit", "timeout", "unsupported",
    "not-run",
]  # fmt: skip
OUTCOMES: Mapping[Outcome, Word] = {
    "pass": Word("pass", "it ran, and its numbers are right where the lane has any", "✓"),
    "mismatch": Word("mism", "other numbers than PyTorch's", "≠"),
    "api-error": Word("api", "Python raised before anything was compiled", "!"),
    "compile-error": Word("compile", "the compiler refused it", "✗"),
    "crash": Word("crash", "the process died: a signal, an early exit, no memory left", "†"),
    "fault": Word("fault", "the sanitizer saw an access that is wrong", "‡"),
    "limit": Word(
        "limit", "more threads, shared memory, registers or grid than the target has", "▲"
    ),
    "timeout": Word("time", "it took longer than its limit, or never ended", "∞"),
    "unsupported": Word("unsup", "the column or the target lacks what it needs, as declared", "–"),
    "not-run": Word("not-run", "nobody knows; the reason says why", "?"),
}
# The two modes of a cell: in a sentence, and in a column headed "compat".
COMPAT: Mapping[str, Word] = {
    "bare": Word("without", "without compat"),
    "shimmed": Word("with", "with compat"),
}
# The worst first: the first of these that a kernel has is its own. A cell that did not run hides no failure.
WORST: Sequence[Outcome] = (
    "crash", "timeout", "fault", "mismatch", "compile-error", "api-error", "limit", "pass", "unsupported", "not-run",
)  # fmt: skip

# How a cell compares with the known issues. A cell that passes, or is left out, as expected has none.
Fate = Literal[
    "known", "expected", "unexpectedly red", "not fixed", "unexpectedly green", "unexpected pass"
]
FATES: Mapping[Fate, Word] = {
    "known": Word("known", "it fails as a known issue says"),
    "expected": Word("expected", "it fails as the suite or the library expects it to (xfail)"),
    "unexpectedly red": Word("unexpected", "it fails, and no known issue says so"),
    "not fixed": Word(
        "not fixed", "it fails as a known issue says, and the fix of that issue does not help"
    ),
    "unexpectedly green": Word("passes", "it passes where a known issue says that it fails"),
    "unexpected pass": Word(
        "passes", "it passes where the suite or the library expects it to fail"
    ),
}

# The state of a case and configuration on one column, target and lane, without compat and with it together. Several
# together have the first of their states.
Mark = Literal["regressed", "known", "not-run", "fixed", "passing", "unsupported"]
MARKS: Mapping[Mark, Word] = {
    "regressed": Word("regressed", "it fails unexpectedly, or is not fixed"),
    "known": Word("fails, a known issue", "it fails as a known issue says"),
    "not-run": Word("not run", "nobody knows"),
    "fixed": Word("fails, fixed by compat", "it fails without compat and passes with it"),
    "passing": Word("passes", "it passes without compat"),
    "unsupported": Word("not in that release", "it was declared unsupported"),
}

# The state of a run, or of one column or target of it: the deciding mark, or that the run is not whole.
Standing = Literal["regressed", "incomplete", "known", "fixed", "passing", "unsupported", "not-run"]
STANDINGS: Mapping[Standing, Word] = {
    "regressed": Word("regressed", "something is regressed", "❌"),
    "incomplete": Word("incomplete", "nothing is, and something did not run", "⚠️"),
    "known": Word("known", "all ran, and what fails is known", "✅"),
    "fixed": Word("fixed", "all ran, and what fails passes with compat", "✅"),
    "passing": Word("ok", "all ran, and passes without compat", "✅"),
    "unsupported": Word("unsupported", "nothing was to run there", "⚠️"),
    "not-run": Word("not run", "nothing ran", "⚠️"),
}

# The state of a release of Triton, for a suite or one kernel in one mode: the deciding one first.
Release = Literal["red", "unknown", "green", "unsupported"]
RELEASES: Mapping[Release, Word] = {
    "red": Word("fails", "a cell fails, known upstream or not"),
    "unknown": Word(
        "not run", "none fails, and one that was planned, or that another column has, did not run"
    ),
    "green": Word("passes", "all ran or were declared unsupported, and at least one passes"),
    "unsupported": Word("unsupported", "all were declared unsupported"),
}

# How two results of one cell compare, the most important first.
Compared = Literal[
    "regressed", "changed-failure", "fixed", "resource-regressed", "slower", "predicted-slower", "predicted-faster",
    "slower-to-compile", "slower-to-launch", "numbers-changed", "changed", "new", "gone", "unknown", "same",
]  # fmt: skip
COMPARED: Mapping[Compared, Word] = {
    "regressed": Word("regressed", "it passed, and fails"),
    "changed-failure": Word("changed", "it failed, and fails in another way"),
    "fixed": Word("fixed", "it failed, and passes"),
    "resource-regressed": Word(
        "heavier", "it passes, with more resources, or a configuration less to choose from"
    ),
    "slower": Word("slower", "it passes, and takes longer on a GPU"),
    "predicted-slower": Word(
        "predicted slower",
        "it passes, and is predicted to take at least 5 % longer on its GPU; no failure",
    ),
    "predicted-faster": Word(
        "predicted faster", "it passes, and is predicted to take at least 5 % less; no failure"
    ),
    "slower-to-compile": Word(
        "slower to compile",
        "it passes, and takes at least twice the CPU seconds to compile; no failure",
    ),
    "slower-to-launch": Word(
        "slower to launch",
        "it passes, and a launch keeps the host a quarter longer at least; no failure",
    ),
    "numbers-changed": Word(
        "with other numbers", "it passes, and what it computes is not bitwise equal; no failure"
    ),
    "changed": Word("changed", "it passes with other figures, of which none is plainly worse"),
    "new": Word("new", "the older side does not have it"),
    "gone": Word("gone", "the newer side does not have it"),
    "unknown": Word("unknown", "one side did not run"),
    "same": Word("same", "nothing of that"),
}


def markdown() -> str:
    """The tables of docs/concepts.md."""
    tables: Sequence[tuple[str, Mapping[Any, Word]]] = (
        ("of a cell", OUTCOMES),
        ("of a cell, beside the known issues", FATES),
        ("of a case, without compat and with it", MARKS),
        ("of a run", STANDINGS),
        ("of a release", RELEASES),
        ("of two results", COMPARED),
    )
    parts = []
    for title, words in tables:
        rows = [f"| `{name}` | {word.meaning} |" for name, word in words.items()]
        parts.append("\n".join([f"| {title} | |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)
