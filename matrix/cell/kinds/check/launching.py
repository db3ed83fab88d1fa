"""A launch of a kernel with arguments of which only the types count: nothing is executed."""

import contextlib
import functools
import importlib
import math
import time
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set

from crosswarp.compat.vendors import as_tritons
from crosswarp.kernels.case import TORCH, Case, Kernel
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.plain import attribute, text_of, type_name

from . import UNREAL, importing

_LANGUAGE = {"fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "fp8e4b8": "float8e4b8", "fp8e5b16": "float8e5b16",
             "fp8e4b15": "float8e4b15"}  # fmt: skip
# Large enough to be of their type alone, and a multiple of 16; one more is none.
_NUMBERS = {"i32": 4096, "i64": 1 << 40, "u64": 1 << 63}
# Where a heuristic may make the size of a block of it.
_OF_A_BLOCK = 128
ELEMENTS = 64
# Raised by a file's functions for tensors of other shapes than they are written for.
_OF_SHAPES = (
    AssertionError,
    IndexError,
    RuntimeError,
    ValueError,
    ZeroDivisionError,
)
# Options of a Config, which Triton passes by name as it does a Config's values.
_OF_A_CONFIG = ("num_warps", "num_stages", "num_ctas", "maxnreg")
# Shapes of as many elements.
_MORE_AXES = ((8, 8), (4, 4, 4), (2, 2, 4, 4), (2, 2, 2, 2, 4))


def load(check: Dict[str, Any], name: str) -> Kernel:
    """Return the file's kernel as one of a suite, with a case for each signature.

    Raises:
        any exception of the file's import, if the kernel does not exist by then.
    """
    module, error = importing.load(check)
    kernel = importing.find(check, module, name)
    if kernel is None and error is not None:
        raise error
    if kernel is None:
        msg = f"{check['file']} has no {name} where it is imported"
        raise AttributeError(msg)
    facts = check["kernels"][name]
    _limit(kernel, most(kernel, check["configurations"]), check.get("until", math.inf))

    def launch(case: str) -> Dict[str, Any]:
        chosen = check.get("chosen", {}).get(f"{name}/{case}", 0)
        _launch(module, kernel, facts["cases"][case]["attempts"][chosen])
        return {}

    cases = tuple(
        Case(case, "fp32", {}, lanes=("compile",), options={"case": case})
        for case in facts["cases"]
    )
    return Kernel(name, cases, launch=launch)


def _launch(module: Any, kernel: Any, signature: Dict[str, Any]) -> None:
    _allocate()
    decorated = _decorated(kernel)
    assumed = set(signature["assumed"]) & decorated
    arguments = [
        argument_spec
        for argument_spec in signature["arguments"]
        if argument_spec["name"] not in assumed
    ]
    # By place as far as nothing between is left to the decorators.
    places = 0
    while places < min(signature["positional"], len(arguments)) and (
        arguments[places]["name"] == signature["arguments"][places]["name"]
    ):
        places += 1
    numbers = {**_NUMBERS, "i32": _OF_A_BLOCK} if _has_heuristics(kernel) else _NUMBERS
    given: List[Any] = [
        (argument_spec["name"], argument(module, argument_spec, numbers))
        for argument_spec in arguments
    ]
    given += [
        (name, constant(module, spec))
        for name, spec in signature["spare"].items()
        if name not in decorated
    ]
    options = {name: constant(module, spec) for name, spec in signature["options"].items()}
    kernel[(1, 1, 1)](*[value for _, value in given[:places]], **dict(given[places:]), **options)


def _allocate() -> None:
    """Set the allocator for kernels that request scratch memory, as a file's launcher does before it launches."""
    import torch
    import triton

    if hasattr(triton, "set_allocator"):
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))


