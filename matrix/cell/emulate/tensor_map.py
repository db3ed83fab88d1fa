"""A host's tensor descriptor as the tensor map that a GPU of Hopper and later reads."""

from typing import Any, Mapping

from crosswarp.matrix.cell import ptx

# Triton numbers element types as the device does, which differs from the driver from here on: float32, float64, bf16.
_HOST_TYPE = {8: 10, 9: 8, 10: 9}
_TF32 = 11


def tensor_map(descriptor: Any, meta: Mapping[str, Any]) -> bytes:
    """The 128 bytes that Triton's launcher would have the driver make (cuTensorMapEncodeTiled).

    Args:
        descriptor: a `triton.tools.tensor_descriptor.TensorDescriptor`.
        meta: of the compiled kernel, for this argument: swizzle, element size and type, block.

    Raises:
        ptx.Unsupported: the machine has no such maps, or none of this kind.
    """
    encode = getattr(ptx, "tensor_map", None)
    if encode is None or meta.get("is_im2col"):
        raise ptx.Unsupported("im2col tensor map" if meta.get("is_im2col") else "host tensor map")
    shape = list(descriptor.shape)
    if meta["fp4_padded"]:
        shape[-1] *= 2
    kind = meta["elem_type"]
    rounded = getattr(descriptor, "round_f32_to_tf32", False)
    # The driver has the innermost axis first, and no stride for it.
    return encode(
        address=descriptor.base.data_ptr(),
        element_type=_TF32 if rounded else _HOST_TYPE.get(kind, kind),
        element_bytes=meta["elem_size"],
        shape=shape[::-1],
        strides=[step * meta["elem_size"] for step in descriptor.strides[:-1]][::-1],
        box=list(meta["block_size"])[::-1],
        swizzle=meta["swizzle"],
        nan_fill=getattr(descriptor, "padding", "zero") == "nan",
    )
