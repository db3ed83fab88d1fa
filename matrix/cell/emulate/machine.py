"""Execute each launch of one case, within its limits, and return failures as outcomes."""

import contextlib
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence

from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.machines import amdgcn, ptx
from crosswarp.matrix.cell.observers import sanitizer
from crosswarp.matrix.cell.standins.virtual_gpu.launching import Handed

from . import arguments, estimating, forms, memory
from .recall import Recall
from .writers import Writers

PHASE = "execute"
# Part of the case's time limit. The rest is for its reference and for reporting before the process is killed.
_SHARE = 0.85
# Launches of one case whose counters are kept; beyond them none is, for a part says nothing of the whole.
MOST_COUNTED = 32


class NotExecuted(RuntimeError):
    """A launch failed while it was executed, or follows one that failed: a device would have lost its context.

    Attributes:
        crosswarp_verdict: the verdict that the cell reports.
    """

    def __init__(self, text: str, verdict: Verdict):
        super().__init__(text)
        self.crosswarp_verdict = verdict


class Machine:
    """The executor to pass to `virtual_gpu.launching.run_with`.

    Args:
        seconds: the time limit of the case, of which the launches together may take the larger part.
        sanitize: run the detectors of `crosswarp.matrix.cell.observers.sanitizer` as well.
        recall: launches that need not be executed again.
        estimates: estimate how long each launch would take.
        sample: how many programs of each launch are executed; None: all. With fewer, the outputs are not results of
            the kernel.

    Attributes:
        failed: the message of the first launch that failed, since the last `begin`.
        executed: launches since the last `begin`.
        recalled: how many of them had been executed before, so that their stores are known.
        writers: which lines stored what, since the last `begin`; recalled launches are not in it.
        allocated: called with each tensor that is allocated without contents, since the last `begin`.
        order: in which the programs of a launch run, see `ptx.run`. Detectors run only with "forward".
        handed_out: a kernel got tickets or slots from an atomic: `orders` has to look at the case as a whole.
    """

    def __init__(
        self,
        seconds: float,
        sanitize: bool = False,
        recall: Optional[Recall] = None,
        estimates: Optional[estimating.Estimates] = None,
        sample: Optional[int] = None,
    ):
        self._seconds, self.sanitize = seconds, sanitize
        self._estimates, self.sample = estimates, sample
        self.order: Any = "forward"
        self.handed_out = False
        self._ends = time.monotonic() + seconds * _SHARE
        # A detector cannot judge accesses that it has not seen.
        self._recall = None if sanitize or sample is not None else recall
        self.recalled = 0
        self._paused = False
        self.failed: Optional[Verdict] = None
        self.executed = 0
        self.writers = Writers()
        self.allocated = sanitizer.Allocations()
        self._instructions = 0
        self._spent = 0.0
        self._counted: List[Dict[str, Any]] = []

    def begin(self) -> None:
        """Begin another go at the case."""
        self.failed, self.executed, self._instructions, self._spent = None, 0, 0, 0.0
        self.handed_out = False
        self.recalled = 0
        self._counted = []
        self.writers = Writers()
        self.allocated = sanitizer.Allocations()

    def execute_all(self) -> None:
        """From now on execute every launch, so that `writers` knows of each."""
        self._recall = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Launches are compiled and checked in here, and not executed."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def resources(self) -> Dict[str, Any]:
        """Return, for the record, the launches executed since the last `begin`."""
        return {
            "emulated": {
                "launches": self.executed,
                "instructions": self._instructions,
                "seconds": round(self._spent, 3),
                **({"recalled": self.recalled} if self.recalled else {}),
            },
            **({"counters": self._counted} if 0 < len(self._counted) <= MOST_COUNTED else {}),
        }

    def __call__(self, handed: Handed) -> None:
        if self._paused:
            return
        if self.failed is not None:
            raise NotExecuted("an earlier launch of this case went wrong", self.failed)
        began = time.monotonic()
        try:
            self._execute(handed)
        except ptx.PTXError as error:
            self.failed = _verdict(error, handed, self._seconds)
            raise NotExecuted(str(error), self.failed) from error
        finally:
            self._spent += time.monotonic() - began
        self.executed += 1

    def _execute(self, handed: Handed) -> None:
        form = forms.of(handed)
        x, y, z = handed.grid
        cluster = arguments.blocks_in_a_cluster(handed)
        x *= cluster
        handed_over = arguments.flattened(handed)
        call = None
        if self._recall is not None and not arguments.needs_scratch(handed):
            shape = [handed.metadata.get("shared"), handed.metadata["num_warps"], cluster]
            call = self._recall.call(handed.function.text, (x, y, z), handed_over, shape)
        if self._recall is not None and call is not None and self._recall.again(call):
            self.writers.launching(_name(handed), call.windows)
            self.recalled += 1
            counted = self._recall.counted(call)
            if counted and not estimating.is_of(counted, handed):
                del counted["estimate"]
            self._count(handed, counted)
            return
        program = form.emulator.load(handed.function.text)
        left = len(program.parameters) - len(handed_over)
        if left < 0:
            msg = (
                f"{handed.function.name} takes {len(program.parameters)} parameters, and was handed "
                f"{len(handed_over)}: {arguments.describe(handed_over)}"
            )
            raise ValueError(msg)
        handed_over += arguments.scratch(handed, left, x * y * z)
        windows = memory.windows(handed_over)
        self.writers.launching(_name(handed), windows)
        values = [argument.value for argument in handed_over]
        options: Dict[str, Any] = dict(
            forms.shape(handed, program),
            limits=ptx.Limits(seconds=max(0.1, self._ends - time.monotonic())),
            watch=self.writers,
        )
        if self.sanitize and self.order == "forward":
            self._sanitized(handed, program, (x, y, z), handed_over, values, options)
            return
        counts = form.counters(program)
        options["watch"] = ptx.several([self.writers, counts])
        room = form.emulator.Memory()
        for window in windows:
            room.add(window.address, window.size, window.name)
        result = form.emulator.run(
            program, (x, y, z), values, memory=room, order=self.order, sample=self.sample, **options
        )
        self._instructions += result.instructions
        if self._recall is not None and call is not None:
            self._recall.keep(call)
        counted = counts.figures()
        if self._estimates is not None and result.ctas:
            counted.update(self._estimates.of(handed, counts, result.ctas, windows))
        if self._recall is not None and call is not None:
            self._recall.keep_counted(call, counted)
        self._count(handed, counted)

    def _count(self, handed: Handed, counted: Any) -> None:
        """Keep the counts of a launch; launches alike are kept once, with `times`."""
        if not counted or len(self._counted) > MOST_COUNTED:
            return
        entry = {"kernel": _name(handed), "num_warps": handed.metadata["num_warps"], **counted}
        entry["grid"] = list(handed.grid)
        for launch in self._counted:
            if _without_lines(entry) == _without_lines(launch):
                launch["times"] += 1
                return
        self._counted.append({**entry, "times": 1})

    def _sanitized(self, handed, program, grid, handed_over, values, options) -> None:
        results: List[Any] = []
        run: Any = sanitizer.run
        if handed.function.form == "amdgcn":
            run, program = sanitizer.run_amd, amdgcn.load(handed.function.text, checked=True)
            hands_out = sanitizer.hands_out_amd(program.kernel)
        else:
            hands_out = sanitizer.hands_out(program.entry().kernel)
        findings = run(
            program, grid, values, _tensors(handed_over), unwritten=self.allocated.looked(), result=results, **options
        )  # fmt: skip
        self._instructions += sum(result.instructions for result in results)
        self.handed_out |= hands_out
        if findings:
            self.failed = _fault(findings, _name(handed))
            raise NotExecuted(self.failed.message, self.failed)


