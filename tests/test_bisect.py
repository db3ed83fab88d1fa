"""The search over every history, the verdict on a release, and what a folder of wheels is as a history."""

from __future__ import annotations

import itertools
import math

import pytest

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns
from crosswarp.matrix.running import bisection
from crosswarp.matrix.running.bisection import WrongEnd, judge, search

ANSWERS = {"g": "good", "b": "bad", "-": "cannot say"}


class Oracle:
    """Answers from a history such as `gg-bb`, and refuses to be asked twice."""

    def __init__(self, history):
        self.history = history
        self.asked = []

    def __call__(self, position):
        assert position not in self.asked
        self.asked.append(position)
        return ANSWERS[self.history[position]]


def searched(history):
    oracle = Oracle(history)
    found = search(len(history), oracle)
    assert found.asked == tuple((p, ANSWERS[history[p]]) for p in oracle.asked)
    # What is promised of every history.
    assert (history[found.last_good], history[found.first_bad]) == ("g", "b")
    assert {history[p] for p in found.between} <= {"-"}
    assert {found.last_good, found.first_bad, *found.between} <= set(oracle.asked)
    return found


@pytest.mark.parametrize("count", range(2, 13))
def test_every_position_in_few_steps(count):
    for first in range(1, count):
        found = searched("g" * first + "b" * (count - first))
        assert (found.last_good, found.first_bad) == (first - 1, first)
        assert len(found.asked) <= 2 + math.ceil(math.log2(max(count - 1, 1)))


@pytest.mark.parametrize("count", range(2, 10))
def test_every_position_with_every_skip(count):
    for first in range(1, count):
        for skipped in itertools.product((False, True), repeat=count - 2):
            inner = range(1, count - 1)
            out = {p for p, skip in zip(inner, skipped) if skip}
            history = "".join("-" if p in out else "g" if p < first else "b" for p in range(count))
            found = searched(history)
            # As near as the history can tell: the last good before, the first bad after.
            assert found.last_good == max(p for p in range(first) if p not in out)
            assert found.first_bad == min(p for p in range(first, count) if p not in out)


@pytest.mark.parametrize("count", range(2, 9))
def test_any_history_at_all(count):
    for inner in itertools.product("gb-", repeat=count - 2):
        searched("g" + "".join(inner) + "b")


def test_a_history_that_went_bad_twice_says_what_it_saw():
    found = searched("gbgggbb")
    assert found.asked == ((0, "good"), (6, "bad"), (3, "good"), (4, "good"), (5, "bad"))
    assert (found.last_good, found.first_bad) == (4, 5)


def test_a_neighbour_of_what_cannot_say_is_tried():
    assert [p for p, _ in searched("gg---bb").asked] == [0, 6, 3, 2, 4, 1, 5]


@pytest.mark.parametrize(
    ("history", "position", "asked"),
    [("bb", 0, [0]), ("-b", 0, [0]), ("gg", 1, [0, 1]), ("ggg-", 3, [0, 3]), ("gbbg", 3, [0, 3])],
)
def test_an_end_that_is_not_what_it_was_said_to_be(history, position, asked):
    oracle = Oracle(history)
    with pytest.raises(WrongEnd) as caught:
        search(len(history), oracle)
    assert (caught.value.position, oracle.asked) == (position, asked)
    assert caught.value.answer == ANSWERS[history[position]]


@pytest.mark.parametrize("count", [-1, 0, 1])
def test_a_history_has_two_ends(count):
    with pytest.raises(ValueError, match="two ends"):
        search(count, Oracle("g"))


# The verdict on a release


@pytest.mark.parametrize(
    ("outcomes", "answer", "why"),
    [
        (["pass", "pass"], "good", "2 cells pass"),
        (["pass", "unsupported"], "good", "1 cell passes"),
        (["pass", "crash", "not-run"], "bad", "crash: f"),
        (["timeout"], "bad", "timeout: f"),
        (["pass", "not-run"], "cannot say", "not run: because"),
        (["unsupported"], "cannot say", "unsupported: because"),
        ([], "cannot say", "no case"),
    ],
)
def test_the_verdict(make_record, outcomes, answer, why):
    records = [
        make_record(case=str(number), outcome=outcome, message="because", fingerprint="f")
        for number, outcome in enumerate(outcomes)
    ]
    seen = judge(records)
    assert seen.answer == answer and why in seen.why
    assert len(seen.red) == (answer == "bad")


def test_a_column_that_never_came_to_its_cases_cannot_say(make_record):
    failed = make_record(case="*", outcome="not-run", reason="environment failed")
    for records in ([failed], [make_record(), failed]):
        assert judge(records, "fp16*").why == "not run: environment failed"


def test_cases_that_did_not_run_make_no_good_release(make_record):
    problem = "triton-3.2.0: 2 of 3 planned cases did not run"
    assert judge([make_record()], problems=[problem]).answer == "cannot say"
    assert judge([make_record(outcome="crash")], problems=[problem]).answer == "bad"


def test_only_the_chosen_cases_count(make_record):
    records = [make_record(case="fp16-1"), make_record(case="bf16-1", outcome="crash")]
    assert judge(records, "fp16-*").answer == "good"
    assert judge(records, "bf16-*").answer == "bad"
    with pytest.raises(UsageError, match='no case of softmax matches "fp8.*There are: fp16-1'):
        judge(records, "fp8*")


# Wheels


def test_wheels_are_a_history_by_version(tmp_path, make_wheel):
    for version in ("3.10.0", "3.9.0", "3.9.1.dev2"):
        make_wheel(tmp_path, "triton", version)
    make_wheel(tmp_path, "torch", "2.6.0")
    (tmp_path / "triton-broken.whl").write_text("")
    (tmp_path / "triton-3.8.0-cp38-cp38-win32.whl").write_text("")
    made = bisection.wheels(tmp_path, columns.load())
    assert list(made) == ["wheel-triton-3.9.0", "wheel-triton-3.9.1.dev2", "wheel-triton-3.10.0"]
    column, path = made["wheel-triton-3.10.0"]
    assert (column.resolver, column.official) == (
        "main",
        False,
    ) and "setuptools" in column.requirements
    assert path.name == "triton-3.10.0-py3-none-any.whl"
    ids = list(made)
    assert bisection.position(ids, "3.10.0", "--bad") == 2
    assert bisection.wheels(tmp_path, [columns.load()[0]])["wheel-triton-3.9.0"][0].resolver


def test_wheels_whose_order_cannot_be_told(tmp_path, make_wheel):
    for version in ("3.9.0+git1111", "3.9.0+git2222"):
        make_wheel(tmp_path, "triton", version)
    with pytest.raises(UsageError, match="their versions do not tell.*git bisect run"):
        bisection.wheels(tmp_path, columns.load())


def test_one_wheel_is_no_history(tmp_path, make_wheel):
    make_wheel(tmp_path, "triton", "3.9.0")
    with pytest.raises(UsageError, match="holds 1 wheels"):
        bisection.wheels(tmp_path, columns.load())
