"""How each family of instructions is lowered; importing a module registers its opcodes."""

from . import (  # noqa: F401
    atomics,
    bits,
    buffer_access,
    comparisons,
    control,
    conversions,
    floats,
    global_access,
    integers,
    lanes,
    lds_access,
    lds_lanes,
    matrix,
    packed,
    scalar_arithmetic,
    scalar_masks,
    scalar_memory,
    scaled_floats,
    scratch,
    waits,
)
