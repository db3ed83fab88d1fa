"""The index of a flattened tile's largest element counts in another order: Triton 3.3 to 3.9. Needs no GPU.

python tests/proofs/upstream/flattened_argmax.py
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def place_of_largest(x_ptr, place_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(place_ptr, tl.argmax(tl.reshape(x, [ROWS * COLUMNS]), 0))


def main():
    constants = {"ROWS": 16, "COLUMNS": 32}
    signature = {"x_ptr": "*fp32", "place_ptr": "*i32", **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(place_of_largest, signature, constants)
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    (line,) = [line for line in kernel.asm["ttir"].splitlines() if "tt.reshape" in line]
    print(triton.__version__, line.split(" loc(")[0].strip())


if __name__ == "__main__":
    main()
