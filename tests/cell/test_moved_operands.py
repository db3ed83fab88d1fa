"""The delta rule keeps its warps on Hopper where this column's compiler can only lay it out with moved operands."""

import threading

import pytest
import small_kernels
import targets
import torch
import triton
import triton.language.semantic as semantic

from crosswarp import compat
from crosswarp.compat import guard, moved_operands
from crosswarp.compat.versions import in_window
from crosswarp.kernels import load
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

WINDOW = ">=3.2,<3.4"


def launch_delta_rule():
    kernel = load("chunk_gated_delta_rule")
    case = next(case for case in kernel.cases if case.id.endswith("-8warps"))
    generator = torch.Generator().manual_seed(0)
    kernel.launch(**kernel.inputs(case, torch.device("cpu"), generator), **case.options)
    return launches[-1]


def test_eight_warps_stay_eight_without_spilling(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        launch = launch_delta_rule()
        return launch.num_warps, launch.stack, "compiler_crash" in compat.acted()

    warps, stack, acted = in_fork(run)
    assert warps == 8
    # other compilers spill a little without anybody's help
    assert acted == in_window(WINDOW, triton.__version__)
    assert stack == 0 or not acted


@pytest.mark.triton(WINDOW)
def test_bare_triton_does_not_find_it_in_its_cache(in_fork):
    def run():
        with compat.installed():
            virtual_gpu.activate(targets.SM_90)
            launch_delta_rule()
        return True

    def run_bare():
        virtual_gpu.activate(targets.SM_90)
        with pytest.raises((compat.CompilerCrashed, RuntimeError)):
            launch_delta_rule()
        return True

    assert in_fork(run) and in_fork(run_bare)


@pytest.mark.triton(WINDOW)
def test_only_what_died_of_it_is_moved_and_only_in_its_thread(in_fork):
    def run():
        moved, through = [], moved_operands._through_a_sum
        moved_operands._through_a_sum = lambda *args: moved.append(1) or through(*args)
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        # As in the guard's child: compile here.
        guard._child = True
        a, c = torch.zeros(256, dtype=torch.float16), torch.zeros(256)

        def compile(warps):
            small_kernels.product[(1,)](a, a, c, num_warps=warps)

        compile(1)
        plain = len(moved)
        moved_operands._state.moving = True
        other = threading.Thread(target=compile, args=(2,))
        other.start()
        other.join()
        elsewhere = len(moved)
        compile(4)
        return plain, elsewhere, len(moved), len(launches)

    plain, elsewhere, here, launched = in_fork(run)
    assert (plain, elsewhere, launched) == (0, 0, 3)
    # a dot may be traced more than once
    assert here >= 1


def test_the_front_end_is_touched_inside_the_window_alone(in_fork):
    def run():
        own = dict(vars(semantic))
        compat.install()
        inside = vars(semantic).get("dot")
        compat.uninstall()
        return inside is own.get("dot"), dict(vars(semantic)) == own

    untouched, restored = in_fork(run)
    assert restored
    assert untouched is not in_window(WINDOW, triton.__version__)
