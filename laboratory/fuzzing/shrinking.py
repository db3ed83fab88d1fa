"""A program that shows a failure, made smaller by Hypothesis: its choices are Hypothesis' own sequence.

Hypothesis starts from the recorded program, through its database, so that it need not find it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes

from . import meaning
from .choices import Choices
from .program import IllDefined, Program

# Hypothesis draws more than one choice for a number of a larger range.
MOST_OPTIONS = 128


def shrink(
    begun: Program,
    make: Callable[[Choices], Program],
    shows: Callable[[Program], bool],
    seconds: float,
    most: int = 400,
) -> Program:
    """Returns the smallest program found that still shows it; `begun` itself if no smaller one does.

    Hypothesis tries some at random, the same ones for one program: two runs that end in time give the same program.

    Args:
        make: the generator, with the language and avoided shapes of `begun`.
        shows: runs a program; returns whether it shows the same.
        seconds: after these no other program is tried.
        most: the most programs run.
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

    # Not hypothesis.find: with a seed it takes nothing from a database.
    @settings(
        # One extra choice: Hypothesis takes a recording that replays exactly for already small.
        database=_Begun(choices_to_bytes((*begun.choices, 0))), phases=(Phase.reuse, Phase.shrink), deadline=None,
        max_examples=10 * most, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    @seed(meaning.digest(begun))
    @given(_programs(make))
    def none_shows_it(program: Program) -> None:
        if holds(program):
            raise _Shown

    with suppress(_Shown, _Enough):
        none_shows_it()
    return best[0]


class _Begun(InMemoryExampleDatabase):
    """Returns the initial recording under the first key requested, whatever Hypothesis names it."""

    def __init__(self, recorded: bytes) -> None:
        super().__init__()
        self._recorded: bytes | None = recorded

    def fetch(self, key: bytes) -> Iterable[bytes]:
        if self._recorded is not None:
            self.save(key, self._recorded)
            self._recorded = None
        return super().fetch(key)


class _Shown(Exception):
    """The program shows it."""


class _Enough(KeyboardInterrupt):
    """Time and programs are used up. Of this kind alone Hypothesis makes no counterexample."""


@st.composite
def _programs(draw: Callable[[st.SearchStrategy], object], make: Callable[[Choices], Program]) -> Program:  # fmt: skip
    try:
        return make(_Drawn(draw))
    except IllDefined:
        reject()


class _Drawn(Choices):
    """Choices that Hypothesis makes. Related choices form a separate strategy, which it may drop as one."""

    def __init__(self, draw: Callable[[st.SearchStrategy], object]) -> None:
        super().__init__()
        self._ask = draw

    def _draw(self, count: int) -> int:
        assert count <= MOST_OPTIONS
        number = self._ask(st.integers(0, count - 1))
        assert isinstance(number, int)
        return number

    def part(self, make: Callable[[], None]) -> None:
        # Called inside its draw; choices that `make` draws through ours use the same data.
        self._ask(st.builds(make))
