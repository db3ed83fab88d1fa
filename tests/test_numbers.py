"""Numbers of a passing case that moved: bits, ulp, share of elements, both errors; nothing where nothing moved."""

from __future__ import annotations

import base64
import struct

import pytest

from crosswarp.matrix.results import numbers
from crosswarp.matrix.results.comparison import compare
from crosswarp.reports.findings import diff as finding
from crosswarp.reports.findings.diff import Side
from crosswarp.reports.text import diff_text

TYPES = {
    "float32": ("f", 4), "float16": ("e", 2), "int32": ("i", 4), "bfloat16": ("H", 2), "float8_e4m3fn": ("B", 1),
}  # fmt: skip


def output(elements, dtype="float32", step=1, **changes):
    code, size = TYPES[dtype]
    data = struct.pack(f"<{len(elements)}{code}", *elements)
    kept = {
        "dtype": dtype, "shape": [len(elements) * step], "size": size, "step": step, "digest": data.hex(),
        "values": base64.b64encode(data).decode(),
    }  # fmt: skip
    return {**kept, **changes}


@pytest.fixture
def returned(make_record):
    def make(
        values, error=1e-7, inputs="same", lane="emulate", numpy="2.0", dtype="float32", **changes
    ):
        return make_record(
            lane=lane, versions={"numpy": numpy, "triton": "3.2.0"}, **changes,
            resources={"outputs": {"out": output(values, dtype)}, "inputs": inputs, "error": {"out": error}},
        )  # fmt: skip

    return make


def test_one_element_that_moved_is_reported_with_both_errors_and_is_no_failure(returned):
    before, after = (
        returned([1.0, 2.0, 3.0, 4.0]),
        returned([1.0, 2.0000002384185791, 3.0, 4.0], 2e-7),
    )
    found = compare(before, after)
    (change,) = found.changes
    assert found.outcome == "numbers-changed"
    assert (change.metric, change.what, change.before, change.after) == (
        "numbers",
        "out",
        1e-7,
        2e-7,
    )
    assert change.remark == "25 % of elements differ, at most 1 ulp apart"
    diff = finding.diff(Side("a", [before], "x"), Side("b", [after], "y"), ())
    text = diff_text.terminal(diff)
    assert not diff.worse and "Other numbers (1 cell)" in text and "Nothing breaks" in text
    assert "25 % of elements differ" in text and "1 kernel with other numbers" in text


def test_the_same_numbers_are_the_same(returned):
    assert compare(returned([1.0, 2.0]), returned([1.0, 2.0], 9.0)).outcome == "same"
    # An older crosswarp kept none.
    old = returned([1.0, 2.0])
    old.resources.pop("outputs")
    for one, other in ((old, returned([1.0])), (returned([1.0]), old)):
        assert (compare(one, other).outcome, compare(one, other).note) == ("same", "")


@pytest.mark.parametrize(
    ("one", "other", "note"),
    [
        ({}, {"inputs": "others"}, numbers.OTHER_INPUTS),
        ({"lane": "interpret"}, {"lane": "interpret", "numpy": "1.26"}, numbers.OTHER_NUMPY),
    ],
)
def test_what_another_library_changed_is_not_reported(returned, one, other, note):
    found = compare(returned([1.0], **one), returned([2.0], **other))
    assert (found.outcome, found.note) == ("same", note)


def test_the_lane_emulate_computes_alike_with_any_numpy(returned):
    assert compare(returned([1.0]), returned([2.0], numpy="1.26")).outcome == "numbers-changed"
    same_numpy = [returned([value], lane="interpret") for value in (1.0, 2.0)]
    assert compare(*same_numpy).outcome == "numbers-changed"


def test_the_interpreter_on_another_processor_is_not_compared(returned):
    """Its numpy computes other last bits there; where it does not, the kernel's numbers are compared."""
    one, other, older = (returned([value], lane="interpret") for value in (1.0, 2.0, 2.0))
    one.resources["arithmetic"], other.resources["arithmetic"] = "avx2", "avx512"
    assert (compare(one, other).outcome, compare(one, other).note) == ("same", numbers.OTHER_NUMPY)
    assert compare(one, older).outcome == "numbers-changed"
    other.resources["arithmetic"] = "avx2"
    assert compare(one, other).outcome == "numbers-changed"


@pytest.mark.parametrize(
    ("dtype", "before", "after", "differ", "ulp"),
    [
        ("float32", [1.0], [1.0000001192092896], 1, 1),
        # Over a power of two, over zero, and to the other zero, which is the same number.
        ("float32", [0.99999994], [1.0], 1, 1),
        ("float32", [1e-45], [-1e-45], 1, 2),
        ("float32", [0.0], [-0.0], 1, 0),
        ("float16", [1.0, 5.0], [1.0009765625, 5.0], 1, 1),
        ("bfloat16", [0x3F80], [0x3F83], 1, 3),
        ("float32", [float("nan")], [1.0], 1, float("inf")),
        ("float8_e4m3fn", [0x7E], [0x7F], 1, float("inf")),
        ("float8_e4m3fn", [0x7D], [0x7E], 1, 1),
        # To infinity it is one step.
        ("float16", [65504.0], [float("inf")], 1, 1),
        ("int32", [-5, 7], [5, 7], 1, 10),
    ],
)
def test_the_distance(dtype, before, after, differ, ulp):
    found = numbers.distance(output(before, dtype), output(after, dtype))
    assert found == (differ, len(before), ulp)


