"""A limit is for one configuration, and what takes longer runs again: alone, with more time, and said."""

from __future__ import annotations

import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.compat import system
from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data
from crosswarp.matrix.cell.kinds.suite import in_child
from crosswarp.matrix.cell.kinds.suite import item as runner
from crosswarp.matrix.cell.kinds.suite.plan import Item
from crosswarp.matrix.cell.starting import specification, turns

ITEM = Item("sm_90", "compile", "bare", "softmax", "case")
FORK = multiprocessing.get_context("fork")


def test_a_limit_that_begins_anew_with_each_message(monkeypatch):
    # A clock that goes on by 25 seconds with each message, for a busy machine may delay a message by a second.
    heard, now = [], system.monotonic
    monkeypatch.setattr(system, "monotonic", lambda: now() + 25 * len(heard))

    def steps(seconds):
        def child(send):
            for number in range(4):
                send(number)
                # Twenty times as long as the parent waits before it looks at the clock.
                time.sleep(1 if number == 2 else 0)
            time.sleep(seconds)
            return "done"

        return child

    assert run_isolated(steps(20), time_limit=60, on_message=heard.append).kind == "timeout"
    heard.clear()
    assert run_isolated(steps(0), time_limit=60, on_message=heard.append, anew=True).value == "done"
    assert heard == [0, 1, 2, 3]
    assert run_isolated(lambda send: time.sleep(60), time_limit=0.3, anew=True).kind == "timeout"


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """`ran(child)`: the messages about an item whose child does that, and the verdict on the whole."""

    def call(child, **limits):
        spec = AskedSuite(
            **{
                "records": str(tmp_path / "records"),
                "time_limit": 60,
                "time_limit_alone": 90,
                **limits,
            }
        )
        monkeypatch.setattr(in_child, "run", child)
        cells = []
        verdict = runner.run(ITEM, spec, lambda *cell: cells.append(cell))
        assert cells[-1][0] == "" and cells[-1][1] == verdict
        return [(config, one.outcome) for config, one, _ in cells], verdict

    return call


def finished(send, config, **verdict):
    send((config, None, 0.0))
    send((config, as_data(Verdict(**{"outcome": "pass", **verdict})), 0.1))


def test_what_was_late_beside_others_and_passes_alone_is_a_pass_that_says_so(ran, tmp_path):
    def child(item, spec, send):
        finished(send, "A")
        send(("B", None, 0.0))
        time.sleep(60 if spec.time_limit == 0.5 else 0)
        finished(send, "B")
        return Verdict("pass")

    cells, verdict = ran(child, time_limit=0.5)
    # Each once, whichever of the two says so.
    assert cells == [("A", "pass"), ("B", "pass"), ("", "pass")]
    assert verdict.resources == {"late": "longer than 0.5 s beside others"}
    assert verdict.message == "longer than 0.5 s beside others, not alone"


def test_what_is_late_alone_as_well_is_a_timeout_that_says_so(ran):
    def child(item, spec, send):
        finished(send, "A")
        send(("B", None, 0.0))
        time.sleep(60)

    cells, verdict = ran(child, time_limit=0.5, time_limit_alone=1)
    assert cells == [("A", "pass"), ("B", "timeout"), ("", "timeout")]
    assert verdict.reason == "longer than 1 s" and verdict.resources["alone"] is True


def test_a_compilation_that_the_guard_ended_is_tried_again_as_well(ran):
    def child(item, spec, send):
        late = {"outcome": "timeout"} if spec.time_limit == 50 else {}
        finished(send, "A", **late)
        return Verdict("pass")

    cells, verdict = ran(child, time_limit=50)
    assert cells == [("A", "pass"), ("", "pass")] and "late" in verdict.resources


def test_without_a_second_limit_it_is_not_run_again(ran):
    cells, verdict = ran(
        lambda item, spec, send: time.sleep(60), time_limit=0.5, time_limit_alone=0
    )
    assert cells == [("", "timeout")]
    assert (verdict.reason, verdict.resources) == ("longer than 0.5 s", {})


def test_what_dies_is_run_again_once_with_the_guard(ran, tmp_path):
    def child(item, spec, send):
        with open(tmp_path / "goes", "a") as file:
            file.write("in place " if spec.in_place else "guarded ")
        finished(send, "A")
        os.abort()

    cells, verdict = ran(child)
    assert cells == [("A", "pass"), ("", "crash")]
    assert (tmp_path / "goes").read_text() == "in place guarded "


@pytest.mark.parametrize(
    "first, second",
    [
        ({"outcome": "pass"}, None),
        ({"outcome": "unsupported", "reason": "language"}, None),
        ({"outcome": "compile-error", "reason": "RuntimeError"}, {"outcome": "crash"}),
        # A configuration that a shim passed over.
        ({"outcome": "pass", "reason": "configuration dropped"}, {"outcome": "pass"}),
    ],
)
def test_only_what_is_plainly_green_is_believed_without_the_guard(ran, first, second):
    def child(item, spec, send):
        found = first if spec.in_place else second
        finished(send, "A", **found)
        return Verdict(found["outcome"], found.get("reason", ""))

    cells, _ = ran(child)
    outcome = (second or first)["outcome"]
    assert cells == [("A", outcome), ("", outcome)]


def test_what_executes_is_run_once(tmp_path, monkeypatch):
    asked = []

    def child(item, spec, send):
        send(("A", vars(Verdict("pass", str(spec.in_place))), 0.1))
        return Verdict("mismatch")

    monkeypatch.setattr(in_child, "run", child)
    item = Item("sm_90", "emulate", "bare", "softmax", "case")
    spec = AskedSuite(records=str(tmp_path / "records"), time_limit=5)
    runner.run(item, spec, lambda *cell: asked.append((cell[0], cell[1].reason)))
    assert asked == [("A", "False"), ("", "")]


