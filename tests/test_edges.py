"""The rules of matrix/results at their edges: each figure exactly on its limit and beyond it, each part missing."""

from __future__ import annotations

import itertools
import json
import math
import random
import sqlite3
from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crosswarp.matrix import plain_versions, versions
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results import (
    baseline,
    comparison,
    compile_time,
    fault,
    launch_time,
    numbers,
    owned,
    packaged,
    predicted,
    rows,
    supported,
    windows,
)
from crosswarp.matrix.results import record as record_module
from crosswarp.matrix.results.described import SELECTION, Described
from crosswarp.matrix.results.figures import launches
from crosswarp.matrix.results.owned import Expected
from crosswarp.matrix.results.resources import THRESHOLDS, grown
from crosswarp.matrix.results.verdict import ByKernel, classify, judge, must_be_red, proves

NOTED, TIMED = {"a": 1}, {"timing": 1}


def test_a_measured_window_holds_the_red_and_no_green():
    draw = random.Random(35)
    releases = [Version(f"3.{minor}.{patch}") for minor in range(8) for patch in range(2)]
    for _ in range(300):
        seen = {release: draw.choice("rg?") for release in releases}
        red = [release for release, colour in seen.items() if colour == "r"]
        green = [release for release, colour in seen.items() if colour == "g"]
        below = draw.random() < 0.5
        window = windows.measured(red, green, below, releases)
        if not red:
            assert window == ""
            continue
        inside = SpecifierSet(window)
        assert all(release in inside for release in red), (seen, window)
        assert not any(release in inside for release in green), (seen, window)
        older = any(release < min(red) for release in green)
        newer = any(release > max(red) for release in green)
        assert (Version("2.0") in inside) == (below and not older), (seen, window)
        assert (Version("9.0") in inside) == (not newer), (seen, window)
        # The next release that nobody ran, of another minor, does not count as red.
        beyond = [release for release in releases if release > max(red)]
        if newer and beyond[0].minor != max(red).minor:
            assert not any(release in inside for release in beyond), (seen, window)


# A cell that the issue below describes and proves, and each way to differ from it.
CELL = {
    "kernel": "chunk", "case": "small", "config": "num_warps=8", "target": "sm_90", "lane": "compile",
    "column": "triton-3.2.0", "outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts",
    "versions": {"triton": "3.2.0", "torch": "2.6.0"},
}  # fmt: skip
OTHER = {
    "kernel": "softmax", "case": "large", "config": "num_warps=4", "target": "gfx942", "lane": "emulate",
    "outcome": "mismatch", "fingerprint": "SIGSEGV", "triton": "3.3.0", "torch": "2.7.0",
}  # fmt: skip


@pytest.fixture
def cell(make_record):
    """`cell("case", mode="bare")`: the cell above, which differs in one way."""

    def make(differs="", **changes):
        made = {**CELL, **changes}
        if differs in ("triton", "torch"):
            made["versions"] = {**CELL["versions"], differs: OTHER[differs]}
        elif differs:
            made[differs] = OTHER[differs]
        return make_record(**made)

    return make


@pytest.fixture
def issue(make_issue):
    case = {
        "kernel": "chunk", "case": "small", "configs": ["*=8"], "targets": ["sm_*"], "lanes": ["compile"],
    }  # fmt: skip
    return make_issue(
        triton=">=3.2,<3.3", torch="<2.7", kernels=["chunk*"], configs=["*=8"], targets=["sm_*"],
        lanes=["compile"], shim=None, case=case,
    )  # fmt: skip


@pytest.mark.parametrize("differs", ["", *OTHER])
def test_every_part_of_an_issue_counts(cell, issue, differs):
    red = cell(differs)
    # It speaks of the kernel; the case is a part of the proof alone.
    explained = differs in ("", "case")
    assert (classify(red, [issue], red.versions["triton"]) is issue) == explained
    described = differs in ("", "case", "target", "lane", "triton", "torch")
    assert (list(ByKernel.of([issue]).describing(red)) == [issue]) == described
    proved = differs in ("", "outcome", "fingerprint", "triton", "torch")
    assert proves(issue, red) == proved
    assert (list(ByKernel.of([issue]).proved_by(red)) == [issue]) == (
        proved and differs != "kernel"
    )
    assert must_be_red(issue, red) == (differs in ("", "outcome", "fingerprint"))
    assert not proves(issue, cell(differs, mode="shimmed"))


@pytest.mark.parametrize("differs", ["", *OTHER])
def test_a_green_cell_contradicts_an_issue_only_where_it_must_be_red(cell, issue, differs):
    green = cell(differs if differs not in ("outcome", "fingerprint") else "")
    green = cell(differs, outcome="pass", fingerprint="") if differs != "outcome" else green
    unexpected = judge([green], [issue]).unexpectedly_green
    assert bool(unexpected) == (not green.red and differs in ("", "fingerprint"))


def test_what_did_not_run_or_ran_with_compat_contradicts_nothing(cell, issue):
    for changes in ({"outcome": "not-run"}, {"outcome": "unsupported"}, {"mode": "shimmed"}):
        green = cell(**{"outcome": "pass", "fingerprint": "", **changes})
        assert not judge([green], [issue]).unexpectedly_green


def test_an_answer_is_kept_for_cells_that_are_alike_alone(cell, issue):
    """`ByKernel` keeps its answers: no cell gets the answer of another."""
    by_kernel = ByKernel([issue])
    for first, second in itertools.permutations(["", *OTHER], 2):
        for differs in (first, second):
            red = cell(differs)
            alone = ByKernel([issue])
            assert by_kernel.describing(red) == alone.describing(red)
            assert by_kernel.proved_by(red) == alone.proved_by(red)


