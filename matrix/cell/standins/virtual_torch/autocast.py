"""``autocast("cuda")`` on tensors of the CPU: it turns on the CPU's autocast, changed to cast the operators of CUDA's.

Both know some 130 operators, of which 40 are the same: a norm, a softmax, an exponential or a sum in half precision is
computed in float32 on a GPU, and stays in half precision on a CPU. `autocast_policies` has CUDA's lists.
"""

import functools
import warnings
from typing import Any, Callable, List, Tuple

import torch

from crosswarp.compat.record import Patches

from . import autocast_policies as policies

_BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: "
    "use binary_cross_entropy_with_logits or BCEWithLogitsLoss"
)


def init(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def started(self: Any, device_type: Any, *args: Any, **kwargs: Any) -> None:
        own(self, device_type, *args, **kwargs)
        self._crosswarp_twin = None
        if device_type == "cuda":
            twin = object.__new__(torch.amp.autocast_mode.autocast)
            half = self.fast_dtype in (torch.float16, torch.bfloat16)
            # Off inside of on is off for the CPU as well.
            own(
                twin,
                "cpu",
                dtype=self.fast_dtype if half else None,
                enabled=self._enabled and half,
                cache_enabled=self._cache_enabled,
            )
            self._crosswarp_twin = twin

    return started


def enter(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def entered(self: Any) -> Any:
        result = own(self)
        twin = getattr(self, "_crosswarp_twin", None)
        if twin is not None:
            own(twin)
        return result

    return entered


def leave(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def left(self: Any, *error: Any) -> Any:
        twin = getattr(self, "_crosswarp_twin", None)
        if twin is not None:
            own(twin, *error)
        return own(self, *error)

    return left


def cast_as_cuda(patches: Patches) -> None:
    """Have the CPU's autocast follow CUDA's lists, until `patches.undo`."""
    library = torch.library.Library("aten", "IMPL", "AutocastCPU")
    # Before anything is replaced, so that a failure leaves nothing.
    patches.on_undo(library._destroy)
    with warnings.catch_warnings():
        # Of kernels that are replaced, which is meant.
        warnings.simplefilter("ignore")
        for name, by_cuda in known():
            if by_cuda:
                # Operators that a newer torch casts, and that are not in the lists here, stay as on the CPU.
                make = _policy(name)
                if make is not None:
                    library.impl(name, make(_operator(name)), "AutocastCPU")
            else:
                # Through it to the operators that it calls, which may be cast.
                library.impl(name, torch.library.fallthrough_kernel, "AutocastCPU")


@functools.lru_cache(maxsize=None)
def known() -> Tuple[Tuple[str, bool], ...]:
    """The operators that this torch's autocast casts, each with whether CUDA's does. Takes 0.1 s the first time, for
    torch is asked of three thousand: who forks for many cells asks before.
    """
    casts = torch._C._dispatch_has_kernel_for_dispatch_key
    rules = []
    for full in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full.partition("::")
        if namespace != "aten" or name in policies.CUDNN:
            continue
        by_cuda = casts(full, "AutocastCUDA")
        if by_cuda or casts(full, "AutocastCPU"):
            rules.append((name, by_cuda))
    return tuple(rules)


def _policy(name: str) -> Any:
    if name in policies.OVERLOAD:
        return functools.partial(_with_overload, _operator(policies.OVERLOAD[name]))
    for names, make in (
        (policies.LOWER, _lower),
        (policies.FLOAT32, _float32),
        (policies.DTYPE, _with_dtype),
        (policies.PROMOTE, _promote),
        (policies.BANNED, _banned),
    ):
        if name in names:
            return make
    return None


def _operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _below(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """The operator as it is without autocast, for all that it calls as well."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    with torch._C._ExcludeDispatchKeyGuard(keys):
        return operator(*args, **kwargs)


def _eligible(value: Any) -> bool:
    # Autocast leaves float64 alone.
    return (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(part, dtype) for part in value)
    return value.to(dtype) if _eligible(value) else value


def _all_cast(operator: Any, dtype: torch.dtype, args: Any, kwargs: Any) -> Any:
    cast = {name: _cast(value, dtype) for name, value in kwargs.items()}
    return _below(operator, *(_cast(value, dtype) for value in args), **cast)


def _lower(operator: Any) -> Callable:
    return lambda *args, **kwargs: _all_cast(operator, torch.get_autocast_cpu_dtype(), args, kwargs)


def _float32(operator: Any) -> Callable:
    return lambda *args, **kwargs: _all_cast(operator, torch.float32, args, kwargs)


def _with_dtype(operator: Any) -> Callable:
    place = [argument.name for argument in operator._schema.arguments].index("dtype")

    def computed(*args: Any, **kwargs: Any) -> Any:
        if _eligible(args[0]):
            if place < len(args):
                args = (*args[:place], args[place] or torch.float32, *args[place + 1 :])
            else:
                kwargs["dtype"] = kwargs.get("dtype") or torch.float32
        return _below(operator, *args, **kwargs)

    return computed


def _with_overload(overload: Any, operator: Any) -> Callable:
    arguments = operator._schema.arguments

    def computed(*args: Any, **kwargs: Any) -> Any:
        if not _eligible(args[0]):
            return _below(operator, *args, **kwargs)
        # The other one has no default for the arguments before its dtype.
        left = {argument.name: argument.default_value for argument in arguments[len(args) :]}
        return _below(overload, *args, **{**left, **kwargs}, dtype=torch.float32)

    return computed


def _promote(operator: Any) -> Callable:
    def computed(*args: Any, **kwargs: Any) -> Any:
        flat: List[Any] = []
        for value in (*args, *kwargs.values()):
            flat += value if isinstance(value, (list, tuple)) else [value]
        types = {value.dtype for value in flat if _eligible(value)}
        if len(types) < 2:
            return _below(operator, *args, **kwargs)
        return _all_cast(operator, torch.float32, args, kwargs)

    return computed


def _banned(operator: Any) -> Callable:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_BANNED)

    return refuse
