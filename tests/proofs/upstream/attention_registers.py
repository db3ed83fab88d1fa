"""fp32 attention backward for sm_90: 255 registers with Triton 3.8.0, 32 and a stack with 3.9.0. Needs no GPU.

python tests/proofs/upstream/attention_registers.py
"""

import os
import subprocess
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def backward(
    q_rows, k_rows, v_rows, do_rows, sums, deltas, dq_rows, dk_ptr, dv_ptr, starts_ptr, row, scale, factor,
    D: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """dk, dv and dq of a block of keys, causal."""
    block = tl.program_id(1)
    head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2))
    length = tl.load(starts_ptr + tl.program_id(2) + 1) - begin
    keys = (block * B + tl.arange(0, B))[:, None]
    columns = tl.arange(0, D)[None, :]
    k = k_rows.load([begin + block * B, head * D])
    v = v_rows.load([begin + block * B, head * D])
    dk = tl.zeros([B, D], dtype=tl.float32)
    dv = tl.zeros([B, D], dtype=tl.float32)
    for start in range(block * B, length, B):
        q = q_rows.load([begin + start, head * D])
        lse = sums.load([head, begin // 4 * 4 + start])
        do = do_rows.load([begin + start, head * D])
        delta = deltas.load([head, begin // 4 * 4 + start])
        p = tl.math.exp2(tl.dot(k, tl.trans(q), allow_tf32=False) * scale - lse)
        if start < (block + 1) * B:
            p = tl.where(keys <= start + tl.arange(0, B)[None, :], p, 0.0)
        dv = tl.dot(p, do, dv, allow_tf32=False)
        ds = p * (tl.dot(v, tl.trans(do), allow_tf32=False) - delta)
        dq = tl.dot(tl.trans(ds), k, allow_tf32=False)
        dk = tl.dot(ds, q, dk, allow_tf32=False)
        dq_rows.atomic_add([begin + start, head * D], dq)
    at = begin.to(tl.int64) * row + head * D + keys * row + columns
    tl.store(dk_ptr + at, dk * factor, mask=keys < length)
    tl.store(dv_ptr + at, dv, mask=keys < length)


def main():
    signature = {
        name: "tensordesc<fp32[32, 32]>" for name in ("q_rows", "k_rows", "v_rows", "do_rows")
    }
    signature.update(sums="tensordesc<fp32[1, 32]>", deltas="tensordesc<fp32[1, 32]>")
    signature.update(
        dq_rows="tensordesc<fp32[32, 32]>", dk_ptr="*fp32", dv_ptr="*fp32", starts_ptr="*i32"
    )
    signature.update(row="i32", scale="fp32", factor="fp32", D="constexpr", B="constexpr")
    aligned = {(at,): [["tt.divisibility", 16]] for at in (7, 8, 9, 10)}
    source = ASTSource(backward, signature, {"D": 32, "B": 32}, aligned)
    kernel = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 1}
    )
    tools = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        said = subprocess.check_output(
            [os.path.join(tools, "cuobjdump"), "-res-usage", file.name], text=True
        )
    print(triton.__version__, next(line.strip() for line in said.splitlines() if "REG:" in line))


if __name__ == "__main__":
    main()
