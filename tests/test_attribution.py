"""The axis that carries a regression: over all patterns of answers, and what a combination is and shows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns
from crosswarp.matrix.running import attribution
from crosswarp.matrix.running.attribution import (
    answer,
    attribute,
    combined,
    differing,
    side,
    symptom,
)
from crosswarp.matrix.running.bisection import judge

AXES = attribution.AXES
ANSWERS = ("good", "bad", "cannot say")
TABLE = columns.load()


def asked(axes):
    """The combinations that swapping one axis makes, A and B themselves left out."""
    whole = frozenset(axes)
    made = [frozenset({axis}) for axis in axes] + [whole - {axis} for axis in axes]
    return [one for one in dict.fromkeys(made) if one and one != whole]


def found(axes, answers, rest="good"):
    """What is found where `answers` says; no combination is asked twice, and one more only for a pair out of four."""
    left = dict(answers)
    more = []

    def ask(combination):
        if combination not in answers:
            more.append(combination)
            return rest
        return left.pop(combination)

    result = attribute(axes, ask)
    assert not left
    if more:
        assert more == [frozenset(result.axes)] and (len(result.axes), len(axes)) == (2, 4)
    return result


def patterns(axes, words=ANSWERS):
    combinations = asked(axes)
    for chosen in itertools.product(words, repeat=len(combinations)):
        yield dict(zip(combinations, chosen))


def completions(answers):
    """All that the history may be when what could not be told is told."""
    open_ones = [one for one, word in answers.items() if word == "cannot say"]
    for words in itertools.product(("good", "bad"), repeat=len(open_ones)):
        yield {**answers, **dict(zip(open_ones, words))}


def holds(result, axes, answers):
    """Whether what was said is so, of answers that are all known."""
    whole = frozenset(axes)
    answers = {**answers, frozenset(): "good", whole: "bad"}
    breaks = {axis for axis in axes if answers[frozenset({axis})] == "bad"}
    heals = {axis for axis in axes if answers[whole - {axis}] == "good"}
    named = set(result.axes)
    return {
        "carries": bool(named) and named <= breaks & heals,
        "enough": bool(named) and named <= breaks,
        "together": not breaks and named <= heals,
        "needed": bool(named) and named <= heals,
        "open": not named,
    }[result.verdict]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_pattern_of_answers(count):
    axes = AXES[:count]
    for answers in patterns(axes):
        result = found(axes, answers)
        verdicts = set()
        for known in completions(answers):
            assert holds(result, axes, known), answers
            verdicts.add(found(axes, known).verdict)
        # An open end is one only where it matters, and none is left when everything is known.
        assert verdicts <= {"carries", "enough", "together"}
        if not result.answered:
            assert len(verdicts) > 1, answers
        if result.verdict in ("carries", "together"):
            assert verdicts == {result.verdict}, answers


def test_all_four_axes():
    for answers in patterns(AXES):
        result = found(AXES, answers)
        known = {one: word for one, word in answers.items() if word != "cannot say"}
        if len(known) == len(answers):
            assert holds(result, AXES, known) and result.answered
        carriers = {
            axis for axis in AXES
            if answers[frozenset({axis})] == "bad" and answers[frozenset(AXES) - {axis}] == "good"
        }  # fmt: skip
        assert (set(result.axes) == carriers) if carriers else (result.verdict != "carries")


TRUTHS = {
    "numpy": (lambda taken: "numpy" in taken, ("carries", ("numpy",))),
    "pair": (lambda taken: {"triton", "torch"} <= taken, ("together", ("triton", "torch"))),
    "either": (lambda taken: bool({"triton", "torch"} & taken), ("enough", ("triton", "torch"))),
    "any two": (lambda taken: len(taken) > 1, ("together", ())),
    "all": (lambda taken: len(taken) == 4, ("together", AXES)),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_what_is_so_is_found_and_never_denied(truth):
    is_bad, expected = TRUTHS[truth]
    answers = {one: "bad" if is_bad(one) else "good" for one in asked(AXES)}
    result = found(AXES, answers, "bad" if is_bad({"triton", "torch"}) else "good")
    assert (result.verdict, result.axes) == expected
    assert result.whole == (truth in ("pair", "all"))
    for hidden in itertools.product((False, True), repeat=len(answers)):
        partly = {
            one: "cannot say" if hide else word
            for hide, (one, word) in zip(hidden, answers.items())
        }
        result = found(AXES, partly)
        assert holds(result, AXES, answers)


def test_a_pair_that_takes_a_third_is_not_the_whole_of_it():
    def is_bad(taken):
        return {"triton", "torch"} <= taken and len(taken) > 2

    answers = {one: "bad" if is_bad(one) else "good" for one in asked(AXES)}
    result = found(AXES, answers, "good")
    assert (result.axes, result.whole) == (("triton", "torch"), False)


def test_one_axis_needs_no_trial_and_none_is_an_error():
    result = found(["numpy"], {})
    assert (result.verdict, result.axes) == ("carries", ("numpy",))
    with pytest.raises(ValueError, match="no axis"):
        attribute([], lambda combination: "good")


# What a combination shows


@pytest.fixture
def crash(make_record):
    return lambda **changes: make_record(**{"outcome": "crash", "fingerprint": "abort", **changes})


def test_bad_is_what_fails_as_b_does(make_record, crash):
    green = judged([make_record(case="1"), make_record(case="2")])
    b = judged([crash(case="1"), make_record(case="2")])
    wrong = symptom(b, green)
    assert wrong == (b.records[0],)
    assert answer(b, wrong) == ("bad", "crash: abort")
    assert answer(green, wrong) == ("good", "2 cells pass")
    other = crash(case="1", fingerprint="instrN")
    told = ("cannot say", "fails in another way: crash: instrN")
    assert answer(judged([other]), wrong) == told
    # Only the cases that are red on B count: what else a combination breaks is not what is asked.
    elsewhere = [make_record(case="1"), crash(case="2", fingerprint="instrN")]
    assert answer(judged(elsewhere), wrong) == ("good", "passes where B fails (crash: instrN)")
    assert answer(judged([other, crash(case="2")]), wrong) == told


def test_green_is_only_what_ran_where_b_is_red(make_record, crash):
    wrong = symptom(judged([crash(case="1")]), judged([make_record(case="1")]))
    unsupported = make_record(case="1", outcome="unsupported")
    for lacking in ([make_record(case="2")], [unsupported, make_record(case="2")]):
        assert answer(judged(lacking), wrong) == ("cannot say", "1 was not run")
    not_run = make_record(case="1", outcome="not-run", message="no wheel")
    assert answer(judged([not_run]), wrong) == ("cannot say", "not run: no wheel")
    assert answer(judged([]), wrong)[0] == "cannot say"


def test_an_import_that_failed_on_b_is_green_where_another_case_of_the_place_ran(
    make_record, crash
):
    wrong = (crash(kernel="*", case="import", phase="import"),)
    assert answer(judged([make_record(case="1")]), wrong)[0] == "good"
    missing = ("cannot say", "import was not run")
    assert answer(judged([make_record(case="1", target="sm_80")]), wrong) == missing
    elsewhere = make_record(case="1", target="sm_80")
    assert answer(judged([elsewhere, make_record(case="1")]), wrong)[0] == "good"
    assert answer(judged([make_record(case="1", phase="import")]), wrong) == missing


def test_what_is_wrong_with_b_is_what_a_has_green(make_record, crash):
    old, new, unknown = crash(case="old"), crash(case="new"), crash(case="unknown")
    b = judged([old, new, unknown])
    a = judged([crash(case="old"), make_record(case="new")])
    assert symptom(b, a) == (new,)
    assert symptom(b, judged([crash(case="old")])) == (old, new, unknown)
    assert symptom(judged([make_record()]), a) == ()


def test_wrong_numbers_are_wrong_numbers(make_record, crash):
    wrong = (crash(outcome="mismatch", fingerprint="mismatch: nan"),)
    other = crash(outcome="mismatch", fingerprint="mismatch: values")
    assert answer(judged([other]), wrong)[0] == "bad"


def test_what_is_declared_unsupported_can_be_attributed_too(make_record):
    lacks = make_record(outcome="unsupported", reason="interpreter", message="pin numpy<2.4")
    both = make_record(outcome="unsupported", case="bf16", message="no bf16")
    green = judged([make_record(), both])
    wrong = symptom(judged([lacks, both]), green)
    assert wrong == (lacks,)
    assert answer(judged([lacks]), wrong) == ("bad", "unsupported: pin numpy<2.4")
    assert answer(green, wrong)[0] == "good"
    other = make_record(outcome="unsupported", message="pin numpy<2")
    assert answer(judged([other]), wrong)[0] == "cannot say"
    # Where something ran, a cell that is declared unsupported is nothing wrong.
    assert symptom(judged([lacks, make_record(case="other")]), green) == ()
    assert symptom(judged([]), green) == ()


def judged(records):
    return replace(judge(records), records=tuple(records))


# What a combination is


@pytest.fixture
def sides(make_record):
    """The sides of columns by id, with the numpy and Python that they ran on."""

    def make(name, numpy="1.26.4", python="3.11.7"):
        (column,) = columns.choose(TABLE, [name])
        ran = {"triton": "x", "torch": f"{column.torch}+cu124", "numpy": numpy, "python": python}
        return side(column, judged([make_record(column=name, versions=ran)]))

    return make


@pytest.mark.parametrize(
    ("a", "b", "taken", "made"),
    [
        (("triton-3.0.0",), ("triton-2.3.1",), {"triton"}, "triton-2.3.1+torch-2.4.1"),
        (("triton-3.0.0",), ("triton-2.3.1",), {"torch"}, "triton-3.0.0+torch-2.3.1"),
        (("triton-3.0.0",), ("triton-2.3.1",), set(), "triton-3.0.0"),
        (("triton-3.0.0",), ("triton-2.3.1",), {"triton", "torch"}, "triton-2.3.1"),
        # What the Triton's own column would bring is not what the other side ran on.
        (("triton-3.0.0",), ("triton-3.9.0", "2.4.1"), {"triton"}, "triton-3.9.0+torch-2.4.1+numpy-1.26.4"),
        (("triton-3.0.0",), ("triton-3.9.0", "2.4.1"), {"torch"}, "triton-3.0.0+torch-2.15.0"),
        (("triton-3.0.0",), ("triton-3.9.0", "2.4.1"), {"numpy"}, "triton-3.0.0+numpy-2.4.1"),
        (("triton-3.0.0",), ("triton-3.9.0", "2.4.1"), {"triton", "torch"}, "triton-3.9.0+numpy-1.26.4"),
        # The same on both sides, and the other Triton's own is another.
        (
            ("triton-3.1.0+numpy-2.0.2", "2.0.2"), ("triton-3.2.0+numpy-2.0.2", "2.0.2"), {"triton"},
            "triton-3.2.0+torch-2.5.1+numpy-2.0.2",
        ),
        # Any patch of a Python, but where one was asked for.
        (("triton-3.2.0",), ("triton-3.2.0+python-3.12", "1.26.4", "3.12.1"), {"python"}, "triton-3.2.0+python-3.12"),
        (
            ("triton-3.1.0",), ("triton-3.2.0+python-3.12.1", "1.26.4", "3.12.1"), {"triton"},
            "triton-3.2.0+torch-2.5.1+python-3.11",
        ),
        (
            ("triton-3.1.0",), ("triton-3.2.0+python-3.12.1", "1.26.4", "3.12.1"), {"python"},
            "triton-3.1.0+python-3.12.1",
        ),
        (
            ("triton-3.1.0",), ("triton-3.2.0+python-3.11.2", "1.26.4", "3.11.2"), {"python"},
            "triton-3.1.0+python-3.11.2",
        ),
    ],
)  # fmt: skip
def test_the_column_of_a_combination(sides, a, b, taken, made):
    assert combined(TABLE, sides(*a), sides(*b), frozenset(taken)).id == made


def test_an_axis_on_which_both_agree_is_left_out(sides):
    assert differing(sides("triton-3.0.0"), sides("triton-2.3.1")) == ("triton", "torch")
    # A build's local part is no version.
    assert differing(sides("triton-3.2.0"), sides("triton-3.2.0+numpy-2.4.1", "2.4.1")) == (
        "numpy",
    )
    assert differing(sides("triton-3.2.0"), sides("triton-3.9.0", "2.4.1", "3.12.1")) == AXES


def test_a_combination_that_no_column_can_be(sides):
    a, b = sides("triton-2.3.1"), sides("triton-3.9.0+python-3.14", "2.4.1", "3.14.0")
    with pytest.raises(UsageError, match="takes Python"):
        combined(TABLE, a, b, frozenset({"python"}))


def test_one_version_spelled_in_two_ways_is_no_difference(sides):
    good = sides("triton-3.1.0")
    spelled = replace(good, versions={**good.versions, "triton": "3.1.0+git1A2B", "numpy": "1.26"})
    other = replace(good, versions={**good.versions, "triton": "3.1.0+git1a2b", "numpy": "1.26.0"})
    assert differing(spelled, other) == ()
    built_later = replace(other, versions={**other.versions, "triton": "3.1.0+git1a2c"})
    assert differing(spelled, built_later) == ("triton",)
