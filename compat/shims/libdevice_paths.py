"""libdevice moved in Triton 3.0, from `tl.math.tanh` to `triton.language.extra.libdevice`: back in `tl.math` as well.

Dispatched to NVIDIA's library or AMD's while the kernel is traced; what AMD's lacks is built from Triton's operations.
"""

from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import triton.language as tl

    from ..libdevice_names import missing_from_math

    # Breakpoint: none upstream; delete when no library that runs on 3.0 and later still calls tl.math.tanh.
    for name, function in missing_from_math().items():
        patches.set(tl.math, name, function)


SHIM = Shim(
    name="libdevice_paths",
    issue="triton-4938",
    tier="names",
    window=">=3.0",
    symptom="module 'triton.language.math' has no attribute 'tanh'",
    link="https://github.com/triton-lang/triton/issues/4938",
    delete_when="no library calls tl.math.tanh on Triton 3.0 or later",
    apply=apply,
)
