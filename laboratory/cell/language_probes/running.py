"""Running probes in forked children, because a name may abort the compiler, hang, or write where it must not."""

import hashlib
import signal
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell.judging import compare
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_death, of_error
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching
from crosswarp.matrix.cell.starting import loading

from .probe import ELEMENTS, Probe, source

SEED = 20260
INTERPRETER = "interpreter"


def run(
    probes: Sequence[Probe],
    target: Optional[Target],
    folder: Path,
    time_limit: int,
    memory_limit_mb: Optional[int],
    on_verdict: Callable[[Probe, Verdict], None],
) -> None:
    """Compile `probes` for `target`, or, without one, interpret each and compare it with its reference.

    They share a child as long as it lives, because forking would take most of the time. If it dies, that is the verdict
    on the probe that it had begun, and the others continue in another child.

    Args:
        folder: where their modules are written.
        time_limit: seconds for one probe.
    """
    left: List[Probe] = list(probes)

    def in_child(send: Callable[[Any], None]) -> None:
        if target is not None:
            virtual_gpu.activate(target)
        for probe in left:
            # Ends the process, in any code.
            signal.alarm(time_limit)
            send(as_data(_verdict(probe, target, folder)))
        signal.alarm(0)

    def on_message(message: Dict[str, Any]) -> None:
        verdict = Verdict(**message)
        on_verdict(left.pop(0), verdict)

    while left:
        outcome = run_isolated(
            in_child,
            time_limit=time_limit * (len(left) + 1),
            memory_limit_mb=memory_limit_mb,
            on_message=on_message,
        )
        if not left:
            break
        if outcome.raised is not None:
            # An error of this module or of the probe itself: Triton's exceptions are caught in the child.
            raised = outcome.raised
            verdict = Verdict("not-run", f"{raised.type_name}: {raised.text}", message=raised.traceback)  # fmt: skip
        elif outcome.reason == "SIGALRM":
            verdict = of_death("timeout", f"{time_limit} s", outcome.output)
        else:
            verdict = of_death(outcome.kind, outcome.reason, outcome.output)
        on_verdict(left.pop(0), verdict)


def _verdict(probe: Probe, target: Optional[Target], folder: Path) -> Verdict:
    import torch

    x, y = _inputs(torch, probe)
    expected = None
    if probe.reference is not None:
        expected = torch.as_tensor(probe.reference(*_shaped(probe, x, y)))
        if expected.dtype == torch.bool:
            expected = expected.to(torch.int32)
    out = _out(torch, probe, expected)
    before = launching.asked
    text = source(probe, None if expected is None else tuple(expected.shape))
    try:
        kernel = _imported(text, folder).kernel
        kernel[(1,)](x, y, out, 64, **probe.launch)
    except BaseException as error:
        return of_error(error, phase="bind")
    if target is not None:
        if launching.asked == before:
            return Verdict("not-run", reason="nothing was launched")
        return Verdict("pass")
    if expected is None:
        return Verdict("pass")
    return compare.compare({"result": out}, {"result": expected}, probe.tolerance)


def _inputs(torch: Any, probe: Probe) -> Any:
    generator = torch.Generator().manual_seed(SEED)
    dtype = getattr(torch, probe.dtype)
    made = []
    for _ in range(2):
        numbers = torch.rand(ELEMENTS, generator=generator, dtype=torch.float64)
        numbers = probe.low + numbers * (probe.high - probe.low)
        made.append((numbers if dtype.is_floating_point else numbers.floor()).to(dtype))
    return made


def _shaped(probe: Probe, *tensors: Any) -> Any:
    """As the kernel sees them; copies, because a kernel may write where it read."""
    if probe.form == "1d":
        return [one[:64].clone() for one in tensors]
    if probe.form == "2d":
        return [one[:1024].view(32, 32).clone() for one in tensors]
    return [one.clone() for one in tensors]


def _out(torch: Any, probe: Probe, expected: Any) -> Any:
    if expected is None:
        return torch.zeros(ELEMENTS, dtype=torch.float32)
    out = torch.empty(expected.shape, dtype=expected.dtype)
    if probe.start is not None:
        return out.fill_(probe.start)
    return out.fill_(float("nan") if out.is_floating_point() else torch.iinfo(out.dtype).max)


def _imported(text: str, folder: Path) -> Any:
    """The module of that source; Triton reads a kernel's source from its file."""
    path = folder / f"probe_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"
    path.write_text(text, "utf-8")
    return loading.load(path.stem, path)
