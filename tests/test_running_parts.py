"""The small parts of matrix/running at their edges: the plan, the time left, events of a column, bisecting, jobs."""

from __future__ import annotations

import random
import types
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.errors import StoreError, UsageError
from crosswarp.matrix.facts import columns, selection, targets
from crosswarp.matrix.results import pruning
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import (
    asking,
    attribution,
    bisection,
    jobs,
    merge,
    plan,
    process,
    progress,
    unchanged,
)
from crosswarp.matrix.running.bisection import Seen
from crosswarp.matrix.running.column_run import ColumnRun, _ended_how, _no_room
from crosswarp.matrix.running.plan import Coordinate, Plan
from crosswarp.matrix.running.recording import Recording
from crosswarp.matrix.versions import Version
from crosswarp.matrix.work.suite import Suite

TARGETS = targets.load()


class ByPart(Suite):
    BY_PART = True

    def kernels(self):
        return ("softmax", "sort", "layer_norm")


@pytest.fixture
def make_plan():
    """`make_plan(lanes=…)`: a plan of three kernels on two targets."""

    def make(**changes):
        values = {
            "columns": tuple(columns.choose(columns.load(), ["triton-3.2.0"])),
            "lanes": ("compile", "emulate", "interpret"),
            "targets": {name: TARGETS[name] for name in ("sm_80", "gfx942")}, **changes,
        }  # fmt: skip
        return Plan(ByPart(), **values)

    return make


def test_the_targets_and_parts_of_each_lane(make_plan):
    whole, some = make_plan(), make_plan(emulated=("sm_80",))
    of_lanes = {"compile": ["sm_80", "gfx942"], "interpret": ["cpu"], "device": ["gpu"]}
    for planned, emulated in ((whole, ["sm_80", "gfx942"]), (some, ["sm_80"])):
        for lane, names in {**of_lanes, "emulate": emulated}.items():
            assert list(planned.targets_of(lane)) == names
            assert planned.parts(lane) == [
                f"{name}/{mode}" for name in names for mode in ("bare", "shimmed")
            ]
    assert Plan(Suite(), (), {}).parts("compile") == [""]
    missing = make_plan(emulated=("sm_80",), kernels=("so*",), modes=("bare",)).not_run(
        "triton-3.2.0", "why", "m"
    )
    assert {(cell.lane, cell.target, cell.kernel, cell.case) for cell in missing} == {
        (lane, target, kernel, "*")
        for lane, target in (
            ("compile", "sm_80"),
            ("compile", "gfx942"),
            ("emulate", "sm_80"),
            ("interpret", "cpu"),
        )
        for kernel in ("softmax", "sort")
    }
    cell = missing[0]
    assert (cell.outcome, cell.reason, cell.message, cell.phase) == (
        "not-run",
        "why",
        "m",
        "environment",
    )
    assert {cell.kernel for cell in make_plan(kernels=("nothing",)).not_run("a", "b", "c")} == {"*"}


def test_a_plan_describes_what_is_not_the_default(make_plan):
    plain = make_plan().describe()
    assert plain == {
        "columns": ["triton-3.2.0"], "targets": ["sm_80", "gfx942"], "lanes": ["compile", "emulate", "interpret"],
        "modes": ["bare", "shimmed"], "kernels": ["*"], "suite": None,
    }  # fmt: skip
    changes = {
        "cases": ("a*",), "shard": (1, 2), "emulated": ("sm_80",), "sanitize": True, "sample": 3, "estimate": True,
        "batch": True, "warps": (4, 8), "commit": "abc",
    }  # fmt: skip
    for name, value in changes.items():
        described = make_plan(**{name: value}).describe()
        assert described == {**plain, name: list(value) if isinstance(value, tuple) else value}


def test_the_request_to_a_column(make_plan, tmp_path):
    made = make_plan(
        jobs=4, shard=(1, 2), emulated=("sm_80",), warps=(4,), memory_limit_mb=5, time_limit_alone=7
    )
    whole = made.spec("a", {"triton": "3"}, tmp_path / "r", tmp_path / "c", ["taken"])
    assert (whole.column, whole.expect, whole.records) == (
        "a",
        {"triton": "3"},
        str(tmp_path / "r"),
    )
    assert (whole.jobs, whole.turns) == (4, str(tmp_path / "r"))
    assert (whole.lanes, whole.again, whole.planned) == (
        ["compile", "emulate", "interpret"],
        None,
        {},
    )
    assert (whole.shard, whole.emulated, whole.warps, whole.reused) == (
        [1, 2],
        ["sm_80"],
        [4],
        ["taken"],
    )
    assert (whole.time_limit, whole.time_limit_alone, whole.memory_limit_mb) == (120, 7, 5)
    again = {"emulate": ["x"]}
    some = made.spec(
        "a", {}, tmp_path / "r", tmp_path / "c", [], again, {"emulate": 9}, tmp_path / "t"
    )
    assert (some.jobs, some.lanes) == (4, ["emulate"])
    assert (some.again, some.planned, some.turns) == (again, {"emulate": 9}, str(tmp_path / "t"))


