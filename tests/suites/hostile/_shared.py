"""What the cells of this suite share: one case, one input, a reference that doubles it."""

import torch

from crosswarp.kernels.case import Case, Kernel


def kernel(name, launch):
    return Kernel(
        name=name,
        cases=(Case(id="fp32-64", dtype="fp32", shape={"n": 64}),),
        inputs=lambda case, device, generator: {
            "x": torch.randn(64, generator=generator).to(device)
        },
        launch=launch,
        reference=lambda x: {"y": x * 2},
        tolerance={"fp32": 1e-6},
    )