def _note(path, text):
    with open(path, "a") as file:
        file.write(f"{text}\n")


def _beside(path, log, goes_on):
    with turns.beside(path):
        _note(log, "beside begins")
        goes_on.wait(60)
        _note(log, "beside ends")


def _alone(path, log):
    with turns.alone(path):
        _note(log, "alone begins")
        time.sleep(0.3)
        _note(log, "alone ends")


def _until(log, text, count=1):
    end = time.monotonic() + 30
    while not log.exists() or log.read_text().count(text) < count:
        assert time.monotonic() < end, log.read_text() if log.exists() else "nothing"
        time.sleep(0.01)


def test_who_is_alone_waits_for_the_others_and_they_for_it(tmp_path):
    path, log, goes_on = str(tmp_path / "turns"), tmp_path / "log", FORK.Event()
    jobs = [FORK.Process(target=_beside, args=(path, log, goes_on)) for _ in range(2)]
    for job in jobs:
        job.start()
    # Beside each other.
    _until(log, "beside begins", 2)
    jobs.append(FORK.Process(target=_alone, args=(path, log)))
    jobs[-1].start()
    # Long enough for it to begin, if it did not wait.
    time.sleep(0.5)
    goes_on.set()
    _until(log, "alone begins")
    jobs.append(FORK.Process(target=_beside, args=(path, log, goes_on)))
    jobs[-1].start()
    for job in jobs:
        job.join(30)
        assert job.exitcode == 0
    said = log.read_text().splitlines()
    assert said[-4:] == ["alone begins", "alone ends", "beside begins", "beside ends"]
    assert said.index("alone begins") > max(
        i for i, text in enumerate(said[:-2]) if text == "beside ends"
    )


def test_a_lock_goes_with_the_process_that_holds_it(tmp_path):
    path, log = str(tmp_path / "turns"), tmp_path / "log"
    job = FORK.Process(target=_beside, args=(path, log, FORK.Event()))
    job.start()
    _until(log, "beside begins")
    job.kill()
    job.join(30)
    with turns.alone(path):
        pass
    assert Path(f"{path}.room").exists()


def _working(path, log):
    with turns.core(path, 2):
        _note(log, "begins")
        # The first waits for another beside it; then a third has time to begin.
        _until(log, "begins", 2)
        time.sleep(0.2)
        _note(log, "ends")


def test_no_more_run_than_there_are_cores(tmp_path):
    path, log = str(tmp_path / "records"), tmp_path / "log"
    others = [FORK.Process(target=_working, args=(path, log)) for _ in range(5)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    running = most = 0
    for line in log.read_text().splitlines():
        running += 1 if line == "begins" else -1
        most = max(most, running)
    assert (most, running, log.read_text().count("ends")) == (2, 0, 5)


def test_a_core_is_free_again_however_its_item_ends(tmp_path):
    path = str(tmp_path / "records")
    dies = FORK.Process(target=lambda: turns.core(path, 1).__enter__() or os.kill(os.getpid(), 9))
    dies.start()
    dies.join()
    with pytest.raises(BlockingIOError), turns.core(path, 1):
        # What an item raises is its own.
        raise BlockingIOError
    with turns.core(path, 1):
        # Whoever was forked meanwhile does not keep it.
        waits = FORK.Process(target=time.sleep, args=(60,))
        waits.start()
    try:
        with turns.core(path, 1):
            pass
    finally:
        waits.kill()
        waits.join()


def test_the_next_lane_is_called_when_few_items_are_left(tmp_path):
    spec = AskedSuite(records=str(tmp_path / "c.jsonl"), jobs=2)
    assert not specification.few_left(spec, "compile")
    specification.plan_of(spec, "compile").write_text('{"items": [1, 2, 3, 4, 5, 6]}')
    assert not specification.few_left(spec, "compile")
    for place in (0, 1):
        specification.begin(spec, "interpret", place)
    assert not specification.few_left(spec, "compile")
    for place in (5, 2):
        specification.begin(spec, "compile", place)
    assert specification.begun(spec, "compile") == {2, 5}
    assert specification.few_left(spec, "compile")
    specification.plan_of(spec, "device").write_text('{"items": []}')
    assert specification.few_left(spec, "device")


@pytest.mark.parametrize("guarded, ways", [(False, [True, False]), (True, [False])])
def test_what_is_known_to_have_died_runs_as_the_guard_sees_it_at_once(
    tmp_path, monkeypatch, guarded, ways
):
    """In place it would die first, and be no verdict."""
    seen = tmp_path / "seen"

    def child(item, spec, send):
        with seen.open("a") as file:
            file.write(f"{spec.in_place}\n")
        return Verdict("crash", reason="SIGABRT")

    monkeypatch.setattr(in_child, "run", child)
    spec = AskedSuite(records=str(tmp_path / "records"), time_limit=5)
    verdict = runner.run(replace(ITEM, guarded=guarded), spec, lambda *cell: None)
    assert verdict.outcome == "crash" and seen.read_text().split() == list(map(str, ways))


def test_columns_side_by_side_take_turns_with_each_other(tmp_path):
    spec = AskedSuite(records=str(tmp_path / "one.jsonl"))
    assert specification.turns(spec) == spec.records
    assert specification.turns(replace(spec, turns="both")) == "both"
