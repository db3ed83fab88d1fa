"""Rules for Gluon: methods of a kernel's objects, values that no signature shows, and replacements."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.linting.values import UNKNOWN, Made

ROOT = "triton.experimental.gluon"
LANGUAGE = f"{ROOT}.language"
JIT = (f"{ROOT}.jit", f"{ROOT}._runtime.jit")
# Objects whose methods a kernel calls; their class is unknown if a parameter or a call gave the value.
_IN_HAND = ("shared_memory_descriptor", "tensor_memory_descriptor", "tensor_descriptor", "tensor")
_SHARED = f"{LANGUAGE}.shared_memory_descriptor"
_TENSOR_MEMORY = f"{LANGUAGE}.nvidia.blackwell.tensor_memory_descriptor"
# Function -> the class of its result.
_MAKES = {
    f"{LANGUAGE}.allocate_shared_memory": _SHARED,
    f"{LANGUAGE}.nvidia.blackwell.allocate_tensor_memory": _TENSOR_MEMORY,
    **{
        f"{cls}.{method}": cls
        for cls in (_SHARED, _TENSOR_MEMORY)
        for method in ("index", "slice", "reshape", "permute", "reinterpret", "_reinterpret")
    },
}
# Where an instruction's tile has three numbers.
_TILE_HAS_DEPTH = ">=3.6"
# Subject below Gluon's language -> replacement, in the order of the search.
_INSTEAD = (
    ("*.async_copy_global_to_shared", "3.8 and later have async_load; 3.9 refuses this name"),
    ("*.async_copy_global_to_shared_im2col", "3.8 and later have async_load_im2col; 3.9 refuses this name"),
    ("*.async_copy_shared_to_global", "3.8 and later have async_store; 3.9 refuses this name"),
    ("*.async_load", "before 3.8 it is async_copy_global_to_shared"),
    ("*.async_store", "before 3.8 it is async_copy_shared_to_global"),
    ("thread_barrier", "3.7 and later have gl.barrier()"),
    ("barrier", "before 3.7 it is gl.thread_barrier()"),
    ("warp_specialize*", "3.6 and later take [(function, arguments), ...], earlier ones arguments and functions apart"),
    ("*(ctas_per_cga)", "3.6 and later take cga_layout; with one CTA leave it out"),
    ("*(cta_split_num)", "3.6 and later (TensorMemoryLayout: 3.8) take cga_layout; with one CTA leave it out"),
    ("*(cta_order)", "3.6 and later take cga_layout; with one CTA leave it out"),
    ("*(cga_layout)", "earlier ones take ctas_per_cga, cta_split_num and cta_order; with one CTA leave it out"),
    ("*TensorMemoryLayout(unpacked)", "3.6 and later take col_stride"),
    ("*TensorMemoryLayout(col_stride)", "before 3.6 it is unpacked"),
    ("*.get_tmem_32x32b_reg_layout", "3.6 and 3.7 have get_tmem_reg_layout, 3.8 and later tile.get_reg_layout()"),
    ("*.get_tmem_reg_layout", "3.8 and later have tile.get_reg_layout(), before 3.6 it is get_tmem_32x32b_reg_layout"),
    ("*.get_reg_layout", "before 3.8 it is the function get_tmem_reg_layout"),
    ("*AMDMFMALayout(instr_shape)", "3.6 and later take [M, N, K], earlier ones [M, N]"),
    ("*AMDMFMALayout(elem_type)", "3.6 and later take element_bitwidth"),
    ("*AMDMFMALayout(element_bitwidth)", "before 3.6 it is elem_type"),
    ("*AMDWMMALayout*", "3.7 and later take warp_bases and reg_bases, earlier ones warps_per_cta and tiles_per_warp"),
    ("*PaddedSharedLayout*", "3.6 changed the layout's parameters, and 3.7 block_bases to cga_layout"),
    ("amd.cdna4.async_copy.async_wait", "3.6 and later have wait_group"),
    ("amd.cdna4.async_copy.wait_group", "before 3.6 it is async_wait"),
    ("*mbarrier.expect(bytes)", "3.7 and later name it bytes_per_cta: pass it by position"),
    ("*mbarrier.expect(bytes_per_cta)", "before 3.7 it is bytes: pass it by position"),
    ("*mbarrier.arrive()", "3.5 and later take count and pred by keyword"),
    ("*mbarrier.sync_cluster_init", "3.8 and later have hopper.cluster.barrier()"),
    ("*_memory_descriptor.reshape()", "3.5 and later take the shape alone"),
    ("*_memory_descriptor.reshape(layout)", "before 3.5 it is reshape(shape, layout)"),
    ("*tensor_memory_descriptor.load(layout)", "before 3.8 pass the layout that get_tmem_reg_layout returns"),
    ("*._reinterpret", "3.9 and later have reinterpret"),
    ("*.reinterpret", "before 3.9 it is _reinterpret"),
    ("*.mma_v2", "it came with 3.6"),
    ("*gfx1250.*", "3.9 and later have amd.cdna5; `from ...amd.gfx1250 import tdm` works in both"),
)  # fmt: skip


def instead(subject: str) -> str:
    """The advice for a name or argument of Gluon's: its replacement, or an empty string."""
    if not subject.startswith(f"{LANGUAGE}."):
        return ""
    inside = subject[len(LANGUAGE) + 1 :]
    return next((replacement for glob, replacement in _INSTEAD if fnmatchcase(inside, glob)), "")


