"""Objects that a process made before it installed are found; where there are none, the heap is not walked."""

import subprocess
import sys

import pytest
import targets

BEGIN = """
import sys, triton, triton.language as tl
from crosswarp import compat
from crosswarp.compat import made
walked, own = [], made.existing
def existing(*kinds):
    found = own(*kinds)
    walked.append([sorted(kind.__name__ for kind in kinds), any(one is mine for one in found)])
    return found
made.existing = existing
mine = None
"""
CASES = {
    "": [],
    "mine = triton.Config({'BLOCK': 64, 'num_warps': 8})": [[["Config"], True]],
    "mine = kernel; launch()": [[["JITFunction"], True]],
}
LAUNCH = f"""
sys.path.insert(0, {targets.__file__.rpartition("/")[0]!r})
import targets, small_kernels, torch
from crosswarp.matrix.cell.standins import virtual_gpu
virtual_gpu.activate(targets.SM_90, guarded=False)
kernel = small_kernels.scaled
def launch(): kernel[(1,)](torch.ones(64), torch.zeros(64), 64, BLOCK=64)
"""


@pytest.mark.parametrize("before", CASES)
def test_the_heap_is_walked_for_what_was_made_alone(before, tmp_path):
    code = (
        BEGIN
        + (LAUNCH if "launch" in before else "")
        + f"{before}\ncompat.install()\nprint(walked)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == str(CASES[before])
