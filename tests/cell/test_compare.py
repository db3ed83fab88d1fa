"""Numbers against the reference."""

import pytest
import torch

from crosswarp.matrix.cell.judging.compare import compare, poisoned


def test_equal_within_tolerance():
    reference = torch.arange(1.0, 9.0)
    found = compare({"y": reference * (1 + 1e-6)}, {"y": reference}, 1e-5)
    assert found.outcome == "pass" and found.resources["error"]["y"] < 1e-5


@pytest.mark.parametrize(
    "spoil, reason",
    [
        (lambda y: y.__setitem__(3, float("nan")), "nan"),
        (lambda y: y.__setitem__(3, float("inf")), "inf"),
        (lambda y: y.__setitem__(3, 100.0), "wrong"),
    ],
)
def test_what_is_wrong_is_named(spoil, reason):
    reference = torch.arange(1.0, 9.0)
    out = reference.clone()
    spoil(out)
    found = compare({"y": out}, {"y": reference}, 1e-3)
    assert (found.outcome, found.reason) == ("mismatch", reason)
    assert found.fingerprint == f"mismatch: y {reason}"


def test_infinity_of_the_reference_is_right():
    reference = torch.tensor([1.0, float("inf")])
    assert compare({"y": reference.clone()}, {"y": reference}, 1e-6).outcome == "pass"


@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf")])
def test_what_the_reference_has_must_be_there(special):
    reference = torch.tensor([1.0, special])
    for wrong in (0.0, -special):
        found = compare({"y": torch.tensor([1.0, wrong])}, {"y": reference}, 1e-6)
        assert found.outcome == ("pass" if special != special and wrong != 0 else "mismatch")


def test_nothing_to_compare_with_is_no_pass():
    assert compare({"y": torch.ones(2)}, {}, 1).fingerprint == "mismatch: reference empty"


def test_a_missing_output_and_a_wrong_shape():
    reference = {"y": torch.ones(4)}
    assert compare({}, reference, 1).fingerprint == "mismatch: y missing"
    assert compare({"y": torch.ones(5)}, reference, 1).reason == "shape"


def test_all_zero_is_compared_absolutely():
    assert compare({"y": torch.full((3,), 0.1)}, {"y": torch.zeros(3)}, 1e-3).outcome == "mismatch"
    assert compare({"y": torch.zeros(3)}, {"y": torch.zeros(3)}, 1e-3).outcome == "pass"


def test_outputs_start_poisoned_and_only_inside():
    with poisoned(torch, True):
        assert torch.empty(3).isnan().all()
        assert torch.empty_like(torch.ones(3)).isnan().all()
        assert torch.ones(3).new_empty(3).isnan().all()
        assert (torch.empty(3, dtype=torch.int32) == torch.iinfo(torch.int32).max).all()
        assert torch.zeros(3).sum() == 0
    assert torch.empty.__name__ == "empty"


def test_each_wrong_output_is_named():
    reference = {name: torch.arange(1.0, 9.0) for name in "xyz"}
    found = compare({"x": -reference["x"], "y": reference["y"]}, reference, 1e-3)
    assert found.fingerprint == "mismatch: x wrong, z missing" and found.reason == "wrong"
    assert found.message.count("\n") == 1
