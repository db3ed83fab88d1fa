"""Test a compiler with two small kernels for each target, in a forked child."""

import os
from typing import Iterable

from crosswarp.compat import features
from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target


def why_not(target: Target, time_limit: float, kernels: Iterable[str] = ("add", "dot")) -> str:
    """Why this Triton cannot compile for `target`, in one line; an empty string if it can."""

    def ask(send):
        virtual_gpu.activate(target)
        import torch

        from crosswarp.matrix.cell.starting import probe_kernels

        for name in kernels:
            probe_kernels.LAUNCHES[name](torch)

    outcome = run_isolated(ask, time_limit=time_limit)
    if outcome.kind == "returned":
        return ""
    if outcome.raised is not None:
        return fingerprint.of_exception(outcome.raised.type_name, outcome.raised.text)
    return fingerprint.of_death(outcome.reason, outcome.output)


def device_target() -> str:
    """The name of the GPU that is present: ``sm_90``, ``gfx942``. Asked in a child: no worker may hold a context."""

    def ask(send):
        import torch

        if torch.version.hip:
            return torch.cuda.get_device_properties(0).gcnArchName.split(":")[0]
        return "sm_{}{}".format(*torch.cuda.get_device_capability(0))

    outcome = run_isolated(ask, time_limit=120)
    return outcome.value if outcome.kind == "returned" else "gpu"


def prepare_import(lane: str, spec: Asked) -> None:
    """Activate the virtual GPU before a kernel's module is imported: Triton 3.2 and 3.3 need a driver to decorate.

    Triton 2.3.1 needs none, and has none but CUDA's: where only AMD is asked for, each cell is `unsupported` later.
    """
    if lane == "device" or os.environ.get("TRITON_INTERPRET") == "1" and not spec.targets:
        return
    every = [Target.from_table(name, table) for name, table in spec.targets.items()]
    if every:
        target = next((each for each in every if each.backend == "cuda"), every[0])
        if target.backend == "cuda" or features.has_backends():
            virtual_gpu.activate(target)
        map_torch(spec, target, lane)


def map_torch(spec: Asked, target: Target, lane: str) -> None:
    """Have torch.cuda speak for `target`, for a user's code. This cannot be undone: only in a child.

    Our own kernels ask torch nothing, and the launcher of a library's ops maps torch itself.
    """
    if spec.strangers:
        from crosswarp.matrix.cell.standins import virtual_torch

        virtual_torch.install(target, zeroed=lane == "compile")