def test_the_cases_of_a_plan(make_plan, make_record):
    made = make_plan(cases=("a*", "b"))
    assert [made.has(make_record(case=case)) for case in ("ab", "b", "ba", "c")] == [
        True,
        True,
        False,
        False,
    ]
    assert Coordinate.of(make_record()) == ("sm_90", "compile", "bare", "softmax")


@pytest.mark.parametrize(
    ("text", "shard"),
    [(None, None), ("1/1", None), ("1/2", (1, 2)), ("2/2", (2, 2)), ("9999/9999", (9999, 9999))],
)
def test_a_share(text, shard):
    assert plan.check_shard(text) == shard


@pytest.mark.parametrize(
    "text", ["0/2", "3/2", "1/0", "1", "a/b", "1/2/3", "-1/2", "1/10000", "", "１/2"]
)
def test_what_is_no_share(text):
    with pytest.raises(UsageError, match="write 2/5"):
        plan.check_shard(text)


def test_words_are_chosen_in_a_tuple():
    assert plan.check_words(["b", "a*"], ("aa", "ab", "b"), "lane") == ("aa", "ab", "b")
    with pytest.raises(UsageError, match="There are: aa, b"):
        plan.check_words(["c"], ("aa", "b"), "lane")


@pytest.mark.parametrize(
    ("names", "emulated"),
    [
        (("gfx942",), None),
        (("sm_90", "sm_80"), ("sm_80",)),
        (("gfx942", "sm_90", "sm_89"), ("sm_90",)),
        ((), None),
    ],
)
def test_the_lanes_of_a_run_that_names_none(names, emulated):
    lanes, chosen = plan.default_lanes({name: TARGETS[name] for name in names})
    assert chosen == emulated and ("emulate" in lanes) == bool(emulated) and "compile" in lanes


@pytest.mark.parametrize(
    ("done", "of", "seconds", "words"),
    [
        (5, 100, 5.0, "about 2 min left"), (4.9, 100, 5.0, ""), (5, 100, 4.9, ""), (100, 100, 50.0, ""),
        (50, 100, 89.4, "about 89 s left"), (50, 100, 90.0, "about 2 min left"), (0.5, 4, 10.0, ""),
        (1, 4, 10.0, "about 30 s left"),
    ],
)  # fmt: skip
def test_the_time_left(done, of, seconds, words):
    assert progress.left(done, of, seconds) == words


def test_outcomes_in_words():
    assert progress.counts({"crash": 2, "pass": 1, "timeout": 0}) == "1 pass, 2 crash"
    assert progress.counts({}) == progress.counts({"pass": 0}) == "nothing ran"


def test_the_place_of_a_run_and_its_weighed_rest(monkeypatch):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    phases = progress.Phases()
    assert phases.place == "" and phases.cases("a", 3) == 3
    phases.begins(1)
    phases.next()
    assert phases.place == "" and phases.rest == ""
    phases.begins(3)
    phases.next()
    clock.now = 60.0
    assert phases.place == "column 1 of 3" and phases.rest == "2 more columns, about 2 min left"
    expected = {
        "a": {"compile": progress.Expected(10, 2.0)},
        "b": {"compile": progress.Expected(20, 1.0)},
    }
    phases.expects(expected)
    phases.runs()
    phases.planned("a", "compile", 20)
    phases.planned("c", "compile", 99)
    assert expected["a"]["compile"].cases == 10
    assert (phases.cases("a", 3), phases.cases("b", 30)) == (20, 30)
    for _ in range(10):
        phases.item("a", "sm_90/compile/bare/k/c")
    clock.now += 20
    phases.runs()
    # 20 of 60 weighed seconds are done in 20.
    assert phases.left(1, 2, 999.0) == "about 40 s left for all columns"
    for _ in range(90):
        phases.item("a", "sm_90/compile/bare/k/c")
    assert phases.left(1, 2, 999.0) == "about 10 s left for all columns"


def column_of(tmp_path, make_plan, **changes):
    store = Store(tmp_path / "store.db")
    recording = Recording(store, progress.Progress(), [])
    recording.run = store.begin([], {})
    return ColumnRun(
        "triton-3.2.0",
        make_plan(**changes),
        recording,
        {"triton": "3.2.0"},
        tmp_path,
        tmp_path / "log",
    )