def _decorated(kernel: Any) -> Set[str]:
    """Return the parameters that a kernel's decorators give, read from their results."""
    set_by_tuner: Set[str] = set()
    while kernel is not None:
        for config in attribute(kernel, "configs") or []:
            set_by_tuner |= set(attribute(config, "kwargs") or {})
            set_by_tuner |= {name for name in _OF_A_CONFIG if attribute(config, name) is not None}
        values = attribute(kernel, "values")
        if isinstance(values, dict):
            set_by_tuner |= set(values)
        kernel = attribute(kernel, "fn")
    return set_by_tuner


def _has_heuristics(kernel: Any) -> bool:
    while kernel is not None:
        if isinstance(attribute(kernel, "values"), dict):
            return True
        kernel = attribute(kernel, "fn")
    return False


def argument(module: Any, spec: Dict[str, Any], numbers: Mapping[str, int] = _NUMBERS) -> Any:
    """Return a value to which Triton gives the described type."""
    kind, hint, value = spec["type"], spec["hint"], spec["value"]
    if kind in ("constexpr", "descriptor"):
        return constant(module, value)
    if kind == "none":
        return None
    if kind.startswith("*"):
        return _tensor(kind[1:], hint)
    if value is not None:
        return value
    if kind == "i1":
        return True
    if kind == "fp32":
        return 1.5
    return 1 if hint == "1" else numbers[kind] + (hint == "any")


def constant(module: Any, spec: Dict[str, Any]) -> Any:
    """Return the described constant: plain, a dtype, an object of the file, or what a call of Triton's makes."""
    if "dtype" in spec:
        import triton.language as tl

        return getattr(tl, spec["dtype"])
    if "name" in spec:
        function = importing.kernel(module, spec["name"])
        if function is None:
            msg = f"the file has no {spec['name']} where it is imported"
            raise AttributeError(msg)
        return function
    if "made" in spec:
        return _made(module, spec)
    if "tensor" in spec:
        return _tensor(spec["tensor"], "16", spec["sizes"])
    value = spec["value"]
    return tuple(value) if isinstance(value, list) else value


def _made(module: Any, spec: Dict[str, Any]) -> Any:
    """Call a class or function of Triton's: a layout, a tensor descriptor."""
    path = spec["made"].split(".")
    made: Any = importlib.import_module(path[0])
    for place, name in enumerate(path[1:], 1):
        if not hasattr(made, name):
            importlib.import_module(".".join(path[: place + 1]))
        made = getattr(made, name)
    words = {name: _passed(module, described) for name, described in spec["words"].items()}
    return made(*[_passed(module, described) for described in spec["arguments"]], **words)


def threads_per_warp(signature: Dict[str, Any]) -> int:
    """Return how many threads a warp has in the layouts that are passed; 0 where none says."""
    values = [
        argument_spec["value"]
        for argument_spec in signature["arguments"]
        if isinstance(argument_spec["value"], dict)
    ]
    for spec in values:
        if spec.get("made", "").endswith(".BlockedLayout"):
            by_place = spec["arguments"][1] if len(spec["arguments"]) > 1 else {"value": []}
            return math.prod(spec["words"].get("threads_per_warp", by_place)["value"] or [0])
    return 0


def _passed(module: Any, spec: Dict[str, Any]) -> Any:
    # Layouts compare their lists, and a tuple equals no list.
    return spec["value"] if "value" in spec else constant(module, spec)


def _tensor(element: str, hint: str, sizes: Sequence[int] = (ELEMENTS,)) -> Any:
    import torch

    # Torch aligns its allocations; the second element is at no multiple of 16 bytes.
    first = 1 if hint == "any" else 0
    own = getattr(torch, TORCH.get(element, ""), None)
    if own is not None:
        return torch.empty(*sizes, dtype=own)[first:]
    import triton
    import triton.language as tl

    return triton.reinterpret(
        torch.empty(*sizes, dtype=torch.int8)[first:], getattr(tl, _LANGUAGE[element])
    )


def configurations(kernel: Any) -> int:
    """Return how many configurations a kernel has by its decorators; 0 where none tunes it."""
    count = 0
    while kernel is not None:
        configs = attribute(kernel, "configs")
        count = max(count, len(configs) if isinstance(configs, list) else 0)
        kernel = attribute(kernel, "fn")
    return count


