"""What the sanitizer costs: CPU seconds of the lane emulate, plain and sanitized, run by hand in a column.

    python tests/bench/sanitizer_cost.py sm_80 softmax,layer_norm,matmul

The first case of each kernel, in processes of their own. Each is executed once before it is measured, so that nothing
is compiled or lowered meanwhile.
"""

import sys
import time

from crosswarp import kernels
from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.judging.compare import poisoned
from crosswarp.matrix.cell.judging.tuning import use_first_configuration
from crosswarp.matrix.cell.kinds.suite import in_child
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching

TARGETS = {
    "sm_80": Target("sm_80", "cuda", 80, "sm_8", 32, 1024, 166912, 65536, 108),
    "sm_90": Target("sm_90", "cuda", 90, "sm_9", 32, 1024, 232448, 65536, 132),
}


def measured(name, target):
    """CPU seconds of the launches: plain, with the detectors, and with the other orders as well."""
    import torch

    torch.set_num_threads(1)
    virtual_gpu.activate(TARGETS[target])
    use_first_configuration()
    kernel = kernels.load(name)
    case = next(one for one in kernel.cases if "emulate" in one.lanes)
    inputs = in_child._inputs(kernel, case, "cpu", in_child.SEED)
    spent = [0.0]

    def launch(sanitize):
        machine = emulate.Machine(3600, sanitize=sanitize)

        def timed(handed):
            began = time.process_time()
            try:
                machine(handed)
            finally:
                spent[0] += time.process_time() - began

        launching.run_with(timed)
        with poisoned(torch, True, machine.allocated.add if sanitize else None):
            kernel.launch(**in_child._cloned(inputs), **case.options)

    found = []
    for sanitize in (False, True, False, True):
        spent[0] = 0.0
        launch(sanitize)
        found.append(spent[0])
    return [case.id, *found[2:]]


def main():
    target, names = sys.argv[1], sys.argv[2].split(",")
    for name in names:
        told = run_isolated(lambda send, name=name: measured(name, target), time_limit=600)
        if told.kind != "returned":
            print(f"{name:<24} {told.kind} {told.reason} {told.raised}")
            continue
        case, plain, sanitized = told.value
        print(
            f"{name:<24} {case:<24} {plain:7.2f} s  {sanitized:7.2f} s  x {sanitized / plain:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
