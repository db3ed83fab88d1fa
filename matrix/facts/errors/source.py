"""The messages that an installed Triton's Python can say, read from its files without importing them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from crosswarp.matrix import reading

# A longer condition says less than the file does.
_LONGEST = 140


class Said(NamedTuple):
    # With `{}` for inserted text.
    text: str
    # The file, from Triton's folder.
    where: str
    # An expression of Python, or `X is raised`; "" where it always appears.
    condition: str


def messages(package: Path) -> Iterator[Said]:
    """The messages that the package raises, asserts and warns with, in the order of its files."""
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package).as_posix()
        try:
            tree = ast.parse(reading.text(path))
        except (OSError, SyntaxError, UnicodeDecodeError, RecursionError):
            continue
        for text, condition in _walk(tree, ""):
            yield Said(" ".join(text.split()), where, condition)


def _walk(node: ast.AST, condition: str) -> Iterator[tuple[str, str]]:
    """Each text below a node, with the nearest condition around it."""
    if isinstance(node, ast.Assert):
        text = node.msg and _literal(node.msg)
        if text:
            yield text, _short(f"not ({ast.unparse(node.test)})")
        return
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        given = [*node.exc.args, *(keyword.value for keyword in node.exc.keywords)]
        yield from ((text, condition) for argument in given if (text := _literal(argument)))
        return
    if isinstance(node, ast.Call) and _name(node.func) == "warn":
        yield from ((text, condition) for arg in node.args if (text := _literal(arg)))
    if isinstance(node, ast.If):
        test = ast.unparse(node.test)
        for part in node.body:
            yield from _walk(part, _short(test))
        for part in node.orelse:
            yield from _walk(part, _short(f"not ({test})"))
        return
    if isinstance(node, ast.ExceptHandler):
        condition = f"{ast.unparse(node.type)} is raised" if node.type else ""
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        condition = ""
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, condition)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else ""


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _literal(node: ast.AST) -> str:
    """The text of an expression, `{}` where it is computed; "" where it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) or "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _literal(node.left), _literal(node.right)
        return (left or "{}") + (right or "{}") if left or right else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return re.sub("%[sdrif]", "{}", _literal(node.left))
    if isinstance(node, ast.Call) and _name(node.func) == "format":
        return _literal(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    return ""
