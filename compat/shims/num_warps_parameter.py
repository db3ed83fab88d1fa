"""A kernel may declare ``num_warps: tl.constexpr`` and get it by position, by default, or as a meta-parameter.

Triton reads launch options from keywords alone: the kernel sees the value, the launch has 4 warps. Nothing fails; the
kernel is slower than its author thinks. The same holds for num_stages, num_ctas and maxnreg.
"""

import inspect
from typing import Any, Dict, List, Optional

from .. import features
from ..acts import note_acted
from ..launch import existing, warps_within
from ..record import Patches, Shim
from ..seams.attribute import around_call
from ..seams.launches import around_compile
from ..seams.runs import before_first_launch

NAMES = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def apply(patches: Patches) -> None:
    # Breakpoint: none upstream. Delete when launches take these options from the bound parameters.
    def compile_as_seen(compile_, src, args, kwargs):
        seen = _seen_by_kernel(src, args, kwargs)
        if seen:
            note_acted(SHIM.name)
            kwargs = dict(kwargs, options=dict(kwargs["options"], **seen))
        return compile_(src, *args, **kwargs)

    # Only a launch that finds no kernel in memory compiles. One that it finds was compiled for the same bound
    # parameters.
    around_compile(patches, compile_as_seen)
    _fix_configs(patches)


def _forget_launches(kernels: List[Any]) -> None:
    """Forget kernels in memory: they are found by the parameter, but compiled with an earlier value of the option."""
    for kernel in kernels:
        if any(param.name in NAMES and param.is_constexpr for param in kernel.params):
            # Breakpoint: Triton 3.3 renamed the cache.
            for name in ("cache", "device_caches"):
                getattr(kernel, name, {}).clear()


def _seen_by_kernel(src: Any, args: tuple, kwargs: dict) -> Dict[str, int]:
    """The launch options for which the kernel and the launch see different values, as far as the target allows them."""
    options = kwargs.get("options")
    params = getattr(getattr(src, "fn", None), "params", None)
    if not options or not params:
        return {}
    values = {}
    for number, param in enumerate(params):
        if param.name not in NAMES or param.name not in options or not param.is_constexpr:
            continue
        value = _constant(src.constants, number, param.name)
        value = _allowed(param.name, value, kwargs["target"] if "target" in kwargs else args[0])
        if value is not None and value != options[param.name]:
            values[param.name] = value
    return values


def _constant(constants: dict, number: int, name: str) -> Any:
    # Breakpoint: keys are numbers before Triton 3.0, names before 3.3, paths of numbers since.
    for key in (name, (number,), number):
        if key in constants:
            value = constants[key]
            return getattr(value, "value", value)
    return None


def _allowed(name: str, value: Any, target: Any) -> Optional[int]:
    """`value` as an option of the launch; None for a number that no launch can have, which only the kernel uses."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        return None
    backend, arch = features.backend_and_arch(target)
    if name == "num_warps":
        if value & (value - 1):
            return None
        return warps_within(value, getattr(target, "warp_size", 32))
    if name == "num_ctas":
        clusters = backend == "cuda" and isinstance(arch, int) and arch >= 90
        return value if value == 1 or (clusters and value in (2, 4, 8, 16)) else None
    if name == "maxnreg":
        return value if backend == "cuda" else None
    return value


def _fix_configs(patches: Patches) -> None:
    """``Config({"num_warps": 2})``: Triton's own default for the option hides the meta-parameter (3.0 and later), or
    the call gets the keyword twice (before)."""
    from triton.runtime.autotuner import Config
    from triton.runtime.jit import JITFunction

    init = Config.__init__
    parameters = inspect.signature(init).parameters
    defaults = {name: parameters[name].default for name in NAMES[:3]}
    named_twice = not features.has_config_all_kwargs()

    def init_with_meta(init, self, *args, **kwargs):
        init(self, *args, **kwargs)
        for name, value in _meant(self, defaults, named_twice).items():
            setattr(self, name, value)

    def fix(made: List[Any]) -> None:
        _forget_launches([kernel for kernel in made if isinstance(kernel, JITFunction)])
        patches.on_undo(lambda: _forget_launches(existing(JITFunction)))
        for config in made:
            if type(config) is Config:
                for name, value in _meant(config, defaults, named_twice).items():
                    patches.set(config, name, value)

    around_call(patches, Config, "__init__", init_with_meta)
    before_first_launch(patches, (Config,), fix)


def _meant(config: Any, defaults: Dict[str, Any], named_twice: bool) -> Dict[str, Any]:
    """The attributes of `config` that have to change. An option that is also given as an option stays as it is."""
    meta = getattr(config, "kwargs", None)
    if not isinstance(meta, dict):
        return {}
    given = [name for name in defaults if name in meta]
    changed = {
        name: meta[name]
        for name in given
        if getattr(config, name) == defaults[name] and meta[name] != defaults[name]
    }
    if given and named_twice:
        changed["kwargs"] = {name: value for name, value in meta.items() if name not in given}
    return changed


SHIM = Shim(
    name="num_warps_parameter",
    issue="num-warps-parameter",
    tier="names",
    window=">=2.3",
    symptom="launched with 4 warps although the kernel's num_warps parameter says otherwise",
    link="https://github.com/linkedin/Liger-Kernel/issues/215",
    delete_when="Triton takes launch options from the bound parameters",
    apply=apply,
    # Outside the guard, so that the guard compiles with the options of the launch.
    order=10,
)