# Bare, shimmed, whether the issue names a shim: the list of the verdict in which each is.
@pytest.mark.parametrize(
    ("bare", "shimmed", "shim", "lists"),
    [
        ("crash", None, False, {"known": 1}),
        ("crash", None, True, {"known": 1}),
        ("crash", "pass", False, {"known": 1, "fixes": 1}),
        ("crash", "pass", True, {"known": 1, "fixes": 1}),
        ("crash", "crash", False, {"known": 2}),
        ("crash", "crash", True, {"shim_failed": 2}),
        ("crash", "not-run", True, {"shim_failed": 1}),
        ("crash", "not-run", False, {"known": 1}),
        ("pass", "crash", False, {"unexpected_red": 1, "unexpectedly_green": 1}),
        ("pass", "crash", True, {"shim_failed": 1, "unexpectedly_green": 1}),
        ("pass", "pass", True, {"unexpectedly_green": 1}),
        ("unsupported", "crash", True, {"shim_failed": 1}),
        ("not-run", "crash", False, {"known": 1}),
    ],
)
def test_a_cell_and_its_twin(cell, issue, bare, shimmed, shim, lists):
    issue = replace(issue, shim="guarded_autotune" if shim else None)
    records = [
        cell(mode=mode, outcome=outcome, fingerprint=CELL["fingerprint"] if outcome == "crash" else "")
        for mode, outcome in (("bare", bare), ("shimmed", shimmed))
        if outcome
    ]  # fmt: skip
    verdict = judge(records, [issue])
    names = ("known", "unexpected_red", "unexpectedly_green", "shim_failed", "fixes")
    assert {name: len(getattr(verdict, name)) for name in names if getattr(verdict, name)} == lists
    assert len(verdict.not_fixed) == sum(record.mode == "shimmed" for record, _ in verdict.known)
    assert verdict.as_expected == (not {*lists} & {*names[1:4]})


def test_a_shim_that_did_not_fix_is_seen_wherever_one_cell_ran_with_compat(cell, issue):
    issue = replace(issue, shim="guarded_autotune")
    other = cell(kernel="other", mode="shimmed", outcome="pass", fingerprint="")
    for records, failed in (([other, cell()], 1), ([cell(), other], 1), ([cell()], 0)):
        verdict = judge(records, [issue])
        assert (len(verdict.shim_failed), len(verdict.known)) == (failed, 1 - failed)


def test_the_shims_of_a_fix_are_those_of_its_twins_in_order(cell, issue):
    twins = [
        cell(mode="shimmed", outcome="pass", fingerprint="", shims=shims)
        for shims in (("zebra", "ant"), ("mole",))
    ]
    for shim, shims in ((None, ("ant", "mole", "zebra")), ("mole", ("mole",))):
        known = replace(issue, shim=shim)
        (fix,) = judge([cell(), *twins], [known]).fixes
        assert (fix.issue, fix.bare, fix.shims) == (known, cell(), shims)


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ({"outcome": "crash", "fingerprint": "a"}, {"outcome": "crash", "fingerprint": "a"}, True),
        ({"outcome": "crash", "fingerprint": "a"}, {"outcome": "crash", "fingerprint": "b"}, False),
        ({"outcome": "crash", "fingerprint": "a"}, {"outcome": "mismatch", "fingerprint": "a"}, False),
        ({"outcome": "unsupported", "reason": "a"}, {"outcome": "unsupported", "reason": "a"}, True),
        ({"outcome": "unsupported", "reason": "a"}, {"outcome": "unsupported", "reason": "b"}, False),
        ({"resources": NOTED}, {"resources": NOTED}, True),
        ({"resources": NOTED}, {"resources": {}}, False),
        ({"resources": NOTED, "reason": "a"}, {"resources": NOTED, "reason": "a"}, False),
        ({"resources": TIMED}, {"resources": TIMED}, False),
        ({"outcome": "not-run"}, {"outcome": "not-run"}, False),
    ],
)  # fmt: skip
def test_cells_that_need_no_comparison(make_record, first, second, alike):
    states = [comparison._state(make_record(**changes)) for changes in (first, second)]
    assert (states[0] == states[1]) == alike


@pytest.mark.parametrize(
    ("cells", "changes", "covered"),
    [
        ("chunk", {}, True),
        ("chunk/small", {}, True),
        ("chunk/large", {}, False),
        ("small", {}, False),
        ("*/sm*", {}, True),
        ("chunk", {"triton": ">=3.2"}, True),
        ("chunk", {"triton": ">=3.3"}, False),
        ("chunk", {"targets": ("gfx*", "sm_*")}, True),
        ("chunk", {"targets": ("gfx*",)}, False),
    ],
)
def test_the_cells_that_an_owner_expects_to_fail(cell, cells, changes, covered):
    assert Expected(cells, **changes).covers(cell()) == covered


