"""The launches of a file, ``kernel[grid](x, n, BLOCK=128, num_warps=4)``, and its kernels without a launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from crosswarp.matrix.signatures.source import Kernel, Scope, Source, within

# The methods of a launch that is written `kernel.run(..., grid=grid)` or `kernel.warmup(...)`.
_METHODS = ("run", "warmup")
_OF_METHODS = ("grid", "warmup", "stream")
# Helion's `_launcher(kernel, grid, x, n, num_warps=4)`, by how the name of the function ends.
_LAUNCHER = "launcher"
# Functions that return a kernel unchanged.
_WRAPPERS = ("torch.library.wrap_triton", "torch._library.triton.wrap_triton")


@dataclass(frozen=True)
class Launch:
    """
    Attributes:
        given: by parameter of the kernel, what is passed.
        positional: how many of them by their place.
        options: of the launch, by name.
        starred: whether more is passed by ``*args`` or ``**kwargs``, of which nothing is known.
    """

    kernel: str
    line: int
    scope: Scope
    given: dict[str, ast.expr]
    positional: int
    options: dict[str, ast.expr]
    starred: bool


def find(source: Source) -> Iterator[Launch]:
    kernels = {kernel.name: kernel for kernel in source.kernels}
    for call, function in within(source):
        name = _launched(source, call)
        if name not in kernels and function is not None:
            # A kernel that is made in the function which launches it.
            name = next(
                (
                    kernel
                    for kernel in kernels
                    if kernels[kernel].within and kernel.endswith(f"{function.name}.{name}")
                ),
                "",
            )
        if name in kernels:
            yield _launch(kernels[name], call, Scope(function))


def callers(source: Source) -> dict[str, list[str]]:
    """By kernel, the kernels that call it."""
    by_caller: dict[str, list[str]] = {}
    names = {each.name for each in source.kernels}
    for kernel in source.kernels:
        for node in ast.walk(kernel.node):
            if isinstance(node, ast.Call):
                called = source.full(node.func)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                # Handed to tl.reduce and its like.
                called = node.id
            else:
                continue
            if (
                called in names
                and called != kernel.name
                and kernel.name not in by_caller.get(called, ())
            ):
                by_caller.setdefault(called, []).append(kernel.name)
    return by_caller


def _launched(source: Source, call: ast.Call) -> str:
    """The kernel that a call launches, by the name that the file has for it; empty where it launches none."""
    func: ast.expr = call.func
    if isinstance(func, ast.Attribute) and func.attr in _METHODS:
        return source.full(func.value)
    if not isinstance(func, ast.Subscript):
        launches = source.full(func).endswith(_LAUNCHER) and len(call.args) > 1
        return source.full(call.args[0]) if launches else ""
    of = func.value
    if isinstance(of, ast.Call) and source.full(of.func) in _WRAPPERS and of.args:
        of = of.args[0]
    name = source.full(of)
    # `self._kernel[grid]` is the class's.
    return name.removeprefix("self.").removeprefix("cls.")


def _launch(kernel: Kernel, call: ast.Call, scope: Scope) -> Launch:
    names = [parameter.name for parameter in kernel.parameters]
    given: dict[str, ast.expr] = {}
    options: dict[str, ast.expr] = {}
    starred, positional = False, 0
    method = not isinstance(call.func, ast.Subscript)
    # A method has the grid as a word, a launcher the kernel and the grid before the arguments.
    by_launcher = method and not (
        isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS
    )
    for place, argument in enumerate(call.args[2:] if by_launcher else call.args):
        if isinstance(argument, ast.Starred):
            starred = True
            break
        if place < len(names):
            given[names[place]] = argument
            positional = place + 1
    for word in call.keywords:
        if word.arg is None:
            starred = True
        elif word.arg in names:
            given[word.arg] = word.value
        elif not (method and word.arg in _OF_METHODS):
            options[word.arg] = word.value
    return Launch(kernel.name, call.lineno, scope, given, positional, options, starred)


def runs(source: Source) -> bool:
    """Whether the file has something that launches a kernel where it is run: a ``__main__``, a test, a benchmark."""
    for node in source.tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            return True
        if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
            if not source.full(node.value.func).startswith(
                ("triton", "torch", "os", "sys", "logging")
            ):
                return True
        if isinstance(node, ast.FunctionDef) and node.name.lower().startswith(("test", "bench")):
            return True
    return False
