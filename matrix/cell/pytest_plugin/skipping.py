"""Large floating-point work of a test's own reference, left undone where numbers are not judged.

A reference in torch is sized for a GPU: minutes on a CPU. Shapes come from torch's meta device, values are zeros in
memory that is never touched. Integers are computed: they steer.

PYTEST_DONT_REWRITE
"""

import math
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from crosswarp.matrix.cell.standins.virtual_torch.tensors import claims_gpu

from . import uncomputed

# Elements of the largest tensor of an operator; below, the work takes no time.
LARGE = 1 << 16
# For operators whose work grows faster than their tensors.
LARGE_PRODUCT = 1 << 12
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward")
_ATTENTION = "_scaled_dot_product"
# Make a tensor of a size that is their first argument.
_RANDOM = ("rand", "randn", "normal")
# Torch's own functions, even if a fixture has replaced torch.empty.
_empty_strided = torch._C._VariableFunctions.empty_strided  # type: ignore[attr-defined]

skipped = 0


class _Kind(NamedTuple):
    """The schema of an operator: whether it is a view, the arguments that it writes (index, name), its results.

    Also whether torch has it for a GPU only: a fused attention that a test compares with.
    """

    view: bool
    written: List[Tuple[int, str]]
    returns: int
    name: str
    gpu_only: bool


_kinds: Dict[Any, _Kind] = {}
# A mode that is collected while torch holds it takes the process with it at the next repr of a tensor.
_held: List[Any] = []


def start() -> None:
    """Skip large operators from now on. This cannot be undone: call it in a forked child."""
    mode = SkipLargeWork()
    _held.append(mode)
    mode.__enter__()
    _let_higher_order_operators_through()


class SkipLargeWork(TorchDispatchMode):
    # torch 2.9 and later hand a mode the operators through which `torch.library.triton_op` launches.
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # To be left alone by a compiler that is off, torch 2.15 would import it: five seconds in each child.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Tuple = (), kwargs: Any = None
    ) -> Any:
        kwargs, before = kwargs or {}, skipped
        done = uncomputed.follow(func, lambda: self._done(func, args, kwargs), (args, kwargs))
        if skipped != before:
            uncomputed.mark(done)
        return done

    def _done(self, func: Any, args: Tuple, kwargs: Dict[str, Any]) -> Any:
        global skipped
        if isinstance(func, torch._ops.HigherOrderOperator):
            return func(*args, **kwargs)
        kind = _kind(func)
        if kind.view or func.namespace != "aten":
            return func(*args, **kwargs)
        if not kind.gpu_only and not _worth_it(kind, args, kwargs):
            return func(*args, **kwargs)
        if kind.written:
            targets = [
                args[place] if place < len(args) else kwargs.get(name)
                for place, name in kind.written
            ]
            if not all(map(_is_float, targets)):
                return func(*args, **kwargs)
            skipped += 1
            uncomputed.mark(targets)
            if kind.returns == 0:
                return None
            return targets[0] if kind.returns == 1 else tuple(targets[: kind.returns])
        try:
            shapes = _on_meta(func, args, kwargs)
        except Exception:
            # Shapes that depend on values, operators without a meta: computed.
            return func(*args, **kwargs)
        sizes = [part for part in tree_flatten(shapes)[0] if part is not None]
        if not sizes or not (kind.gpu_only or all(map(_is_float, sizes))):
            return func(*args, **kwargs)
        skipped += 1
        return tree_map(_untouched, shapes)


def _kind(func: Any) -> _Kind:
    kind = _kinds.get(func)
    if kind is None:
        schema = func._schema
        written = [
            (place, argument.name)
            for place, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        aliased = any(argument.alias_info is not None for argument in schema.arguments)
        name = schema.name.partition("::")[2]
        kind = _Kind(aliased and not written, written, len(schema.returns), name, _gpu_only(schema))
        _kinds[func] = kind
    return kind


# Where an operator that runs on the CPU has its kernel.
_FOR_THE_CPU = (
    *("CPU", "SparseCPU", "CompositeImplicitAutograd"),
    *("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
)


def _gpu_only(schema: Any) -> bool:
    full = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    # Breakpoint: to torch 2.3 `dim` and its like come by here; they are nobody's but the interpreter's.
    if not torch._C._dispatch_has_kernel(full):
        return False
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return has(full, "Meta") and not any(has(full, key) for key in _FOR_THE_CPU)


def _worth_it(kind: _Kind, args: Tuple, kwargs: Dict[str, Any]) -> bool:
    tensors = [part for part in tree_flatten((args, kwargs))[0] if isinstance(part, torch.Tensor)]
    if any(
        type(tensor) not in (torch.Tensor, torch.nn.Parameter)
        or not claims_gpu(tensor)
        or tensor.layout != torch.strided
        for tensor in tensors
    ):
        return False
    largest = max((tensor.numel() for tensor in tensors), default=0)
    if not tensors and kind.name in _RANDOM and args and isinstance(args[0], (list, tuple)):
        largest = math.prod(args[0])
    product = kind.name in _PRODUCTS or kind.name.startswith(_ATTENTION)
    return largest > (LARGE_PRODUCT if product else LARGE)


def _on_meta(func: Any, args: Tuple, kwargs: Dict[str, Any]) -> Any:
    def there(part: Any) -> Any:
        if isinstance(part, torch.Tensor):
            return _empty_strided(part.size(), part.stride(), dtype=part.dtype, device="meta")
        return torch.device("meta") if isinstance(part, torch.device) else part

    flat, spec = tree_flatten((args, kwargs))
    meta_args, meta_kwargs = tree_unflatten([there(part) for part in flat], spec)
    if not any(isinstance(part, torch.Tensor) for part in flat):
        meta_kwargs = dict(meta_kwargs, device=torch.device("meta"))
    return func(*meta_args, **meta_kwargs)


def _is_float(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and (part.is_floating_point() or part.is_complex())


def _untouched(part: Any) -> Any:
    """Zeros like a tensor on meta; numpy's come from calloc, which hands out pages only as they are read."""
    if not isinstance(part, torch.Tensor):
        return part
    if part.numel() == 0:
        return _empty_strided(part.size(), part.stride(), dtype=part.dtype)
    extent = 1 + sum((size - 1) * step for size, step in zip(part.size(), part.stride()))
    memory = torch.from_numpy(numpy.zeros(extent * part.element_size(), dtype=numpy.uint8))
    return memory.view(part.dtype).as_strided(part.size(), part.stride())


def _let_higher_order_operators_through() -> None:
    """Have each carried out as it is (triton_op's, flex_attention). Before torch 2.9 each asks for a rule."""
    own = torch._ops.HigherOrderOperator.dispatch

    def dispatch(self: Any, *args: Any, **kwargs: Any) -> Any:
        if SkipLargeWork not in self.python_key_table:
            self.py_impl(SkipLargeWork)(
                lambda mode, *args, **kwargs: uncomputed.follow(
                    self, lambda: self(*args, **kwargs), (args, kwargs)
                )
            )
        return own(self, *args, **kwargs)

    torch._ops.HigherOrderOperator.dispatch = dispatch
