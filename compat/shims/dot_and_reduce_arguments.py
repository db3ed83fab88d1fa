"""Arguments that functions of `triton.language` take since 3.0, on 2.3: input_precision, keep_dims, reverse, *shape,
fp_downcast_rounding.

Left out: scans of several tensors at once and `dot` of three dimensions, which 2.3's compiler refuses.
"""

from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import triton.language as tl

    from ..old_arguments import NAMES
    from ..old_language import cast

    # Breakpoint: Triton 3.0 takes them; delete with the last column before it.
    for name, function in NAMES.items():
        patches.set(tl, name, function)
    # x.to(dtype, fp_downcast_rounding="rtne")
    patches.set(tl.tensor, "to", cast)


SHIM = Shim(
    name="dot_and_reduce_arguments",
    issue="triton-3804",
    tier="names",
    window="<3.0",
    symptom="sum() got an unexpected keyword argument 'keep_dims'",
    link="https://github.com/triton-lang/triton/issues/3804",
    delete_when="no column before Triton 3.0 is left",
    apply=apply,
)