@pytest.fixture
def launch(make_record):
    """`launch(registers=40)`: a record of one launch, or of a launch for each of several dictionaries."""

    def make(*several, target="sm_90", more=None, **figures):
        made = [
            {"kernel": "_k", "num_warps": 4, "registers": 32, **each}
            for each in several or [figures]
        ]
        return make_record(target=target, resources={"launches": made, **(more or {})})

    return make


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=lambda threshold: threshold.metric)
def test_a_threshold_is_passed_at_its_factor_and_above_its_limit(threshold):
    beyond = threshold.above * 8

    def passed(before, after):
        return threshold.passed_by(*((after, before) if threshold.falls else (before, after)))

    assert passed(beyond, beyond * threshold.factor)
    assert not passed(beyond, beyond * threshold.factor - 1)
    assert passed(0, threshold.above + 1) and not passed(0, threshold.above)
    assert not passed(beyond, beyond) and not passed(beyond * 2, beyond)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        # Shared memory that grows: from 16 KiB on it is shown, and from half as much again it is judged.
        ({"shared": 66_000}, {"shared": 82_383}, []),
        ({"shared": 66_000}, {"shared": 82_384}, [("shared", "16,384 bytes more")]),
        ({"shared": 66_000}, {"shared": 99_000}, [("shared", "")]),
        ({"shared": 76_384}, {"shared": 60_000}, []),
        # A kind of tensor core that is lost, not one that is won.
        ({"kind": "wgmma"}, {"kind": "mma"}, [("tensor", "")]),
        ({"kind": "mma"}, {"kind": "wgmma"}, []),
        ({"kind": "mma"}, {}, []),
        # Memory for registers: at most four bytes for each, and half as many warps again.
        ({"registers": 255}, {"registers": 168, "stack": 348}, [("stack", "a trade: 87 registers")]),
        ({"registers": 255}, {"registers": 168, "stack": 349}, [("stack", "")]),
        ({"registers": 255}, {"registers": 200, "stack": 64}, [("stack", "")]),
        # Registers for memory: at least four bytes left for each.
        ({"registers": 64, "stack": 764}, {"registers": 255}, [("registers", "a trade: 764 bytes")]),
        ({"registers": 64, "stack": 763}, {"registers": 255}, [("registers", "")]),
        # Spilled registers are four bytes each.
        ({"registers": 64, "spills": 191}, {"registers": 255}, [("registers", "a trade: 764 bytes")]),
        ({"stack": 0}, {"stack": 32}, [("stack", "up to 32 bytes")]),
        ({"stack": 0}, {"stack": 33}, [("stack", "")]),
        ({"stack": 8}, {"stack": 32}, []),
        ({"shared": 0}, {"shared": 16_000}, []),
    ],
)  # fmt: skip
def test_two_launches(launch, before, after, changes):
    zero = {"stack": 0, "spills": 0, "shared": 0}
    found = grown(launch(**{**zero, **before}), launch(**{**zero, **after}))
    # That it no longer fits a smaller GPU is another rule.
    seen = [(change.metric, change.remark) for change in found if "no longer" not in change.remark]
    assert len(seen) == len(changes), found
    for (metric, remark), (wanted, start) in zip(seen, changes):
        assert metric == wanted and remark.startswith(start) and bool(remark) == bool(start), found


def test_of_more_configurations_the_worst_of_each_figure_stand_for_all(launch):
    before = launch({"stack": 64}, {"stack": 96, "kind": "mma"})
    after = launch({"stack": 64}, {"stack": 96, "kind": "mma"}, {"stack": 72, "kind": "none"})
    assert [(change.metric, change.before, change.after) for change in grown(before, after)] == [
        ("tensor", "mma", "none")
    ]
    narrow = launch({"access": 16}, {"access": 8}, {"access": 4})
    (change,) = grown(launch({"access": 16}, {"access": 8}), narrow)
    assert (change.metric, change.before, change.after) == ("access", 8, 4)


@pytest.mark.parametrize(
    ("counts", "figures"),
    [
        ({"load.16": 2, "store.4": 2}, {"access": 10.0, "kind": "none", "tensor": 0}),
        ({"load.16": 2, "bulk": 1}, {"kind": "none"}),
        ({"load.16": 2, "load.5": 7, "load": 3}, {"access": 16.0}),
        ({"async.8": 1, "load.32": 1}, {"access": 20.0}),
        ({"mma.a": 3, "wgmma.b": 2}, {"tensor": 5, "kind": "wgmma"}),
        ({"mma.a": 3, "wgmma.b": 0}, {"tensor": 3, "kind": "mma"}),
        ({"mma.a": 1, "tcgen05.b": 1, "wgmma.c": 1}, {"tensor": 3, "kind": "tcgen05"}),
        ({"mma.a": -1, "load.4": True}, {"tensor": 0, "kind": "none"}),
        ({"shared.load": 1, "shared.store": 2, "matrix": 4}, {"exchanges": 7, "barriers": 0}),
        ({"shared.load": "x"}, {"barriers": 0}),
        ({"barrier": 3, "scratch": 5}, {"barriers": 3, "exchanges": 0, "scratch": 5}),
        ({"barrier": -3, "scratch": "5"}, {"exchanges": 0}),
    ],
)
def test_instructions_as_figures(launch, counts, figures):
    ((read,),) = launches(launch(instructions=counts)).values()
    expected = {
        "registers": 32,
        "tensor": 0,
        "kind": "none",
        "barriers": 0,
        "exchanges": 0,
        "scratch": 0,
    }
    for name in ("barriers", "exchanges", "scratch"):
        wrong = {"barriers": "barrier", "exchanges": "shared.load"}.get(name, name)
        if wrong in counts and counts[wrong] in (-3, "x", "5"):
            del expected[name]
    assert read == {**expected, **figures}


def test_machine_code_that_was_not_read_has_no_accesses_to_a_stack(launch):
    ((read,),) = launches(launch(registers=None, instructions={"scratch": 5, "load.4": 1})).values()
    assert "scratch" not in read and read["access"] == 4


@pytest.mark.parametrize("odd", [-1, True, "4", None, 1.5])
def test_a_launch_without_a_number_of_warps_is_none(launch, odd):
    assert launches(launch(num_warps=odd)) == {}


def compiled(launch, *seconds, **more):
    return launch(*({"processor_seconds": each, **more} for each in seconds))


@pytest.mark.parametrize(
    ("before", "after", "slower"),
    [
        (1.0, 2.0, True), (1.0, 1.999, False), (0.5, 1.5, True), (0.5, 1.499, False), (2.0, 4.0, True),
        (0.0, 1.0, True), (0.0, 0.99, False),
    ],
)  # fmt: skip
def test_twice_as_long_to_compile_and_a_second_longer(launch, before, after, slower):
    changes = compile_time.slower(compiled(launch, before), compiled(launch, after))
    assert bool(changes) == slower
    if slower:
        (change,) = changes
        assert compile_time.ratio(change) == (after / before if before else math.inf)
    machines = compile_time.Machines(slower=1.5)
    assert (
        not compile_time.slower(compiled(launch, before), compiled(launch, after), machines)
        or not before
    )