def _without_lines(counted: Dict[str, Any]) -> Dict[str, Any]:
    """The counts that are the same wherever tensors lie: launches that are alike in one run are alike in every run."""
    memory = [{**row, "lines": None} for row in counted.get("memory", ())]
    return {**counted, "memory": memory, "times": None}


def _tensors(handed_over: Sequence[arguments.Argument]) -> List[sanitizer.Tensor]:
    """The memory of a launch: each argument's own tensor, and whole storages where only an address is known."""
    tensors = []
    for place, argument in enumerate(handed_over):
        tensor = memory.tensor_of(argument.owner)
        if tensor is None:
            continue
        # An object that wraps a tensor gives its start. A tensor map is passed by value, and nothing is added to it.
        parameter = None if isinstance(argument.value, bytes) else place
        tensors.append(sanitizer.Tensor.of_torch(tensor, argument.name, parameter))
    for window in memory.pointed_to(handed_over):
        tensors.append(sanitizer.Tensor.of_bytes(window.address, window.size, window.name))
    return tensors


def _fault(findings: Sequence[sanitizer.Finding], kernel: str) -> Verdict:
    """Return the verdict on the sanitizer's findings: that of the first; its message lists all."""
    kinds = list(dict.fromkeys(finding.kind for finding in findings))
    lines = "\n".join(str(finding) for finding in findings)
    return Verdict(
        "fault",
        reason=", ".join(kinds),
        fingerprint=fingerprint.of_text(f"fault: {kinds[0]} in {kernel}"),
        message=f"{kernel}: {lines}",
        phase=PHASE,
    )


def _name(handed: Handed) -> str:
    """Return the kernel's name as its author wrote it; Triton 2.3 adds the specialisations of its arguments."""
    return getattr(getattr(handed.source, "fn", None), "__name__", handed.function.name)


def _verdict(error: Any, handed: Handed, seconds: float) -> Verdict:
    kernel = _name(handed)
    message = f"{kernel}: {error}"
    if isinstance(error, ptx.Unsupported):
        return Verdict(
            "unsupported",
            reason=f"{handed.function.form}: {error.opcode}",
            message=message,
            phase=PHASE,
        )
    if isinstance(error, ptx.Fault):
        mark = fingerprint.of_text(f"fault: {error.kind} access in {kernel}")
        return Verdict("crash", reason="fault", fingerprint=mark, message=message, phase=PHASE)
    if isinstance(error, ptx.Deadlock):
        return Verdict(
            "timeout",
            reason="deadlock",
            fingerprint="timeout: deadlock",
            message=message,
            phase=PHASE,
        )
    message += (
        f"\n{kernel} was not done within its part of the case's {seconds:g} s (--time-limit)."
    )
    return Verdict(
        "timeout",
        reason=f"longer than {seconds:g} s",
        fingerprint="timeout",
        message=message,
        phase=PHASE,
    )
