"""On Triton 3.8 a block pointer's type does not say what it points to: block pointers became an aggregate there."""

from ..acts import note_acted
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    from triton.language import core

    # Breakpoint: Triton 3.9 has no block pointers (block_pointers); delete with the last column of 3.8.
    def element_ty(self):
        """Up to 3.7: the type of the block."""
        if not getattr(self.base_cls, "__triton_block_ptr__", False):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'element_ty'")
        note_acted(SHIM.name)
        fields = dict(self.fields)
        shape = [size.value for size in fields["block_shape"].types]
        return core.block_type(fields["base"].element_ty, shape)

    patches.set(core._aggregate_type, "element_ty", property(element_ty))


SHIM = Shim(
    name="block_pointer_type",
    issue="flaggems-4968",
    tier="refused",
    window=">=3.8,<3.9",
    symptom="'_aggregate_type' object has no attribute 'element_ty'",
    link="https://github.com/flagos-ai/FlagGems/pull/4968",
    delete_when="no column of Triton 3.8 is left",
    apply=apply,
)
