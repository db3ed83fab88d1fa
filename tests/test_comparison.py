"""One function compares two results of a cell: all pairs of outcomes, and what is noise among the figures."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.matrix.results import comparison
from crosswarp.matrix.results.comparison import THRESHOLDS, compare, pairs
from crosswarp.matrix.results.record import OUTCOMES, RED

LEFT_OUT = {
    "dropped": {"outcome": "pass", "reason": "configuration dropped"},
    "left out": {"outcome": "unsupported", "reason": "dropped by the autotuner"},
}
STATES = ("absent", *OUTCOMES, *LEFT_OUT)
# Rows: before; columns: after.
TABLE = """
            | absent  | pass    | left-out           | red             | not-run
absent      | same    | new     | new                | new             | unknown
pass        | gone    | same    | resource-regressed | regressed       | unknown
left-out    | gone    | same    | same               | regressed       | unknown
red         | gone    | fixed   | fixed              | changed-failure | unknown
not-run     | unknown | unknown | unknown            | unknown         | unknown
"""


def _expected(before, after):
    head, *rows = [[word.strip() for word in line.split("|")] for line in TABLE.strip().split("\n")]
    table = {row[0]: dict(zip(head[1:], row[1:])) for row in rows}
    return table[_kind(before)][_kind(after)]


def _kind(state):
    if state in LEFT_OUT:
        return "left-out"
    if state in RED:
        return "red"
    # What a column lacks, as declared, is no verdict on the kernel.
    return "absent" if state == "unsupported" else state


@pytest.fixture
def make_state(make_record):
    def make(state, **changes):
        if state == "absent":
            return None
        if state == "timeout":
            # With the machine to itself, and more time.
            changes["resources"] = {"alone": True}
        return make_record(**{**LEFT_OUT.get(state, {"outcome": state}), **changes})

    return make


@pytest.fixture
def launched(make_record):
    """A record whose launches have these figures."""

    def make(*figures, **changes):
        launches = [
            {
                "kernel": "_kernel", "num_warps": 4, "num_stages": 2, "num_ctas": 1, "shared": 0, "registers": 32,
                "stack": 0, "spills": None, "grid": [1, 1, 1], **one,
            }
            for one in figures
        ]  # fmt: skip
        return make_record(**changes, resources={"launches": launches})

    return make


@pytest.fixture
def timed(make_record):
    def make(median, spread=0.01, alone=True, copy=3e9, host_bound=False, **changes):
        timing = {
            "median": median, "low": median * (1 - spread), "high": median * (1 + spread), "bytes": 1e6,
            "of_copy": 1e6 / median / copy, "alone": alone, "host_bound": host_bound,
        }  # fmt: skip
        return make_record(lane="device", resources={"timing": timing}, **changes)

    return make


@pytest.mark.parametrize("after", STATES)
@pytest.mark.parametrize("before", STATES)
def test_all_pairs_of_outcomes(make_state, before, after):
    old, new = make_state(before, fingerprint="one"), make_state(after, fingerprint="two")
    assert compare(old, new).outcome == _expected(before, after)


def test_a_timeout_beside_others_is_no_regression_yet(make_record):
    before, hurried = make_record(), make_record(outcome="timeout", fingerprint="timeout")
    found = compare(before, hurried)
    assert found.outcome == "unknown" and "--time-limit-alone" in found.note
    again = make_record(outcome="timeout", fingerprint="timeout", resources={"alone": True})
    assert compare(before, again).outcome == "regressed"
    # It was red before, whatever of.
    assert compare(make_record(outcome="crash"), hurried).outcome == "changed-failure"
    assert compare(hurried, hurried).outcome == "same"


@pytest.mark.parametrize("state", [*OUTCOMES, *LEFT_OUT])
def test_a_cell_is_the_same_as_itself(make_state, state):
    record = make_state(state, fingerprint="f")
    assert compare(record, record).outcome == ("unknown" if state == "not-run" else "same")


def test_red_twice_is_the_same_only_with_outcome_and_fingerprint(make_record):
    crash = make_record(outcome="crash", fingerprint="f")
    for changes in ({"outcome": "timeout"}, {"fingerprint": "g"}):
        other = make_record(**{"outcome": "crash", "fingerprint": "f", **changes})
        assert compare(crash, other).outcome == "changed-failure"


def test_every_word_is_known_and_every_worse_word_fails():
    words = set(comparison._RULES.values()) | {"slower", "changed", "unknown", *comparison.REPORTED}
    assert words == set(comparison.OUTCOMES)
    assert comparison.WORSE == ("regressed", "resource-regressed", "slower")


def test_a_stack_that_grows_by_a_third_names_both_figures(launched):
    found = compare(launched({"stack": 96}), launched({"stack": 128}))
    assert found.outcome == "resource-regressed"
    (change,) = found.changes
    assert (change.metric, change.before, change.after, change.unit) == ("stack", 96, 128, "bytes")
    assert change.what == "_kernel, 4 warps"


@pytest.mark.parametrize(
    ("metric", "before", "after", "told"),
    [
        # From nothing to more than nothing much.
        ("stack", 0, 40, True),
        ("spills", 0, 9, True),
        ("stack", 48, 64, True),
        ("stack", 100, 124, False),
        # What the compilers of 3.0.0 and 3.1.0 make of the same kernel.
        ("stack", 16, 32, False),
        ("stack", 128, 96, False),
        ("spills", 16, 20, True),
        ("spills", 2, 4, False),
        ("registers", 32, 168, True),
        ("registers", 64, 128, True),
        ("registers", 24, 48, False),
        ("registers", 128, 168, False),
        ("registers", 0, 40, False),
        ("shared", 9_216, 40_960, True),
        ("shared", 32_768, 65_536, True),
        ("shared", 0, 512, False),
        ("shared", 12_288, 28_000, False),
        ("shared", 40_960, 49_152, False),
        ("code", 20_000, 40_000, True),
        ("code", 40_000, 70_000, False),
        ("code", 8_192, 32_768, False),
    ],
)
def test_thresholds(launched, metric, before, after, told):
    found = compare(launched({metric: before}), launched({metric: after}))
    assert [(c.metric, c.before, c.after) for c in found.changes] == (
        [(metric, before, after)] if told else []
    )
    assert found.outcome == ("resource-regressed" if told else "same")


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=lambda threshold: threshold.metric)
def test_every_threshold_at_its_edge(threshold):
    def told(least, most):
        return threshold.passed_by(*((most, least) if threshold.falls else (least, most)))

    edge = 4 * threshold.above
    assert told(edge, edge * threshold.factor)
    assert not told(edge, edge * threshold.factor - 0.5)
    assert not told(threshold.above / 2, threshold.above)
    # Of what was little: more than the edge, and so many times as much.
    assert told(threshold.above / threshold.factor, threshold.above + 1)
    assert not told(edge, edge) and not told(edge * threshold.factor, edge) and threshold.why


@pytest.mark.parametrize(
    ("metric", "before", "after", "told"),
    [
        ("scratch", {}, {"scratch": 2}, None),
        ("scratch", {}, {"scratch": 17}, (0, 17)),
        ("scratch", {"scratch": 38}, {"scratch": 70}, (38, 70)),
        # What the compilers of 3.0.0 and 3.1.0 make of the same kernel.
        ("scratch", {"scratch": 6}, {"scratch": 14}, None),
        ("access", {"load.16": 4, "store.16": 2}, {"load.4": 16, "store.16": 2}, (16, 5.33)),
        ("access", {"async.16": 4}, {"load.8": 8}, (16, 8)),
        ("access", {"load.4": 4}, {"load.16": 1}, None),
        ("access", {"load.16": 4, "store.8": 4}, {"load.16": 4, "store.4": 8}, None),
        # What moves whole tiles has single values left.
        ("access", {"load.16": 4}, {"load.2": 1, "bulk": 2}, None),
        ("access", {"load.16": 4, "bulk": 2}, {"load.2": 64}, None),
        ("access", {"load.16": 4}, {"shared.load": 4}, None),
        ("tensor", {"wgmma.m64n64k16.f32.f16.f16": 4}, {"mma.m16n8k16.f32.f16.f16.f32": 64}, ("wgmma", "mma")),
        ("tensor", {"tcgen05.f16": 1}, {"wgmma.m64n64k16.f32.f16.f16": 1}, ("tcgen05", "wgmma")),
        ("tensor", {"mfma.f32_32x32x8_f16": 4}, {}, ("mfma", "none")),
        ("tensor", {"mma.m16n8k8": 64, "wgmma.m64n64k16": 1}, {"wgmma.m64n64k16": 1}, None),
        ("tensor", {"mma.m16n8k8": 8}, {"mma.m16n8k16": 4}, None),
        ("tensor", {}, {"mma.m16n8k16": 4}, None),
    ],
)  # fmt: skip
def test_instructions(launched, metric, before, after, told):
    old, new = ({"instructions": {**counts, "total": 99}} for counts in (before, after))
    found = compare(launched(old), launched(new))
    assert [(c.metric, c.before, c.after) for c in found.changes] == (
        [(metric, *told)] if told else []
    )
    assert found.outcome == ("resource-regressed" if told else "same")


def test_instructions_that_were_not_counted_are_not_compared(launched):
    """By an older crosswarp."""
    tensor = launched({"instructions": {"mma.m16n8k16": 4, "load.16": 9}})
    scratch = launched({"instructions": {"scratch": 400, "load.1": 9}})
    for one in (launched({}), launched({"instructions": {}}), launched({"instructions": None})):
        assert compare(tensor, one).changes == compare(one, scratch).changes == ()


def test_with_a_configuration_more_the_lowest_kind_and_the_narrowest_accesses_stand_for_all(
    launched,
):
    wide = {"instructions": {"wgmma.m64": 4, "load.16": 9}}
    narrow = {"instructions": {"mma.m16": 4, "load.2": 9}}
    assert compare(launched(wide, narrow), launched(narrow)).changes == ()
    changes = compare(launched(wide, wide), launched(wide, narrow, wide)).changes
    assert [(c.metric, c.before, c.after) for c in changes] == [
        ("access", 16, 2),
        ("tensor", "wgmma", "mma"),
    ]


def test_each_launch_is_compared_with_the_same_one(launched):
    """The wide one shrinks by as much as the narrow one grows."""
    before = launched({"num_warps": 4, "stack": 400}, {"num_warps": 8, "stack": 100})
    after = launched({"num_warps": 4, "stack": 100}, {"num_warps": 8, "stack": 400})
    (change,) = compare(before, after).changes
    assert (change.what, change.before, change.after) == ("_kernel, 8 warps", 100, 400)


def test_configurations_of_one_launch_are_compared_in_their_order(launched):
    before = launched({"stack": 400}, {"stack": 100})
    after = launched({"stack": 400}, {"stack": 200})
    (change,) = compare(before, after).changes
    assert (change.before, change.after) == (100, 200)


def test_with_a_configuration_more_the_worst_stand_for_all(launched):
    before = launched({"stack": 400}, {"stack": 100})
    assert compare(before, launched({"stack": 400}, {"stack": 0}, {"stack": 396})).changes == ()
    assert compare(launched({"stack": 100}, {"stack": 400}), launched({"stack": 400})).changes == ()
    (change,) = compare(before, launched({"stack": 800})).changes
    assert (change.before, change.after) == (400, 800)


def test_the_names_of_2_3_1_are_those_of_3_0_0(launched):
    """Triton 2.3.1 names a kernel with what it was specialised for."""
    before = launched({"kernel": "_twice_kernel_0d1d2d34c", "stack": 96})
    (change,) = compare(before, launched({"kernel": "_twice_kernel", "stack": 960})).changes
    assert change.what == "_twice_kernel, 4 warps"
    other = launched({"kernel": "_other", "stack": 960})
    assert compare(before, other).changes == ()


def test_the_noise_of_two_times_must_not_touch(timed):
    """The new lower quartile is the old upper one, and then a little more."""
    before, after = timed(1.0, spread=0.25), timed(2.0, spread=0.375)
    assert compare(before, after).outcome == "same"
    assert compare(before, timed(2.0, spread=0.3749)).outcome == "slower"


def test_why_times_are_not_compared_is_kept_beside_other_inputs(timed):
    sides = []
    for name, record in (("one", timed(1.0)), ("other", timed(1.0, alone=False))):
        outputs = {"outputs": {"y": {"digest": name}}, "inputs": name}
        sides.append(replace(record, resources={**record.resources, **outputs}))
    assert compare(*sides).note.startswith("timed beside other jobs")


def test_a_figure_that_is_missing_is_not_compared(launched):
    assert compare(launched({"spills": None}), launched({"spills": 9})).outcome == "same"
    assert compare(launched(), launched({"stack": 960, "num_warps": 16})).outcome == "same"


@pytest.mark.parametrize(
    "resources",
    [
        {"launches": "many"}, {"launches": [None, 3, "x"]}, {"launches": [{"kernel": "_kernel"}]},
        {"launches": [{"kernel": ["_kernel"], "num_warps": "4", "stack": 1}]},
        {"launches": [{"kernel": "_kernel", "num_warps": 4, "stack": "9999", "registers": True, "shared": -1}]},
        {"launches": [{"kernel": "_kernel", "num_warps": 4, "instructions": {"load.x": 4, "mma": "9", "scratch": -1}}]},
        {"launches": [{"kernel": "_kernel", "num_warps": 4, "instructions": ["wgmma"], "kind": {}, "access": "16"}]},
        {"launches": [{"kernel": "_kernel", "num_warps": 4, "kind": [], "compile_seconds": float("nan")}]},
        {"timing": "fast"}, {"timing": {"median": "nan", "low": 1, "high": 1}}, {"timing": {}},
        {"timing": {"median": 0, "low": 0, "high": 0, "bytes": 0, "of_copy": 0, "alone": True}},
    ],
)  # fmt: skip
def test_what_a_cell_made_up_changes_nothing(launched, timed, make_record, resources):
    odd = make_record(resources=resources)
    for record in (launched({"stack": 1}), timed(1.0)):
        assert compare(record, odd).outcome == compare(odd, record).outcome == "same"


def test_resources_of_what_is_red_are_not_compared(launched):
    """A crash takes the figures along; what is left of them says nothing."""
    before = launched({"stack": 8}, outcome="limit", fingerprint="f")
    after = launched({"stack": 800}, outcome="limit", fingerprint="f")
    assert compare(before, after).outcome == "same"


def test_a_configuration_that_no_longer_survives(make_record):
    before = make_record(config="num_warps=8")
    for lost in LEFT_OUT.values():
        found = compare(before, make_record(config="num_warps=8", **lost))
        assert found.outcome == "resource-regressed"
        (change,) = found.changes
        assert (change.metric, change.what) == ("configs", "num_warps=8")
        assert (change.before, change.after) == ("kept", "left out")


def test_slower_names_both_medians(timed):
    (change,) = compare(timed(1.0), timed(1.2)).changes
    assert (change.metric, change.before, change.after, change.unit) == ("time", 1.0, 1.2, "ms")
    assert compare(timed(1.0), timed(1.2)).outcome == "slower"


@pytest.mark.parametrize(
    ("before", "after", "spread"),
    [
        # Faster, or less than a tenth.
        (1.0, 0.5, 0.0), (1.0, 1.09, 0.0),
        # A fifth, with quartiles that overlap.
        (1.0, 1.2, 0.1),
        # Half as long again, of which a launch may take all.
        (0.008, 0.012, 0.0),
    ],
)  # fmt: skip
def test_noise_is_not_slower(timed, before, after, spread):
    assert compare(timed(before, spread), timed(after, spread)).outcome == "same"


def test_the_smallest_kernel_that_is_slower(timed):
    assert compare(timed(0.008), timed(0.0132)).outcome == "slower"


def test_times_beside_other_jobs_are_not_compared(timed):
    for before, after in ((True, False), (False, True), (False, False)):
        found = compare(timed(1.0, alone=before), timed(9.0, alone=after))
        assert (found.outcome, found.changes) == ("same", ())
        assert "beside other jobs" in found.note
    assert compare(timed(1.0), timed(1.0)).note == ""


def test_times_with_the_hosts_pace_in_them_are_not_compared(timed):
    """What waits for the GPU in between: on an H100 its median was 0.22 to 0.47 ms in six runs of the same."""
    for before, after in ((True, False), (False, True), (True, True)):
        found = compare(timed(1.0, host_bound=before), timed(9.0, host_bound=after))
        assert (found.outcome, found.changes) == ("same", ()) and "host's pace" in found.note


def test_times_on_different_gpus_are_not_compared(timed):
    found = compare(timed(1.0, copy=4.3e9), timed(2.0, copy=3.0e9))
    assert found.outcome == "same" and "different bandwidth" in found.note
    assert compare(timed(1.0, copy=3.1e9), timed(2.0, copy=3.0e9)).outcome == "slower"


def test_pairs_are_cells(make_record):
    before = [make_record(), make_record(case="old"), make_record(column="main")]
    after = [make_record(outcome="crash"), make_record(case="new"), make_record(column="main")]
    found = {(p.record.column, p.record.case): p.comparison.outcome for p in pairs(before, after)}
    assert found == {
        ("triton-3.2.0", "fp16-7x33"): "regressed",
        ("triton-3.2.0", "new"): "new",
        ("triton-3.2.0", "old"): "gone",
        ("main", "fp16-7x33"): "same",
    }


def test_what_a_run_did_not_come_to_is_unknown(make_record):
    before = [make_record(), make_record(case="old"), make_record(column="main", case="old")]
    after = [make_record(), make_record(case="new"), make_record(column="main", case="new")]

    def found(*unreached):
        compared = pairs(before, after, unreached=unreached)
        return {(p.record.column, p.record.case): p.comparison.outcome for p in compared}

    ours, rest = "triton-3.2.0", {("main", "old"): "gone", ("main", "new"): "new"}
    whole = {(ours, "fp16-7x33"): "same", (ours, "old"): "gone", (ours, "new"): "new", **rest}
    assert found((), ()) == whole
    # What was cut short after has nothing to say of what there was before, and the other way round.
    assert found((), {ours}) == {**whole, (ours, "old"): "unknown"}
    assert found({ours}, ()) == {**whole, (ours, "new"): "unknown"}
    (gone, new) = pairs([before[1]], [after[2]], across_columns=True, unreached=((), {"main"}))
    assert {one.record.case: one.comparison.outcome for one in (gone, new)} == {
        "old": "unknown",
        "new": "new",
    }


@pytest.mark.parametrize("name", ["target", "lane", "mode", "kernel", "case", "config"])
def test_across_columns_all_else_must_agree(make_record, name):
    other = {"lane": "interpret", "mode": "shimmed"}.get(name, "other")
    before, after = make_record(column="a"), make_record(column="b", **{name: other})
    assert {p.comparison.outcome for p in pairs([before], [after], across_columns=True)} == {
        "new",
        "gone",
    }
    twin = make_record(column="b")
    (pair,) = pairs([before], [twin], across_columns=True)
    assert pair.comparison.outcome == "same" and pair.record is twin


def test_the_table_in_the_docstring_is_the_table():
    text = Path(comparison.__file__).read_text("utf-8").split('"""')[1]
    rows = re.findall(r"^\| (absent|passed|left out|red) +\| (.+?) +\|$", text, re.M)
    heads = ("absent", "passed", "left out", "red")
    told = {
        (row, head): word.strip(" *")
        for row, words in rows
        for head, word in zip(heads, words.split("|"))
    }
    assert told == comparison._RULES


def test_bandwidths_are_compared_with_the_larger_of_the_two(timed):
    # 9.5 % of the larger, 10.5 % of the smaller: GPUs of one kind.
    assert compare(timed(1.0, copy=3.0e9), timed(2.0, copy=2.715e9)).outcome == "slower"
    assert compare(timed(1.0, copy=2.715e9), timed(2.0, copy=3.0e9)).outcome == "slower"


def test_what_is_slower_keeps_its_other_changes(timed):
    def with_stack(record, stack):
        launch = {"kernel": "k", "num_warps": 4, "registers": 30, "shared": 0, "stack": stack}
        record.resources["launches"] = [launch]
        return record

    before, after = with_stack(timed(1.0), 0), with_stack(timed(2.0), 8)
    found = compare(before, after)
    assert found.outcome == "slower"
    assert [change.metric for change in found.changes] == ["time", "stack"]
