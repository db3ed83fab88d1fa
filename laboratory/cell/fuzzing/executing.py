"""Programs on one target, in a forked child: compiled by the real Triton, and executed as PTX or AMD's assembly."""

import base64
import contextlib
import json
import os
import sys
import time
import zlib
from typing import Any, Dict, Iterator, List, Mapping, Optional

from crosswarp.compat.isolate import Child, Outcome, fork
from crosswarp.compat.record import Patches
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_error, of_outcome
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching
from crosswarp.matrix.cell.starting import loading
from crosswarp.matrix.cell.stream import shortened

from . import data

# The numpy types that hold them: numpy has no bfloat16.
_NUMPY = {"bfloat16": "float32"}
# The most bytes of a wrong tensor, compressed, sent for the host to compare.
_MOST_VALUES = 1 << 20
# The most programs that may share a child: a fork, and the parent memory a child touches, take 40 ms (2026-11-24).
_TOGETHER = 16


class Children:
    """Forked children, one at a time, each for one program or for several that pass.

    Args:
        folder: for source texts, of this process alone.
        limits: time_limit of one program in seconds, memory_limit_mb (`Asked`).
    """

    def __init__(self, folder: str, limits: Asked):
        self._folder, self._limits = folder, limits
        self._child: Optional[Child] = None
        self._requests = -1
        self._target = ""
        self._served = 0

    def run(self, asked: Mapping[str, Any], target: Target) -> Dict[str, Any]:
        """Runs `asked["program"]` on `target`; returns verdict, compile seconds and wrong answers as plain data.

        Args:
            asked: the program, and the digests of its answers under "expected"; "options" override the program's.
                "together": it may run in a child that others ran in, if all of these passed. "assembled": False stops
                at PTX, which is executed.
        """
        together = bool(asked.get("together"))
        if not together or target.name != self._target or self._served >= _TOGETHER:
            self.end()
        began = time.monotonic()
        if self._child is None:
            self._begin(target)
        assert self._child is not None
        with contextlib.suppress(BrokenPipeError):
            _write(self._requests, json.dumps(asked).encode() + b"\n")
        outcome = self._child.watch(
            began, self._limits.time_limit, self._limits.memory_limit_mb, until_result=True
        )  # fmt: skip
        self._served += 1
        found = _found(outcome)
        if not together or found["verdict"]["outcome"] != "pass":
            # Whatever went wrong may have left something behind.
            self.end()
        found["seconds"] = round(outcome.seconds, 3)
        return found

    def _begin(self, target: Target) -> None:
        read, write = os.pipe()
        try:
            self._child = fork(lambda send: self._serve(read, write, target))
        except OSError:
            os.close(write)
            raise
        finally:
            os.close(read)
        self._requests, self._target, self._served = write, target.name, 0

    def _serve(self, read: int, write: int, target: Target) -> Iterator[Dict[str, Any]]:
        """In the child: an answer for each line of its pipe."""
        os.close(write)
        # This process is the guard already: nothing but its programs is lost with it.
        virtual_gpu.activate(target, guarded=False)
        _allow_scratch()
        with open(read, encoding="utf-8") as requests:
            for number, line in enumerate(requests):
                # A separate file name: Triton reads a kernel's text through Python's cache, which is by file name.
                path = os.path.join(self._folder, f"program_{number}.py")
                yield _answer(json.loads(line), target, path, self._limits.time_limit)

    def end(self) -> None:
        """End the child that there is."""
        if self._child is not None:
            self._child.end()
            os.close(self._requests)
            self._child = None


