"""Before Triton 3.8 an autotuner wants to zero or to restore an argument that is None.

An optional pointer in `reset_to_zero` or `restore_value` is None where it is not wanted; there is nothing to zero.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.attribute import around_call

# The hooks' lists: of names from Triton 3.2 on, of numbers before.
_LISTS = ("reset_to_zero", "restore_value", "reset_idx", "restore_idx")


def apply(patches: Patches) -> None:
    import triton.runtime.autotuner as autotuner

    # Breakpoint: Triton 3.8 looks for None; delete with the last column before it.

    def init(own_init: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        own_init(self, *args, **kwargs)
        if not any(getattr(self, name, None) for name in _LISTS):
            return
        for name in ("pre_hook", "post_hook"):
            hook = getattr(self, name)
            # A user's hook has to handle None itself.
            if getattr(hook, "__module__", "") == autotuner.__name__:
                setattr(self, name, _for_what_is_there(self, hook))

    around_call(patches, autotuner.Autotuner, "__init__", init)


def _for_what_is_there(tuner: Any, hook: Callable) -> Callable:
    @functools.wraps(hook)
    def call(arguments: Any, *args: Any, **kwargs: Any) -> Any:
        whole: Dict[str, List] = {
            name: vars(tuner)[name] for name in _LISTS if vars(tuner).get(name)
        }
        there = {
            name: [argument for argument in listed if not _is_none(arguments, argument)]
            for name, listed in whole.items()
        }
        if there == whole:
            return hook(arguments, *args, **kwargs)
        note_acted(SHIM.name)
        vars(tuner).update(there)
        try:
            return hook(arguments, *args, **kwargs)
        finally:
            vars(tuner).update(whole)

    return call


def _is_none(arguments: Any, name: Any) -> bool:
    try:
        return arguments[name] is None
    except (KeyError, IndexError):
        # Let the hook raise its usual error.
        return False


SHIM = Shim(
    name="autotune_none_values",
    issue="triton-10295",
    tier="refused",
    window="<3.8",
    symptom="'NoneType' object has no attribute 'zero_', from restore_value or reset_to_zero",
    link="https://github.com/triton-lang/triton/pull/10295",
    delete_when="no column before Triton 3.8 is left",
    apply=apply,
)