@pytest.mark.parametrize(
    ("column", "measured", "known"),
    [
        ("triton-3.2.0", None, True), ("triton-3.2.0", "3.2.1", True), ("triton-3.2.0", "3.3.0", False),
        ("here-triton", "3.2.0", True), ("here-triton", None, False), ("here-triton", "", False),
    ],
)  # fmt: skip
def test_a_cell_is_explained_by_the_triton_that_its_column_imported(
    tmp_path, make_record, make_issue, column, measured, known
):
    with Store(tmp_path / "store.db") as store:
        recording = Recording(
            store, progress.Progress(), [make_issue(kernels=["*"], configs=["*"])]
        )
        recording.measured = {column: measured}
        cell = make_record(column=column, outcome="crash", fingerprint="reshapeOuts")
        assert recording.explained(cell).issue == ("triton-1" if known else "")


def test_a_note_and_a_problem_are_stored_and_said(tmp_path):
    texts = []
    with Store(tmp_path / "store.db") as store:
        recording = Recording(store, types.SimpleNamespace(say=texts.append), [])
        recording.run = store.begin([], {})
        recording.note("c", "a note")
        assert not recording.problems
        recording.problem("c", "a problem")
        assert recording.problems and texts == ["a note", "a problem"]
        assert [(note.kind, note.column, note.text) for note in store.notes(recording.run)] == [
            ("note", "c", "a note"), ("problem", "c", "a problem"),
        ]  # fmt: skip


ITEM = "sm_80/compile/bare/softmax/a"
CELL = protocol.Cell("sm_80", "compile", "bare", "softmax", "a", "pass")
SESSION = protocol.Session("compile", 1, {"triton": "3.2.0"}, "sm_80/bare")


@pytest.mark.parametrize(
    ("before", "event", "why"),
    [
        ([], protocol.Start(ITEM), ""), ([protocol.Start(ITEM)], protocol.Start(ITEM), "begun before"),
        ([CELL], protocol.Start(ITEM), "begun before"), ([], protocol.End(ITEM), "not begun"),
        ([protocol.Start(ITEM)], protocol.End(ITEM), ""), ([CELL], protocol.End(ITEM), ""),
        ([protocol.Start(ITEM), protocol.End(ITEM)], protocol.End(ITEM), "not begun"),
        ([], protocol.Start(ITEM.replace("compile", "device")), "was not planned"),
        ([], protocol.Start(ITEM.replace("bare", "shimmed")), "was not planned"),
        ([], protocol.Taken(ITEM), "not offered"), ([], SESSION, ""), ([SESSION], SESSION, "begun before"),
        ([], protocol.Session("device", 1, {}), "not planned"),
        ([], protocol.Session("compile", 1, {}, ""), "not planned"),
        ([SESSION], replace(SESSION, part="gfx942/bare"), ""), ([], protocol.Done(), "not of a suite"),
        ([], protocol.Name("a", "function", ""), "not of a suite"), ([], protocol.Senseless("odd"), "odd"),
        ([], protocol.Note("x"), ""), ([], protocol.Target("sm_80", True), ""),
    ],
)  # fmt: skip
def test_an_event_that_contradicts_an_earlier_one(tmp_path, make_plan, before, event, why):
    run = column_of(tmp_path, make_plan, modes=("bare",))
    run.take(before)
    assert run.whole
    run.take([event])
    assert run.whole == (not why) and why in "".join(run._senseless)


def test_cells_that_were_announced_are_missed(tmp_path, make_plan):
    part = protocol.Cell("sm_80", "compile", "bare", "softmax", "a", "pass", config="x")
    for cells, count, whole in (
        ([CELL], 1, True),
        ([part, CELL], 2, True),
        ([CELL], 2, False),
        ([CELL], None, True),
    ):
        run = column_of(tmp_path / str(len(cells)) / str(count), make_plan)
        run.take([protocol.Start(ITEM), *cells, protocol.End(ITEM, count)])
        assert run.whole == whole and run.outcomes == Counter({"pass": len(cells)})
    run.take([CELL])
    assert not run.whole


def test_items_that_were_begun_and_did_not_end(tmp_path, make_plan):
    run = column_of(tmp_path, make_plan)
    other = ITEM.replace("/a", "/b")
    run.take([protocol.Start(ITEM), protocol.Start(other), protocol.End(other, 0), CELL])
    assert run._left_open() == [ITEM]
    run.left_open("crash", "worker died", "m")
    cells = run._to.store.records(run._to.run)
    seen = [(cell.case, cell.config, cell.outcome) for cell in cells]
    assert seen == [("a", "", "pass"), ("a", "worker died", "crash")]


