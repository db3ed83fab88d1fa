"""The requirements of a setup.py, read from its text: the lists that it hands to `setup()`. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosswarp.matrix import reading

_DEEPEST = 4
_REQUIREMENTS = re.compile(r"[\w./-]*requirements[\w./-]*\.txt$")


def wishes_in(
    folder: Path, script: ast.AST, wishes: Callable[[Any, str, str], Iterator[Any]]
) -> Iterator[Any]:
    """The requirements in `install_requires` and `extras_require`, where the text has them as plain strings."""
    words = {
        word.arg: word.value
        for node in ast.walk(script)
        if isinstance(node, ast.Call) and _name(node.func) == "setup"
        for word in node.keywords
        if word.arg
    }
    lists = _Lists(folder, script)
    for text in lists.read(words.get("install_requires")) or ():
        yield from wishes([text], "setup.py, install_requires", "")
    for text in lists.read(words.get("tests_require")) or ():
        yield from wishes([text], "setup.py, tests_require", "test")
    extras = lists.resolved(words.get("extras_require"))
    if isinstance(extras, ast.Dict):
        for key, value in zip(extras.keys, extras.values, strict=True):
            if isinstance(key, ast.Constant) and (texts := lists.read(value)):
                extra = str(key.value)
                yield from wishes(texts, f'setup.py, the extra "{extra}"', extra)


def texts_in(script: ast.AST) -> Iterator[str]:
    """Every text in a script; `f"torch=={VERSION}"` with the values of names that are set once to a text."""
    set_to: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(script):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                set_to.setdefault(_name(target), []).append(node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            set_to.setdefault(_name(node.target), []).append(node.value)
    for node in ast.walk(script):
        if isinstance(node, ast.JoinedStr):
            texts = [_text(part, set_to) for part in node.values]
            if None not in texts:
                yield "".join(text for text in texts if text)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _text(part: ast.expr, set_to: Mapping[str, Sequence[ast.expr | None]]) -> str | None:
    """The text of one part of an f-string; None where it is known only when the script runs."""
    if isinstance(part, ast.FormattedValue):
        if not isinstance(part.value, ast.Name) or part.format_spec is not None:
            return None
        values = set_to.get(part.value.id, [])
        if len(values) != 1 or not isinstance(values[0], ast.Constant):
            return None
        part = values[0]
    return str(part.value) if isinstance(part, ast.Constant) else None


class _Lists:
    def __init__(self, folder: Path, script: ast.AST) -> None:
        self._folder = folder
        self._set: dict[str, list[ast.expr]] = {}
        self._changed: set[str] = set()
        self._functions: dict[str, ast.FunctionDef] = {}
        for node in ast.walk(script):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._set.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._changed.add(node.target.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in ("append", "extend", "insert", "remove"):
                    self._changed.add(_name(node.func.value))
            elif isinstance(node, ast.FunctionDef):
                self._functions[node.name] = node

    def resolved(self, node: ast.expr | None, depth: int = 0) -> ast.expr | None:
        """The value of an expression, through names that are set only once."""
        while isinstance(node, ast.Name) and depth < _DEEPEST:
            values = self._set.get(node.id, [])
            node = values[0] if len(values) == 1 and node.id not in self._changed else None
            depth += 1
        return node

    def read(self, node: ast.expr | None, depth: int = 0) -> list[str] | None:
        """The texts of a list; None where the text does not say it outright."""
        node = self.resolved(node, depth)
        if depth > _DEEPEST or node is None:
            return None
        if isinstance(node, (ast.List, ast.Tuple)):
            if not all(isinstance(element, ast.Constant) for element in node.elts):
                return None
            return [
                str(element.value) for element in node.elts if isinstance(element, ast.Constant)
            ]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [self.read(operand, depth + 1) for operand in (node.left, node.right)]
            return None if None in parts else [text for part in parts for text in part or ()]
        # open("requirements.txt").read().splitlines(), or a function that does so.
        names = _files_in(node)
        if isinstance(node, (ast.Call, ast.ListComp)) and not names:
            called = node.func if isinstance(node, ast.Call) else node
            function = self._functions.get(_name(called))
            names = _files_in(function) if function is not None else []
        if len(names) == 1 and isinstance(node, (ast.Call, ast.ListComp)):
            return self._lines(names[0])
        return None

    def _lines(self, name: str) -> list[str] | None:
        try:
            text = reading.text(self._folder / name)
        except (OSError, UnicodeDecodeError, ValueError):
            return None
        return [line.partition("#")[0].strip() for line in text.splitlines()]


def _files_in(node: ast.AST) -> list[str]:
    return list(
        dict.fromkeys(
            child.value
            for child in ast.walk(node)
            if isinstance(child, ast.Constant)
            and isinstance(child.value, str)
            and _REQUIREMENTS.match(child.value)
            and not Path(child.value).is_absolute()
            and ".." not in Path(child.value).parts
        )
    )


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))
