"""A product's operand is read out of the other block before that has stored it: Triton 3.8 and 3.9. Needs no GPU.

python tests/proofs/upstream/cluster_race.py
"""

import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(x_ptr, y_ptr, out_ptr, kept_x_ptr, kept_y_ptr, HALF: tl.constexpr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, HALF), tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * HALF + rows[None, :])
    y = tl.load(y_ptr + rows[:, None] * SIZE + columns[None, :])
    tl.store(out_ptr + rows[:, None] * SIZE + columns[None, :], tl.dot(x, y))
    tl.store(kept_x_ptr + rows[:, None] * HALF + rows[None, :], x)
    tl.store(kept_y_ptr + rows[:, None] * SIZE + columns[None, :], y)


def main():
    names = ("x_ptr", "y_ptr", "kept_x_ptr", "kept_y_ptr")
    signature = {**dict.fromkeys(names, "*fp16"), "out_ptr": "*fp32"}
    signature = {name: signature[name] for name in ("x_ptr", "y_ptr", "out_ptr", *names[2:])}
    signature.update(HALF="constexpr", SIZE="constexpr")
    source = ASTSource(product, signature, {"HALF": 16, "SIZE": 32})
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_ctas": 2})
    word = re.compile(r"\b(st\.shared|ld\.shared::cluster|bar\.sync|barrier\.cluster\.\w+)")
    found = [match[1] for match in word.finditer(kernel.asm["ptx"])]
    shown = [one for at, one in enumerate(found) if at == 0 or found[at - 1] != one]
    print(triton.__version__, " ".join(shown))


if __name__ == "__main__":
    main()
