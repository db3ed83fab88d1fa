"""Edited kernels in Triton's FPSan, where reordering a sum of floats does not change it, bit for bit.

FPSan, of Triton 3.9, is a pass at the end of TTIR (TRITON_INSTRUMENTATION_MODE=fpsan). Floats become integers of a ring
with their width, added and multiplied without rounding. Operations that a ring lacks (exp, a cast) become some function
of the bits. The numbers mean nothing, but two forms of one computation give the same. So an edited kernel must equal
the unedited one exactly, where its case otherwise allows rounding errors.
"""

from __future__ import annotations

from dataclasses import replace

from crosswarp.matrix import versions

from .editing import BETWEEN, Edited
from .edits import Kind

# Ending of the name of a module that runs this way.
ENDING = f"{BETWEEN}fpsan"
_WINDOW = ">=3.9"
# The unedited kernel beside itself: it shows that FPSan and the PTX emulator support it and that it is deterministic.
_TWICE = Kind("unedited", lambda function: iter(()))
_MODULE = '''"""{kernel} beside {edited}, both in Triton's FPSan: every bit of their outputs is the same."""

import dataclasses

import torch
import triton

import {kernel} as plain
import {edited} as edited

_MEANT = {{}}


def _lacks():
    compilation = getattr(getattr(triton, "knobs", None), "compilation", None)
    if not hasattr(compilation, "fpsan_homomorphic_casts"):
        return "this Triton has no FPSan"


def _cloned(given):
    return {{
        name: one.clone() if isinstance(one, torch.Tensor) else one for name, one in given.items()
    }}


def _bits(outputs):
    """Two bytes at a time, which any tensor of the comparison holds exactly."""
    found = {{}}
    for name, one in outputs.items():
        flat = one.detach().contiguous().reshape(-1)
        found[name] = flat.view(torch.int8 if one.element_size() == 1 else torch.int16)
    return found


def launch(**given):
    triton.knobs.compilation.instrumentation_mode = "fpsan"
    _MEANT.clear()
    _MEANT.update(_bits(plain.KERNEL.launch(**_cloned(given))))
    return _bits(edited.KERNEL.launch(**given))


def reference(**given):
    return dict(_MEANT)


KERNEL = dataclasses.replace(
    plain.KERNEL,
    name="{name}",
    cases=tuple(dataclasses.replace(case, lanes=("emulate",)) for case in plain.KERNEL.cases),
    launch=launch,
    reference=reference,
    tolerance=dict.fromkeys(plain.KERNEL.tolerance, 0.0),
    tolerance_on={{}},
    uses=(*plain.KERNEL.uses, "fpsan"),
    probes={{**plain.KERNEL.probes, "fpsan": _lacks}},
)
'''


def in_ring(edit: Edited) -> Edited:
    """`edit` held to the unedited kernel in FPSan; its modules have to lie in the same suite."""
    made = f"{edit.name}{ENDING}"
    text = _MODULE.format(kernel=edit.kernel, edited=edit.name, name=made)
    return replace(edit, kernel=unedited_name(edit.kernel), name=made, text=text, exact=True)


def unedited(kernel: str) -> Edited:
    """The unedited kernel, to which edits are compared."""
    name = unedited_name(kernel)
    text = _MODULE.format(kernel=kernel, edited=kernel, name=name)
    return Edited(kernel, name, _TWICE, "", 0, text, "", exact=True)


def unedited_name(kernel: str) -> str:
    return f"{kernel}{ENDING}"


def has(release: str) -> bool:
    """Whether a release of Triton has FPSan."""
    base = versions.base(release)
    return base is not None and versions.within(base, _WINDOW)
