"""Make a case's inputs alike on every processor: torch's own code differs by the processor, in the last bits."""

import functools
import math
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode

# By vector code, libm or BLAS, in an order that is the processor's.
_INEXACT = frozenset(
    "matmul __matmul__ __rmatmul__ mm bmm sum mean var std prod cumsum cumprod logsumexp norm linalg_vector_norm "
    "normalize exp exp2 expm1 log log1p log2 sigmoid logsigmoid log_sigmoid softmax log_softmax softplus silu gelu erf "
    "tanh sin cos pow __pow__ __rpow__ rsqrt".split()
)
_NARROW = ("torch.float32", "torch.float16", "torch.bfloat16")
# torch draws fewer from float64 as well, and rounds once.
_LEAST = 16


class Alike(TorchFunctionMode):
    """Computes in float64 in here, and rounds once. `torch.randn` draws as it does, to within rounding.

    The generator is left as by torch. Functions that round the same on every processor are torch's own.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "randn":
            drawn = _normal(args, kwargs)
            return func(*args, **kwargs) if drawn is None else drawn
        if name not in _INEXACT or any(kwargs.get(key) is not None for key in ("out", "dtype")):
            return func(*args, **kwargs)
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        kinds = [value.dtype for value in given if value.is_floating_point()]
        if not kinds or any(str(kind) not in _NARROW for kind in kinds):
            return func(*args, **kwargs)
        result = func(
            *(_wide(value) for value in args),
            **{key: _wide(value) for key, value in kwargs.items()},
        )
        return result.to(functools.reduce(torch.promote_types, kinds))


def _wide(value: Any) -> Any:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if floating else value


def _normal(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[torch.Tensor]:
    """`torch.randn` of float32 on the CPU; None for any other, and for so few that torch's are alike."""
    size: List[int] = list(args[0] if len(args) == 1 and not isinstance(args[0], int) else args)
    kind = kwargs.get("dtype") or torch.get_default_dtype()
    where = torch.device(kwargs.get("device") or "cpu")
    if set(kwargs) - {"generator", "dtype", "device"} or (kind, where.type) != (
        torch.float32,
        "cpu",
    ):
        return None
    count = math.prod(size)
    if count < _LEAST:
        return None
    uniform = torch.rand(count, generator=kwargs.get("generator"), dtype=kind, device="cpu")
    whole = count // _LEAST * _LEAST
    made = torch.empty_like(uniform)
    made[:whole] = _box_muller(uniform[:whole])
    if whole < count:
        # The last ones are drawn anew.
        uniform = torch.rand(_LEAST, generator=kwargs.get("generator"), dtype=kind, device="cpu")
        made[-_LEAST:] = _box_muller(uniform)
    return made.reshape(size)


def _box_muller(uniform: torch.Tensor) -> torch.Tensor:
    """Normal numbers of uniform ones, sixteen at a time: eight radii and eight angles."""
    pairs = uniform.reshape(-1, 2, _LEAST // 2).double()
    radius = (-2 * (1 - pairs[:, 0]).log()).sqrt()
    angle = 2 * math.pi * pairs[:, 1]
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1).reshape(-1)
