"""What the cases of a kernel have in common is read before they fork: of our own kernels, their sources as well."""

import sys

import pytest
import targets

from crosswarp import compat
from crosswarp.compat import memory_order
from crosswarp.compat.acts import note_acted
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import in_child, kernels
from crosswarp.matrix.cell.kinds.suite.plan import Item

SUITE = """
import triton
from crosswarp.kernels import Case, Kernel

@triton.jit
def kernel(x):
    pass

def launch(**inputs):
    return {}

KERNEL = Kernel(name="own", cases=(Case("a", "fp32", {}),), inputs=None, launch=launch, reference=launch,
                tolerance={"fp32": 0.0})
"""


@pytest.fixture
def digests(in_fork, tmp_path):
    """Of the kernels of a module that was prepared for: what Triton keeps of their sources."""

    def call(kernel, suite=None, mode="bare"):
        def run():
            memory_order._read.cache_clear()
            spec = AskedSuite(
                targets={"sm_80": vars(targets.SM_80)},
                suite=suite,
                time_limit=60,
                cache=str(tmp_path),
            )
            found = in_child.prepare(Item("sm_80", "compile", mode, kernel, "a"), spec)
            module = vars(sys.modules[found.launch.__module__])
            from triton.runtime.jit import JITFunction

            kept = [one.hash for one in module.values() if isinstance(one, JITFunction)]
            return kept, compat.acted(), memory_order._read.cache_info().currsize

        return in_fork(run)

    return call


def test_our_own_kernels_are_digested_before_their_cases_fork(digests):
    kept, acted, read = digests("softmax")
    assert len(kept) > 1 and None not in kept and acted == [] and read == 0


@pytest.mark.triton(">=3.0")
def test_and_read_by_the_shims_that_ask_about_them(digests):
    kept, acted, read = digests("layer_norm", mode="shimmed")
    assert None not in kept and acted == [] and read > 0


def test_a_stranger_s_kernels_may_change_until_they_are_launched(digests, tmp_path):
    (tmp_path / "own.py").write_text(SUITE)
    assert digests("own", str(tmp_path))[0] == [None]


def test_what_acts_in_the_reading_acts_in_each_case_by_itself(in_fork, monkeypatch, tmp_path):
    def run():
        monkeypatch.setattr(kernels, "digest", lambda kernel: note_acted("language_names"))
        spec = AskedSuite(targets={"sm_80": vars(targets.SM_80)}, cache=str(tmp_path))
        in_child.prepare(Item("sm_80", "compile", "bare", "softmax", "a"), spec)

    with pytest.raises(pytest.fail.Exception, match="each case is to say of itself"):
        in_fork(run)
