"""A kernel whose cases are kinds of death, each repeated."""

import os

import _kinds
import torch

from crosswarp.kernels.case import Case, Kernel

REPEATED = int(os.environ.get("DEATHS_REPEATED", "1"))


def kernel(name, kinds):
    def inputs(case, device, generator):
        x = torch.Tensor([1.0, 2.0, 3.0])
        dies = _kinds.INPUTS.get(case.options["kind"])
        return {"x": dies(x) if dies else x}

    def launch(x, kind):
        return _kinds.LAUNCH.get(kind, _kinds.good)(x)

    def reference(x):
        return _kinds.REFERENCE.get(_running[0], _kinds.good)(x)

    # The reference is not told of which case it is.
    _running = [""]

    def launch_and_note(x, kind):
        _running[0] = kind
        return launch(x, kind)

    return Kernel(
        name=name,
        cases=tuple(
            Case(f"{kind}-{number}", "fp32", {}, options={"kind": kind})
            for kind in kinds
            for number in range(REPEATED)
        ),
        inputs=inputs,
        launch=launch_and_note,
        reference=reference,
        tolerance={"fp32": 1e-6},
    )