OTHER = protocol.Cell("gfx942", "compile", "bare", "softmax", "a", "pass")
FULL = protocol.Cell("sm_80", "compile", "bare", "softmax", "b", "not-run", reason="disk full")
CASE = [protocol.Start(ITEM), CELL, protocol.End(ITEM, 1)]
DID_NOT = "The compile lane did not say what it was going to run (exit status 0)."


@pytest.mark.parametrize(
    ("events", "status", "late", "problems", "cells"),
    [
        ([SESSION, *CASE], 0, False, [], ["a pass"]),
        ([replace(SESSION, planned=2), *CASE], 0, False, ["1 of 2 planned cases did not run in the compile lane"],
         ["a pass"]),
        ([replace(SESSION, planned=0), *CASE], 0, False, ["planned 0 cases and reported 1"], ["a pass"]),
        ([SESSION, *CASE], 42, False, ["the suite ended with exit status 42: pytest, or"], ["a pass"]),
        ([SESSION, *CASE], None, False, [], ["a pass"]),
        # A case that died half-way is no second problem.
        ([SESSION, protocol.Start(ITEM)], -11, False, [], ["a crash worker died"]),
        ([SESSION, protocol.Start(ITEM)], -11, True, ["not done after 7200 s"], ["a timeout column limit"]),
        ([SESSION, protocol.Start(ITEM), CELL], -11, False, [], ["a pass", "a crash worker died"]),
        ([], 1, False, ["the suite did not start (exit status 1):"], ["* not-run suite did not start"]),
        ([], None, True, ["not done after 7200 s"], ["* not-run column limit"]),
        (CASE, 0, False, [DID_NOT], ["a pass"]),
        ([replace(SESSION, versions={"triton": "3.3.0"})], 0, False,
         ["wrong versions: triton 3.3.0 was imported, planned was 3.2.0"], ["* not-run wrong versions"]),
        ([], 41, False, ["wrong versions: other versions than planned"], ["* not-run wrong versions"]),
        ([SESSION, *CASE, protocol.Senseless("odd"), protocol.Senseless("x")], 0, False,
         ["2 lines of its results could not be read (odd)"], ["a pass"]),
        ([SESSION, *CASE[:2], protocol.End(ITEM, 3)], 0, False, ["2 announced results never arrived"], ["a pass"]),
        ([SESSION, *CASE, CELL], 0, False, ["1 cells were reported twice"], ["a pass"]),
        ([SESSION, protocol.Start(ITEM), protocol.End(ITEM, 0)], 0, False, [], ["a crash ended without a result"]),
        ([replace(SESSION, planned=2), protocol.Start(ITEM), FULL], 0, False, ["The disk is full or read-only"],
         ["b not-run disk full", "a not-run disk full", "b not-run disk full"]),
    ],
)  # fmt: skip
def test_the_account_of_a_column(tmp_path, make_plan, events, status, late, problems, cells):
    limits = {"targets": {"sm_80": TARGETS["sm_80"]}, "lanes": ("compile",), "modes": ("bare",)}
    run = column_of(tmp_path, make_plan, **limits, kernels=("softmax",), column_limit=7200)
    run.take(events)
    run.account(status, late)
    texts = [note.text for note in run._to.store.notes(run._to.run)]
    assert len(texts) == len(problems), texts
    for text, part in zip(texts, problems):
        assert part in text
    assert run._to.problems == bool(problems)
    assert run._to.environment_failed == any(
        "start" in text or "wrong" in text for text in problems
    )
    records = run._to.store.records(run._to.run)
    seen = [f"{cell.case} {cell.outcome} {cell.reason}".strip() for cell in records]
    assert seen == cells
    assert {(cell.column, cell.target) for cell in records} <= {("triton-3.2.0", "sm_80")}


@pytest.mark.parametrize(
    ("events", "late", "problems", "cells"),
    [
        ([], False, [DID_NOT], ["sm_80 compile", "gfx942 compile"]),
        # One target alone said what it runs.
        ([SESSION, *CASE], False, ["gfx942/bare: The compile lane did not say what it was going to run there"],
         ["gfx942 compile"]),
        ([SESSION, *CASE], True, ["not done after"], ["gfx942 compile"]),
        ([SESSION, replace(SESSION, part="gfx942/bare"), *CASE, OTHER], False, [], []),
    ],
)  # fmt: skip
def test_a_part_that_never_began(tmp_path, make_plan, events, late, problems, cells):
    run = column_of(
        tmp_path, make_plan, lanes=("compile", "emulate"), modes=("bare",), kernels=("softmax",)
    )
    emulated = protocol.Session("emulate", 0, {"triton": "3.2.0"}, "sm_80/bare")
    run.take([emulated, replace(emulated, part="gfx942/bare"), *events])
    run.account(0, late)
    texts = [note.text for note in run._to.store.notes(run._to.run)]
    assert len(texts) == len(problems), texts
    for text, part in zip(texts, problems):
        assert part in text
    missing = [cell for cell in run._to.store.records(run._to.run) if cell.outcome == "not-run"]
    assert [f"{cell.target} {cell.lane}" for cell in missing] == cells


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "ended by crosswarp"), (-9, "SIGKILL"), (-200, "signal 200"), (0, "exit status 0"), (7, "exit status 7"),
        (42, "exit status 42: pytest, or a process that forks workers, failed"),
    ],
)  # fmt: skip
def test_how_a_suite_ended(status, words):
    assert _ended_how(status) == words