def _found(outcome: Outcome) -> Dict[str, Any]:
    """Returns a child's answer for its program, or how the child ended."""
    if outcome.kind == "returned":
        found: Dict[str, Any] = outcome.value
        mark = fingerprint.of_output(outcome.output)
        if found["verdict"]["outcome"] == "compile-error" and mark:
            # The compiler's output says more than the exception; the guard, absent here, does the same.
            found["verdict"]["fingerprint"] = fingerprint.of_text(
                f"{found['verdict']['reason']}: {mark}"
            )
        return found
    return {"verdict": as_data(of_outcome(outcome, phase="compile"))}


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _answer(asked: Mapping[str, Any], target: Target, path: str, seconds: float) -> Dict[str, Any]:
    program, assembled = asked["program"], asked.get("assembled", True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(program["kernel"])
    del launching.launches[:]
    compiled: List[float] = []
    began = _cpu_seconds()
    machine = emulate.Machine(seconds)

    def execute(handed: launching.Handed) -> None:
        compiled.append(_cpu_seconds() - began)
        machine(handed)

    launching.run_with(execute)
    patches = Patches()
    if target.backend == "cuda" and not assembled:
        virtual_gpu.stop_before_assembling(patches)
    try:
        kernel = _kernel(path)
        tensors = {one["name"]: _tensor(one) for one in program["arguments"]}
        options = {**program["options"], **asked.get("options", {})}
        numbers = program["numbers"].values()
        began = _cpu_seconds()
        kernel[(program["blocks"],)](*tensors.values(), *numbers, **options)
        verdict = Verdict("pass")
    except BaseException as error:
        verdict = of_error(error, phase="compile")
    finally:
        patches.undo()
    found: Dict[str, Any] = {"compile_seconds": round((compiled or [_cpu_seconds() - began])[0], 3)}
    if launching.launches and assembled:
        launch = launching.launches[-1]
        found["resources"] = {
            name: getattr(launch, name)
            for name in ("num_warps", "registers", "spills", "stack", "shared", "code")
        }
    if verdict.outcome == "pass":
        wrong = _wrong(program, tensors, asked["expected"])
        if wrong:
            names = ", ".join(sorted(wrong))
            verdict = Verdict(
                "mismatch", "numbers", f"mismatch: {names}", f"other numbers in {names}", "compare"
            )
            found["wrong"] = wrong
    verdict.message = shortened(verdict.message, 4000)
    found["verdict"] = as_data(verdict)
    return found


def _allow_scratch() -> None:
    """Memory that a launch asks for: descriptors that are made in a kernel lie there."""
    import torch
    import triton

    # Breakpoint: before Triton 3.2 there is no allocator to set, and none is needed.
    if hasattr(triton, "set_allocator"):
        triton.set_allocator(
            lambda size, alignment, stream: torch.empty(size, dtype=torch.int8)  # type: ignore[call-overload]
        )


def _cpu_seconds() -> float:
    """CPU time of this process and its children (ptxas): other load on the same cores does not count as slowness."""
    return sum(os.times()[:4])


def _kernel(path: str) -> Any:
    sys.dont_write_bytecode = True
    return loading.load("crosswarp_program", path).kernel


def _tensor(argument: Mapping[str, Any]) -> Any:
    import torch

    dtype = argument["dtype"]
    held = data.fill(
        argument["size"], _NUMPY.get(dtype, dtype), argument["low"], argument["high"], argument["salt"]
    )  # fmt: skip
    return torch.from_numpy(held).to(getattr(torch, dtype))


def _wrong(
    program: Mapping[str, Any], tensors: Mapping[str, Any], expected: Mapping[str, str]
) -> Dict[str, str]:
    """Returns all numbers of each tensor that differs from the expected one, compressed; empty if too long."""
    import torch

    wrong = {}
    for argument in program["arguments"]:
        if argument["name"] not in expected:
            continue
        tensor = tensors[argument["name"]]
        if tensor.dtype == torch.bfloat16:
            tensor = tensor.float()
        if data.digest(tensor.numpy()) != expected[argument["name"]]:
            packed = zlib.compress(tensor.numpy().tobytes())
            wrong[argument["name"]] = (
                base64.b64encode(packed).decode() if len(packed) <= _MOST_VALUES else ""
            )
    return wrong
