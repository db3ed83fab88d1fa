"""Blackwell's tensor memory by the layouts and functions that other releases have for it."""

from typing import Any, Dict, Optional

from .gluon_spellings import Arguments, Gluon, parameters, plain
from .tracing import builtin

_WORD = 32


def apply(gluon: Gluon) -> None:
    """Have the tensor memory of this Triton take what those of other releases take."""
    blackwell = gluon.module("nvidia.blackwell")
    if not hasattr(blackwell, "tensor_memory_descriptor"):
        return
    _layouts(gluon, blackwell)
    _registers(gluon, blackwell)


class _Unpacked(int):
    """The stride of a layout declared unpacked. Its width follows from the elements' type, known later."""

    def __repr__(self) -> str:
        return "unpacked"

    # Part of the names of functions that a kernel calls with the layout.
    def __format__(self, spec: str) -> str:
        return "U"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Unpacked)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash("unpacked")


class _Stride(int):
    """Whether a layout given by its stride is unpacked; that depends on the elements' type, known later."""

    def __bool__(self) -> bool:
        return int(self) > 1


def _layouts(gluon: Gluon, blackwell: Any) -> None:
    # Symptom: TensorMemoryLayout.__init__() got an unexpected keyword argument 'unpacked' (3.6 and later), 'col_stride'
    # (3.5), 'cta_split_num' (3.8 and later). Affected: every Triton with Gluon. Link: triton-lang/triton#8136.
    # Breakpoint: Triton 3.6 has a stride, and 3.8 bases; delete with the last column of 3.7.
    layout = blackwell.TensorMemoryLayout
    known = parameters(layout.__init__)[1:]
    has_stride = "col_stride" in known

    def translated(self: Any, *args: Any, **named: Any) -> Optional[Arguments]:
        packing = args[1] if len(args) > 1 else None
        args, other = args[:2], {**dict(zip(known[2:], args[2:])), **named}
        ours = _packing({"unpacked": packing, "col_stride": packing, **named}, has_stride)
        clusters = _without_clusters(other, known)
        if ours is None and clusters is None:
            return None
        other = dict(other if clusters is None else clusters)
        if ours is not None:
            # Triton 3.5 does not take the block out of a constexpr.
            args = tuple(map(plain, args[:1]))
            for name in ("unpacked", "col_stride"):
                other.pop(name, None)
            other[known[1]] = ours
        return (self, *args), other

    gluon.translate(layout, "__init__", translated)
    scales = getattr(blackwell, "TensorMemoryScalesLayout", None)
    if scales is not None:
        of_scales = parameters(scales.__init__)[1:]

        def without_clusters(self: Any, *args: Any, **named: Any) -> Optional[Arguments]:
            other = _without_clusters(named, of_scales)
            return None if other is None else ((self, *args), other)

        gluon.translate(scales, "__init__", without_clusters)

    def of_elements(
        self: Any, element_ty: Any, shape: Any, layout: Any, *args: Any, **named: Any
    ) -> Any:
        decided = _decided(layout, plain(element_ty))
        return None if decided is None else ((self, element_ty, shape, decided, *args), named)

    gluon.translate(blackwell.tensor_memory_descriptor_type, "__init__", of_elements)


def _packing(given: Dict[str, Any], has_stride: bool) -> Any:
    """How elements lie, in this Triton's form, from that of the other; None where it is this one's."""
    unpacked, stride = plain(given["unpacked"]), plain(given["col_stride"])
    if has_stride:
        if not isinstance(unpacked, bool):
            return None
        return _Unpacked(1) if unpacked else 1
    if isinstance(stride, bool) or not isinstance(stride, int):
        return None
    return stride if isinstance(stride, _Stride) else _Stride(stride)


def _without_clusters(named: Dict[str, Any], known: Any) -> Optional[Dict[str, Any]]:
    """`named` without what says that it is of one block; None where there is nothing to leave out, or it says more."""
    foreign = [
        name
        for name in ("cta_split_num", "cga_layout", "two_ctas", "fp4_padded")
        if name in named and name not in known
    ]
    for name in foreign:
        value = plain(named[name])
        if value and not (name == "cta_split_num" and all(number == 1 for number in value)):
            return None
    return (
        {name: value for name, value in named.items() if name not in foreign} if foreign else None
    )


