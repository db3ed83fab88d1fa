"""Weights of 4 bits, [N, K] in memory, times activations: how a warp reads the weights, by release. Needs no GPU.

python tests/proofs/upstream/dequantize_coalescing.py
"""

import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def dequantize(
    a_ptr, weight_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(0, K, BK):
        at = start + inner
        x = tl.load(a_ptr + rows[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        # Two weights of four bits lie in a byte.
        place = cols[None, :] * (K // 2) + at[:, None] // 2
        pair = tl.load(weight_ptr + place, mask=at[:, None] < K, other=0).to(tl.int32)
        weight = ((pair >> ((at[:, None] % 2) * 4)) & 15) - 8
        total += tl.dot(x, weight.to(x.dtype))
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total, mask=rows[:, None] < M)


def main():
    signature = {
        "a_ptr": "*fp16",
        "weight_ptr": "*i8",
        "c_ptr": "*fp32",
        "M": "i32",
        "N": "i32",
        "K": "i32",
    }
    signature.update(BM="constexpr", BN="constexpr", BK="constexpr")
    aligned = {(at,): [["tt.divisibility", 16]] for at in (0, 1, 2, 5)}
    source = ASTSource(dequantize, signature, {"BM": 16, "BN": 64, "BK": 32}, aligned)
    kernel = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 2}
    )
    text = kernel.asm["ttgir"]
    layouts = dict(re.findall(r"^(#\w+) = (#ttg\.blocked<.*>)$", text, re.M))
    for load in re.findall(
        r"(?:tt\.load|async_copy_global_to_local) [^\n]*tensor<32x64x!tt\.ptr<i8>, (#\w+)>", text
    ):
        print(triton.__version__, "the weights are read by", layouts[load])
        break


if __name__ == "__main__":
    main()