def test_of_a_large_output_there_is_a_sample(make_record):
    def record(values, digest):
        resources = {
            "outputs": {"out": output(values, step=8, digest=digest)},
            "error": {"out": "x"},
        }
        return make_record(lane="emulate", resources=resources)

    (change,) = compare(record([1.0, 2.0], "a"), record([1.0, 3.0], "b")).changes
    assert (
        "50 % of elements differ in a sample of 2" in change.remark and change.before == "unknown"
    )
    (change,) = compare(record([1.0, 2.0], "a"), record([1.0, 2.0], "b")).changes
    assert "none of 2 sampled elements differs" in change.remark


@pytest.mark.parametrize(
    "odd",
    [
        None, [], "x", {}, {"digest": 3}, {"values": 3, "size": 4}, output([1.0], values="!"),
        output([1.0], values="AAA="), output([1.0], size=3), output([1.0], dtype="float16"), output([1.0], size=[]),
        {**output([1.0]), "dtype": ["float32"]}, output([1.0, 2.0]),
    ],
)  # fmt: skip
def test_what_a_cell_made_up_harms_nobody(make_record, odd):
    usual = make_record(lane="emulate", resources={"outputs": {"out": output([1.5])}})
    other = make_record(lane="emulate", resources={"outputs": {"out": odd}})
    for one, two in ((usual, other), (other, usual)):
        assert compare(one, two).outcome in ("numbers-changed", "same")
    whole = make_record(lane="emulate", resources={"outputs": odd})
    for one, two in ((usual, whole), (whole, usual)):
        nothing = not isinstance(odd, dict) or not odd
        assert compare(one, two).outcome in (("same",) if nothing else ("numbers-changed", "same"))


def test_a_row_that_comes_to_depend_on_its_batch(make_record):
    def cell(*outputs):
        batch = {"size": "M", "rows": 64, "outputs": {"out": list(outputs), "other": []}}
        return make_record(lane="emulate", resources={"batch": batch})

    same, other = cell(), cell(output([1.0, 2.0]), output([1.0, 2.0000002384185791]))
    found = compare(same, other)
    (change,) = found.changes
    assert found.outcome == "numbers-changed"
    assert (change.before, change.after) == ("the same bits", "other bits")
    assert change.what == "out: a row alone and in a batch of 64"
    assert change.remark == "50 % of elements differ, at most 1 ulp apart"
    assert compare(other, same).outcome == "numbers-changed"
    assert compare(same, cell()).outcome == "same" == compare(other, cell(*output([1.0]))).outcome
    for odd in (None, 7, [], {"outputs": 7}, {"outputs": {"out": 7}}, {"outputs": {"out": [7, 8]}}):
        made_up = make_record(lane="emulate", resources={"batch": odd})
        assert compare(same, made_up).outcome in ("same", "numbers-changed")


def test_outputs_are_compared_in_the_order_of_their_names(make_record):
    def cell(**outputs):
        return make_record(lane="emulate", resources={"outputs": outputs})

    names = ["zeta", "alpha", "mid", "beta"]
    before = cell(
        **{name: output([1.0], digest="a") for name in names}, same=output([1.0], digest="s")
    )
    after = cell(
        **{name: output([2.0], digest="b") for name in names[:3]}, same=output([1.0], digest="s")
    )
    changes = compare(before, after).changes
    assert [change.what for change in changes] == sorted(names)
    missing = [change.what for change in changes if change.remark == "one side does not return it"]
    assert missing == ["beta"]
    (gone,) = compare(cell(a=output([1.0], digest="a")), cell(b=output([1.0], digest="a"))).changes[
        :1
    ]
    assert gone.remark == "one side does not return it"


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        (("a", "1"), ("a", "1"), False), (("a", "1"), ("b", "1"), True), (("a", "1"), ("a", "2"), True),
        (("", "1"), ("b", "1"), False), (("", "1"), ("b", "2"), True), (("a", None), ("a", None), False),
    ],
)  # fmt: skip
def test_another_numpy_is_one_that_computes_otherwise(make_record, before, after, other):
    sides = [
        make_record(resources={"arithmetic": arithmetic}, versions={"numpy": version})
        for arithmetic, version in (before, after)
    ]
    assert numbers._other_numpy(*sides) is other


@pytest.mark.parametrize(
    "other",
    [
        output([1], "int32"), output([1.0], shape=[2]), output([1.0], step=2, shape=[1]), output([1.0], size=8),
        output([1.0], values=None), output([1.0], values=7), output([1.0], values="!"), output([1.0, 2.0], shape=[1]),
        output([1.0], values="AAAAAAA="), {},
    ],
)  # fmt: skip
def test_outputs_without_a_distance(other):
    usual = output([1.0])
    assert numbers.distance(usual, usual) == (0, 1, 0)
    assert numbers.distance(usual, other) is None and numbers.distance(other, usual) is None


@pytest.mark.parametrize("size", [3, 16, [], None])
def test_elements_of_a_size_that_no_type_has(size):
    odd = output([1.0, 1.0, 1.0, 1.0], size=size)
    assert numbers.distance(odd, odd) is None