def _decided(layout: Any, element: Any) -> Any:
    """`layout` for elements of a type; None where it does not wait for one."""
    import dataclasses

    bits = element.primitive_bitwidth
    if isinstance(getattr(layout, "col_stride", None), _Unpacked):
        return dataclasses.replace(layout, col_stride=max(1, _WORD // bits))
    if isinstance(getattr(layout, "unpacked", None), _Stride):
        return dataclasses.replace(layout, unpacked=layout.unpacked * bits >= _WORD)
    return None


def _registers(gluon: Gluon, blackwell: Any) -> None:
    # Symptom: module 'triton.experimental.gluon.language.nvidia.blackwell' has no attribute
    # 'get_tmem_32x32b_reg_layout' (3.6 and later), 'get_tmem_reg_layout' (3.5, 3.8 and later);
    # 'tensor_memory_descriptor' object has no attribute 'get_reg_layout' (before 3.8).
    # Affected: every Triton with Gluon. Link: triton-lang/triton#8421, #9594.
    # Breakpoint: Triton 3.8 has a method of the descriptor; delete with the last column of 3.7.
    language = gluon.module("")

    def get_tmem_32x32b_reg_layout(
        M, N, shape, num_warps, ctas_per_cga=None, cta_split_num=None, cta_order=None, _semantic=None
    ):  # fmt: skip
        split = plain(cta_split_num)
        if split is not None and any(number != 1 for number in split):
            msg = "get_tmem_32x32b_reg_layout of a cluster: leave cta_split_num out, or use Triton 3.5"
            raise NotImplementedError(msg)
        made = _blocked(language, plain(M), plain(N), plain(shape), plain(num_warps))
        return language.constexpr(made) if _semantic is not None else made

    def get_tmem_reg_layout(
        element_ty, shape, layout, num_warps, instr_variant="32x32b", cga_layout=(), _semantic=None
    ):  # fmt: skip
        kind = blackwell.tensor_memory_descriptor_type(
            plain(element_ty), list(plain(shape)), plain(layout), list(plain(shape))
        )
        made = of_type(kind, plain(num_warps), plain(instr_variant))
        return language.constexpr(made) if _semantic is not None else made

    gluon.add_builtin(blackwell, get_tmem_32x32b_reg_layout)
    descriptor, descriptor_type = (
        blackwell.tensor_memory_descriptor,
        blackwell.tensor_memory_descriptor_type,
    )
    own = getattr(blackwell, "get_tmem_reg_layout", None)

    def of_type(kind: Any, num_warps: Any, instr_variant: Any) -> Any:
        if hasattr(descriptor_type, "get_reg_layout"):
            return kind.get_reg_layout(num_warps=num_warps, instr_variant=instr_variant)
        if own is not None:
            return own(kind.element_ty, kind.shape, kind.layout, num_warps, instr_variant)
        if instr_variant != "32x32b":
            msg = f"Triton 3.5 has no layout of registers for {instr_variant}: upgrade to 3.6, or use 32x32b"
            raise NotImplementedError(msg)
        rows, columns = kind.layout.block
        return _blocked(language, rows, columns, kind.shape, num_warps)

    gluon.add_builtin(blackwell, get_tmem_reg_layout)
    if hasattr(descriptor, "get_reg_layout"):
        return

    def get_reg_layout(
        self, num_warps=None, instr_variant="32x32b", _semantic=None, _generator=None
    ):
        if num_warps is None:
            num_warps = language.num_warps(_semantic=_semantic, _generator=_generator)
        return language.constexpr(of_type(self.type, plain(num_warps), plain(instr_variant)))

    gluon.add_builtin(descriptor, get_reg_layout)
    load_into = descriptor.load

    def load(self, layout=None, _semantic=None, _generator=None):
        if layout is None:
            layout = get_reg_layout(self, _semantic=_semantic, _generator=_generator)
        return load_into(self, layout, _semantic=_semantic)

    gluon.replace(descriptor, "load", builtin(load))


def _blocked(language: Any, rows: int, columns: int, shape: Any, num_warps: int) -> Any:
    """The registers that the instruction tcgen05.ld.32x32b fills from blocks of `rows` by `columns`, as Triton 3.5 has
    them: warps in groups of four, each group a part of the columns or its own block."""
    groups = num_warps // 4
    if rows != 64:
        if shape[0] > 128:
            return language.BlockedLayout([1, columns], [32, 1], [4 * groups, 1], [0, 1])
        return language.BlockedLayout([1, -(-columns // groups)], [32, 1], [4, groups], [0, 1])
    down = shape[0] // rows
    if down * (shape[1] // columns) == 1:
        return language.BlockedLayout(
            [1, -(-columns // (groups * 2))], [16, 2], [4, groups], [0, 1]
        )
    down = min(down, groups)
    return language.BlockedLayout(
        [1, -(-columns // 2)], [16, 2], [4 * down, -(-groups // down)], [0, 1]
    )
