"""The kinds of findings: an id for each, and the functions that look for them."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.linting import api as api_module
from crosswarp.matrix.linting import gluon, values
from crosswarp.matrix.linting.values import UNKNOWN, Function, Text


class Where(enum.Enum):
    """The step to which the failing code belongs, and which therefore fails."""

    IMPORT = "import fails"
    DECORATE = "decoration fails"
    KERNEL = "compile fails"
    CALL = "only when called"


# Rule -> its meaning, in a line.
RULES = {
    "language-name": "a name of triton.language that some releases lack",
    "language-argument": "an argument that a function of triton.language does not take in some releases",
    "language-removed": "a function of triton.language that is there and refuses to compile",
    "host-name": "a module or name of Triton's host side that some releases lack",
    "host-argument": "an argument that a function of Triton's host side does not take in some releases",
    "launch-option": "a launch option that some releases do not know",
    "autotune-key": "a tuning key that names what is no argument of the kernel, which some releases refuse",
    "autotune-argument-name": "reset_to_zero or restore_value names what is no argument of the kernel",
    "autotune-hook": "a hook that reads its arguments by place, or by name, which 3.2 turned round",
    "autotune-restored": "what is to be restored or filled with zeros is passed by keyword, which fails before 3.2",
    "plain-global": "a kernel reads a global of its module that is no constexpr",
    "python-function": "a kernel calls a function of Python's math, which some releases refuse",
    "version-string": "versions compared as texts, which is wrong from 3.10 on",
}
# Rule, source file of the node, node, callers, release, where, subject, and more about the subject.
Report = Callable[[str, Any, ast.AST, Sequence[str], str, Where, str, str], None]
# The release from which comparing versions as texts differs from comparing their numbers.
NEXT = "3.10.0"
# Releases that refuse a non-argument's name when they decorate (read off all eleven releases: docs/lint.md).
_REFUSES = ("<3.2", ">=3.9")
TUNER = ("triton.autotune", "triton.runtime.autotune", "triton.runtime.autotuner.autotune")
_HEURISTICS = (
    "triton.heuristics",
    "triton.runtime.heuristics",
    "triton.runtime.autotuner.heuristics",
)
_COMPILES = (
    "triton.jit",
    "triton.runtime.jit",
    "triton.runtime.jit.jit",
    "triton.runtime.JITFunction",
    *gluon.JIT,
)
# Where a probe that fails means that the function is gone: those of others may be too narrow.
_GONE = ("triton.language.make_block_ptr", "triton.language.advance", f"{gluon.LANGUAGE}.*")


def of_name(path: str) -> str:
    """The rule for a name that is not there."""
    return "language-name" if api_module.of_language(path) else "host-name"


def letters(walk: Any, node: ast.Compare, operation: ast.cmpop, left: Any, other: Any) -> None:
    """Two versions compared by their letters."""
    text, against = (left, other) if _spelled(left) else (other, left)
    if not _spelled(text) or not _is_text(against):
        return
    source = ast.unparse(node)[:100]
    if _wrong(operation, left, other):
        walk.noted("version-string", node, source, "wrong already")
    elif text is not UNKNOWN and (later := _later(text, walk.release)) is not None:
        sides = (later, against) if text is left else (against, later)
        if _wrong(operation, *sides):
            walk.noted("version-string", node, source, f"from {NEXT} on")


def _wrong(operation: ast.cmpop, left: Any, other: Any) -> bool:
    """Whether the letters say something else than the numbers."""
    result = values.compared(operation, left, other)
    right = _by_number(operation, left, other)
    return right is not None and result is not UNKNOWN and result != right


def _later(text: Any, release: str) -> Any:
    """The same of the next release whose letters lie."""
    parts = NEXT.split(".")
    if isinstance(text, (list, tuple)):
        return (
            type(text)(parts[: len(text)])
            if list(text) == release.split(".")[: len(text)]
            else None
        )
    if text == release:
        return NEXT
    # One component of the version: known only if it occurs once.
    now = release.split(".")
    return parts[now.index(text)] if now.count(text) == 1 else None


def _spelled(value: Any) -> bool:
    """Whether it is a version, or part of one, as letters."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(text, Text) for text in value)
    return isinstance(value, Text)


def _is_text(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(text, str) for text in value)
    return isinstance(value, str)


