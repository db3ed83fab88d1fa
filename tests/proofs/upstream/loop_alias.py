"""A loop that carries the value before forgets it, without a word: Triton 3.5 to 3.9. Needs no GPU.

python tests/proofs/upstream/loop_alias.py
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def value_before_the_last(x_ptr, y_ptr, n):
    current = tl.load(x_ptr)
    previous = current
    for i in range(0, n):
        previous = current
        current = tl.load(x_ptr + i + 1)
    tl.store(y_ptr, previous)


def main():
    source = ASTSource(value_before_the_last, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, {})
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    loops = kernel.asm["ttir"].count("scf.for")
    print(
        triton.__version__,
        "has the loop" if loops else "has no loop: it stores x[0], whatever n is",
    )


if __name__ == "__main__":
    main()
