"""One program on one target, in a forked child: compiled by the real Triton, executed as PTX where there is any."""

import base64
import importlib.util
import os
import sys
import zlib
from typing import Any, Dict, List, Mapping

from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell import emulate, virtual_gpu
from crosswarp.matrix.cell.suite import fingerprint
from crosswarp.matrix.cell.suite.stream import shortened
from crosswarp.matrix.cell.suite.verdict import Verdict, of_death, of_error, of_raised, told
from crosswarp.matrix.cell.virtual_gpu import Target, launching

from . import data

# Triton's element types, as torch has them.
_TORCH = {
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "float16": "float16",
    "bfloat16": "bfloat16", "float32": "float32", "float64": "float64",
}  # fmt: skip
# What numpy holds them in, which has no bfloat16.
_NUMPY = {"bfloat16": "float32"}
# Of a wrong tensor, compressed, for the host to compare.
_MOST_VALUES = 1 << 20


def run(
    asked: Mapping[str, Any], target: Target, folder: str, limits: Mapping[str, Any]
) -> Dict[str, Any]:
    """How `asked["program"]` fares on `target`, as plain data: a verdict, its compilation's seconds, wrong answers.

    Args:
        asked: the program, and the digests of its answers under "expected"; "options" stand over the program's own.
        folder: for its source text, of this process alone.
        limits: time_limit in seconds, memory_limit_mb.
    """
    path = os.path.join(folder, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(asked["program"]["kernel"])
    outcome = run_isolated(
        lambda send: _in_child(asked, target, path, limits["time_limit"]),
        time_limit=limits["time_limit"],
        memory_limit_mb=limits.get("memory_limit_mb"),
    )
    if outcome.kind == "returned":
        found = outcome.value
        said = fingerprint.of_output(outcome.output)
        if found["verdict"]["outcome"] == "compile-error" and said:
            # What the compiler printed says more than what was raised; the guard, which is not here, does the same.
            found["verdict"]["fingerprint"] = fingerprint.of_text(
                f"{found['verdict']['reason']}: {said}"
            )
    elif outcome.raised is not None:
        found = {"verdict": told(of_raised(outcome.raised))}
    else:
        found = {"verdict": told(of_death(outcome.kind, outcome.reason, outcome.output, phase="compile"))}  # fmt: skip
    found["seconds"] = round(outcome.seconds, 3)
    return found


def _in_child(
    asked: Mapping[str, Any], target: Target, path: str, seconds: float
) -> Dict[str, Any]:
    program = asked["program"]
    # This process is the guard already: nothing but the program is lost with it.
    virtual_gpu.activate(target, guarded=False)
    compiled: List[float] = []
    began = _cpu_seconds()
    if target.backend == "cuda":
        machine = emulate.Machine(seconds)

        def execute(handed: launching.Handed) -> None:
            compiled.append(_cpu_seconds() - began)
            machine(handed)

        launching.run_with(execute)
    try:
        kernel = _kernel(path)
        _allow_scratch()
        tensors = {one["name"]: _tensor(one) for one in program["arguments"]}
        options = {**program["options"], **asked.get("options", {})}
        numbers = program["numbers"].values()
        began = _cpu_seconds()
        kernel[(program["blocks"],)](*tensors.values(), *numbers, **options)
        verdict = Verdict("pass")
    except BaseException as error:
        verdict = of_error(error, phase="compile")
    found: Dict[str, Any] = {"compile_seconds": round((compiled or [_cpu_seconds() - began])[0], 3)}
    if launching.launches:
        launch = launching.launches[-1]
        found["resources"] = {
            name: getattr(launch, name) for name in ("registers", "spills", "shared")
        }
    if verdict.outcome == "pass" and target.backend == "cuda":
        wrong = _wrong(program, tensors, asked["expected"])
        if wrong:
            names = ", ".join(sorted(wrong))
            verdict = Verdict(
                "mismatch", "numbers", f"mismatch: {names}", f"other numbers in {names}", "compare"
            )
            found["wrong"] = wrong
    elif verdict.outcome == "pass":
        verdict.reason = "compiled, and not executed"
    verdict.message = shortened(verdict.message, 4000)
    found["verdict"] = told(verdict)
    return found


def _allow_scratch() -> None:
    """Memory that a launch asks for: descriptors that are made in a kernel lie there."""
    import torch
    import triton

    # Breakpoint: before Triton 3.2 there is none to be set, and nothing that asks.
    if hasattr(triton, "set_allocator"):
        triton.set_allocator(
            lambda size, alignment, stream: torch.empty(size, dtype=torch.int8)  # type: ignore[call-overload]
        )


def _cpu_seconds() -> float:
    """Of this process and what it waited for (ptxas): what others do on the same cores is no slowness of Triton's."""
    return sum(os.times()[:4])


def _kernel(path: str) -> Any:
    # Not imported by its path's name: Triton reads the text of a kernel through its module.
    spec = importlib.util.spec_from_file_location("crosswarp_program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module.kernel


def _tensor(argument: Mapping[str, Any]) -> Any:
    import torch

    dtype = argument["dtype"]
    held = data.fill(
        argument["size"], _NUMPY.get(dtype, dtype), argument["low"], argument["high"], argument["salt"]
    )  # fmt: skip
    return torch.from_numpy(held).to(getattr(torch, _TORCH[dtype]))


def _wrong(
    program: Mapping[str, Any], tensors: Mapping[str, Any], expected: Mapping[str, str]
) -> Dict[str, str]:
    """Of each tensor that holds other numbers than it should: all of them, compressed."""
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
