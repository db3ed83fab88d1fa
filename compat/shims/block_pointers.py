"""Triton 3.9 removed block pointers; here they are again, rebuilt on pointers and masks (``compat/block_pointers.py``).

Kernels decorated before find them too: names are looked up while a kernel is compiled. Triton's cache cannot hold
anything that was compiled without this shim, because without it there is nothing to compile. What is compiled with it
is kept under a key that has the revision of the rebuilt block pointers in it.
"""

from __future__ import annotations

import functools
from typing import Any, Iterable

from ..acts import note_acted
from ..record import Concerned, Patches, Shim
from ..seams.trace import before_first_trace


def apply(patches: Patches) -> None:
    import triton.language as tl
    from triton.language import core

    from .. import block_pointers
    from ..block_pointers import BlockPointer

    own = {name: getattr(core, name) for name in ("make_block_ptr", "advance", "load", "store")}
    block_pointers.bare.update(own)

    # Breakpoint: none upstream, they are gone for good; delete when no library on any column calls make_block_ptr.
    @core.builtin
    def make_block_ptr(base, shape, strides, offsets, block_shape, order, _semantic=None):
        """A pointer to a block of a tensor in memory; `load` and `store` take it, `advance` moves it."""
        note_acted(SHIM.name)
        return block_pointers.make(base, shape, strides, offsets, block_shape, order, _semantic)

    @core.builtin
    def advance(base, offsets, _semantic=None):
        """A block pointer that is `offsets` further on."""
        if not isinstance(base, BlockPointer):
            msg = f"advance needs a block pointer made by tl.make_block_ptr, not {getattr(base, 'type', base)}"
            raise ValueError(msg)
        return base.advance(offsets, _semantic=_semantic)

    @core.builtin
    def load(
        pointer,
        mask=None,
        other=None,
        boundary_check=(),
        padding_option="",
        cache_modifier="",
        eviction_policy="",
        volatile=False,
        _semantic=None,
    ):
        """Triton's own `load`, which takes block pointers again."""
        if isinstance(pointer, BlockPointer):
            return pointer.load(
                mask,
                other,
                boundary_check,
                padding_option,
                cache_modifier,
                eviction_policy,
                volatile,
                _semantic=_semantic,
            )
        _refuse(boundary_check, padding_option)
        return own["load"](
            pointer,
            mask,
            other,
            cache_modifier=cache_modifier,
            eviction_policy=eviction_policy,
            volatile=volatile,
            _semantic=_semantic,
        )

    @core.builtin
    def store(
        pointer,
        value,
        mask=None,
        boundary_check=(),
        cache_modifier="",
        eviction_policy="",
        _semantic=None,
    ):
        """Triton's own `store`, which takes block pointers again."""
        if isinstance(pointer, BlockPointer):
            return pointer.store(
                value, mask, boundary_check, cache_modifier, eviction_policy, _semantic=_semantic
            )
        _refuse(boundary_check, "")
        return own["store"](
            pointer,
            value,
            mask,
            cache_modifier=cache_modifier,
            eviction_policy=eviction_policy,
            _semantic=_semantic,
        )

    def _refuse(boundary_check, padding_option):
        if block_pointers.is_given(boundary_check) or block_pointers.is_given(padding_option):
            msg = "boundary_check and padding_option need a block pointer: use mask and other with plain pointers"
            raise ValueError(msg)

    core.must_use_result(advance, block_pointers.UNUSED)
    ours = {"make_block_ptr": make_block_ptr, "advance": advance, "load": load, "store": store}
    for name, function in ours.items():
        for module in (core, tl):
            patches.set(module, name, function)
    patches.set(core.tensor, "store", store)
    patches.set(core.tensor, "advance", advance)

    before_first_trace(
        patches,
        lambda code_generator: _fix(code_generator, patches, {id(own[n]): ours[n] for n in own}),
    )


def _uses_block_pointers(reached: Iterable[Any]) -> bool:
    from triton.language import core

    from .. import block_pointers

    makers = (block_pointers.bare.get("make_block_ptr"), getattr(core, "make_block_ptr", None))
    return block_pointers.is_used(reached, makers)


def _fix(code_generator: Any, patches: Patches, instead: dict) -> None:
    from ..block_pointers import BlockPointer

    # A kernel whose module says `from triton.language import load` holds Triton's own object.
    call_function = code_generator.call_Function

    @functools.wraps(call_function)
    def call_ours(self, node, fn, args, kws):
        return call_function(self, node, instead.get(id(fn), fn), args, kws)

    patches.set(code_generator, "call_Function", call_ours)

    # Triton compares types around a loop for tensors only; a block of another shape would pass, and be wrong.
    verify = code_generator._verify_loop_carried_variable

    def verify_block_pointers_too(self, name, loop_val, live_val):
        verify(self, name, loop_val, live_val)
        if isinstance(live_val, BlockPointer):
            assert loop_val.type == live_val.type, (
                f"Loop-carried variable {name} has initial type {live_val.type} but is re-assigned to"
                f" {loop_val.type} in loop! Please make sure that the type stays consistent."
            )

    patches.set(code_generator, "_verify_loop_carried_variable", verify_block_pointers_too)


SHIM = Shim(
    name="block_pointers",
    issue="triton-10833",
    tier="names",
    window=">=3.9",
    symptom="NotImplementedError: Block pointers have been removed in favor of the tensor descriptor API",
    link="https://github.com/triton-lang/triton/pull/10833",
    delete_when="no library on any column calls make_block_ptr",
    apply=apply,
    revision=1,
    concerns=Concerned(_uses_block_pointers, surely=True),
)
