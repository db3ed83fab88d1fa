"""Write programs/: the PTX that a column's Triton makes of crosswarp's own kernels. Run by hand in that column:

    python tests/sanitizer/collect.py

The host's tests have no Triton; they execute and mutate these texts. What only debuggers read is left out.
"""

import json
import re
from pathlib import Path

import torch
import triton

from crosswarp.kernels import descriptor_matmul, matmul, softmax
from crosswarp.matrix.cell.emulate import arguments
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching

SM_80 = Target("sm_80", "cuda", 80, "sm_8", 32, 1024, 166912, 65536, 108)
SM_90 = Target("sm_90", "cuda", 90, "sm_9", 32, 1024, 232448, 65536, 132)
HERE = Path(__file__).parent / "programs"


def short(text):
    text = re.sub(r"(?m)\s*//.*$", "", text.split(".section")[0])
    text = re.sub(r"[ \t]+", " ", re.sub(r"\n\s*\n+", "\n", text))
    # The folder of a checkout is nobody's business.
    text = re.sub(r'(\.file \d+) "[^"]*/([^"/]+)"', r'\1 "\2"', text)
    return "\n".join(line.strip() for line in text.strip().split("\n")) + "\n"


def collect(name, target, launch):
    virtual_gpu.activate(target)
    handed = []
    launching.run_with(handed.append)
    launch()
    (one,) = handed
    given = arguments.flattened(one)
    said = []
    for argument in given:
        if argument.owner is None:
            said.append([argument.name, argument.value])
        else:
            said.append([argument.name, list(argument.owner.shape), str(argument.owner.dtype)[6:]])
    told = {
        "triton": triton.__version__, "target": target.name, "grid": list(one.grid),
        "shared": int(one.metadata["shared"]), "scratch": int(one.metadata.get("global_scratch_size") or 0),
        "arguments": said,
    }  # fmt: skip
    (HERE / f"{name}.ptx").write_text(short(one.function.text))
    (HERE / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")


def main():
    def of_softmax():
        x = torch.zeros(3, 100)
        softmax._softmax_kernel[(3,)](x, torch.zeros(3, 100), 100, 100, 100, BLOCK=128, WHOLE=True)

    def of_matmul():
        a, b = torch.zeros(40, 96, dtype=torch.float16), torch.zeros(96, 32, dtype=torch.float16)
        c = torch.zeros(40, 32, dtype=torch.float16)
        matmul._matmul_kernel.fn[(2,)](
            a, b, c, 40, 32, 96, 96, 1, 32, 1, 32,
            BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, EVEN=False, GROUP=8, num_warps=2, num_stages=3,
        )  # fmt: skip

    def of_descriptors():
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
        a, b = torch.zeros(70, 320, dtype=torch.float16), torch.zeros(40, 320, dtype=torch.float16)
        c = torch.zeros(70, 40, dtype=torch.float16)
        descriptor_matmul._descriptor_kernel[(2, 2)](
            a, b, c, 70, 40, 320, BM=64, BN=32, BK=64, num_warps=4, num_stages=2
        )

    HERE.mkdir(exist_ok=True)
    collect("softmax", SM_80, of_softmax)
    collect("matmul", SM_80, of_matmul)
    collect("descriptor_matmul", SM_90, of_descriptors)


if __name__ == "__main__":
    main()
