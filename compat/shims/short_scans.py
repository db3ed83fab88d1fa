"""A scan of fewer elements than a warp has lanes gives wrong numbers on Triton 3.0 to 3.2, without a word.

``tl.cumsum(x, 0)`` of 16 elements, in a kernel that gives the sums another dimension: every element is the total. A
warp's 32 lanes hold the 16 elements twice. The scan's lowering takes the second copies for elements that come after the
first, so that they add up once around; the conversion to another layout then reads them. What is stored as it is, is
right: of the copies only the first is stored.

Here such a tensor is repeated along the axis until it fills a warp, scanned, and the first repetition kept, the last
where the scan runs backwards: no lane holds a copy any more.

Cost: a few conversions of fewer than 32 elements (64 on AMD's GPUs with wavefronts of 64), wherever so few are scanned.
Every other scan becomes what it was; kernels with a scan are compiled once more, under a separate key.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, List

from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Patches, Shim
from ..seams.attribute import around_traced

_SCANS = lazily(r"\b(cumsum|cumprod|associative_scan)\b")
_WARP = 32
# The most lanes in a warp: on AMD's GPUs with CDNA.
_WAVEFRONT = 64
# In the IR: "tt.scan"(%x) <{axis = 0 …}> ({ … }) : (tensor<16xf32>) -> …
_SCAN = lazily(r'"tt\.scan"\(.*?\}\) : \(([^)]*)\)', re.DOTALL)
_SHAPE = lazily(r"tensor<((?:\d+x)+)")


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.3 knows which lanes hold copies.
    import triton.language as tl
    from triton.language import semantic

    def scan_that_fills_a_warp(
        scan: Callable[..., Any],
        inputs: Any,
        axis: int,
        region_builder_fn: Any,
        reverse: Any,
        builder: Any,
    ) -> Any:
        shape = [int(tl.constexpr(length).value) for length in inputs[0].type.shape]
        lanes = getattr(builder.options, "warp_size", _WARP)
        elements = functools.reduce(int.__mul__, shape, 1)
        # Tensors of several shapes raise Triton's own error.
        alike = all(list(value.type.shape) == list(inputs[0].type.shape) for value in inputs)
        if elements >= lanes or shape[axis] == 1 or not alike:
            return scan(inputs, axis, region_builder_fn, reverse, builder)
        note_acted(SHIM.name)
        axis %= len(shape)
        times = lanes // elements
        filled = [_repeated(value, shape, axis, times, builder) for value in inputs]
        scanned = scan(filled, axis, region_builder_fn, reverse, builder)
        return tuple(
            # Triton's own type: its shape may be of constants that are not plain numbers.
            tl.tensor(
                _cropped(value, shape, axis, times, bool(reverse), builder).handle, given.type
            )
            for value, given in zip(scanned, inputs)
        )

    def _repeated(value: Any, shape: List[int], axis: int, times: int, builder: Any) -> Any:
        before, after = shape[:axis], shape[axis:]
        value = semantic.expand_dims(value, axis, builder)
        value = semantic.broadcast_impl_shape(value, [*before, times, *after], builder)
        return semantic.reshape(value, [*before, times * after[0], *after[1:]], False, builder)

    def _cropped(
        value: Any, shape: List[int], axis: int, times: int, last: bool, builder: Any
    ) -> Any:
        before, after = shape[:axis], shape[axis:]
        # One half at a time: `split` can do no more.
        order = [*range(axis), *range(axis + 1, len(shape) + 1), axis]
        while times > 1:
            times //= 2
            halves = [*before, 2, times * after[0], *after[1:]]
            value = semantic.reshape(value, halves, False, builder)
            value = semantic.permute(value, order, builder)
            value = semantic.split(value, builder)[1 if last else 0]
        return value

    around_traced(patches, semantic, "associative_scan", scan_that_fills_a_warp)


def has_short_scan(ir: str) -> bool:
    """Whether a kernel, as IR of Triton's, has a scan of fewer elements than any GPU's warp has lanes."""
    shapes = [_SHAPE.findall(types) for types in _SCAN.findall(ir)]
    return len(shapes) != ir.count('"tt.scan"') or any(
        not of_one or any(_elements(shape) < _WAVEFRONT for shape in of_one) for of_one in shapes
    )


def _elements(shape: str) -> int:
    return functools.reduce(int.__mul__, map(int, shape.rstrip("x").split("x")))


SHIM = Shim(
    name="short_scans",
    issue="triton-5840",
    tier="silent",
    window=">=3.0,<3.3",
    symptom="a tl.cumsum of fewer than 32 elements is the total everywhere, where it gets another dimension",
    link="https://github.com/triton-lang/triton/pull/5840",
    delete_when="no column before Triton 3.3 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_SCANS), acts=has_short_scan),
)