def test_only_compilations_on_both_sides_are_compared(launch):
    assert not compile_time.slower(launch(), compiled(launch, 9.0))
    assert not compile_time.slower(compiled(launch, 1.0), launch())
    assert compile_time.total(compiled(launch, 1.0, 2.5)) == 3.5
    assert compile_time.total(launch({"processor_seconds": 1.0}, {})) is None
    assert compile_time.total(compiled(launch, 1.0, pace_ms=4.0)) == 0.5


def test_the_speeds_of_two_machines_by_thirty_cells():
    before = dict.fromkeys(range(30), 1.0)
    for factor, slower in ((1.25, 1.25), (0.5, 1.0), (3.0, 2.0)):
        after = dict.fromkeys(range(30), factor)
        assert compile_time.pace(before, after) == slower
    after = {**dict.fromkeys(range(29), 1.25), "another": 1.25}
    assert compile_time.pace(before, after) == 1.0


def test_a_stage_that_did_not_grow_is_not_named():
    was, now = {"stages": {"ttir": 2.0}}, {"stages": {"ttir": 1.0}}
    assert compile_time._where(was, now) == ""
    assert compile_time._where(now, was) == "stage ttir: 1 → 2 s"


def test_the_stage_that_grew_most(launch):
    def record(front, ttir, llir):
        total = front + ttir + llir
        return launch(processor_seconds=total, stage_seconds={"ttir": ttir, "llir": llir})

    for after, stage in (((3, 1, 1), "front end"), ((1, 4, 2), "ttir"), ((1, 2, 4), "llir")):
        (change,) = compile_time.slower(record(1, 1, 1), record(*after)) or [None]
        if sum(after) < 6:
            assert change is None
        else:
            assert change.remark.startswith(f"stage {stage}: 1 → 4 s")
    (change,) = compile_time.slower(record(1, 1, 1), record(5, 1, 1))
    assert change.remark == "stage front end: 1 → 5 s"


@pytest.mark.parametrize(
    ("before", "after", "calls", "slower"),
    [
        (20.0, 25.0, (100, 105), True),
        (20.0, 24.9, (100, 105), False),
        (20.0, 25.0, (100, 104), False),
        (10.0, 13.0, (100, 200), True),
        (10.0, 12.9, (100, 200), False),
        (20.0, 40.0, (0, 105), False),
        (20.0, 40.0, (100, 100), False),
    ],
)
def test_a_quarter_longer_to_launch_with_more_calls(launch, before, after, calls, slower):
    def record(time, calls, pace):
        return launch(
            more={
                "launch_us": {"_k": time * pace / 20},
                "launch_calls": {"_k": calls},
                "pace_us": pace,
            }
        )

    changes = launch_time.slower(record(before, calls[0], 20.0), record(after, calls[1], 40.0))
    assert [(change.before, change.after) for change in changes] == (
        [(before, after)] if slower else []
    )


@pytest.mark.parametrize(
    ("kind", "before", "after", "apart"),
    [
        ("int8", 0xFF, 0x01, 2),
        ("int8", 0x7F, 0x80, 255),
        ("uint8", 0xFF, 0x01, 254),
        ("bool", 0, 1, 1),
        ("float16", 0x0000, 0x8000, 0),
        ("float16", 0x0001, 0x8001, 2),
        ("float16", 0x3C00, 0x3BFF, 1),
        # Infinity is next to the largest number; what lies beyond is no number.
        ("float16", 0x7BFF, 0x7C00, 1),
        ("float16", 0x7C00, 0x7C01, math.inf),
        ("float16", 0x7C01, 0xFE00, 0),
        ("bfloat16", 0x7F7F, 0x7F80, 1),
        ("bfloat16", 0x7F80, 0x7F81, math.inf),
        ("float8_e5m2", 0x7C, 0x7D, math.inf),
        ("float8_e4m3fn", 0x7E, 0x7F, math.inf),
        ("float8_e4m3fn", 0x7D, 0x7E, 1),
        ("float8_e4m3fn", 0x7F, 0xFF, 0),
    ],
)
def test_how_far_two_values_are_apart(kind, before, after, apart):
    bits = {"float16": 16, "bfloat16": 16}.get(kind, 8)
    for pair in ((before, after), (after, before)):
        assert numbers._apart(*pair, kind, bits) == apart


def counted(make_record, **changes):
    estimate = {
        "path": 1000.0, "instructions": 100.0, "dram": 0.0, "spilled": 0.0, "local": 0.0, "resident": 2,
        "together": 1, "waves": 1.0, "ghz": 1.0, "units": {}, "waits": {}, **changes,
    }  # fmt: skip
    noted = [{"kernel": "_k", "num_warps": 4, "grid": [1, 1, 1], "estimate": estimate}]
    return make_record(resources={"counters": noted})


def test_the_last_of_a_few_waves_counts_as_a_whole(make_record):
    for waves, whole in ((0.1, 1), (1.0, 1), (1.5, 2), (7.9, 8), (8.0, 8), (8.5, 8.5)):
        ratio = predicted.prediction(
            counted(make_record, path=1e7), counted(make_record, path=1e7, waves=waves)
        ).ratio
        assert ratio == pytest.approx(whole, rel=1e-3)


def test_the_parts_of_a_wave_overlap_in_part(make_record):
    before = counted(make_record, path=3e7)
    for changes in (
        {"units": {"fma": 4e7, "mma": 1e7}},
        {"dram": 4e7},
        {"spilled": 4e7},
        {"dram": 1e7, "spilled": 3e7},
        {"units": {"fma": 2e7}, "together": 2},
    ):
        after = counted(make_record, **{"path": 3e7, **changes})
        assert predicted.prediction(before, after).ratio == pytest.approx(5 / 3, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        *((name, odd) for name in ("path", "waves", "ghz", "together", "local") for odd in (-1.0, "1", None, 1e15)),
        *((name, 0) for name in ("waves", "ghz", "together")),
        ("units", {"fma": "x"}), ("units", None),
    ],
)  # fmt: skip
def test_an_estimate_that_a_cell_made_up_is_none(make_record, name, odd):
    assert predicted.prediction(counted(make_record), counted(make_record)) is not None
    assert predicted.prediction(counted(make_record), counted(make_record, **{name: odd})) is None


