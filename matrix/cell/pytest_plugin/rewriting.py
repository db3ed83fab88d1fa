"""Let a test go on past an assert about values, by pytest's own rewriting of test modules.

Any house helper is covered: an assert statement, and a call for its own sake (``check(y, ref)``), notes an
AssertionError where it may be about values, and raises it where not. An assert about shapes or types is marked.

PYTEST_DONT_REWRITE
"""

import ast
import builtins
from typing import Any, Callable

from crosswarp.compat.record import Patches

from .judging import structural

_NOTE = "__crosswarp_note__"
# Set on an error that no value can change, wherever it is looked at later.
STRUCTURAL = "crosswarp_structural"
_ABOUT_VALUES = f"if not {_NOTE}(__e): raise"
_ABOUT_STRUCTURE = f"__e.{STRUCTURAL} = True; raise"
# Part of the name under which pytest caches rewritten modules: other runs must not use ours.
_CACHE = ".crosswarp2"


class _Noting(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> Any:
        return _caught(node, _ABOUT_STRUCTURE if structural(node.test) else _ABOUT_VALUES)

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        return _caught(node, _ABOUT_VALUES) if isinstance(node.value, ast.Call) else node


def _caught(node: ast.stmt, then: str) -> ast.stmt:
    """``try: node`` ``except AssertionError as e: then``; all on the lines of `node`."""
    text = f"try:\n  pass\nexcept AssertionError as __e:\n  {then}\n"
    wrapped = ast.parse(text).body[0]
    assert isinstance(wrapped, ast.Try)
    for part in ast.walk(wrapped):
        ast.copy_location(part, node)
    wrapped.body = [node]
    return wrapped


def transformed(module: ast.Module) -> ast.Module:
    """`module` with its asserts about values made to note; in place."""
    return ast.fix_missing_locations(_Noting().visit(module))


def install(patches: Patches, note: Callable[[AssertionError], bool]) -> bool:
    """Rewrite the modules that pytest rewrites from here on; return whether this pytest supports it.

    `note` says whether it has noted the error. Where this returns False, a test still ends at its first failing assert.
    """
    import _pytest.assertion.rewrite as rewrite

    own = getattr(rewrite, "rewrite_asserts", None)
    tail = getattr(rewrite, "PYC_TAIL", None)
    if own is None or tail is None:
        return False

    def rewrite_asserts(module: ast.Module, source: bytes, *args: Any, **kwargs: Any) -> None:
        if b"PYTEST_DONT_REWRITE" not in source[:2000]:
            transformed(module)
        own(module, source, *args, **kwargs)

    patches.set(rewrite, "rewrite_asserts", rewrite_asserts)
    patches.set(rewrite, "PYC_TAIL", f"{_CACHE}{tail}")
    patches.set(builtins, _NOTE, note)
    return True
