"""With warp_specialize the second half of the rows is loaded from a wrong column: Triton 3.7 to 3.9. Needs no GPU.

python tests/proofs/upstream/warp_specialized_reshape.py
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a_ptr, b_ptr, y_ptr, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [ROWS, 1, K], [K, K, 1], [ROWS, 1, DEPTH])
    b = tl.make_tensor_descriptor(b_ptr, [K, COLUMNS], [COLUMNS, 1], [DEPTH, COLUMNS])
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, K, DEPTH, warp_specialize=True):
        left = a.load([0, 0, start]).reshape(ROWS, DEPTH)
        total = tl.dot(left, b.load([start, 0]), total)
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tl.store(y_ptr + row[:, None] * COLUMNS + column[None, :], total)


def main():
    constants = {"ROWS": 128, "COLUMNS": 64, "DEPTH": 64}
    signature = {
        "a_ptr": "*fp16",
        "b_ptr": "*fp16",
        "y_ptr": "*fp32",
        "K": "i32",
        **dict.fromkeys(constants, "constexpr"),
    }
    source = ASTSource(product, signature, constants)
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    for line in kernel.asm["ttgir"].splitlines():
        if "copy_global_to_local" in line:
            print(triton.__version__, line.split(" loc(")[0].strip())


if __name__ == "__main__":
    main()