@pytest.mark.parametrize(
    ("field", "odd"),
    [
        ("shard", [0, 1]), ("shard", [2, 1]), ("shard", [1]), ("shard", [True, 1]), ("shard", "11"),
        ("shard", [1, 1.0]), ("columns", "x"), ("lanes", [1]), ("suite", 3), ("commit", 3), ("library", []),
    ],
)  # fmt: skip
def test_a_plan_that_crosswarp_did_not_write(field, odd):
    def row(plan):
        db = sqlite3.connect(":memory:")
        db.row_factory = sqlite3.Row
        return db.execute("SELECT ? AS plan", (json.dumps(plan),)).fetchone()

    sound = {"shard": [1, 2], "columns": ["main"], "suite": None, "commit": "x", "library": {}}
    assert rows.plan(row(sound), "plan") == sound
    assert rows.plan(row({}), "plan") == {} and rows.plan(row({"shard": [2, 2]}), "plan")
    with pytest.raises(rows.WrongRow, match="^plan is no plan"):
        rows.plan(row({**sound, field: odd}), "plan")


@pytest.mark.parametrize(
    ("value", "valid"), [(0, True), (2**40, True), (-1, False), (1.5, False), ("x", False), (None, False)]
)  # fmt: skip
def test_a_row_of_a_store_holds_whole_numbers(value, valid):
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    row = db.execute("SELECT ? AS planned", (value,)).fetchone()
    if valid:
        assert rows.whole(row, "planned") == value
        return
    with pytest.raises(rows.WrongRow, match="^planned is no integer"):
        rows.whole(row, "planned")


def test_a_plan_without_anything():
    empty = Described({})
    assert empty.selection == {**SELECTION} and empty.shard is None
    assert (empty.whose, empty.command, empty.commit, empty.suite) == ("", "run", "", "")
    assert (empty.columns, empty.targets, empty.lanes, empty.requires) == ((), (), (), ())
    library = Described({"library": {"name": "x"}, "suite": "kernels", "shard": [2, 3]})
    assert (library.whose, library.command, library.shard) == ("library", "test", (2, 3))
    mine = Described(
        {"suite": "kernels", "columns": ["b", 3, "a"], "targets": "sm_90", "lanes": ["b", "a"]}
    )
    assert (mine.whose, mine.command, mine.suite) == ("suite", "run", "kernels")
    assert (mine.columns, mine.targets, mine.selected("lanes")) == (("b", "a"), (), ["a", "b"])


def test_plain_versions_are_compared_as_all_versions():
    draw = random.Random(7)
    for _ in range(400):
        release = ".".join(str(draw.randrange(4)) for _ in range(draw.choice((1, 2, 3, 3, 4))))
        clauses = []
        for _ in range(draw.choice((1, 1, 2))):
            bound = ".".join(str(draw.randrange(4)) for _ in range(draw.choice((1, 2, 3))))
            how = draw.choice(("==", "!=", ">=", "<=", ">", "<", "==*", "!=*"))
            clauses.append(f"{how[:2]}{bound}.*" if how.endswith("*") else f"{how}{bound}")
        window = draw.choice((",", " , ")).join(clauses)
        answer = plain_versions._within(release, window)
        assert answer is versions.within(release, window), (release, window)


@pytest.mark.parametrize("text", ["3.2rc1", "3.2+cpu", "03.2", "3..2", "", "3.2.", "x", "v3"])
def test_versions_of_more_than_numbers_are_left_to_others(text):
    assert plain_versions.numbers(text) is None
    assert plain_versions._within(text, ">=3") is None


@pytest.mark.parametrize("window", ["", "~=3.2", "===3.2", ">=3.2.*", ">=3.2rc1", ">=3.2,", "3.2"])
def test_windows_of_more_than_numbers_are_left_to_others(window):
    assert plain_versions._within("3.2.0", window) is None


@pytest.mark.parametrize(
    ("version", "window", "inside"),
    [
        (None, "", True), (None, " ", True), (None, ">=3", False), ("unknown", "", True), ("unknown", ">=3", False),
        ("3.9.0+git1", ">=3.9", True), ("3.9.0", "<3.9", False), ("3.9.0", "", True),
        (Version("3.9.0"), "==3.9.*", True),
    ],
)  # fmt: skip
def test_an_unknown_version_is_in_no_window_but_the_whole(version, window, inside):
    assert versions.within(version, window) is inside


@pytest.mark.parametrize(
    ("text", "is_window"),
    [
        ("", True),
        (">=3.2,<4", True),
        ("==3.2.*", True),
        ("3.2", False),
        (">=x", False),
        ("===x", False),
    ],
)
def test_what_is_a_window(text, is_window):
    assert versions.is_window(text) is is_window


def test_columns_and_their_versions():
    column = "triton-3.2.0+torch-2.5.1+python-3.12"
    assert versions.of_column(column) == "3.2.0" and versions.of_column("main") is None
    assert versions.split_id(column) == ("triton-3.2.0", [("torch", "2.5.1"), ("python", "3.12")])
    assert versions.swapped(column) == {"torch": "2.5.1", "python": "3.12"}
    assert versions.vendor_of("here-tokenspeed-triton-3.9.10") == "tokenspeed-triton-3.9.10"
    for none in ("here-triton-3.9.0", "tokenspeed-triton-3.9.10", "here", "triton-3.2.0"):
        assert versions.vendor_of(none) == ""
    ordered = ["2.3.1", "3.2.0", "3.10.0", None, "unknown"]
    assert sorted(reversed(ordered[:3]), key=versions.sort_key) == ordered[:3]
    assert all(versions.sort_key("99.0") < versions.sort_key(none) for none in ordered[3:])
    assert versions.same_window(">=3,<4", "<4,>=3") and not versions.same_window(">=3", ">=3.1")
    assert versions.within("3.5", versions.both(">=3", "<4"))
    assert not versions.within("4.0", versions.both(">=3", "<4"))


