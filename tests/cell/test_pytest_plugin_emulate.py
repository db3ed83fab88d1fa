"""Way emulate of the pytest plugin on this column's Triton: a library's unchanged GPU tests judge what was compiled."""

import pytest
import triton
from plugin_runs import LIBRARY, Runs

from crosswarp.compat.versions import in_window

NUMBERS = str(LIBRARY / "tests" / "test_numbers.py")
WAY = ("--virtual-gpu-lane", "emulate", "--crosswarp-time-limit", "20")
# triton#11836: a sum that its loop reads is put together only after the loop.
SILENTLY_WRONG = in_window("<3.9", triton.__version__)
pytestmark = pytest.mark.triton(">=3.0")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("plugin"))


@pytest.fixture(scope="module")
def computed(run):
    return run(NUMBERS, *WAY, "-k", "not hours", "-n1")


@pytest.mark.both_ends
def test_what_becomes_of_each_test(computed):
    found = computed.outcomes()
    assert found == {
        "test_scale": "computed",
        "test_softmax": "computed",
        "test_backward": "computed",
        "test_wrong": "red",
        "test_expected_to_fail": "xfailed",
        "test_running_sum": "red" if SILENTLY_WRONG else "computed",
        "test_tuned": "computed",
        "test_tuned_in_place": "computed",
        "test_too_far": "red",
        "test_too_far_and_nobody_looks": "red",
        "test_unknown_instruction": "unsupported",
        "test_unknown_instruction_expected_to_raise": "unsupported",
        "test_no_launch": "no launch",
    }, computed.text


@pytest.mark.both_ends
def test_each_says_why(computed):
    lines = computed.lines
    assert "not close" in lines["test_wrong"]["why"]
    for name in ("test_too_far", "test_too_far_and_nobody_looks"):
        assert "out-of-bounds" in lines[name]["why"] and "too_far_kernel" in lines[name]["why"]
    assert lines["test_unknown_instruction"]["opcode"] == "vmax4.u32.u32.u32"
    assert lines["test_backward"]["launches"] == 2
    # Two configurations are compiled, and the first is executed once.
    assert lines["test_tuned"]["launches"] == lines["test_tuned_in_place"]["launches"] == 1


@pytest.mark.both_ends
def test_the_summary(computed):
    assert computed.code == 1 and "passed" not in computed.text
    assert "UNSUPPORTED" in computed.text or "2 unsupported" in computed.text
    assert "Not known to the emulator: vmax4.u32.u32.u32 (2)." in computed.text
    assert "executed on the CPU" in computed.text


@pytest.mark.triton("<3.9")
def test_a_sum_that_is_silently_wrong_is_right_with_the_shims(run):
    done = run(NUMBERS, *WAY, "-k", "running_sum", "--crosswarp-shims")
    assert done.outcomes() == {"test_running_sum": "computed"}, done.text


@pytest.mark.both_ends
def test_what_takes_too_long_says_nothing(run):
    limit = ("--virtual-gpu-lane", "emulate", "--crosswarp-time-limit", "6")
    done = run(NUMBERS, *limit, "-k", "hours")
    assert done.outcomes() == {
        "test_takes_hours": "timeout",
        "test_reference_takes_hours": "timeout",
    }
    # The launch is given up in time to say which it was.
    assert "patient_kernel" in done.lines["test_takes_hours"]["why"]
    assert done.code == 0 and "2 timeout" in done.text, done.text
