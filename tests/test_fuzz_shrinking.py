"""Hypothesis as the reducer: it begins with the recorded program and ends with a small one that shows the same."""

import re

import pytest

from crosswarp.laboratory.fuzzing import generator, languages, meaning, shrinking
from crosswarp.laboratory.fuzzing.choices import Replayed
from crosswarp.matrix.facts import language_table

NEW = languages.common(language_table.load(), ["3.8.0", "3.9.0"])


def make(choices):
    return generator.generate(choices, "small", NEW)


@pytest.mark.parametrize(
    "text, lines",
    [(r"tl\.dot\(", 24), (r"tl\.sort\(", 20)],
    ids=["a product", "a sort"],
)
def test_a_program_becomes_small(text, lines):
    """`lines` is about what a person would write for it, with the imports."""

    def shows(program):
        return re.search(text, program.kernel) is not None

    begun = next(one for number in range(300) if shows(one := generator.seeded(4, number, NEW)))
    found = shrinking.shrink(begun, make, shows, seconds=6000, most=250)
    assert shows(found)
    meaning.answers(found)
    assert len(found.kernel) < len(begun.kernel)
    assert len(found.kernel.splitlines()) <= lines, found.kernel
    assert generator.generate(Replayed(found.choices), "small", NEW).kernel == found.kernel


def test_two_runs_end_with_one_program():
    programs = (generator.seeded(4, number, NEW) for number in range(300))
    begun = next(one for one in programs if "tl.dot(" in one.kernel)

    def small():
        return shrinking.shrink(begun, make, lambda one: "tl.dot(" in one.kernel, 6000, most=25)

    found = [meaning.digest(small()) for _ in range(3)]
    assert len({*found}) == 1 and found[0] != meaning.digest(begun)


def test_what_cannot_be_smaller_stays():
    begun = generator.seeded(4, 3, NEW)
    found = shrinking.shrink(begun, make, lambda program: False, seconds=600, most=40)
    assert found.kernel == begun.kernel


def test_no_program_is_run_twice_nor_beyond_the_limit():
    begun, seen = generator.seeded(4, 5, NEW), []

    def shows(program):
        seen.append(program.kernel + repr(program.options) + repr(program.numbers))
        return "tl.load(" in program.kernel

    shrinking.shrink(begun, make, shows, seconds=600, most=50)
    assert len(seen) == len(set(seen)) <= 50


def test_nothing_is_tried_after_the_time():
    begun, seen = generator.seeded(4, 5, NEW), []
    shrinking.shrink(begun, make, lambda program: not seen.append(program), seconds=0)
    assert not seen