def test_a_folder_without_room(tmp_path):
    assert not _no_room(tmp_path) and _no_room(tmp_path / "none")


class Recorded(progress.Progress):
    """Every call, in order."""

    def __init__(self):
        self.calls = []

    def __getattribute__(self, name):
        if name in ("planned", "item", "cell", "say"):
            calls = object.__getattribute__(self, "calls")
            return lambda *given: calls.append((name, *given))
        return object.__getattribute__(self, name)


def test_events_go_to_the_store_and_to_the_progress(tmp_path, make_plan, make_record):
    run = column_of(tmp_path, make_plan, modes=("bare",))
    store, number, column = run._to.store, run._to.run, "triton-3.2.0"
    run._to.progress = recorded = Recorded()
    earlier = make_record(target="sm_80", case="b", message="earlier")
    run.offer(unchanged.Taken([(earlier, 7)]))
    run.take([
        SESSION, replace(SESSION, part="gfx942/bare", planned=3), *CASE, protocol.Taken(earlier.item),
        protocol.Target("sm_80", False, "too old"), protocol.Note("mind this"),
        protocol.Taken(earlier.item),
    ])  # fmt: skip
    assert run._senseless == ["taken: of an item that was not offered, or was begun before"]
    assert [(call[0], *call[1:]) for call in recorded.calls if call[0] != "cell"] == [
        ("planned", column, "compile", 1), ("planned", column, "compile", 3), ("item", column, ITEM),
        ("item", column, earlier.item), ("say", "mind this"),
    ]  # fmt: skip
    assert [call[1].case for call in recorded.calls if call[0] == "cell"] == ["b", "a"]
    assert [note.text for note in store.notes(number)] == ["mind this"]
    assert store.targets(number) == {(column, "sm_80"): (False, "too old")}
    assert {cell.case: cell.message for cell in store.records(number)} == {"a": "", "b": "earlier"}
    assert run.reused == {earlier.item: 7}
    assert store.sessions(number)[column, "compile"] == {"triton": "3.2.0"}
    assert store.planned(number) == {(column, "compile"): 4}


def test_an_offered_case_that_was_begun_is_not_taken(tmp_path, make_plan, make_record):
    run = column_of(tmp_path, make_plan, modes=("bare",))
    run.offer(unchanged.Taken([(make_record(target="sm_80", case="a"), 7)]))
    run.take([protocol.Start(ITEM), protocol.Taken(ITEM)])
    assert "begun before" in "".join(run._senseless) and not run.reused


@pytest.mark.parametrize("fault", ["wrong", "_lost", "_senseless", "_twice"])
def test_a_column_with_one_fault_is_not_whole(tmp_path, make_plan, fault):
    run = column_of(tmp_path, make_plan)
    assert run.whole
    setattr(run, fault, "x")
    assert not run.whole


def test_an_environment_is_built_again_where_crosswarp_built_it(tmp_path, make_plan):
    run = column_of(tmp_path, make_plan)
    assert run._build_again().startswith(" See that the suite's requirements are installed")
    (tmp_path / "envs" / "triton-3.2.0").mkdir(parents=True)
    assert run._build_again().endswith(f"rm -r {tmp_path}/envs/triton-3.2.0")


def test_cases_that_were_taken_over_count_once_their_lane_begins(tmp_path, make_plan, make_record):
    done, rest = [], {"triton": "3.2.0"}
    run = column_of(tmp_path, make_plan, modes=("bare",))
    run._to.progress.item = lambda column, item: done.append(item)
    run._reuse([(make_record(target="sm_80", case=case), 1) for case in "ab"])
    run.take([protocol.Session("emulate", 0, rest, "sm_80/bare"), SESSION])
    assert not done
    whole = Plan(Suite(), run._plan.columns, run._plan.targets)
    run._plan = whole
    run.take([protocol.Session("interpret", 0, rest)])
    assert not done
    run.take([protocol.Session("compile", 2, rest)])
    assert sorted(done) == [ITEM, ITEM.replace("/a", "/b")]