def looks_up(path: str) -> bool:
    """Whether Triton 3.5 to 3.7 look up names below `path` in a kernel, even in branches that are not taken.

    They do so for every module but the two languages (`supported_modules` in their runtime/jit.py).
    """
    return path not in ("triton.language", LANGUAGE)


def made(path: str) -> Any:
    """The result of one of Gluon's functions, where its class is known."""
    return Made(_MAKES[path]) if path in _MAKES else UNKNOWN


def method_of(walk: Any, owner: Made, node: ast.Attribute) -> str:
    """The full name of a method of an object whose class is known; empty where the release lacks it."""
    path = f"{owner.path}.{node.attr}"
    if walk.api.has(walk.release, path) is True:
        return path
    if walk.api.has(walk.release, path) is False:
        message = f"the method {node.attr}() is not in Triton"
        walk.wrong("AttributeError", "language-name", node, path, message)
    return ""


def method(walk: Any, node: ast.Call) -> None:
    """`value.name(…)` in a Gluon kernel, of a value whose class is not known."""
    function = node.func
    assert isinstance(function, ast.Attribute)
    name = function.attr
    owner = _owner(walk.api, name)
    if not owner or name in _attributes(walk.api, walk.release) or walk.project.defines(name):
        return
    path = f"{LANGUAGE}.{owner}.{name}"
    walk.wrong(
        "AttributeError", "language-name", function, path, f"the method {name}() is not in Triton"
    )


@lru_cache(maxsize=64)
def _attributes(api: Any, release: str) -> frozenset[str]:
    """Names of the methods and fields that anything in a Gluon kernel has on a release."""
    names = api.table[release].names
    of_types = {
        name
        for name, entry in names.items()
        if entry.kind == "type" and name.startswith(f"{LANGUAGE}.")
    }
    methods = {name.rpartition(".")[2] for name in names if name.rpartition(".")[0] in of_types}
    return frozenset(
        methods | {name[len("tensor.") :] for name in names if name.startswith("tensor.")}
    )


@lru_cache(maxsize=4096)
def _owner(api: Any, name: str) -> str:
    """Returns the class, below Gluon's language, of a kernel's object with a method of that name in some release."""
    for place in ("", "nvidia.blackwell.", "nvidia.hopper.tma."):
        for cls in _IN_HAND:
            if any(api.has(release, f"{LANGUAGE}.{place}{cls}.{name}") for release in api.releases):
                return f"{place}{cls}"
    return ""


def layouts(walk: Any, node: ast.Call, path: str) -> None:
    """AMDMFMALayout(instr_shape): the same argument, of two numbers and then of three."""
    if not path.endswith(".AMDMFMALayout"):
        return
    given = next((word.value for word in node.keywords if word.arg == "instr_shape"), None)
    given = given if given is not None or len(node.args) < 2 else node.args[1]
    shape = UNKNOWN if given is None else walk.value(given)
    count = len(shape) if isinstance(shape, (list, tuple)) else 0
    if isinstance(given, (ast.List, ast.Tuple)) and not count:
        count = len(given.elts)
    wanted = 3 if versions.within(walk.release, _TILE_HAS_DEPTH) else 2
    if count in (2, 3) and count != wanted and walk.api.has(walk.release, path):
        missing = f"gl.amd.AMDMFMALayout(instr_shape=…) of {count} numbers"
        walk.wrong(
            "ValueError",
            "language-argument",
            node,
            f"{LANGUAGE}.amd.AMDMFMALayout(instr_shape)",
            missing,
        )


def arguments_left_out(walk: Any, node: ast.Call, path: str, names: dict[str, str]) -> None:
    """Reports a call without an argument that this release requires, where another accepts the call unchanged."""
    if not path.startswith(f"{LANGUAGE}.") or any(
        isinstance(arg, ast.Starred) for arg in node.args
    ):
        return
    if any(word.arg is None for word in node.keywords):
        return
    if any(word.arg not in names for word in node.keywords):
        # Reported already, and the reason.
        return
    left = _left_out(node, names)
    if left and any(
        (other := walk.api.parameters(release, path)) is not None
        and not _left_out(node, other)
        and all(word.arg in other for word in node.keywords)
        for release in walk.api.releases
    ):
        missing = f"gl.{path[len(LANGUAGE) + 1 :]} without {left[0]}"
        walk.wrong("TypeError", "language-argument", node, f"{path}({left[0]})", missing)


def _left_out(node: ast.Call, names: dict[str, str]) -> list[str]:
    given = {word.arg for word in node.keywords}
    by_place = [name for name in names if not name.startswith("*")]
    if "*" in names:
        by_place = by_place[: list(names).index("*")]
    reached = set(by_place[: len(node.args)])
    return [
        name
        for name, default in names.items()
        if not name.startswith("*") and not default and name not in given and name not in reached
    ]
