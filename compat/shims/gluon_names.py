"""Gluon under the names, and by the arguments, of every release from 3.5 on: each broke those of the one before.

Applied once a program imports Gluon, which Triton by itself does not. A program in the spelling of the installed
Triton is compiled as before. Left out: clusters, which 3.6 describes otherwise; PaddedSharedLayout of 3.5; AMD's WMMA
layouts before 3.7; `cluster.arrive` and `cluster.wait`, which 3.9 took away; float2.
"""

from typing import Any

from ..record import Patches, Shim

_PACKAGE = "triton.experimental.gluon"


def apply(patches: Patches) -> None:
    from ..after_import import once_imported

    once_imported(patches, _PACKAGE, _with_gluon)


def _with_gluon(patches: Patches, package: Any) -> None:
    import importlib

    from .. import gluon_calls, gluon_layouts, gluon_memory
    from ..gluon_spellings import LANGUAGE, Gluon

    importlib.import_module(LANGUAGE)
    gluon = Gluon(patches)
    # The parts of a layout, before the functions that make one.
    for part in (gluon_layouts, gluon_calls, gluon_memory):
        part.apply(gluon)


SHIM = Shim(
    name="gluon_names",
    issue="gluon-copies-renamed",
    tier="names",
    window=">=3.5",
    symptom="async_copy_shared_to_global has been removed; call async_store instead\n"
    "module 'triton.experimental.gluon.language' has no attribute 'thread_barrier'\n"
    "warp_specialize() got multiple values for argument '_semantic'\n"
    "got an unexpected keyword argument 'ctas_per_cga'\n"
    "Unsupported function referenced: <slot wrapper '__init__' of 'object' objects>\n"
    "store_wait() got an unexpected keyword argument 'read_only'\n"
    "module 'triton.experimental.gluon.language.nvidia.blackwell' has no attribute 'get_tmem_reg_layout'",
    link="https://github.com/triton-lang/triton/pull/8527",
    delete_when="no library on any column writes Gluon for another release",
    apply=apply,
)