def test_a_search_is_right_for_every_history():
    draw = random.Random(5)
    for _ in range(300):
        length = draw.randrange(2, 12)
        answers = ["good", *draw.choices(("good", "bad", "cannot say"), k=length - 2), "bad"]
        asked = []

        def ask(position, answers=answers, asked=asked):
            asked.append(position)
            return answers[position]

        search = bisection.search(length, ask)
        assert (answers[search.last_good], answers[search.first_bad]) == ("good", "bad")
        assert all(answers[between] == "cannot say" for between in search.between)
        assert asked[:2] == [0, length - 1] and len({*asked}) == len(asked)
        assert search.asked == tuple((position, answers[position]) for position in asked)
        if "cannot say" not in answers:
            assert len(asked) <= 2 + (length - 2).bit_length()
    for answers, position in (
        (("bad", "bad"), 0),
        (("good", "good"), 1),
        (("cannot say", "bad"), 0),
    ):
        with pytest.raises(bisection.WrongEnd) as wrong:
            bisection.search(2, answers.__getitem__)
        assert (wrong.value.position, wrong.value.answer) == (position, answers[position])
    with pytest.raises(ValueError, match="two ends"):
        bisection.search(1, ("good",).__getitem__)


@pytest.mark.parametrize(
    ("outcomes", "case", "problems", "answer", "why"),
    [
        ({"a": "pass", "b": "crash"}, "a", (), "good", "1 cell passes"),
        ({"a": "pass", "b": "pass"}, "*", (), "good", "2 cells"),
        ({"a": "pass", "b": "crash"}, "b", ("p",), "bad", "crash: "),
        ({"a": "pass", "b": "not-run"}, "*", (), "cannot say", "not run: m"),
        ({"a": "pass", "b": "not-run"}, "a", (), "good", "1 cell"),
        ({"a": "pass", "*": "not-run"}, "a", (), "cannot say", "not run"),
        ({"a": "pass"}, "a", ("p",), "cannot say", "p"),
        ({"a": "unsupported"}, "a", (), "cannot say", "unsupported: m"),
        ({}, "a", (), "cannot say", "it has no case"), ({"a": "unsupported"}, "a", ("p",), "cannot say", "unsupported"),
        ({"a": "crash", "b": "not-run"}, "*", (), "bad", "crash"),
    ],
)  # fmt: skip
def test_the_answer_of_a_release(make_record, outcomes, case, problems, answer, why):
    records = [
        make_record(case=name, outcome=outcome, message="m") for name, outcome in outcomes.items()
    ]
    seen = bisection.judge(records, case, problems)
    assert seen.answer == answer and seen.why.startswith(why)
    assert bool(seen.red) == (answer == "bad")


def test_a_case_that_no_release_has(make_record):
    with pytest.raises(UsageError, match='no case of softmax matches "c". There are: a, b.'):
        bisection.judge([make_record(case="a"), make_record(case="b"), make_record(case="a")], "c")


def test_builds_whose_order_their_versions_do_not_say():
    table = columns.load()
    builds = [Version(text) for text in ("3.9.0.dev1", "3.9.0.dev2", "3.9.0")]
    assert list(bisection.of_index(builds, table)) == [f"index-triton-{build}" for build in builds]
    with pytest.raises(UsageError, match="two or more"):
        bisection.of_index(builds[:1], table)
    for order in (
        ["3.9.0+a", "3.9.0+b"],
        ["3.8.0", "3.9.0+a", "3.9.0+b"],
        ["3.9.0+a", "3.9.0+b", "3.9.1"],
    ):
        with pytest.raises(UsageError, match=r"which of 3.9.0\+a and 3.9.0\+b is older"):
            bisection.of_index([Version(text) for text in order], table)


def test_the_position_of_a_release():
    ids = ["triton-3.1.0", "triton-3.2.0", "wheel-triton-3.3.0", "index-triton-3.4.0"]
    for text, place in (
        ("triton-3.1.0", 0),
        ("3.2.0", 1),
        ("3.3.0", 2),
        ("3.4.0", 3),
        ("*3.4*", 3),
    ):
        assert bisection.position(ids, text, "--good") == place
    with pytest.raises(
        UsageError, match='--good "triton-3.*" is triton-3.1.0, triton-3.2.0. Name one.'
    ):
        bisection.position(ids, "triton-3.*", "--good")


