"""Run an item in a forked child: prepare the lane and the mode, launch, compare, and return the verdict."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from crosswarp import compat
from crosswarp.compat import guard
from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.asked import Asked, AskedSuite
from crosswarp.matrix.cell.judging import batch, numbers, warps
from crosswarp.matrix.cell.judging.compare import compare, poisoned
from crosswarp.matrix.cell.judging.interpreting import refuse_compiled
from crosswarp.matrix.cell.judging.tuning import ConfigLog, use_first_configuration
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_error
from crosswarp.matrix.cell.kinds.suite import (
    device,
    kernels,
    language,
    launch_time,
    lowered,
    oracle,
    whereabouts,
)
from crosswarp.matrix.cell.plain import attribute, text_of
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, contain, launching, reading, stages
from crosswarp.matrix.cell.starting import probe, specification, versions
from crosswarp.matrix.cell.stream import shortened

from .plan import Item

SEED = 20260
# Where something is computed, and alike whenever it is run.
_KEEPS_NUMBERS = ("emulate", "interpret")


def run(item: Item, spec: Asked, send: Callable[[Any], None]) -> Verdict:
    _install_mode(item)
    try:
        kernel = _load(item, spec)
    except BaseException as error:
        return _with_context(of_error(error, phase="import"))
    return _of_case(kernel, item, spec, send)


def prepare(item: Item, spec: Asked) -> Any:
    """Prepare the part that all cases of the kernel share, and return the kernel.

    Raises:
        any exception of its import; RuntimeError if each case has to run alone.
    """
    _install_mode(item)
    kernel = _load(item, spec)
    if item.lane != "interpret" and not (isinstance(spec, AskedSuite) and spec.suite):
        # A launch of somebody else's module may change the state that this looks at.
        before = compat.acted()
        kernels.digest(kernel)
        if compat.acted() != before:
            msg = "a shim acts where a source is read, and each case is to say of itself whether one did"
            raise RuntimeError(msg)
    return kernel


def run_prepared(kernel: Any, item: Item, spec: Asked, send: Callable[[Any], None]) -> Any:
    return as_data(_of_case(kernel, item, spec, send))


def _install_mode(item: Item) -> None:
    if item.mode == "shimmed":
        compat.install()
        if item.lane != "interpret":
            # Imports Triton, which the interpreter's lane has to prepare first.
            from crosswarp.matrix.cell.starting import shimmed_cache

            shimmed_cache.use()


def _load(item: Item, spec: Asked) -> Any:
    _prepare_lane(item, spec)
    return kernels.loader(spec, item.kernel)


def _prepare_lane(item: Item, spec: Asked) -> None:
    if item.lane == "interpret":
        probe.prepare_import("interpret", spec)
        use_first_configuration()
    elif item.lane in ("compile", "emulate"):
        target = Target.from_table(item.target, spec.targets[item.target])
        virtual_gpu.activate(target)
        if spec.cache:
            lowered.use(Path(spec.cache, "lowered"), keep=item.mode == "bare")
            reading.note_in(Path(spec.cache, "readings"))
        stages.time_all()
        probe.map_torch(spec, target, item.lane)
    else:
        contain()


def _of_case(kernel: Any, item: Item, spec: Asked, send: Callable[[Any], None]) -> Verdict:
    import time

    if spec.in_place:
        guard.compile_in_place()
    guard.time_all()
    # With compat few compilations are guarded, and a known issue may show only in the compiler's output.
    guard.read_output()
    if item.lane == "compile":
        whereabouts.watch_compilations()
    # For crash isolation, which limits one compilation.
    os.environ["CROSSWARP_COMPILE_SECONDS"] = str(spec.time_limit)
    began = time.monotonic()

    def finished(config: str, verdict: Verdict) -> None:
        nonlocal began
        send((config, as_data(verdict), time.monotonic() - began))

    def started(config: str) -> None:
        nonlocal began
        began = time.monotonic()
        send((config, None, 0.0))

    log = _watched(item, spec, started, finished)
    case = next(case for case in kernel.cases if case.id == item.case)
    try:
        unsupported = _unsupported(item, kernel, case)
    except BaseException as error:
        # A probe of the suite; treating its exception as an answer would hide that the probe is wrong.
        return _with_context(of_error(error, phase="probe"))
    if unsupported is not None:
        return unsupported
    verdict = _launch(item, spec, kernel, case, log)
    if log is not None and log.fatal is not None and verdict.outcome == "pass":
        # Triton would have passed this failure on: the call as a whole failed, though other configurations live.
        verdict = replace(log.fatal, resources=verdict.resources)
    return _with_context(verdict)


def _watched(item: Item, spec: Asked, started: Any, finished: Any) -> Optional[ConfigLog]:
    if item.lane == "interpret":
        return None
    if item.lane == "emulate":
        from crosswarp.matrix.cell import emulate

        recall = (
            emulate.Recall(specification.launches_of(spec, item.target, item.kernel, item.case))
            if spec.records
            else None
        )
        estimates = None
        if spec.estimate or spec.sample is not None:
            estimates = emulate.Estimates(Path(spec.cache, "encodings") if spec.cache else None)
        machine = emulate.Machine(spec.time_limit, spec.sanitize, recall, estimates, spec.sample)
        launching.run_with(machine)
        log: ConfigLog = emulate.EveryConfiguration(machine, started, finished)
    else:
        log = ConfigLog(started, finished)
    log.install()
    return log


def _unsupported(item: Item, kernel: Any, case: Any) -> Optional[Verdict]:
    installed = versions.installed()
    shims = [shim.name for shim in compat.active()]
    lack = language.lack(kernel.features(case), installed["triton"], item.target, shims)
    if lack is not None:
        return Verdict("unsupported", reason="language", message=lack.why, phase=item.lane)
    for name in sorted(kernel.features(case) & set(kernel.probes)):
        why = kernel.probes[name]()
        if why:
            message = shortened(f"{name}: {text_of(why)}")
            return Verdict("unsupported", reason="feature", message=message, phase=item.lane)
    if item.lane != "interpret":
        return None
    gap = oracle.gap(kernel.features(case), installed["triton"], installed["numpy"], shims)
    return (
        None
        if gap is None
        else Verdict("unsupported", reason="interpreter", message=gap.why, phase="interpret")
    )


def _launch(item: Item, spec: Asked, kernel: Any, case: Any, log: Optional[ConfigLog]) -> Verdict:
    if item.lane == "emulate":
        every: Any = log
        return every.judge(
            lambda: _emulated(item, kernel, case, every.machine, spec.batch, spec.warps)
        )
    refused = refuse_compiled(Patches()) if item.lane == "interpret" else []
    verdict = _once(item, kernel, case, SEED, log=log)
    if refused:
        return Verdict("unsupported", reason="interpreter", message=refused[0], phase="interpret")
    if item.lane != "device" or verdict.outcome != "pass" or (log and log.fatal):
        return verdict
    if log:
        log.closed = True
    # Fresh inputs: data left by the first launch must not help.
    again = _once(item, kernel, case, SEED + 1)
    if again.outcome != "pass":
        return again
    return _measure(spec, kernel, case, verdict)


def _emulated(
    item: Item,
    kernel: Any,
    case: Any,
    machine: Any,
    of_rows: bool = False,
    counts: Sequence[int] = (),
) -> Verdict:
    """Run the case once: `_once`, but a failed launch counts even if the launcher catches the error.

    Args:
        of_rows: compute a row alone and in a batch as well.
        counts: the numbers of warps with which the case is launched again.
    """
    from crosswarp.matrix.cell import emulate

    compared: List[Any] = []
    machine.begin()
    if machine.sample is not None:
        return _sampled(item, kernel, case, machine)

    def again() -> Tuple[Verdict, Any]:
        machine.begin()
        others: List[Any] = []
        return _once(item, kernel, case, SEED, others), others[0] if others else {}

    allocated = machine.allocated.add if machine.sanitize else None
    verdict = _once(item, kernel, case, SEED, compared, allocated)
    if verdict.outcome == "mismatch" and machine.recalled:
        # The lines that stored are known only for executed launches.
        machine.execute_all()
        machine.begin()
        compared.clear()
        verdict = _once(item, kernel, case, SEED, compared, allocated)
    if verdict.outcome == "mismatch" and compared:
        written = emulate.where_written(machine.writers, *compared)
        verdict.message = f"{verdict.message}\n{written}" if written else verdict.message
    executed = machine.resources()
    if machine.failed is not None:
        verdict = replace(machine.failed, resources=verdict.resources)
    elif verdict.outcome == "pass" and machine.handed_out:
        failed = emulate.in_other_orders(machine, compared[0], again)
        if failed is not None:
            verdict = replace(failed, resources=verdict.resources)
    verdict.resources.update(executed)
    if of_rows and verdict.outcome == "pass" and kernel.batch in case.shape:
        machine.begin()
        verdict.resources["batch"] = batch.tried(
            kernel, case, lambda other: _inputs(kernel, other, "cpu", SEED)
        )
    if counts:

        def with_others() -> Verdict:
            machine.begin()
            again = _once(item, kernel, case, SEED)
            return machine.failed or again

        verdict.resources["warps"] = {
            "dtype": case.dtype,
            "tolerance": _tolerance(item, kernel, case),
            "by_count": warps.tried(counts, with_others),
        }
    return verdict


def _sampled(item: Item, kernel: Any, case: Any, machine: Any) -> Verdict:
    """Run the case with only some programs executed: its outputs are no results, and are not compared."""
    if case.real:
        case = replace(case, shape={**case.shape, **case.real})
    try:
        inputs = _inputs(kernel, case, "cpu", SEED)
    except BaseException as error:
        return of_error(error, phase="inputs")
    try:
        kernel.launch(**inputs, **case.options)
        verdict = Verdict("pass", phase="execute") if launching.asked else _launched_nothing()
    except BaseException as error:
        verdict = _with_stage(of_error(error, phase="bind"), error)
    verdict = machine.failed or verdict
    verdict.resources.update(machine.resources(), sampled=machine.sample)
    return verdict


def _launched_nothing() -> Verdict:
    # Green without having compiled anything would be the worst of lies.
    nothing = "the launcher returned without launching a kernel"
    return Verdict("api-error", "launched nothing", "launched nothing", nothing, "bind")


def _once(
    item: Item,
    kernel: Any,
    case: Any,
    seed: int,
    compared: Optional[List[Any]] = None,
    allocated: Optional[Callable[[Any], None]] = None,
    log: Optional[ConfigLog] = None,
) -> Verdict:
    """Launch and compare once. Compared tensors are added to `compared`; `allocated` is called with allocated ones."""
    import torch

    try:
        inputs = _inputs(kernel, case, "cuda" if item.lane == "device" else "cpu", seed)
    except BaseException as error:
        return of_error(error, phase="inputs")
    reference_inputs = _cloned(inputs)
    drawn = numbers.digest(inputs) if item.lane in _KEEPS_NUMBERS else ""
    try:
        with poisoned(torch, item.lane != "compile", allocated):
            outputs = kernel.launch(**inputs, **case.options)
        if item.lane == "device":
            torch.cuda.synchronize()
    except BaseException as error:
        return _with_stage(of_error(error, phase="bind"), error)
    if item.lane in ("compile", "emulate") and launching.asked == 0:
        return _launched_nothing()
    if item.lane == "compile":
        if log is not None:
            # A tuner that launches again tries its configurations again, and those are recorded already.
            log.closed = True
        # Observers may not be removed while Triton launches.
        figures = launch_time.measured(lambda: kernel.launch(**inputs, **case.options))
        return Verdict("pass", resources=figures)
    try:
        reference = kernel.reference(**reference_inputs)
        tolerance = _tolerance(item, kernel, case)
    except BaseException as error:
        return of_error(error, phase="reference")
    if compared is not None:
        compared += [outputs, reference]
    try:
        verdict = compare(outputs, reference, tolerance)
        if drawn and verdict.outcome == "pass":
            returned = {name: outputs[name] for name in reference}
            verdict.resources.update(inputs=drawn, outputs=numbers.digests(returned))
            if item.lane == "interpret":
                verdict.resources["arithmetic"] = numbers.arithmetic()
        return verdict
    except BaseException as error:
        # It did not return comparable values.
        return of_error(error, phase="compare")


def _measure(spec: Asked, kernel: Any, case: Any, verdict: Verdict) -> Verdict:
    """`verdict` of the device lane with the time of a launch, or that two launches differ."""
    import torch

    inputs = _inputs(kernel, case, "cuda", SEED)
    try:
        with poisoned(torch, True):
            first = kernel.launch(**_cloned(inputs), **case.options)
            second = kernel.launch(**_cloned(inputs), **case.options)
        different = device.same_bits(first, second)
        if different and "atomic" not in kernel.features(case):
            return device.not_deterministic(different)
        timing = device.measured(
            lambda: kernel.launch(**inputs, **case.options),
            inputs,
            Path(spec.cache),
            spec.jobs == 1,
        )
    except BaseException as error:
        return of_error(error, phase="launch")
    verdict.resources.update(deterministic=not different, timing=timing)
    return verdict


def _inputs(kernel: Any, case: Any, where: str, seed: int) -> Dict[str, Any]:
    import torch

    if kernel.inputs is None:
        return {}
    from .drawing import Alike

    generator = torch.Generator(device="cpu").manual_seed(seed)
    with Alike():
        inputs = kernel.inputs(case, torch.device("cpu"), generator)
    return {
        name: value.to(where) if isinstance(value, torch.Tensor) else value
        for name, value in inputs.items()
    }


def _cloned(inputs: Dict[str, Any]) -> Dict[str, Any]:
    import torch

    return {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in inputs.items()
    }


def _with_stage(verdict: Verdict, error: BaseException) -> Verdict:
    """How far a launcher of several stages (forward, backward) came, if it says so."""
    stage = attribute(error, "crosswarp_stage")
    if stage is not None:
        # Any object that a suite has put there.
        verdict.resources["stage"] = text_of(stage)
    return verdict


def _tolerance(item: Item, kernel: Any, case: Any) -> float:
    for family, tolerances in kernel.tolerance_on.items():
        if item.target.startswith(family) and case.dtype in tolerances:
            return tolerances[case.dtype]
    if case.dtype not in kernel.tolerance:
        msg = f"{kernel.name} has no tolerance for {case.dtype}: add one to KERNEL.tolerance"
        raise ValueError(msg)
    return kernel.tolerance[case.dtype]


def _with_context(verdict: Verdict) -> Verdict:
    """Add what was launched and which shims acted."""
    launched = launching.noted()
    # The cost of a launch is reported once, by the lane compile.
    if launched and "emulated" not in verdict.resources:
        verdict.resources["launches"] = launched
    verdict.shims = sorted({*verdict.shims, *compat.acted()})
    return verdict
