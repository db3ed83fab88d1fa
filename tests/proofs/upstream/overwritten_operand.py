"""An atomic operation whose result replaces its operand brings zero: Triton 2.3 to 3.9. Needs no GPU.

python tests/proofs/upstream/overwritten_operand.py
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def handed_on(x_ptr, sums_ptr, left_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x_ptr + at)
    for turn in range(turns):
        v = tl.atomic_add(sums_ptr + turn * SIZE + at, v)
    tl.store(left_ptr + at, v)


def main():
    signature = {name: "*fp32" for name in ("x_ptr", "sums_ptr", "left_ptr")}
    signature.update(turns="i32", SIZE="constexpr")
    source = ASTSource(handed_on, signature, {"SIZE": 128})
    kernel = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    lines = [line.strip() for line in kernel.asm["ptx"].splitlines()]
    (at,) = [number for number, line in enumerate(lines) if "atom.global" in line]
    print(triton.__version__, " ".join(lines[at - 1 : at + 1]))


if __name__ == "__main__":
    main()