@pytest.mark.parametrize(
    ("here", "answer", "why"),
    [
        ([("a", "crash", "f")], "bad", "crash"), ([("a", "crash", "other")], "cannot say", "fails in another way"),
        ([("a", "pass", "")], "good", ""), ([("b", "crash", "f")], "cannot say", "a was not run"),
        ([("a", "pass", ""), ("b", "crash", "f")], "good", "passes where B fails"),
        ([("a", "unsupported", "")], "cannot say", ""),
        ([], "cannot say", ""),
    ],
)  # fmt: skip
def test_a_combination_shows_the_symptom_or_another(make_record, here, answer, why):
    symptom = [make_record(case="a", outcome="crash", fingerprint="f")]
    records = tuple(
        make_record(case=case, outcome=outcome, fingerprint=text) for case, outcome, text in here
    )
    red = tuple(record for record in records if record.red)
    own = "bad" if red else "good" if any(record.ran for record in records) else "cannot say"
    given, words = attribution.answer(Seen(own, "own", red, records=records), symptom)
    assert given == answer and words.startswith(why)


def test_a_module_that_could_not_be_imported(make_record):
    symptom = [make_record(case="import", phase="import", outcome="api-error", fingerprint="f")]
    for changes, answer in (
        ({}, "good"), ({"target": "sm_80"}, "cannot say"), ({"lane": "emulate"}, "cannot say"),
        ({"mode": "shimmed"}, "cannot say"), ({"phase": "import"}, "cannot say"),
    ):  # fmt: skip
        records = (make_record(case="a", **changes),)
        assert attribution.answer(Seen("good", "", records=records), symptom)[0] == answer


def test_the_failures_of_the_bad_column_alone(make_record):
    def seen(outcomes):
        records = tuple(
            make_record(case=case, outcome=outcome) for case, outcome in outcomes.items()
        )
        return Seen("bad", "", tuple(record for record in records if record.red), records=records)

    def cases(bad, good):
        return [record.case for record in attribution.symptom(seen(bad), seen(good))]

    assert cases({"a": "crash", "b": "crash"}, {"a": "pass", "b": "crash"}) == ["a"]
    assert cases({"a": "crash", "b": "crash"}, {"b": "crash"}) == ["a", "b"]
    assert cases({"a": "crash", "b": "pass"}, {"b": "pass"}) == ["a"]
    assert cases({"a": "unsupported", "b": "unsupported"}, {"b": "pass", "a": "unsupported"}) == [
        "b"
    ]


def test_a_run_is_cut_into_jobs():
    made = jobs.jobs(["triton-3.2.0", "main"], 2, ["--lanes", "compile"])
    assert [(job.name, job.share, job.run) for job in made] == [
        (
            f"{column}-{number}-of-2",
            (number, 2),
            f"--triton {short} --shard {number}/2 --lanes compile",
        )
        for column, short in (("triton-3.2.0", "3.2.0"), ("main", "main"))
        for number in (1, 2)
    ]
    (whole,) = jobs.jobs(["main"], 1, [], "test")
    assert (whole.run, whole.share, whole.command) == ("--triton main", (1, 1), "test")
    assert len(jobs.jobs(["main"], jobs.MAX_JOBS, [])) == jobs.MAX_JOBS
    with pytest.raises(UsageError, match="257 jobs"):
        jobs.jobs(["main"], jobs.MAX_JOBS + 1, [])
    for word in ("a b", "a\tb", "$x", "a'b", "*", ""):
        with pytest.raises(UsageError, match="does not pass through"):
            jobs.cut(["main"], 1, [word])


def test_which_runs_stay(tmp_path, make_record):
    now = datetime(2026, 11, 28, tzinfo=timezone.utc)
    with Store(tmp_path / "store.db") as store:
        for age, suite, cells, status in (
            (9, "a", 1, "finished"), (8, "a", 1, "finished"), (7, "b", 1, "finished"), (6, "a", 0, "cancelled"),
            (5, "a", 1, "cancelled"), (4, "a", 1, "cancelled"),
        ):  # fmt: skip
            run = store.begin([], {"suite": suite}, (now - timedelta(days=age)).isoformat())
            store.cells(run, [make_record()] * cells)
            store.finish(run, status, 0)
        choice = pruning.choose(store, 1, None, now)
        assert choice.stay == {
            6: "among the newest",
            3: "among the newest",
            2: "the newest of its suite that finished",
        }
        assert [leaving.run.id for leaving in choice.going] == [1, 4, 5]
        assert {*pruning.choose(store, 2, None, now).stay} == {2, 3, 5, 6}
        for days, young in ((5, set()), (5.01, {5}), (8.5, {2, 4, 5})):
            stay = pruning.choose(store, 1, days, now).stay
            assert {run for run, why in stay.items() if why == "young"} == young
        assert choice.cell_bytes == store.size / 5
        stopped = iter((False, False, True)).__next__
        assert [leaving.run.id for leaving in pruning.remove(store, choice, stopped)] == [1, 4]
        assert {run.id for run in store.runs()} == {2, 3, 5, 6}