def timing(make_record, **changes):
    noted = {
        "median": 1.0, "low": 0.99, "high": 1.01, "bytes": 1e6, "of_copy": 0.5, "alone": True,
        "host_bound": False, **changes,
    }  # fmt: skip
    return make_record(resources={"timing": noted})


@pytest.mark.parametrize(
    ("before", "after", "slower"),
    [
        ({}, {"median": 1.11, "low": 1.1, "bytes": 1.11e6}, True),
        ({}, {"median": 1.09, "low": 1.08, "bytes": 1.09e6}, False),
        # The noise of the two touches.
        ({}, {"median": 1.11, "low": 1.01, "bytes": 1.11e6}, False),
        ({}, {"median": 1.11, "low": 1.0101, "bytes": 1.11e6}, True),
        # A tenth, and less than 5 µs.
        ({"median": 0.04, "low": 0.04, "high": 0.04, "bytes": 4e4},
         {"median": 0.0449, "low": 0.0449, "high": 0.0449, "bytes": 4.49e4}, False),
        ({"median": 0.04, "low": 0.04, "high": 0.04, "bytes": 4e4},
         {"median": 0.0451, "low": 0.0451, "high": 0.0451, "bytes": 4.51e4}, True),
    ],
)  # fmt: skip
def test_a_tenth_slower_beyond_the_noise(make_record, before, after, slower):
    change, why = comparison.slower(timing(make_record, **before), timing(make_record, **after))
    assert (bool(change), why) == (slower, "")


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ({"alone": False}, "beside other jobs"), ({"alone": 1}, "beside other jobs"),
        ({"host_bound": True}, "the host's pace"), ({"of_copy": 0.4}, "different bandwidth"),
        ({"median": 0}, ""), ({"low": -1}, ""), ({"high": math.inf}, ""), ({"bytes": True}, ""), ({"of_copy": "1"}, ""),
    ],
)  # fmt: skip
def test_times_that_are_not_compared(make_record, odd, why):
    slow = {"median": 2.0, "low": 1.9, "high": 2.1, "bytes": 2e6}
    assert comparison.slower(timing(make_record), timing(make_record, **slow))[0]
    for before, after in (({}, {**slow, **odd}), (odd, slow)):
        change, note = comparison.slower(
            timing(make_record, **before), timing(make_record, **after)
        )
        assert change is None and why in note and bool(note) == bool(why)


def test_of_more_launches_the_typical_compilation_stands_for_all(launch):
    before = compiled(launch, 1.0, 2.0, 9.0)
    for after, slower in (((4.0, 4.0), True), ((3.0, 3.9), False), ((4.0,), True)):
        assert bool(compile_time.slower(before, compiled(launch, *after))) == slower


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "3.0.0"), (2, "3.0.0 and 3.1.0"), (6, "3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0 and 3.5.0"),
        (7, "3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0, 3.5.0 and 1 more"),
        (8, "3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0, 3.5.0 and 2 more"),
    ],
)  # fmt: skip
def test_six_releases_are_named_and_the_others_counted(make_record, count, words):
    records = [make_record(versions={"triton": f"3.{minor}.0"}) for minor in range(count)]
    assert windows._seen(records[::-1], ("triton",)) == words


def test_a_global_that_is_only_annotated_looks_like_no_known_issue(make_record, issue):
    for fingerprint, looks in (("NameError: x", True), ("Cannot access global variable x", False)):
        record = make_record(outcome="api-error", fingerprint=fingerprint)
        assert ("looks like" in fault.of(record, alike=issue).next) is looks
        assert "looks like" not in fault.of(record, issue, alike=issue).next


def test_a_supported_range_admits_the_green_releases_alone():
    draw = random.Random(17)
    releases = [Version(f"3.{minor}.{patch}") for minor in range(6) for patch in range(2)]
    for _ in range(300):
        states = {
            release: draw.choice(("green", "red", "unknown", "unsupported")) for release in releases
        }
        # A minor without a green release counts as a whole; its other patches were not tried.
        states = {release: state for release, state in states.items() if draw.random() < 0.7}
        ordered = sorted(states)
        shuffled = draw.sample(list(states.items()), len(states))
        found = supported.span(shuffled)
        green = [release for release in ordered if states[release] == "green"]
        if not green:
            assert found == supported.Span("")
            continue
        inside = SpecifierSet(found.specifier)
        assert (found.floor, found.ceiling) == (green[0], green[-1])
        assert all(release in inside for release in green), (states, found)
        for release, state in states.items():
            if state in ("red", "unsupported"):
                assert release not in inside, (states, found)
        older = [release for release in ordered if release < green[0]]
        newer = [release for release in ordered if release > green[-1]]
        assert not any(release in inside for release in older + newer)
        assert (Version("9.0") in inside) == (not newer) and Version("1.0") not in inside
        assert found.below == ((older[-1], states[older[-1]]) if older else None)
        assert found.above == ((newer[0], states[newer[0]]) if newer else None)
        assert found.inside == tuple(
            release for release in ordered if states[release] == "unknown" and release in inside
        )
        assert found.holes == tuple(
            release
            for release in ordered
            if green[0] < release < green[-1] and states[release] in ("red", "unsupported")
        )


@pytest.mark.parametrize(
    ("outcomes", "missing", "short", "state"),
    [
        (["pass"], 0, False, "green"), (["pass", "unsupported"], 0, False, "green"),
        (["unsupported"], 0, False, "unsupported"),
        (["pass", "crash"], 0, False, "red"), (["pass", "crash"], 1, True, "red"),
        (["pass", "not-run"], 0, False, "unknown"),
        (["pass"], 1, False, "unknown"), (["pass"], 0, True, "unknown"), ([], 0, False, "unknown"),
    ],
)  # fmt: skip
def test_the_state_of_a_release(make_record, outcomes, missing, short, state):
    records = [make_record(case=str(at), outcome=outcome) for at, outcome in enumerate(outcomes)]
    expected = {supported._item(record) for record in records}
    expected |= {("sm_90", "compile", "softmax", f"more {at}") for at in range(missing)}
    release = supported.Release(Version("3.2.0"), None, ("triton-3.2.0",))
    measured = supported._measured(release, records, expected, short)
    assert measured.state == state
    assert measured.missing == missing + outcomes.count("not-run")
    assert len(measured.red) == outcomes.count("crash")


