"""A program that shows something, made smaller by Hypothesis: its choices are Hypothesis' own sequence.

What Hypothesis is given to begin with is the recorded program, by way of its database, so that it need not find it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, find, reject, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.errors import NoSuchExample

from . import meaning
from .choices import Choices
from .program import IllDefined, Program

_KEY = b"crosswarp"
# Hypothesis draws more than one choice for a number of a larger range.
MOST_OPTIONS = 128


def shrink(
    begun: Program,
    make: Callable[[Choices], Program],
    shows: Callable[[Program], bool],
    seconds: float,
    most: int = 400,
) -> Program:
    """The smallest program found that still shows it; `begun` itself where none smaller does.

    Hypothesis tries some at random: two runs may end with two programs.

    Args:
        make: the generator, with the language and what is avoided as for `begun`.
        shows: runs a program, and says whether it shows the same.
        seconds: after these no other program is tried.
        most: how many are run.
    """
    ends = time.monotonic() + seconds
    known: dict[str, bool] = {meaning.digest(begun): True}
    best = [begun]

    def holds(program: Program) -> bool:
        place = meaning.digest(program)
        if place not in known:
            if time.monotonic() > ends or len(known) > most:
                raise _Enough
            try:
                meaning.answers(program)
                known[place] = shows(program)
            except IllDefined:
                known[place] = False
        if known[place] and len(program.kernel) < len(best[0].kernel):
            best[:] = [program]
        return known[place]

    database = InMemoryExampleDatabase()
    # One choice more than it takes: what it would replay exactly, Hypothesis holds to be small already.
    database.save(_KEY, choices_to_bytes((*begun.choices, 0)))
    try:
        found = find(
            _programs(make), holds, database_key=_KEY,
            settings=settings(
                database=database, phases=(Phase.reuse, Phase.shrink), deadline=None, max_examples=10 * most,
                suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
    except (NoSuchExample, _Enough):
        return best[0]
    return min(found, best[0], key=lambda program: len(program.kernel))


class _Enough(KeyboardInterrupt):
    """Time and programs are used up. Of this kind alone Hypothesis makes no counterexample."""


@st.composite
def _programs(draw: Callable[[st.SearchStrategy], object], make: Callable[[Choices], Program]) -> Program:  # fmt: skip
    try:
        return make(_Drawn(draw))
    except IllDefined:
        reject()


class _Drawn(Choices):
    """Choices that Hypothesis makes. What belongs together is a strategy of its own, which it may drop as one."""

    def __init__(self, draw: Callable[[st.SearchStrategy], object]) -> None:
        super().__init__()
        self._ask = draw

    def _draw(self, count: int) -> int:
        assert count <= MOST_OPTIONS
        number = self._ask(st.integers(0, count - 1))
        assert isinstance(number, int)
        return number

    def part(self, make: Callable[[], None]) -> None:
        # Called inside of its own draw; what it draws by ours is of the same data.
        self._ask(st.builds(make))
