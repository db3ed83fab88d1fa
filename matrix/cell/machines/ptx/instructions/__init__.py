"""How each family of instructions is lowered; importing a module registers its opcodes."""

from . import (  # noqa: F401
    arithmetic,
    asynchronous,
    bits,
    blackwell,
    carries,
    compare,
    control,
    convert,
    data,
    hopper,
    matrix,
    warp,
)
