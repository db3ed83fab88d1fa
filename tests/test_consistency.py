"""How far numbers agree across counts of warps, targets and releases: the findings, and the text."""

import math

import pytest

from crosswarp.reports.findings.consistency import consistency, rounded_up
from crosswarp.reports.text.consistency_text import consistency_text


def cell(make_record, target, errors, bits=("a",), column="triton-3.9.0", tolerance=1e-6, **more):
    by_count = {
        str(2**place): {
            "error": {"y": error},
            "inputs": "i",
            "bits": {"y": bits[place % len(bits)]},
        }
        for place, error in enumerate(errors)
    }
    kept = {"dtype": "fp32", "tolerance": tolerance, "by_count": {**by_count, **more}}
    return make_record(
        column=column, target=target, lane="emulate", kernel="softmax", case="fp32-3x4",
        resources={"warps": kept},
    )  # fmt: skip


def test_the_largest_and_the_smallest_error_have_their_places(make_record):
    records = [
        cell(make_record, "sm_90", [2e-8, 2e-8, 4e-8]),
        cell(make_record, "gfx942", [3e-8, 6e-8], column="triton-3.2.0"),
    ]
    (output,) = consistency(records).outputs
    assert (output.kernel, output.case, output.name) == ("softmax", "fp32-3x4", "y")
    assert len(output.measured) == 5 and output.spread == pytest.approx(3)
    place = output.largest.place
    assert (place.column, place.target, place.warps) == ("triton-3.2.0", "gfx942", 2)
    assert output.smallest.place.target == "sm_90"


def test_bits_are_compared_where_the_inputs_are_the_same(make_record):
    (output,) = consistency([cell(make_record, "sm_90", [1e-8] * 3)]).outputs
    assert output.kinds_of_bits == 1
    (output,) = consistency([cell(make_record, "sm_90", [1e-8] * 3, bits=("a", "b"))]).outputs
    assert output.kinds_of_bits == 2
    text = " ".join(
        consistency_text(
            consistency([cell(make_record, "sm_90", [1e-8] * 3, bits=("a", "b"))])
        ).split()
    )
    assert "y: (1) triton-3.9.0 sm_90 bare with 1 4; (2) triton-3.9.0 sm_90 bare with 2" in text
    other = {"8": {"error": {"y": 1e-8}, "inputs": "others", "bits": {"y": "c"}}}
    (output,) = consistency([cell(make_record, "sm_90", [1e-8], **other)]).outputs
    assert output.kinds_of_bits == 1


def test_each_target_gets_twice_its_largest_error(make_record):
    records = [
        cell(make_record, "sm_90", [1e-7, 1.5e-7]),
        cell(make_record, "gfx942", [2e-7, 3.1e-6], tolerance=1e-6),
    ]
    found = consistency(records)
    by_target = {one.target: one.proposed for one in found.tolerances}
    assert by_target == {"gfx942": 7e-6, "sm_90": 3e-7}
    text = consistency_text(found)
    assert "softmax: tolerance_on={'gfx942': {'fp32': 7e-06}, 'sm_90': {'fp32': 3e-07}}" in text
    assert (
        "gfx942 fp32 is at 3.1e-06, above the declared 1e-06" in text
        and "sm_90 fp32 is" not in text
    )


def test_a_count_without_numbers_is_named_with_its_reason(make_record):
    failed = {"32": {"failed": "limit: LaunchRefused"}}
    found = consistency([cell(make_record, "gfx942", [1e-8], **failed)])
    assert len(found.outputs[0].measured) == 1
    text = " ".join(consistency_text(found).split())
    assert "gfx942 bare, 32 warps: limit: LaunchRefused" in text


def test_an_output_that_is_nowhere_comparable_is_left_out(make_record):
    found = consistency([cell(make_record, "sm_90", [None])])
    assert found.outputs == [] and found.tolerances == []
    found = consistency([cell(make_record, "sm_90", [1e-8, None])])
    text = " ".join(consistency_text(found).split())
    assert "NaN or infinity at the wrong place in triton-3.9.0 sm_90 bare, 2 warps" in text


def test_a_run_without_counts_says_what_to_run(make_record):
    assert "--warps 1,2,4,8,16" in consistency_text(consistency([make_record()]))


def test_cells_of_strangers_are_read_with_care(make_record):
    for kept in (
        3,
        {"by_count": 3},
        {"by_count": {"x": 3, "4": 3}},
        {"by_count": {"4": {"error": 3}}},
    ):
        assert consistency([make_record(resources={"warps": kept})]).outputs == []


@pytest.mark.parametrize(
    "value, up", [(3.1e-7, 4e-7), (3e-7, 3e-7), (0.0, 0.0), (9.5e-3, 1e-2), (math.inf, math.inf)]
)
def test_a_tolerance_is_rounded_upwards(value, up):
    assert rounded_up(value) == up
