"""Edits one kernel of a suite's module, as text: `crosswarp fuzz --suite` compares the result with the module."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import edits
from .edits import KINDS, OPAQUE, OPAQUE_IS, Kind

# Separates a kernel's name from the name of the edit.
BETWEEN = "__"


@dataclass(frozen=True)
class Edited:
    """A module with one edit.

    Attributes:
        kernel: whose module it is of.
        name: of the edited module, and of its KERNEL.
        kind: of the edit.
        function, line: where, in the unedited text.
        text: the module.
        difference: from the unedited module to it, without its comments: a unified diff.
        exact: it is compared bit for bit with the kernel, in Triton's FPSan (ring.py).
    """

    kernel: str
    name: str
    kind: Kind
    function: str
    line: int
    text: str
    difference: str
    exact: bool = False


def edited(kernel: str, text: str, seed: int, kinds: Sequence[Kind] = KINDS) -> Iterator[Edited]:
    """One edit of each kind in each function of Triton's, where it has a place; which place, the seed says.

    Args:
        kernel: the name of the module.
        text: of the module.
    """
    tree = ast.parse(text)
    if set(edits.OURS) & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
        # It already uses our names: an edit would change their meaning.
        return
    plain, launched = ast.unparse(tree), _launched(tree)
    for function in _jitted(tree):
        for kind in kinds:
            if kind.opaque and function.name not in launched:
                continue
            count = len(list(kind.find(function)))
            if not count:
                continue
            # The tree is changed by an edit, so each begins with its own.
            fresh = ast.parse(text)
            of = next(one for one in _jitted(fresh) if one.name == function.name)
            place = list(kind.find(of))[seed % count]
            place.apply()
            if kind.opaque:
                _with_argument(of)
            name = f"{kernel}{BETWEEN}{function.name.strip('_')}_{kind.name.replace('-', '_')}"
            body = ast.unparse(ast.fix_missing_locations(fresh))
            difference = "\n".join(
                difflib.unified_diff(
                    plain.splitlines(), body.splitlines(), f"{kernel}.py", f"{name}.py", lineterm=""
                )
            )
            yield Edited(
                kernel,
                name,
                kind,
                function.name,
                place.line,
                f"{body}\n{_renamed(name)}",
                difference,
            )


def _renamed(name: str) -> str:
    """Its KERNEL under the name of its file."""
    return f'\nimport dataclasses\nKERNEL = dataclasses.replace(KERNEL, name="{name}")\n'


def _jitted(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        node for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(_is_jit(one) for one in node.decorator_list)
    ]  # fmt: skip


def _is_jit(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "attr", getattr(called, "id", "")) == "jit"


def _launched(tree: ast.Module) -> set[str]:
    """Functions that no other of Triton's names, so they are launched: these may have an argument more."""
    functions = _jitted(tree)
    named = {
        node.id for one in functions for part in one.body for node in ast.walk(part)
        if isinstance(node, ast.Name)
    }  # fmt: skip
    return {one.name for one in functions if one.name not in named and one.args.vararg is None}


def _with_argument(function: ast.FunctionDef) -> None:
    """Appends the run-time argument, with a default: no launcher needs to know of it."""
    function.args.args.append(ast.arg(OPAQUE))
    function.args.defaults.append(ast.Constant(OPAQUE_IS))