def test_columns_that_planned_more_than_any_has(make_record):
    records = [make_record(case=case) for case in ("a", "b", "*")]
    planned = {
        ("one", "compile"): 2,
        ("two", "compile"): 3,
        ("three", "emulate"): 1,
        ("four", "emulate"): 0,
    }
    assert supported.short(records, planned) == {"two", "three"}


def test_a_baseline_returns_what_a_comparison_needs(make_record, tmp_path):
    from crosswarp.matrix.cell.protocol import DROPPED

    noted = {
        "kernel": "_k",
        "num_warps": 4,
        "registers": 32,
        "shared": 0,
        "stack": None,
        "spills": 3,
        "exchanges": 2,
    }
    timing = {
        "median": 1.23456,
        "low": 1.0,
        "high": 2.0,
        "bytes": 10,
        "of_copy": 0.5,
        "alone": True,
        "more": 1,
    }
    records = [
        make_record(
            case="a",
            resources={"launches": [noted, {**noted, "registers": 40}], "other": 1},
            shims=("z", "b"),
        ),
        make_record(
            case="b",
            outcome="crash",
            fingerprint="f",
            message="m",
            seconds=3.0,
            resources={"launches": [noted]},
        ),
        make_record(case="c", reason=DROPPED, config="x"),
        make_record(case="d", reason="another", resources={"timing": timing}),
        make_record(case="e", resources={"timing": {**timing, "alone": 1, "host_bound": True}}),
        make_record(case="f", resources={"timing": {**timing, "low": True}}),
        make_record(case="a", mode="shimmed", versions={"triton": "3.2.0", "odd": None}),
        make_record(case="a", column="main", target="gfx942", outcome="unsupported"),
    ]  # fmt: skip
    baseline.write(tmp_path / "b.json", records)
    read = {
        (record.column, record.mode, record.case): record
        for record in baseline.read(tmp_path / "b.json")
    }
    assert len(read) == len(records)

    def of(case, column="triton-3.2.0", mode="bare"):
        return read[column, mode, case]

    kept = {name: value for name, value in noted.items() if value is not None}
    first, second = of("a").resources["launches"]
    assert {name: value for name, value in first.items() if value is not None} == kept
    assert (
        second["registers"] == 40
        and of("a").shims == ("b", "z")
        and "other" not in of("a").resources
    )
    assert (of("b").fingerprint, of("b").message, of("b").seconds, of("b").resources) == (
        "f",
        "",
        0.0,
        {},
    )
    assert (of("c").reason, of("c").config, of("d").reason) == (DROPPED, "x", "")
    assert of("d").resources["timing"] == {
        "median": 1.235, "low": 1.0, "high": 2.0, "bytes": 10.0, "of_copy": 0.5, "alone": True, "host_bound": False,
    }  # fmt: skip
    late = of("e").resources["timing"]
    assert (late["alone"], late["host_bound"]) == (False, True) and of("f").resources == {}
    assert of("a", mode="shimmed").versions == of("b").versions == {"triton": "3.2.0"}
    assert of("a", "main").versions == {} and of("a", "main").outcome == "unsupported"
    table = baseline.Table(json.loads((tmp_path / "b.json").read_text()))
    assert [record.column for record in table.records("main")] == ["main"]
    assert sum(entry.cells for entry in table.entries) == len(records)
    assert not any(record.resources for record in table.records(brief=True))


def test_a_baseline_with_a_part_anew(make_record):
    old = [make_record(case=case, kernel=kernel) for kernel in ("a", "b") for case in ("x", "y")]
    new = [make_record(case="x", kernel="a", outcome="crash")]
    for all_cases, left in ((True, ["bx", "by", "ax"]), (False, ["ay", "bx", "by", "ax"])):
        made = baseline.onto(old, new, all_cases)
        assert [record.kernel + record.case for record in made] == left and made[-1].red
    for name in ("column", "target", "lane", "mode"):
        other = [
            replace(new[0], **{name: {"lane": "emulate", "mode": "shimmed"}.get(name, "other")})
        ]
        assert len(baseline.onto(old, other)) == 5


@pytest.mark.parametrize(
    ("fixed", "changes", "words"),
    [
        (None, {}, "no fix is known yet"),
        ((), {}, f"fixed by compat: {fault.INSTALL}"),
        (None, {"fixed_in": "3.3.0"}, "fixed in Triton 3.3.0"),
        (None, {"workaround": "use 4 warps"}, "use 4 warps"),
        (None, {"fixed_in": "3.3.0", "workaround": "use 4 warps"}, "fixed in Triton 3.3.0; or use 4 warps"),
        # Who has compat needs no way around.
        (("a",), {"fixed_in": "3.3.0", "workaround": "use 4 warps"},
         f"fixed by compat: {fault.INSTALL}; or fixed in Triton 3.3.0"),
    ],
)  # fmt: skip
def test_the_ways_out_of_a_known_issue(make_record, make_issue, fixed, changes, words):
    record = make_record(outcome="crash", fingerprint="SIGABRT: reshapeOuts")
    issue = make_issue(**changes)
    found = fault.of(record, issue, fixed=fixed)
    assert str(found) == f"Triton: known issue triton-1 ({issue.links[0]}): {words}"


