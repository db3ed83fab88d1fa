"""Tensor descriptors under their names of 3.4 on 3.3, and under their names of 3.3 on 3.4 and later.

Left out: `_experimental_descriptor_load` and `_experimental_reinterpret_tensor_descriptor` on 3.4 and later. They take
a descriptor that the host wrote to memory, which the later compilers have no type for.
"""

from .. import features
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import triton.language as tl

    # Breakpoint: Triton 3.4 dropped "_experimental"; delete the first half with the last column of 3.3, the second when
    # no library says _experimental_make_tensor_descriptor.
    for name, function in names().items():
        patches.set(tl, name, function)


def names() -> dict:
    """The names of both spellings that `triton.language` lacks on this Triton, 3.3 or later."""
    import triton.language as tl

    if features.has_descriptors():
        return {
            "_experimental_make_tensor_descriptor": tl.make_tensor_descriptor,
            "_experimental_tensor_descriptor": tl.tensor_descriptor,
        }
    from ..tracing import builtin, value

    make = tl._experimental_make_tensor_descriptor

    def make_tensor_descriptor(
        base, shape, strides, block_shape, padding_option="zero", _builder=None
    ):
        if value(padding_option) != "zero":
            msg = "Triton 3.3 pads with zeros only: upgrade to 3.5, or leave padding_option out"
            raise NotImplementedError(msg)
        return make(base, shape, strides, block_shape, _builder=_builder)

    def load_tensor_descriptor(desc, offsets, _builder=None):
        return desc.load(offsets, _builder=_builder)

    def store_tensor_descriptor(desc, offsets, value, _builder=None):
        return desc.store(offsets, value, _builder=_builder)

    functions = (make_tensor_descriptor, load_tensor_descriptor, store_tensor_descriptor)
    return {
        **{function.__name__: builtin(function) for function in functions},
        "tensor_descriptor": tl._experimental_tensor_descriptor,
    }


SHIM = Shim(
    name="descriptor_names",
    issue="leetgpu-11",
    tier="names",
    window=">=3.3",
    symptom="module 'triton.language' has no attribute 'make_tensor_descriptor'",
    link="https://github.com/dsl-learn/LeetGPU/issues/11",
    delete_when="no column of Triton 3.3 is left, and no library uses the experimental names",
    apply=apply,
)
