"""The cost of observers: CPU seconds of the lane emulate's launches, without and with one, run by hand in a column.

    python tests/bench/observer_cost.py counters gfx942 softmax,layer_norm,matmul
    python tests/bench/observer_cost.py sanitizer sm_80 softmax,layer_norm,matmul

The first case of each kernel, in processes of their own. Each is executed once before it is measured, so that nothing
is compiled or lowered meanwhile; then four times without and with the observer in turn, of which the best count.
"""

import sys
import time
import tomllib
from pathlib import Path

from crosswarp import kernels
from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.emulate import forms
from crosswarp.matrix.cell.judging.compare import poisoned
from crosswarp.matrix.cell.judging.tuning import use_first_configuration
from crosswarp.matrix.cell.kinds.suite import in_child
from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching
from crosswarp.matrix.facts import targets as facts

TARGETS = Path(facts.__file__).parent / "targets.toml"


class NoCounters(ptx.Watch):
    """Counts nothing."""

    def figures(self):
        return {}


def measured(name, target, observer):
    """The case, and CPU seconds of its launches: without the observer and with it."""
    import torch

    torch.set_num_threads(1)
    table = tomllib.loads(TARGETS.read_text("utf-8"))[target]
    virtual_gpu.activate(Target.from_table(target, table))
    use_first_configuration()
    kernel = kernels.load(name)
    case = next(case for case in kernel.cases if "emulate" in case.lanes)
    inputs = in_child._inputs(kernel, case, "cpu", in_child.SEED)
    whole = dict(forms.FORMS)
    spent = [0.0]

    def launch(observed):
        sanitize = observed and observer == "sanitizer"
        for name, form in whole.items():
            counted = observed or observer == "sanitizer"
            forms.FORMS[name] = form if counted else form._replace(counters=lambda _: NoCounters())
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

    seconds = {False: [], True: []}
    for observed in (False, True) * 5:
        spent[0] = 0.0
        launch(observed)
        seconds[observed].append(spent[0])
    return [case.id, *(min(seconds[observed][1:]) for observed in (False, True))]


def main():
    observer, target, names = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
    sums = [0.0, 0.0]
    for name in names:
        ended = run_isolated(
            lambda send, name=name: measured(name, target, observer), time_limit=600
        )
        if ended.kind != "returned":
            why = ended.raised.text if ended.raised else ended.reason
            print(f"{name:<28} {ended.kind}: {why}")
            continue
        case, without, with_it = ended.value
        sums = [sums[0] + without, sums[1] + with_it]
        print(
            f"{name:<28} {case:<24} {without:7.3f} s  {with_it:7.3f} s  x {with_it / without:.2f}",
            flush=True,
        )
    if sums[0]:
        print(f"{'together':<53} {sums[0]:7.3f} s  {sums[1]:7.3f} s  x {sums[1] / sums[0]:.2f}")


if __name__ == "__main__":
    main()
