"""Where a program's choices come from: a seed, a recording, or Hypothesis.

Every choice is a whole number below a count, and 0 is the plainest. So a program is a list of numbers, which can be
kept, replayed, and made smaller by Hypothesis, whose own sequence of choices it then is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Base of the three; `taken` is the recording.

    Attributes:
        taken: every number that was given, in order.
    """

    def __init__(self) -> None:
        self.taken: list[int] = []

    def _draw(self, count: int) -> int:
        raise NotImplementedError

    def below(self, count: int) -> int:
        """Returns a number from 0 to `count` - 1. A single option consumes no choice."""
        if count < 2:
            return 0
        number = self._draw(count)
        self.taken.append(number)
        return number

    def one_of(self, options: Sequence[T]) -> T:
        """One of `options`, the plainest first."""
        return options[self.below(len(options))]

    def near(self, options: Sequence[T]) -> T:
        """One of `options`, an early one more likely."""
        return options[self.below(self.below(len(options)) + 1)]

    def chance(self, times: int, of: int) -> bool:
        """True in so many of so many cases; False is the plainer answer."""
        return self.below(of) >= of - times

    def weighted(self, options: Sequence[tuple[T, int]]) -> T:
        """One of the first members of `options`, each as often as the second says."""
        place = self.below(sum(weight for _, weight in options))
        for option, weight in options:
            place -= weight
            if place < 0:
                return option
        raise AssertionError("weights are positive")

    def part(self, make: Callable[[], None]) -> None:
        """Do `make`, whose choices belong together: a reducer may leave all of them out."""
        make()


class Seeded(Choices):
    """Program `number` of `seed`: the same on every machine and Python, whatever came before it."""

    def __init__(self, seed: int, number: int) -> None:
        super().__init__()
        # A text, because Python promises the sequence of a text's seed; `random()`, because it promises no more of
        # the other methods than that.
        self._random = random.Random(f"crosswarp {seed} {number}")

    def _draw(self, count: int) -> int:
        return int(self._random.random() * count)


class Replayed(Choices):
    """A recording. Beyond its end, and where a number is too large, it makes the plainest choice."""

    def __init__(self, numbers: Sequence[int]) -> None:
        super().__init__()
        self._numbers = list(numbers)
        self._next = 0

    def _draw(self, count: int) -> int:
        number = self._numbers[self._next] if self._next < len(self._numbers) else 0
        self._next += 1
        return number if 0 <= number < count else 0
