"""A host's tensor descriptor as the tensor map that a GPU of Hopper and later reads."""

from typing import Any, Mapping, Tuple

from crosswarp.matrix.cell.machines import ptx

# Element types by their codes in Triton's metadata, which are those of PTX's tensormap.replace.
_ELEMENTS = {
    0: "u8", 1: "u16", 2: "u32", 3: "s32", 4: "u64", 5: "s64", 6: "f16", 7: "f32", 8: "f32", 9: "f64", 10: "bf16",
    11: "tf32", 12: "tf32", 14: "u4",
}  # fmt: skip
# CUtensorMapSwizzle: spans in bytes.
_SWIZZLES = {0: 0, 1: 32, 2: 64, 3: 128}


def tensor_map(descriptor: Any, meta: Mapping[str, Any]) -> bytes:
    """Return 128 bytes in place of the map that the driver would make for Triton's launcher (cuTensorMapEncode…).

    Args:
        descriptor: a `triton.tools.tensor_descriptor.TensorDescriptor`.
        meta: of the compiled kernel, for this argument: swizzle, element size and type, block.

    Raises:
        ptx.Unsupported: the emulator has no maps of this kind.
    """
    if meta.get("elem_type") not in _ELEMENTS or meta.get("swizzle") not in _SWIZZLES:
        raise ptx.Unsupported("tensor map", why=f"none like {dict(meta)}")
    shape = [int(size) for size in descriptor.shape]
    if meta["fp4_padded"]:
        shape[-1] *= 2
    steps: Tuple[int, ...] = ()
    corners = None
    if meta.get("is_im2col"):
        # The driver has the innermost dimension first here too. Channels and images have no corners.
        steps = tuple(descriptor.element_strides or ())[::-1]
        lower, upper = descriptor.pixel_box_lower_corner, descriptor.pixel_box_upper_corner
        corners = tuple(lower)[::-1], tuple(upper)[::-1]
    rounded = getattr(descriptor, "round_f32_to_tf32", False)
    # The driver has the innermost axis first, and no stride for it.
    return ptx.tensor_map(
        address=descriptor.base.data_ptr(),
        element_type="tf32" if rounded else _ELEMENTS[meta["elem_type"]],
        shape=shape[::-1],
        strides=[int(step) * meta["elem_size"] for step in descriptor.strides[:-1]][::-1],
        box=[int(size) for size in meta["block_size"]][::-1],
        swizzle=_SWIZZLES[meta["swizzle"]],
        fill_nan=getattr(descriptor, "padding", "zero") == "nan",
        steps=steps,
        corners=corners,
    )
