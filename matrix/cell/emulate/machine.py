"""Executes each launch of one case, within its limits, and says in an outcome what went wrong."""

import contextlib
import time
from typing import Any, Dict, Iterator, Optional

from crosswarp.matrix.cell import ptx
from crosswarp.matrix.cell.suite import fingerprint
from crosswarp.matrix.cell.suite.verdict import Verdict
from crosswarp.matrix.cell.virtual_gpu.launching import Handed

from . import arguments, memory
from .writers import Writers

PHASE = "execute"
# Of the case's time limit: what is left is for its reference, and to tell what happened before the process is killed.
_SHARE = 0.85


class NotExecuted(RuntimeError):
    """A launch went wrong while it was executed, or after one that did: a device would have lost its context.

    Attributes:
        crosswarp_verdict: what the cell is told to say.
    """

    def __init__(self, text: str, verdict: Verdict):
        super().__init__(text)
        self.crosswarp_verdict = verdict


class Machine:
    """What `virtual_gpu.launching.run_with` takes.

    Args:
        seconds: the time limit of the case, of which the launches together may take the larger part.

    Attributes:
        failed: what the first launch that went wrong said, since the last `begin`.
        executed: launches since the last `begin`.
        writers: which lines stored what, since the last `begin`.
    """

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._ends = time.monotonic() + seconds * _SHARE
        self._paused = False
        self.failed: Optional[Verdict] = None
        self.executed = 0
        self.writers = Writers()
        self._instructions = 0
        self._spent = 0.0

    def begin(self) -> None:
        """Begin another go at the case."""
        self.failed, self.executed, self._instructions, self._spent = None, 0, 0, 0.0
        self.writers = Writers()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Launches are compiled and checked in here, and not executed."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def resources(self) -> Dict[str, Any]:
        """For the record: what was executed since the last `begin`."""
        return {
            "emulated": {
                "launches": self.executed,
                "instructions": self._instructions,
                "seconds": round(self._spent, 3),
            }
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
            self.failed = _verdict(error, _name(handed), self._seconds)
            raise NotExecuted(str(error), self.failed) from error
        finally:
            self._spent += time.monotonic() - began
        self.executed += 1

    def _execute(self, handed: Handed) -> None:
        program = ptx.load(handed.function.ptx)
        x, y, z = handed.grid
        cluster = arguments.blocks_in_a_cluster(handed)
        x *= cluster
        handed_over = arguments.flattened(handed)
        left = len(program.parameters) - len(handed_over)
        if left < 0:
            msg = (
                f"{handed.function.name} takes {len(program.parameters)} parameters, and was handed "
                f"{len(handed_over)}: {arguments.describe(handed_over)}"
            )
            raise ValueError(msg)
        handed_over += arguments.scratch(handed, left, x * y * z)
        room = ptx.Memory()
        windows = memory.windows(handed_over)
        for window in windows:
            room.add(window.address, window.size, window.name)
        self.writers.launching(_name(handed), windows)
        result = ptx.run(
            program,
            (x, y, z),
            [argument.value for argument in handed_over],
            shared=int(handed.metadata.get("shared") or 0),
            memory=room,
            limits=ptx.Limits(seconds=max(0.1, self._ends - time.monotonic())),
            watch=self.writers,
            threads=32 * int(handed.metadata["num_warps"]),
            cluster=(cluster, 1, 1) if cluster > 1 else None,
        )
        self._instructions += result.instructions


def _name(handed: Handed) -> str:
    """Of the kernel, as its author calls it; Triton 2.3 adds what its arguments were specialised to."""
    return getattr(getattr(handed.source, "fn", None), "__name__", handed.function.name)


def _verdict(error: Any, kernel: str, seconds: float) -> Verdict:
    message = f"{kernel}: {error}"
    if isinstance(error, ptx.Unsupported):
        return Verdict("unsupported", reason=f"ptx: {error.opcode}", message=message, phase=PHASE)
    if isinstance(error, ptx.Fault):
        told = fingerprint.of_text(f"fault: {error.kind} access in {kernel}")
        return Verdict("crash", reason="fault", fingerprint=told, message=message, phase=PHASE)
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
