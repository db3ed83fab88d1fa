"""The next Triton moves an attribute: whichever it is, installing goes on, and what cannot be healed is left out."""

import ast
import enum
import importlib
import os
import re
import sys
import warnings
from pathlib import Path

import pytest
import triton

from crosswarp import compat
from crosswarp.compat.install import wanted_shims
from crosswarp.compat.record import Patches

# Each third attribute, and more until each shim was left out once; with CROSSWARP_FAULTS=all every one, two minutes.
pytestmark = pytest.mark.both_ends
FOLDER = Path(compat.__file__).parent
# The words of the seams' files, among them the names of Triton's that they look at.
SEAMS = frozenset(
    word
    for file in sorted((FOLDER / "seams").glob("*.py"))
    for word in re.findall(r"\w+", file.read_text("utf-8"))
)
EVERY = os.environ.get("CROSSWARP_FAULTS") == "all"
# constexpr_function needs nothing of a Triton that has it, and of another what only that one has; attrs_descriptor
# and common_backend are for another torch; compile_workers replaces nothing of Triton's, and gluon_names waits.
NEVER = {
    "constexpr_function",
    "attrs_descriptor",
    "common_backend",
    "compile_workers",
    "gluon_names",
}
# Modules that look at Triton as they are imported: imported anew each time, as by the first install of a process.
AT_IMPORT = ("old_arguments", "old_language", "old_methods", "block_pointers")


def named_in(source, seen):
    """(module, attribute, …) for each dotted name in the file that starts at a module of Triton, ("", text) for each
    text; likewise for the files of compat that it imports."""
    if source in seen or not source.exists():
        return
    seen.add(source)
    tree = ast.parse(source.read_text("utf-8"))
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("triton"):
                    aliases[name.asname or "triton"] = (name.name if name.asname else "triton",)
        elif isinstance(node, ast.ImportFrom) and node.level:
            folder = source.parent if node.level == 1 else source.parent.parent
            for name in [node.module] if node.module else [name.name for name in node.names]:
                yield from named_in(folder / f"{name}.py", seen)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton"):
            for name in node.names:
                aliases[name.asname or name.name] = (node.module, name.name)
                yield node.module, name.name
    # What the shims of the interpreter are handed.
    aliases.setdefault("interpreter", ("triton.runtime.interpreter",))
    for node in ast.walk(tree):
        # getattr(owner, "name") of whatever it may be.
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "", node.value
        chain = []
        while isinstance(node, ast.Attribute):
            chain.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in aliases and chain:
            yield (*aliases[node.id], *chain)


def places(chain):
    """(owner, name) for each step of a dotted name that this Triton has."""
    try:
        owner = importlib.import_module(chain[0])
    except ImportError:
        return
    for name in chain[1:]:
        if not isinstance(owner, (type, type(sys))) or isinstance(owner, enum.EnumMeta):
            return
        if name in vars(owner):
            yield owner, name
        owner = getattr(owner, name, None)


def without_kernels():
    """From here on tracing a kernel and an interpreted launch are no more than what shims add to them."""
    import triton.compiler.code_generator  # noqa: F401
    import triton.compiler.compiler as compiler
    import triton.runtime.interpreter as interpreter

    compiler.ASTSource.make_ir = lambda self, *args, **kwargs: "traced"
    if hasattr(interpreter, "_patch_lang"):
        interpreter._patch_lang = lambda fn, *args: "patched"
    return compiler.ASTSource, interpreter


def install_and_trace(source, interpreter):
    """Everything that a shim does by itself; what was traced, where that is still there."""
    for name in AT_IMPORT:
        sys.modules.pop(f"crosswarp.compat.{name}", None)
        vars(sys.modules["crosswarp.compat"]).pop(name, None)
    compat.install(guard="always")
    if hasattr(source, "make_ir"):
        assert source.make_ir(object()) == "traced"
    if hasattr(interpreter, "_patch_lang"):
        assert interpreter._patch_lang(install_and_trace) == "patched"


def touched(monkeypatch, source, interpreter):
    """(owner, name) -> the shims that name it or replace it; only what this Triton has. And text -> shims."""
    found, texts = {}, {}
    for shim in wanted_shims("always", triton.__version__):
        here = set()
        with monkeypatch.context() as patched:
            set_ = Patches.set

            def noted(self, owner, name, value, here=here, set_=set_):
                if isinstance(owner, (type, type(sys))) and name in vars(owner):
                    here.add((owner, name))
                set_(self, owner, name, value)

            patched.setattr(Patches, "set", noted)
            patched.setattr(
                sys.modules["crosswarp.compat.install"], "listed", lambda shim=shim: (shim,)
            )
            install_and_trace(source, interpreter)
            compat.uninstall()
        for chain in named_in(FOLDER / "shims" / f"{shim.name}.py", set()):
            if chain[0]:
                here.update(places(chain))
            else:
                texts.setdefault(chain[1], set()).add(shim.name)
        for place in here:
            found.setdefault(place, set()).add(shim.name)
    return found, texts


def state(places):
    return [vars(owner).get(name) for owner, name in places]


def test_whatever_triton_moves_the_rest_is_installed_and_taken_back(in_fork, monkeypatch):
    def run():
        source, interpreter = without_kernels()
        found, texts = touched(monkeypatch, source, interpreter)
        wanted = [shim.name for shim in wanted_shims("always", triton.__version__)]
        install_and_trace(source, interpreter)
        assert [shim.name for shim in compat.active()] == wanted
        compat.uninstall()
        bare, problems, left_out = state(found), [], {name: 0 for name in wanted}
        for number, ((owner, name), shims) in enumerate(found.items()):
            named = shims | texts.get(name, set())
            if number % 3 and not EVERY and all(left_out[shim] for shim in named - NEVER):
                continue
            own, title = vars(owner)[name], f"{owner.__name__}.{name}"
            delattr(owner, name)
            removed = state(found)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                sys.modules["crosswarp.compat.copies"].COMMON.said.clear()
                try:
                    install_and_trace(source, interpreter)
                    left = compat.left_out()
                    active = [shim.name for shim in compat.active()]
                except BaseException as error:
                    problems.append((title, "raised", repr(error)))
                    left, active = {}, wanted
            told = [str(w.message) for w in said if issubclass(w.category, compat.CompatWarning)]
            if sorted(told) != sorted(t for t in told for n in left if f"shim {n} cannot" in t):
                problems.append((title, "said", told))
            if len(told) != len(left) or active != [n for n in wanted if n not in left]:
                problems.append((title, "left out", sorted(left), "active", active))
            others = left.keys() - named
            # A seam that is gone takes with it every fix that acts there.
            if others and name not in SEAMS:
                problems.append((title, "is not touched by", sorted(others)))
            compat.uninstall()
            if any(a is not b for a, b in zip(state(found), removed)):
                problems.append((title, "is not as it was"))
            for shim in left:
                left_out[shim] += 1
            setattr(owner, name, own)
        if any(a is not b for a, b in zip(state(found), bare)):
            problems.append(("at the end", "is not as it was"))
        return len(found), problems, left_out

    count, problems, left_out = in_fork(run, seconds=900)
    assert problems == []
    assert count > 50
    assert {name for name, times in left_out.items() if not times} <= NEVER
