"""Scratch memory for launches in which nobody has set an allocator; one that was set is asked as before."""

import threading

import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.shims import default_allocator
from crosswarp.kernels.known_issues import default_allocator as case
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

pytestmark = pytest.mark.triton(">=3.3")
REFUSED = "no allocator was set"


def launch():
    """How many launches came of it, or what was raised."""
    launches.clear()
    try:
        case.launch(torch.ones(32, 32))
    except RuntimeError as error:
        return str(error)
    return len(launches)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_refused_bare_and_given_shimmed(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        bare = launch()
        with compat.installed():
            shimmed = launch(), in_thread(launch), "default_allocator" in compat.acted()
        return bare, shimmed, launch()

    bare, shimmed, undone = in_fork(run)
    assert REFUSED in bare and REFUSED in undone
    assert shimmed == (1, 1, True)


def test_one_that_was_set_is_asked(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        asked = []

        def allocator(size, alignment, stream):
            asked.append((size, alignment))
            return torch.empty(size, dtype=torch.int8)

        triton.set_allocator(allocator)
        compat.install()
        return launch(), asked, [name for name in compat.acted() if name == "default_allocator"]

    launched, asked, acted = in_fork(run)
    # two descriptors of 128 bytes
    assert (launched, asked, acted) == (1, [(256, 128)], [])


def test_a_profilers_memory_is_not_made_up(in_fork):
    def run():
        from triton.runtime import _allocation

        compat.install()
        profile = getattr(_allocation, "_profile_allocator", None)
        if profile is None:
            return REFUSED, False
        has = getattr(_allocation, "has_profile_allocator", lambda: False)()
        with pytest.raises(RuntimeError) as raised:
            profile.get()(64, 16, None)
        return str(raised.value), has

    said, has = in_fork(run)
    assert REFUSED in said and has is False


@pytest.mark.parametrize("alignment", [1, 128, 512, 4096])
def test_size_and_alignment(in_fork, alignment):
    def run():
        virtual_gpu.activate(targets.SM_90)
        made = default_allocator.scratch(300, alignment, None)
        return made.numel(), made.dtype, alignment <= 64 or alignment > 512, made.data_ptr()

    size, dtype, known, address = in_fork(run)
    assert (size, dtype) == (300, torch.int8)
    # Below, it is the allocator of torch's GPU that aligns, to 512; here is the CPU's.
    assert not known or address % alignment == 0
