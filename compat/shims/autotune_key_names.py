"""A tuning key may name what is no argument of the kernel: 3.2 to 3.8 leave that out, 3.9 and 2.3 to 3.1 refuse.

A library whose key names a value that it computes dies when it is imported. With the shim such names are left out
everywhere, with a warning: the kernel is not tuned anew when they change, and never was. In `reset_to_zero` and
`restore_value` an unknown name stays an error.
"""

from typing import Any

from ..acts import note_acted
from ..errors import say_once
from ..record import Patches, Shim
from ..seams.attribute import around_call

# The parameters of Autotuner.__init__(self, fn, arg_names, configs, key, …), in every Triton.
_ARG_NAMES, _KEY = 1, 3


def apply(patches: Patches) -> None:
    from triton.runtime.autotuner import Autotuner

    # Breakpoint: none yet, 3.9.0 refuses. Delete when no library names such keys.

    def init(own_init: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        names = args[_ARG_NAMES] if len(args) > _ARG_NAMES else kwargs.get("arg_names")
        key = (args[_KEY] if len(args) > _KEY else kwargs.get("key")) or ()
        unknown = [name for name in key if name not in names] if names else []
        if unknown:
            _report(unknown)
            known = [name for name in key if name not in unknown]
            if len(args) > _KEY:
                args = (*args[:_KEY], known, *args[_KEY + 1 :])
            else:
                kwargs["key"] = known
        own_init(self, *args, **kwargs)

    around_call(patches, Autotuner, "__init__", init)


def _report(unknown: list) -> None:
    note_acted(SHIM.name)
    say_once(
        f"autotune(key=…) names {', '.join(map(repr, unknown))}, which the kernel has no argument for: it is not tuned"
        " anew when that changes"
    )


SHIM = Shim(
    name="autotune_key_names",
    issue="triton-11602",
    tier="names",
    window=">=2.3,!=3.2.*,!=3.3.*,!=3.4.*,!=3.5.*,!=3.6.*,!=3.7.*,!=3.8.*",
    symptom="ValueError: key contains names that are not kernel arguments",
    link="https://github.com/triton-lang/triton/pull/11602",
    delete_when="no library's tuning key names what is no argument",
    apply=apply,
)
