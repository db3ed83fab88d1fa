"""What a run says while it goes on: what it waits for, which column of how many, how long the rest may take."""

from __future__ import annotations

import contextlib
import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from crosswarp.matrix.running import bar, progress


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.mark.parametrize(
    ("done", "of", "seconds", "told"),
    [
        (0, 10, 60, ""), (1, 10, 2, ""), (10, 10, 60, ""), (5, 10, 60, "about 60 s left"),
        (10, 100, 60, "about 9 min left"), (1, 2304, 56, ""), (31, 2304, 104, ""), (120, 2400, 60, "about 19 min left"),
    ],
)  # fmt: skip
def test_what_is_left(done, of, seconds, told):
    assert progress.left(done, of, seconds) == told


def test_plain_lines_tell_the_place_and_the_rest(clock):
    out = io.StringIO()
    shown = progress.PlainProgress(out)
    shown.begins(3)
    shown.preparing("a")
    shown.column("a", "a")
    shown.planned("a", "compile", 100)
    for number in range(10):
        clock.now += 6
        shown.item("a", "x")
        shown.cell(SimpleNamespace(outcome="crash" if number in (1, 2) else "pass"))
    shown.column_done("a", {"pass": 8, "crash": 2}, 60.0)
    shown.column("b", "b")
    shown.planned("b", "compile", 100)
    for _ in range(6):
        clock.now += 6
        shown.item("b", "x")
    lines = out.getvalue().splitlines()
    assert lines == [
        "a: running (column 1 of 3)", "a: 6 of 100 cases (2 crash), about 9 min left", "a: 8 pass, 2 crash in 60 s",
        "2 more columns, about 2 min left", "b: running (column 1 of 3)", "b: 6 of 100 cases, about 9 min left",
    ]  # fmt: skip


def lanes(compiled, emulated):
    return {
        "compile": progress.Expected(compiled, 2.0),
        "emulate": progress.Expected(emulated, 1.0),
    }


def test_the_rest_is_that_of_all_lanes_and_columns_where_they_are_weighed(clock):
    out = io.StringIO()
    shown = progress.PlainProgress(out)
    shown.begins(2)
    shown.expects({"a": lanes(99, 50), "b": lanes(200, 100)})
    # Nobody knows how long an environment takes.
    shown.preparing("a")
    clock.now += 500
    shown.column("a", "a")
    shown.planned("a", "compile", 100)
    for _ in range(75):
        clock.now += 1
        shown.item("a", "sm_90/compile/bare/kernel/case")
    # In 62 s what is expected to take 124 of 750.
    assert out.getvalue().splitlines()[-1] == "a: 62 of 150 cases, about 5 min left for all columns"
    shown.planned("a", "emulate", 10)
    for _ in range(25):
        clock.now += 2
        shown.item("a", "sm_90/compile/bare/kernel/case")
    assert out.getvalue().splitlines()[-1].startswith("a: 100 of 110 cases, ")
    shown.column_done("a", {"pass": 100}, 125.0)
    # In 125 s what is expected to take 200 of 710.
    assert out.getvalue().splitlines()[-1] == "1 more column, about 5 min left for all columns"


def test_a_case_counts_by_the_weight_of_its_kernel_on_its_target(clock):
    phases = progress.Phases()
    weights = {"sm_90/long": 3.0, "sm_90/short": 0.0, "gfx942/long": 1.0}
    phases.expects({"a": {"compile": progress.Expected(10, 2.0, weights)}})
    phases.begins(1)
    clock.now += 60

    def left_after(*items):
        for item in items:
            phases.item("a", f"{item}/case")
        return phases.left(0, 10, 0.0)

    assert left_after("sm_90/compile/bare/short") == ""
    # In 60 s three of ten, then four, then five of them.
    assert left_after("sm_90/compile/bare/long") == "about 2 min left"
    assert left_after("gfx942/compile/bare/long") == "about 2 min left"
    assert left_after("sm_90/compile/bare/unknown") == "about 60 s left"


def test_a_bar_says_what_it_waits_for_and_never_counts_to_a_question_mark():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=200, color_system=None)
    with bar.shown(console) as shown:
        shown.begins(2)
        shown.preparing("triton-3.2.0")
        shown._progress.refresh()
        assert "preparing its environment (column 1 of 2)" in out.getvalue()
        shown.column("triton-3.2.0", "triton-3.2.0")
        shown._progress.refresh()
        assert "importing Triton and its cases" in out.getvalue()
        shown.planned("triton-3.2.0", "compile", 7)
        shown.item("triton-3.2.0", "x")
        shown._progress.refresh()
    text = out.getvalue()
    assert "1/7" in text and "/?" not in text


@pytest.mark.parametrize(
    ("ci", "terminal", "plain"),
    [("", True, False), ("", False, True), ("true", True, True), ("true", False, True)],
)
def test_a_bar_is_for_a_terminal_alone(monkeypatch, ci, terminal, plain):
    console = object()
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(progress, "_terminal", lambda: console if terminal else None)
    monkeypatch.setattr(bar, "shown", lambda shown: contextlib.nullcontext(("bar", shown)))
    with progress.progress() as made:
        assert isinstance(made, progress.PlainProgress) is plain
        assert plain or made == ("bar", console)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_count_is_a_bar_on_a_terminal_and_now_and_then_a_line_elsewhere(
    monkeypatch, capsys, terminal
):
    console = object()
    monkeypatch.setattr(progress, "_terminal", lambda: console if terminal else None)
    monkeypatch.setattr(bar, "counting", lambda what, on: contextlib.nullcontext((what, on)))
    out, now = io.StringIO(), [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.counting("files") as count:
        assert count == ("files", console) if terminal else callable(count)
    # Whoever gives a file gets lines.
    with progress.counting("files", out) as count:
        for done, seconds in (
            (1, 0),
            (2, progress._COUNTING_SECONDS),
            (3, 1),
            (4, 1),
            (5, progress._COUNTING_SECONDS),
        ):
            now[0] += seconds
            count(done, 9)
    assert out.getvalue().splitlines() == ["3 of 9 files", "5 of 9 files"]


@pytest.mark.parametrize(
    ("place", "columns", "left", "rest"),
    [
        (1, 3, "about 5 s left", "2 more columns, about 5 s left"),
        (2, 3, "about 5 s left", "1 more column, about 5 s left"),
        (3, 3, "about 5 s left", ""), (1, 3, "", ""),
    ],
)  # fmt: skip
def test_what_is_left_of_a_run(monkeypatch, place, columns, left, rest):
    phases = progress.Phases.__new__(progress.Phases)
    phases._place, phases._columns, phases._began = place, columns, 0.0
    monkeypatch.setattr(phases, "left", lambda *_: left, raising=False)
    assert phases.rest == rest
    assert phases.place == f"column {place} of {columns}"
