"""Internals that torch and libraries import from where an earlier, or a later, Triton keeps them.

`triton_key` is in `compiler.compiler` from 3.0 to 3.4 and in `runtime.cache` from 3.5 on: here in both, everywhere.
`default_cache_dir`, `default_dump_dir` and `default_override_dir` left `runtime.cache` in 3.4 for `knobs.cache`; so did
the launch hooks of `CompiledKernel` for `knobs.runtime`, where a hook still has to be set. `cluster_dims` of a kernel's
metadata left in 3.6, where a cluster is as long as `num_ctas` says. `Config.all_kwargs` came in 3.0.

Left out: what a name alone cannot bring. `AttrsDescriptor` and `specialize_impl` are arguments and results of compilers
that are gone, `triton.ops` is kernels, and `JITFunction.cache_hook` is there to be set, which a class cannot hear of.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict

from .. import features
from ..record import Patches, Shim

_KEY_IN = ("triton.compiler.compiler", "triton.runtime.cache")
_DIRS = {
    "default_cache_dir": "cache",
    "default_dump_dir": "dump",
    "default_override_dir": "override",
}
_LAUNCH_HOOKS = ("launch_enter_hook", "launch_exit_hook")


def apply(patches: Patches) -> None:
    import triton
    from triton.compiler import CompiledKernel

    # Symptom: ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler' (before 3.0, from 3.5 on).
    # Affected: every Triton. Link: pytorch/pytorch#157242, triton-lang/triton#7835.
    # Breakpoint: no torch before 2.9 is left beside a Triton from 3.5 on.
    modules = [importlib.import_module(name) for name in _KEY_IN]
    key = next(
        (vars(module)["triton_key"] for module in modules if "triton_key" in vars(module)), None
    )
    for module in modules:
        if "triton_key" not in vars(module):
            patches.set(module, "triton_key", key or _key_before_3_0())

    # Symptom: AttributeError: 'Config' object has no attribute 'all_kwargs'.
    # Affected: Triton 2.3. Link: apple/ml-cross-entropy#13, flagos-ai/FlagGems#656.
    # Breakpoint: Triton 3.0 has it. Delete with the last column before.
    if not features.has_config_all_kwargs():
        patches.set(triton.Config, "all_kwargs", _all_kwargs)

    # Symptom: ImportError: cannot import name 'default_cache_dir' from 'triton.runtime.cache'; AttributeError: type
    # object 'CompiledKernel' has no attribute 'launch_enter_hook'.
    # Affected: Triton 3.4 and later. Link: sgl-project/sglang#7832, unslothai/unsloth#3438, triton-lang/triton#6467.
    # Breakpoint: none. Delete when no library uses the old names.
    if features.knobs() is None:
        return
    for name, folder in _DIRS.items():
        patches.set(modules[1], name, _default_dir(folder))
    for name in _LAUNCH_HOOKS:
        patches.set(CompiledKernel, name, _Hook(name))

    # Symptom: AttributeError: 'KernelMetadata' object has no attribute 'cluster_dims', by torch.compile.
    # Affected: Triton 3.6 and later beside a torch before 2.10. Link: pytorch/pytorch#167187, unslothai/unsloth#4001.
    # Breakpoint: Triton 3.6 has no clusters but those of num_ctas; delete with the last torch before 2.10.
    if not features.has_cluster_dims():
        patches.set(CompiledKernel, "metadata", _Metadata())


def _all_kwargs(config: Any) -> Dict[str, Any]:
    """The meta-parameters of an autotune configuration, and those options that its launch is given."""
    options = {name: getattr(config, name) for name in ("num_warps", "num_ctas", "num_stages")}
    return {
        **config.kwargs,
        **{name: value for name, value in options.items() if value is not None},
    }


def _key_before_3_0() -> Callable[[], str]:
    from triton.common.backend import compute_core_version_key

    def triton_key() -> str:
        """Identifies this build of Triton by the contents of its files."""
        return compute_core_version_key()

    return triton_key


def _default_dir(folder: str) -> Callable[[], str]:
    def default_dir() -> str:
        from triton import knobs

        return knobs.cache.get_triton_dir(folder)

    default_dir.__name__ = f"default_{folder}_dir"
    return default_dir


class _Metadata:
    """A kernel's metadata, if it has any, with `cluster_dims`. Torch builds such kernels itself from a worker's
    results."""

    def __get__(self, kernel: Any, owner: Any = None) -> Any:
        try:
            metadata = vars(kernel)["metadata"]
        except (KeyError, TypeError):
            raise AttributeError("metadata") from None
        if not hasattr(metadata, "cluster_dims"):
            # It belongs to a class that kernels may share.
            type(metadata).cluster_dims = property(lambda metadata: (metadata.num_ctas, 1, 1))
        return metadata

    def __set__(self, kernel: Any, value: Any) -> None:
        vars(kernel)["metadata"] = value


class _Hook:
    """A class attribute that is a hook of ``knobs.runtime``, or None where there is none."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, kernel: Any, owner: Any = None) -> Any:
        from triton import knobs

        value = getattr(knobs.runtime, self._name)
        # Breakpoint: not in Triton 3.4.0, but in 3.6.0 it is a chain of hooks, that may be empty.
        calls = getattr(value, "calls", None)
        if calls is None:
            return value
        return (calls[0] if len(calls) == 1 else value) if calls else None


SHIM = Shim(
    name="moved_internals",
    issue="triton-7835",
    tier="torch",
    window=">=2.3",
    symptom="cannot import name 'triton_key' from 'triton.compiler.compiler'\n"
    "type object 'CompiledKernel' has no attribute 'launch_enter_hook'\n"
    "cannot import name 'default_cache_dir' from 'triton.runtime.cache'\n"
    "'KernelMetadata' object has no attribute 'cluster_dims'\n"
    "'Config' object has no attribute 'all_kwargs'",
    link="https://github.com/triton-lang/triton/issues/7835",
    delete_when="no library uses a name of another Triton",
    apply=apply,
)