def test_the_end_of_a_log(tmp_path):
    log = tmp_path / "log"
    assert process.log_tail(log) == ""
    log.write_bytes(
        b"first\n"
        + b"x" * 20_000
        + b"\n"
        + b"".join(b"%d\n" % number for number in range(20))
        + b"\xff"
    )
    assert process.log_tail(log, 3) == "18\n19\n\ufffd"
    assert (
        len(process.log_tail(log).splitlines()) == 15 and len(process.log_tail(log, 99)) <= 16_384
    )


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """`asked(answers, …)`: how a process ended that is waited for with these answers, its events, and its ends."""

    def ask(answers, seconds, stop=lambda: False, hear=None, records=True):
        waiting, clock, heard = iter(answers), iter(range(5, 1000)), []
        ask.ends = ends = []

        class Fake:
            wait = staticmethod(lambda seconds: next(waiting))
            end = staticmethod(lambda: ends.append("ended"))

        stream = types.SimpleNamespace(poll=lambda: ["line"], finish=lambda: ["rest"])
        monkeypatch.setattr(asking.process, "SuiteProcess", lambda *words: Fake())
        monkeypatch.setattr(asking, "Tail", lambda path: stream)
        monkeypatch.setattr(asking.time, "monotonic", lambda: next(clock))
        log = tmp_path / "log"
        child = asking.Process([], log, tmp_path, here=False, records=log if records else None)
        return child.heard(seconds, stop, hear or heard.extend), heard, ends

    return ask


@pytest.mark.parametrize(
    ("answers", "seconds", "stopped", "status", "out_of_time", "lines"),
    [
        ([0], 9, False, 0, False, 0), ([None, None, 3], 9, False, 3, False, 2), ([None], 9, True, None, False, 0),
        # A second a look: the limit itself is within the limit.
        ([None] * 4, 2, False, None, True, 3), ([None, None, 0], 2, False, 0, False, 2),
        # One that ends by itself as its time is over has a status.
        ([None, None, None, 1], 2, False, 1, True, 3),
    ],
)  # fmt: skip
def test_how_a_process_that_was_asked_ended(
    asked, answers, seconds, stopped, status, out_of_time, lines
):
    ended, heard, ends = asked(answers, seconds, stop=lambda: stopped)
    assert (ended.status, ended.out_of_time) == (status, out_of_time)
    assert heard == ["line"] * lines + ["rest"] and ends == ["ended"]
    # One look at the clock at the start, one for each line, and one at the end.
    assert ended.seconds == lines + 1
    assert asked(answers, seconds, stop=lambda: stopped, records=False)[1] == []


def test_a_process_whose_events_cannot_be_heard_is_ended(asked):
    def hear(events):
        raise ValueError

    with pytest.raises(ValueError):
        asked([None, None], 9, hear=hear)
    assert asked.ends == ["ended"]
    with asking.Process([], Path("log"), Path("."), here=False):
        pass
    assert asked.ends == ["ended", "ended"]


def test_a_part_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        merge.read(tmp_path / "lost.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("cases", "held", "has"),
    [
        (("*",), True, True), (("a*",), True, True), (("b", "a"), True, True), (("b",), True, False),
        (("*",), False, False),
    ],
)  # fmt: skip
def test_a_case_that_a_plan_and_its_work_have(make_plan, make_record, cases, held, has):
    asked = []

    class Holds(Suite):
        def holds(self, *place):
            asked.append(place)
            return held

    made = Plan(Holds(), (), {}, cases=cases)
    assert made.has(make_record(case="a")) is has
    assert asked in ([], [("softmax", "compile", "sm_90", "a")])


def test_as_many_jobs_as_this_process_has_processors(monkeypatch):
    for processors, count in (({0, 3, 5}, 3), ({0}, 1), (set(), 1)):
        monkeypatch.setattr(plan.os, "sched_getaffinity", lambda _, own=processors: own)
        assert plan.default_jobs() == count
    monkeypatch.delattr(plan.os, "sched_getaffinity")
    assert plan.default_jobs() == 1


@pytest.mark.parametrize(
    ("text", "names", "column"),
    [
        ("3.2.0", (), "triton-3.2.0"), ("3.*", (), "triton-3.*"), ("3.2.0", ("3.2.0",), "3.2.0"),
        ("3.2.0", ("3.3.0",), "triton-3.2.0"), ("main", (), "main"), ("main", ("main",), "main"), ("", (), ""),
    ],
)  # fmt: skip
def test_a_column_by_its_number(text, names, column):
    assert selection.column_id(text, names) == column
