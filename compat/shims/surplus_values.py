"""Triton 3.9 refuses ``a, b = x, y, z``, which every Triton before it compiled as ``a, b = x, y``."""

import ast
import functools

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.trace import before_first_trace


def apply(patches: Patches) -> None:
    from triton.language import core

    # Breakpoint: none upstream, Triton now does as Python does. Delete when no library on any column relies on it.
    def fix(code_generator):
        sanitize = code_generator._sanitize_target_value

        @functools.wraps(sanitize)
        def without_surplus(self, target, value, *args, **kwargs):
            if isinstance(target, ast.Tuple) and isinstance(value, core.tuple):
                names = target.elts
                starred = any(isinstance(name, ast.Starred) for name in names)
                if not starred and len(value.values) > len(names):
                    note_acted(SHIM.name)
                    value = core.tuple(value.values[: len(names)])
            return sanitize(self, target, value, *args, **kwargs)

        patches.set(code_generator, "_sanitize_target_value", without_surplus)

    before_first_trace(patches, fix)


SHIM = Shim(
    name="surplus_values",
    issue="triton-11053",
    tier="refused",
    window=">=3.9",
    symptom="too many values to unpack (expected 2)",
    link="https://github.com/triton-lang/triton/pull/11053",
    delete_when="no library on any column unpacks more values than it names",
    apply=apply,
)
