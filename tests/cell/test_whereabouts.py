"""Where a case has died: in the code of the launcher, or in Triton's compiler."""

import pytest
import targets

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import item
from crosswarp.matrix.cell.kinds.suite.plan import Item

# The same code on each release, and each case costs seconds.
pytestmark = pytest.mark.triton(">=3.9")

MODULE = """
import os
import triton
from crosswarp.kernels import Case, Kernel

@triton.jit
def kernel(x):
    pass

def die(*args, **kwargs):
    os._exit(3)

def launch(where):
    if where == "compiler":
        triton.compiler.ASTSource.make_ir = die
    kernel[(1,)](1)
    die()

def inputs(case, device, generator):
    return {"where": case.id}

KERNEL = Kernel("dies", tuple(Case(id, "fp32", {}) for id in ("compiler", "after")), inputs, launch, launch,
                {"fp32": 0.0})
"""


@pytest.mark.parametrize(("case", "phase"), [("compiler", "compile"), ("after", "host")])
def test_a_death_is_the_host_codes_outside_of_the_compiler(in_fork, tmp_path, case, phase):
    (tmp_path / "dies.py").write_text(MODULE)

    def run():
        spec = AskedSuite(
            targets={"sm_80": targets.SM_80_ROW},
            suite=str(tmp_path),
            time_limit=60,
            cache=str(tmp_path / "cache"),
        )
        verdict = item.run(Item("sm_80", "compile", "bare", "dies", case), spec, lambda *cell: None)
        return verdict.outcome, verdict.phase

    assert in_fork(run) == ("crash", phase)
