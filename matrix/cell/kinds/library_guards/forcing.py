"""Invert one version check of a library in place, and note which checks were evaluated.

The library's files are compiled from trees in which only each check's expression is passed through a function. It
notes the value, and returns the opposite for the inverted check. Nothing is written to disk, neither source nor
bytecode, and Triton still reads its kernels from the files themselves.
"""

import ast
import builtins
import importlib.machinery
import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

Span = Tuple[int, int, int, int]
# The unique name under which the files find the function.
_NAME = "__crosswarp_guard__"


class Forcing(MetaPathFinder):
    """The hook. Install it before the library is imported, and fork for each case.

    Args:
        guards: id -> path of its file and span of its expression.
        log: a file that each process of a case appends to.

    Attributes:
        turned: the id of the version check that is inverted; empty for none.
    """

    def __init__(self, guards: Mapping[str, Sequence[Any]], log: str) -> None:
        self.turned = ""
        self._log = log
        self._met: Dict[Tuple[str, bool], None] = {}
        self._spans: Dict[str, Dict[Span, str]] = {}
        for name, (path, span) in guards.items():
            first, column, last, end = span
            self._spans.setdefault(os.path.realpath(path), {})[first, column, last, end] = name

    def install(self) -> None:
        setattr(builtins, _NAME, self.met)
        sys.meta_path.insert(0, self)

    def begin(self, turned: str) -> None:
        """A new case: nothing has been met."""
        self.turned = turned
        self._met.clear()
        open(self._log, "w", encoding="utf-8").close()

    def reached(self) -> Dict[str, List[bool]]:
        """Return, for each version check that was evaluated, its values before inversion, each once."""
        answers: Dict[str, List[bool]] = {}
        with open(self._log, encoding="utf-8", errors="replace") as file:
            for line in file:
                answer, _, name = line.rstrip("\n").partition(" ")
                if answer in ("0", "1") and (answer == "1") not in answers.setdefault(name, []):
                    answers[name].append(answer == "1")
        return answers

    def met(self, name: str, value: Any) -> Any:
        answer = bool(value)
        if (name, answer) not in self._met:
            self._met[name, answer] = None
            # At once and by whichever process: the next statement may end it.
            with open(self._log, "a", encoding="utf-8") as file:
                file.write(f"{int(answer)} {name}\n")
        return not answer if name == self.turned else value

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.has_location or not spec.origin:
            return None
        spans = self._spans.get(os.path.realpath(spec.origin))
        if spans is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        spec.loader = _Loader(name, spec.origin, spans)
        spec.cached = None
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, spans: Dict[Span, str]) -> None:
        super().__init__(name, path)
        self._spans = spans

    def get_code(self, fullname: str) -> Any:
        # Ignores bytecode beside it, whose version checks are not instrumented.
        tree = turnable(ast.parse(self.get_data(self.path), self.path), self._spans)
        return compile(tree, self.path, "exec", dont_inherit=True)


def turnable(tree: ast.Module, spans: Dict[Span, str]) -> ast.Module:
    """Return `tree` with the expressions of `spans` passed through the function."""
    changed: ast.Module = ast.fix_missing_locations(_Through(spans).visit(tree))
    return changed


class _Through(ast.NodeTransformer):
    def __init__(self, spans: Dict[Span, str]) -> None:
        self._left = dict(spans)

    def visit(self, node: ast.AST) -> Any:
        name = self._taken(node)
        inner: Any = self.generic_visit(node)
        if name is None:
            return inner
        function = ast.Name(_NAME, ast.Load())
        call = ast.Call(function, [ast.Constant(name), inner], [])
        return ast.copy_location(call, node)

    def _taken(self, node: ast.AST) -> Optional[str]:
        if not isinstance(node, (ast.Compare, ast.Call, ast.Name, ast.Attribute)):
            return None
        # Each place once: in `a.b` the name and the attribute begin alike and end apart.
        place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        return self._left.pop(place, None)