def most(kernel: Any, asked: int) -> int:
    """Return how many configurations are compiled: one, not several, where a class of the file's tunes the kernel.

    Such a tuner may end by a configuration that is too large for assumed types. All, 0, are compiled where asked for.
    """
    while kernel is not None:
        if isinstance(attribute(kernel, "configs"), list):
            return asked if is_of_triton(kernel) else min(asked, 1)
        kernel = attribute(kernel, "fn")
    return asked


def is_of_triton(value: Any) -> bool:
    """Whether Triton defines its class; a vendor's build does under another name."""
    return as_tritons(type(value).__module__).startswith("triton.")


class _InTime(List[Any]):
    """Configurations of which the first comes always, and the others until a point in time."""

    until = math.inf

    def __iter__(self) -> Iterator[Any]:
        for place, config in enumerate(super().__iter__()):
            if place and time.monotonic() > self.until:
                return
            yield config


def _in_time(configs: Sequence[Any], until: float) -> _InTime:
    made = _InTime(configs)
    made.until = until
    return made


def _pruned(prune: Any, until: float, configs: Sequence[Any], *args: Any, **kwargs: Any) -> _InTime:
    """Return the configurations that a file's own function leaves; all, if it fails for a shape that is not real."""
    left: List[Any] = []
    with contextlib.suppress(Exception):
        left = list(prune(configs, *args, **kwargs))
    return _in_time(left or configs, until)


class UnrealShapes(Exception):
    """Raised where a heuristic fails for tensors of any number of axes."""

    def __init__(self, name: str, error: Exception):
        why = f"its heuristic of {name} fails for tensors that have no real shape: {type_name(error)}: {text_of(error)}"
        super().__init__(why)
        message = f"not checked: {why}. Launch it in a test of the file"
        self.crosswarp_verdict = Verdict("not-run", UNREAL, UNREAL, message, "bind")


def _for_any_axes(name: str, heuristic: Any, arguments: Dict[str, Any]) -> Any:
    """Return what a file's heuristic makes of tensors of one axis, or else of several."""
    try:
        return heuristic(arguments)
    except _OF_SHAPES as error:
        first = error
    for sizes in _MORE_AXES:
        with contextlib.suppress(Exception):
            return heuristic({name: _shaped(value, sizes) for name, value in arguments.items()})
    raise UnrealShapes(name, first)


def _shaped(thing: Any, sizes: Sequence[int]) -> Any:
    import torch

    flat = isinstance(thing, torch.Tensor) and thing.shape == (ELEMENTS,)
    return thing.view(*sizes) if flat else thing


def _despite_shapes(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a file's hook or estimate; 0 where it fails for shapes that are not real."""
    try:
        return function(*args, **kwargs)
    except _OF_SHAPES:
        return 0.0


def _limit(kernel: Any, most: int, until: float) -> None:
    """Leave an autotuned kernel that many of its configurations, from the first to the last; 0: all.

    The file's own functions in its decorators take tensors without a real shape from then on.
    """
    while kernel is not None:
        values = attribute(kernel, "values")
        if isinstance(values, dict):
            kernel.values = {
                name: functools.partial(_for_any_axes, name, function)
                for name, function in values.items()
            }
        configs = getattr(kernel, "configs", None)
        if isinstance(configs, list) and configs:
            if 0 < most < len(configs):
                step = (len(configs) - 1) / max(most - 1, 1)
                configs = [configs[round(place * step)] for place in range(most)]
            for config in configs:
                if callable(attribute(config, "pre_hook")):
                    config.pre_hook = functools.partial(_despite_shapes, config.pre_hook)
            kernel.configs = _in_time(configs, until)
            if callable(attribute(kernel, "perf_model")):
                kernel.perf_model = functools.partial(_despite_shapes, kernel.perf_model)
            prune = attribute(kernel, "early_config_prune")
            if callable(prune):
                kernel.early_config_prune = functools.partial(_pruned, prune, until)
        kernel = getattr(kernel, "fn", None)
