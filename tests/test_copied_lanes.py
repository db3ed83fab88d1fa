"""Which copies `copied_lanes` moves, and that the emulator then computes what the kernel's author wrote."""

import sys
from pathlib import Path

import numpy as np
import pytest

from crosswarp.compat.shims.copied_lanes import SHIM, moved

sys.path.insert(0, str(Path(__file__).parent / "amdgcn"))

from amd_running import lanes_of, run, text_of  # noqa: E402

BRANCH = """
	v_cmp_gt_u32_e32 vcc_lo, 8, v0
	s_and_saveexec_b32 s2, vcc_lo
	s_cbranch_execz .LBB0_2
; %bb.1:
	v_add_nc_u32_e32 v3, 1, v3
.LBB0_2:
	.loc	1 0 28                          ; kernel.py:0:28
	{head}
	s_or_b32 exec_lo, exec_lo, s2
	v_mov_b32_e32 v9, v3
"""
COPY = "v_dual_mov_b32 v5, v3 :: v_dual_mov_b32 v6, v4"
SCALAR = "s_mov_b64 s[8:9], s[6:7]"
WAIT = "s_wait_alu 0xfffe"
HEAD = f"{COPY}\n\t{SCALAR}\n\t{WAIT}"


def lines_of(text):
    return [line.strip() for line in text.split("\n")]


def kernel(head, target="gfx1201", branch=BRANCH):
    return text_of("s_nop 0", target).replace("\ts_nop 0", branch.format(head=head).strip("\n"))


@pytest.mark.parametrize(
    "head, copies",
    [
        (HEAD, [COPY]),
        (f"{SCALAR}\n\t{COPY}\n\tv_mov_b32_e32 v7, v5", [COPY, "v_mov_b32_e32 v7, v5"]),
        ("v_mov_b64_e32 v[6:7], v[4:5]\n\ts_mov_b32 s8, s6", ["v_mov_b64_e32 v[6:7], v[4:5]"]),
    ],
)
def test_such_copies_go_behind_the_instruction_that_switches_lanes_on(head, copies):
    made = lines_of(moved(kernel(head)))
    at = made.index("s_or_b32 exec_lo, exec_lo, s2")
    assert made[at + 1 : at + 1 + len(copies)] == copies
    assert sorted(made) == sorted(lines_of(kernel(head)))
    # In their order, and once.
    assert moved("\n".join(made)) is None


@pytest.mark.parametrize(
    "text",
    [
        # Behind a copy that ends a branch's own code there is no copy of a scalar.
        kernel(COPY),
        kernel(f"{SCALAR}\n\t{WAIT}"),
        # Other instructions of the block's head, or no copy of a register.
        kernel(f"v_add_nc_u32_e32 v5, 1, v3\n\t{HEAD}"),
        kernel(f"v_readlane_b32 s9, v5, 3\n\t{HEAD}"),
        kernel(f"v_mov_b32_e32 v5, s3\n\t{SCALAR}"),
        kernel(f"v_mov_b32_e32 v5, 0\n\t{SCALAR}"),
        # The block is no place where lanes meet that a branch left out.
        kernel(HEAD, branch=BRANCH.replace("execz .LBB0_2", "execz .LBB0_3")),
        kernel(HEAD, branch=BRANCH.replace(".LBB0_2:", "; %bb.2:")),
        kernel(HEAD, "gfx1100"),
        "",
    ],
)
def test_all_else_is_left(text):
    assert moved(text) is None


def test_the_emulator_sees_the_lost_lanes_and_none_behind_the_change():
    body = BRANCH.format(head=HEAD)
    before = np.arange(32, dtype=np.uint32)
    registers = {0: before, 3: before * 10, 4: before * 100, 5: 7, 6: 7}

    def copied(text):
        found = run(text, "gfx1201", v=registers, s={6: 1, 7: 2})
        return lanes_of(found, 5).tolist(), lanes_of(found, 6).tolist()

    right = [at * 10 + (at < 8) for at in range(32)], [at * 100 for at in range(32)]
    # Only the branch's own eight lanes got the copy.
    assert copied(body) == tuple(row[:8] + [7] * 24 for row in right)
    made = moved(kernel(HEAD)).split("\n")
    first = next(at for at, line in enumerate(made) if "v_cmp_gt" in line)
    last = next(at for at, line in enumerate(made) if "v9, v3" in line)
    assert copied("\n".join(made[first : last + 1])) == right


def test_only_matmuls_for_the_target_may_change():
    (change,) = SHIM.changes
    dot = "%3 = tt.dot %1, %2, %0"
    assert change.may_act(dot) and change.may_act(f'{dot} ttg.target = "hip:gfx1201"')
    assert not change.may_act(f'{dot} ttg.target = "hip:gfx1100"')
    assert not change.may_act(f'{dot} ttg.target = "cuda:90"')
    assert not change.may_act('ttg.target = "hip:gfx1201"')