def _by_number(operation: ast.cmpop, left: Any, other: Any) -> bool | None:
    texts = [left, other]
    if any(isinstance(text, (list, tuple)) for text in texts):
        texts = [".".join(text) if isinstance(text, (list, tuple)) else text for text in texts]
    numbers = [versions.parse(str(text)) for text in texts]
    if None in numbers:
        return None
    result = values.compared(operation, numbers[0], numbers[1])
    return result if isinstance(result, bool) else None


def arguments(walk: Any, node: ast.Call, path: str) -> None:
    """Compares a call of one of Triton's functions with its parameters."""
    names = walk.api.parameters(walk.release, path)
    if names is None or (not walk.names_checked and walk.api.has(walk.release, path) is not True):
        return
    rule = "language-argument" if api_module.of_language(path) else "host-argument"
    everything = any(name.startswith("**") for name in names)
    for word in node.keywords:
        if word.arg is None or word.arg in names or everything:
            continue
        if walk.api.parameter_somewhere(path, word.arg):
            written = f"{api_module.short(path)}({word.arg}=…)"
            walk.wrong("TypeError", rule, word, f"{path}({word.arg})", written)
    if any(name.startswith("*") and name != "*" for name in names):
        return
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    positional = list(names).index("*") if "*" in names else len(names)
    if len(node.args) > positional and _takes_more(walk.api, path, len(node.args)):
        written = f"{api_module.short(path)} with {len(node.args)} positional arguments"
        walk.wrong("TypeError", rule, node, f"{path}()", written)
        return
    gluon.arguments_left_out(walk, node, path, names)


def _takes_more(api: Any, path: str, count: int) -> bool:
    """Whether some release takes that many, so that the call is meant as written."""
    for release in api.releases:
        names = api.parameters(release, path)
        if names is None:
            continue
        if any(
            name.startswith("*") and not name.startswith("**") and name != "*" for name in names
        ):
            return True
        if (list(names).index("*") if "*" in names else len(names)) >= count:
            return True
    return False


def removed(walk: Any, node: ast.Call, path: str) -> None:
    """Reports a call of a function that only raises, because it was removed."""
    if any(fnmatchcase(path, glob) for glob in _GONE) and walk.api.has(walk.release, path):
        why = walk.api.fails(walk.release, path)
        if why:
            walk.wrong("NotImplementedError", "language-removed", node, path, why)


def launch(walk: Any, node: ast.Call, kernel: Function) -> None:
    """`kernel[grid](…, option=…)`."""
    given = kernel.node.args
    if given.kwarg is not None:
        return
    own = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    options = walk.api.launch_options
    for word in node.keywords:
        if word.arg is None or word.arg in own or word.arg in options[walk.release]:
            continue
        if any(word.arg in known for known in options.values()):
            walk.wrong(
                "KeyError",
                "launch-option",
                word,
                f"launch.{word.arg}",
                f"kernel[grid]({word.arg}=…)",
            )


def tuning(walk: Any, node: ast.FunctionDef, decorators: Sequence[str]) -> None:
    """Names that `autotune` looks up among the arguments of the kernel."""
    if not any(versions.within(walk.release, window) for window in _REFUSES):
        return
    given = node.args
    own = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    for index, (decorator, path) in enumerate(zip(node.decorator_list, decorators, strict=True)):
        if path not in TUNER or not isinstance(decorator, ast.Call):
            continue
        if any(
            below not in (*TUNER, *_HEURISTICS, *_COMPILES) for below in decorators[index + 1 :]
        ):
            # Another decorator is between, and may pass other names.
            continue
        for word, value in _named_arguments(decorator):
            names = walk.value(value)
            if not isinstance(names, (list, tuple)) or not all(
                isinstance(name, str) for name in names
            ):
                continue
            unknown = [name for name in names if name not in own]
            if unknown:
                rule = "autotune-key" if word == "key" else "autotune-argument-name"
                where, walk.where = walk.where, walk_decorates(walk.where)
                try:
                    walk.wrong(
                        "ValueError", rule, value, f"triton.autotune({word})", ", ".join(unknown)
                    )
                finally:
                    walk.where = where


def walk_decorates(where: Where) -> Where:
    return Where.DECORATE if where is Where.IMPORT else where


def _named_arguments(node: ast.Call) -> list[tuple[str, ast.expr]]:
    words = [
        (word.arg, word.value)
        for word in node.keywords
        if word.arg in ("key", "reset_to_zero", "restore_value")
    ]
    if len(node.args) > 1:
        words.append(("key", node.args[1]))
    return [(word, value) for word, value in words if word]
