"""A program on one target, in a forked child: compiled by the real Triton, and executed as PTX or AMD's assembly."""

import os
import sys
from typing import Any, Dict, List, Mapping

from crosswarp.compat.isolate import run_isolated
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


def run(asked: Mapping[str, Any], target: Target, folder: str, limits: Asked) -> Dict[str, Any]:
    """Runs `asked["program"]` on `target` in a forked child; returns its verdict, and its costs, as plain data.

    Each program has its own child. One child for sixteen programs saves 0.04 s of 0.3 (two busy cores, 2026-11-28).

    Args:
        asked: the program, and the digests of its answers under "expected"; "options" override the program's.
            "assembled": False stops at PTX, which is executed.
        folder: for the program's source text.
        limits: time_limit in seconds, memory_limit_mb.
    """
    outcome = run_isolated(
        lambda send: _answer(asked, target, os.path.join(folder, "program.py"), limits.time_limit),
        time_limit=limits.time_limit,
        memory_limit_mb=limits.memory_limit_mb,
    )
    if outcome.kind != "returned":
        return {"verdict": as_data(of_outcome(outcome, phase="compile"))}
    answer: Dict[str, Any] = outcome.value
    mark = fingerprint.of_output(outcome.output)
    if answer["verdict"]["outcome"] == "compile-error" and mark:
        # The compiler's output says more than the exception; the guard, absent here, does the same.
        reason = answer["verdict"]["reason"]
        answer["verdict"]["fingerprint"] = fingerprint.of_text(f"{reason}: {mark}")
    return answer


def _answer(asked: Mapping[str, Any], target: Target, path: str, seconds: float) -> Dict[str, Any]:
    """In the child."""
    program, assembled = asked["program"], asked.get("assembled", True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(program["kernel"])
    # This process is the guard already: nothing but its program is lost with it.
    virtual_gpu.activate(target, guarded=False)
    _allow_scratch()
    compiled: List[float] = []
    began = _cpu_seconds()
    machine = emulate.Machine(seconds)

    def execute(handed: launching.Handed) -> None:
        compiled.append(_cpu_seconds() - began)
        machine(handed)

    launching.run_with(execute)
    if target.backend == "cuda" and not assembled:
        virtual_gpu.stop_before_assembling(Patches())
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
    answer: Dict[str, Any] = {
        "compile_seconds": round((compiled or [_cpu_seconds() - began])[0], 3)
    }
    if launching.launches and assembled:
        launch = launching.launches[-1]
        answer["resources"] = {
            name: getattr(launch, name)
            for name in ("num_warps", "registers", "spills", "stack", "shared", "code")
        }
    wrong = _wrong(tensors, asked["expected"]) if verdict.outcome == "pass" else ""
    if wrong:
        verdict = Verdict(
            "mismatch", "numbers", f"mismatch: {wrong}", f"other numbers in {wrong}", "compare"
        )
    verdict.message = shortened(verdict.message, 4000)
    answer["verdict"] = as_data(verdict)
    return answer


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


def _wrong(tensors: Mapping[str, Any], expected: Mapping[str, str]) -> str:
    """The names of the tensors whose numbers are not the expected ones."""
    import torch

    wrong = []
    for name, digest in sorted(expected.items()):
        tensor = tensors[name]
        if tensor.dtype == torch.bfloat16:
            tensor = tensor.float()
        if data.digest(tensor.numpy()) != digest:
            wrong.append(name)
    return ", ".join(wrong)
