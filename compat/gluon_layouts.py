"""Gluon's layouts by the arguments that other releases have for them. Only for one block: clusters have no such
spelling."""

import functools
from typing import Any, Dict, Optional, Tuple

from .gluon_spellings import Arguments, Gluon, parameters, plain, renamed

_BY_NUMBERS = ("ctas_per_cga", "cta_split_num", "cta_order")
_BY_BASES = "cga_layout"
_IN_LANGUAGE = (
    "BlockedLayout",
    "NVMMADistributedLayout",
    "NVMMASharedLayout",
    "SwizzledSharedLayout",
)
# The depth of a tile of 16-bit elements: (version, rows, columns) of AMD's matrix instructions.
_DEPTH = {
    **{(version, 16, 16): 16 for version in (1, 2, 3)},
    **{(version, 32, 32): 8 for version in (1, 2, 3)},
    (4, 16, 16): 32,
    (4, 32, 32): 16,
}


def apply(gluon: Gluon) -> None:
    """Have the layouts of this Triton accept the arguments of other releases."""
    language = gluon.module("")
    for name in _IN_LANGUAGE:
        _one_block(gluon, getattr(language, name, None))
    # Symptom: NVMMASharedLayout.get_default_for() got an unexpected keyword argument 'cta_split_num'.
    # Affected: Triton 3.6 and later; of cga_layout, 3.5. Breakpoint: none, delete with the last column of 3.5.
    default: Any = getattr(getattr(language, "NVMMASharedLayout", None), "get_default_for", None)
    if hasattr(default, "fn"):
        gluon.translate(
            default, "fn", functools.partial(_without_blocks, parameters(default.fn)), object
        )
    _one_block(gluon, gluon.get("nvidia.ampere.mbarrier.MBarrierLayout"))
    _padded(gluon, getattr(language, "PaddedSharedLayout", None))
    _mfma(gluon, gluon.get("amd.AMDMFMALayout"))


def _one_block(gluon: Gluon, layout: Any) -> None:
    # Symptom: BlockedLayout.__init__() got an unexpected keyword argument 'ctas_per_cga' (3.6 and later), 'cga_layout'
    # (3.5). Affected: every Triton with Gluon.
    # Breakpoint: Triton 3.6 describes a cluster by bases; delete with the last column of 3.5.
    if layout is not None:
        known = parameters(layout.__init__)[1:]

        def translated(self: Any, *args: Any, **named: Any) -> Optional[Arguments]:
            other = _without_blocks(known, *args, **named)
            return None if other is None else ((self, *other[0]), other[1])

        gluon.translate(layout, "__init__", translated)


def _without_blocks(known: Tuple[str, ...], *args: Any, **named: Any) -> Optional[Arguments]:
    """The arguments of a layout without those that describe a cluster of one block; None where they are right already.

    Args:
        known: parameters of this Triton.
    """
    at = next((i for i, name in enumerate(known) if name in (*_BY_NUMBERS, _BY_BASES)), len(known))
    given = {name: value for name, value in named.items() if name in (*_BY_NUMBERS, _BY_BASES)}
    rest = args[at:]
    if rest and _by_numbers(rest[0]) == (_BY_BASES in known):
        # By position; the positions are those of the other spelling.
        places = _BY_NUMBERS if _BY_BASES in known else (_BY_BASES,)
        given.update(zip(places, rest))
        args = args[:at]
    if not given.keys() - set(known) or not _is_one_block(given):
        return None
    return args, {name: value for name, value in named.items() if name not in given}


def _by_numbers(cluster: Any) -> bool:
    """Whether a cluster is described by its number of blocks along each dimension, not by bases."""
    cluster = plain(cluster)
    return isinstance(cluster, int) or (
        isinstance(cluster, (list, tuple)) and any(isinstance(number, int) for number in cluster)
    )


def _is_one_block(given: Dict[str, Any]) -> bool:
    numbers = [plain(given.get(name)) for name in _BY_NUMBERS[:2]]
    flat = [
        each
        for number in numbers
        for each in (number if isinstance(number, (list, tuple)) else [number])
    ]
    return all(number in (None, 1) for number in flat) and not plain(given.get(_BY_BASES))


def _padded(gluon: Gluon, layout: Any) -> None:
    # Symptom: PaddedSharedLayout.__init__() got an unexpected keyword argument 'block_bases' (3.7 and later),
    # 'cga_layout' (3.6). Affected: Triton 3.6 and later: the layout of 3.5 is another one, which takes an order.
    # Breakpoint: Triton 3.7 renamed it; delete with the last column of 3.6.
    if layout is None:
        return
    known = parameters(layout.__init__)
    if "offset_bases" not in known:
        return

    def translated(*args: Any, **named: Any) -> Optional[Arguments]:
        other = renamed(named, [("block_bases", _BY_BASES)], known)
        return None if other is None else (args, other)

    gluon.translate(layout, "__init__", translated)


def _mfma(gluon: Gluon, layout: Any) -> None:
    # Symptom: "instr_shape must follow the (M, N, K) format" (3.6 and later), unexpected keyword argument 'elem_type'.
    # Affected: every Triton with Gluon. Link: triton-lang/triton#8213, ROCm/aiter#2491.
    # Breakpoint: Triton 3.6 has three numbers; delete with the last column of 3.5.
    if layout is None:
        return
    known = parameters(layout.__init__)[1:]
    has_depth = "element_bitwidth" in known

    def translated(self: Any, *args: Any, **named: Any) -> Optional[Arguments]:
        cluster = _without_blocks(known, *args, **named)
        args, other = (args, named) if cluster is None else cluster
        other, changed = dict(other), cluster is not None
        given = {**dict(zip(known, args)), **other}
        tile = _tile(plain(given.get("instr_shape")), plain(given.get("version")), has_depth)
        if tile is not None:
            changed = True
            if "instr_shape" in other:
                other["instr_shape"] = tile
            else:
                pairs = zip(known, args)
                args = tuple(tile if name == "instr_shape" else value for name, value in pairs)
        if "elem_type" in other and has_depth:
            changed = True
            other["element_bitwidth"] = _bits(other.pop("elem_type"))
        elif "element_bitwidth" in other and not has_depth:
            changed = True
            bits = plain(other.pop("element_bitwidth"))
            if bits is not None:
                other["elem_type"] = gluon.get({32: "float32", 64: "float64"}.get(bits, ""))
        return ((self, *args), other) if changed else None

    gluon.translate(layout, "__init__", translated)


def _tile(shape: Any, version: Any, has_depth: bool) -> Any:
    """The numbers of an instruction's tile in this Triton's form; None if they already are, or cannot be converted."""
    if not isinstance(shape, (list, tuple)):
        return None
    if has_depth:
        depth = _DEPTH.get((version, *shape)) if len(shape) == 2 else None
        return None if depth is None else [*shape, depth]
    return list(shape[:2]) if len(shape) == 3 else None


def _bits(element: Any) -> int:
    return 64 if getattr(plain(element), "primitive_bitwidth", None) == 64 else 32
