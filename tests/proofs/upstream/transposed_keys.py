"""q times the transpose of k, in a loop: how k lies in AMD's LDS, by release. Needs no GPU.

python tests/proofs/upstream/transposed_keys.py
"""

import os
import re

# Nothing is linked: what counts is there before. Triton looks whether the linker is a file.
os.environ.setdefault("TRITON_HIP_LLD_PATH", "/bin/true")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def scores(q_ptr, k_ptr, out_ptr, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
           TRANS: tl.constexpr):  # fmt: skip
    rows, cols, keys = tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + rows[:, None] * D + cols[None, :])
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, n, BN):
        if TRANS:
            k = tl.trans(tl.load(k_ptr + (start + keys)[:, None] * D + cols[None, :]))
        else:
            k = tl.load(k_ptr + (start + keys)[None, :] * D + cols[:, None])
        total += tl.dot(q, k)
    tl.store(out_ptr + rows[:, None] * BN + keys[None, :], total)


SIGNATURE = {"q_ptr": "*fp16", "k_ptr": "*fp16", "out_ptr": "*fp32", "n": "i32"}


def main():
    for trans in (True, False):
        constants = {"D": 128, "BM": 16, "BN": 64, "TRANS": trans}
        signature = {**SIGNATURE, **dict.fromkeys(constants, "constexpr")}
        aligned = {(at,): [["tt.divisibility", 16]] for at in range(4)}
        source = ASTSource(scores, signature, constants, aligned)
        kernel = triton.compile(
            source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4, "num_stages": 2}
        )
        text = kernel.asm["ttgir"]
        layouts = dict(re.findall(r"^(#\w+) = #\S*shared<(\{[^}]*\})>", text, re.M))
        (first, *_) = re.findall(r"local_load [^\n]*memdesc<(?:64x128|128x64)xf16, (#\w+)", text)
        how = "tl.trans(k)" if trans else "k loaded transposed"
        print(triton.__version__, f"{how}: k in LDS is {layouts[first]}")


if __name__ == "__main__":
    main()