@pytest.mark.parametrize(
    ("fixed", "broken", "reason", "owner"),
    [
        (None, False, "", "your kernel"), ((), False, "", "Triton"), (("a", "b"), False, "", "Triton"),
        (None, True, "", "crosswarp"), ((), True, "", "crosswarp"), (None, False, "harness: KeyError", "crosswarp"),
        (None, False, "a harness", "your kernel"),
    ],
)  # fmt: skip
def test_the_owner_of_a_failure_and_of_one_that_looks_like_an_issue(
    make_record, make_issue, fixed, broken, reason, owner
):
    record = make_record(outcome="mismatch", fingerprint="mismatch: y wrong", reason=reason)
    alone = fault.of(record, fixed=fixed, broken=broken)
    assert alone.whose == owner
    assert ("(a, b)" in alone.next) == (fixed == ("a", "b"))
    alike = fault.of(record, alike=make_issue(), fixed=fixed, broken=broken)
    assert (alike.whose, alike.next.startswith(f"{alone.next}; looks like triton-1 (")) == (
        owner,
        True,
    )
    advised = fault.of(
        record, alike=make_issue(workaround="Use smaller blocks."), fixed=fixed, broken=broken
    )
    assert advised.next.endswith("): Use smaller blocks.")
    # One that explains it leaves nothing that it could look like.
    known = fault.of(record, make_issue(id="other"), make_issue(), fixed, broken)
    assert "looks like" not in known.next


def test_the_failures_of_a_baseline_are_accepted_and_nothing_else(cell):
    records = [cell(), cell("case", outcome="pass"), cell("config", outcome="unsupported")]
    assert owned.accepted(records) == {(records[0].id, records[0].fingerprint)}


@pytest.fixture
def small_baseline(make_record):
    records = [
        make_record(**at, column=column, versions={"triton": column.removeprefix("triton-")})
        for column in ("triton-3.2.0", "triton-3.1.0")
        for at in (
            {"kernel": "a", "case": "x"}, {"kernel": "a", "case": "x", "mode": "shimmed"},
            {"kernel": "a", "case": "y", "mode": "shimmed", "outcome": "crash", "fingerprint": "f"},
            {"kernel": "a", "case": "*", "target": "gfx942", "outcome": "timeout"},
            {"kernel": "b", "case": "x", "target": "cpu", "lane": "interpret"},
            {"kernel": "b", "case": "x", "target": "gpu", "lane": "device", "config": "num_warps=4"},
        )
    ]  # fmt: skip
    return packaged._Baseline(baseline.Table(json.loads(baseline.dumped(records)))), records


def test_a_baseline_is_a_store_with_one_run(small_baseline):
    store, records = small_baseline
    (run,) = store.runs()
    assert (run.id, run.cells, run.status) == (1, len(records), "finished")
    assert store.run() == store.run(1) == run
    assert set(run.described.columns) == {"triton-3.1.0", "triton-3.2.0"}
    assert set(run.described.targets) == {"sm_90", "gfx942"}
    for other in (0, 2):
        with pytest.raises(UsageError, match=f"has no run {other}"):
            store.run(other)
    assert store.kernels(1) == ["a", "b"]
    assert (store.targets(1), store.reused_items(1), store.notes(1)) == ({}, {}, [])
    versions_of = {
        environment.column: environment.versions for environment in store.environments(1)
    }
    assert versions_of == {f"triton-{text}": {"triton": text} for text in ("3.1.0", "3.2.0")}
    assert store.sessions(1)["triton-3.1.0", "interpret"] == {"triton": "3.1.0"}


def test_the_cases_that_a_baseline_had_planned(small_baseline):
    store, _ = small_baseline
    # Both modes of x, one of y; a kernel as a whole is no case.
    assert store.planned(1) == {
        (column, lane): cases
        for column in ("triton-3.1.0", "triton-3.2.0")
        for lane, cases in (("compile", 3), ("interpret", 1), ("device", 1))
    }


def test_the_records_of_a_baseline_are_made_once_and_given_as_copies(small_baseline):
    store, records = small_baseline
    assert len(store.records(1, "triton-3.2.0")) == len(records) // 2
    brief, whole = store.records(1, brief=True), store.records(1)
    assert {record.id for record in brief} == {record.id for record in whole}
    whole.clear()
    assert len(store.records(1)) == len(records)
    # Records that exist are not made again.
    assert all(a is b for a, b in zip(store.records(1), store.records(1, brief=True)))
    counts = store.counts(1)
    assert counts["triton-3.2.0", "sm_90", "compile", "shimmed", "a", "crash"] == 1
    assert sum(counts.values()) == len(records)


def test_the_records_of_each_column(make_record):
    first, second, third = (make_record(column=name, case=name) for name in ("b", "a", "b"))
    grouped = record_module.by_column([first, second, third], ["a", "c"])
    assert list(grouped.items()) == [("a", [second]), ("c", []), ("b", [first, third])]


@pytest.mark.parametrize(
    ("stages", "figures"),
    [({"a": 1.0}, {"a": 1.0}), ({"a": 1.0, "b": "x"}, None), ({"a": -1.0, "b": 1}, None), ({}, None), ([], None)],
)  # fmt: skip
def test_the_stages_of_a_compilation_are_all_sizes(make_record, stages, figures):
    noted = [{"kernel": "k", "num_warps": 4, "stage_seconds": stages}]
    (of_launch,) = launches(make_record(resources={"launches": noted}))["k", 4]
    assert of_launch.get("stages") == figures


@pytest.mark.parametrize(
    ("value", "number"), [(1, True), (0.5, True), (True, False), ("1", False), (None, False)]
)
def test_a_number_of_a_baseline(value, number):
    assert baseline._number(value) is number


@pytest.mark.parametrize(("config", "what"), [("", "the case"), ("num_warps=8", "num_warps=8")])
def test_what_an_autotuner_left_out(make_record, config, what):
    sides = [make_record(config=config, reason=reason) for reason in ("", comparison.LEFT_OUT)]
    (change,) = comparison.compare(*sides).changes
    assert (change.metric, change.what, change.before, change.after) == (
        "configs",
        what,
        "kept",
        "left out",
    )
