"""tl.gather in a cluster of two blocks reads the own block's part only: Triton 3.4 to 3.9. Needs no GPU.

python tests/proofs/upstream/cluster_gather.py
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def turned_round(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(y_ptr + at, tl.gather(tl.load(x_ptr + at), SIZE - 1 - at, 0))


def main():
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "SIZE": "constexpr"}
    source = ASTSource(turned_round, signature, {"SIZE": 32})
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_ctas": 2})
    text = kernel.asm["ptx"]
    names = ("ld.shared", "st.shared", "mapa", "shared::cluster")
    print(triton.__version__, {name: text.count(name) for name in names})


if __name__ == "__main__":
    main()
