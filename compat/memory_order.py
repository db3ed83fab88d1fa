"""Whether a loop of a kernel may store above a load, as far as sources show before anything is traced.

In doubt it may. The effects of a call are looked up where the caller's names lead; a call that cannot be resolved
counts as reading and writing.
"""

import ast
import builtins
import functools
import re
from types import ModuleType
from typing import Any, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from .patterns import lazily
from .reachable import reachable, scope_of
from .vendors import as_tritons

STORE, LOAD = "store", "load"
_WORDS = {STORE: lazily(r"store|atomic_"), LOAD: lazily(r"load")}
# One event that reads or writes, or may do both.
_Event = FrozenSet[str]
_NOTHING: _Event = frozenset()
_BOTH: _Event = frozenset((STORE, LOAD))
_LEADS_NOWHERE = object()
# A loop, unless it is unrolled: tl.static_range leaves no loop, and tl.sort consists of it.
_LOOP = lazily(r"^\s*(?:while\b|for\b(?!.*\bstatic_range\())", re.M)
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.unaryop)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def may_store_above_a_load(reached: Iterable[Any]) -> bool:
    """Whether a loop may store above a load, given all that `reachable` finds from a kernel.

    A loop counts if it may remain in the IR. Code that it calls, or unrolls, is part of it.
    """
    functions_and_classes = list(reached)
    functions = [
        item for item in functions_and_classes if isinstance(getattr(item, "src", None), str)
    ]
    if _NOTHING.union(*map(_words_of, functions_and_classes)) != _BOTH:
        return False
    functions = [item for item in functions if _LOOP.search(item.src)]
    # These have methods of any name.
    aggregates = any(
        getattr(item, "__triton_aggregate__", False) is True for item in functions_and_classes
    )
    return any(_Function(item, aggregates).does() for item in functions)


def _words_of(item: Any) -> _Event:
    """The effects of a function: by its source, or of Triton's and Python's own by its name."""
    source = getattr(item, "src", None)
    return _words(source if isinstance(source, str) else str(getattr(item, "__name__", "")))


@functools.lru_cache(maxsize=None)
def _words(text: str) -> _Event:
    return frozenset(kind for kind, pattern in _WORDS.items() if pattern.search(text))


class _Text(NamedTuple):
    """A function's source, read."""

    tree: ast.AST
    # Parameters, and the names it assigns: not names from outside.
    own: FrozenSet[str]
    unrolls: bool


@functools.lru_cache(maxsize=None)
def _read(source: str) -> Optional[_Text]:
    """None where Python cannot read it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
    return _Text(tree, frozenset(own), "unroll" in source)


def _is_static(turns: ast.expr) -> bool:
    return isinstance(turns, ast.Call) and _last_name(turns.func) == "static_range"


def _last_name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


class _Function:
    """One function that Triton compiles."""

    def __init__(self, item: Any, aggregates: bool):
        self._text = _read(item.src)
        self._scope = scope_of(item)
        self._aggregates = aggregates
        self._found = False

    def does(self) -> bool:
        """Whether a loop in it may store above a load."""
        if self._text is None:
            return True
        self._events(self._text.tree, [])
        return self._found

    def _events(self, node: ast.AST, events: List[_Event]) -> None:
        """Add the reads and writes at `node` and below, in the order in which they are traced."""
        if isinstance(node, _LEAVES):
            return
        if isinstance(node, ast.For):
            static, counted = _is_static(node.iter), self._is_range(node.iter)
            # A range does nothing by itself.
            turns = ast.iter_child_nodes(node.iter) if static or counted else [node.iter]
            self._all_events(turns, events)
            self._turns(node.body, events, not static, not counted)
            self._all_events(node.orelse, events)
        elif isinstance(node, ast.While):
            self._turns([node.test, *node.body], events, True, False)
            self._all_events(node.orelse, events)
        elif isinstance(node, _COMPREHENSIONS):
            self._turns(list(ast.iter_child_nodes(node)), events, False, True)
        elif isinstance(node, ast.Call):
            # The arguments come first.
            self._all_events([node.func, *node.args, *node.keywords], events)
            done = self._done_by(node.func)
            if done:
                events.append(done)
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            self._all_events(sorted(ast.iter_child_nodes(node), key=_is_target), events)
        else:
            self._all_events(ast.iter_child_nodes(node), events)

    def _all_events(self, nodes: Iterable[ast.AST], events: List[_Event]) -> None:
        for node in nodes:
            self._events(node, events)

    def _turns(self, body: List[Any], events: List[_Event], is_loop: bool, repeated: bool) -> None:
        """Add the events of a loop's body: once, or twice in a row where it repeats."""
        own: List[_Event] = []
        self._all_events(body, own)
        assert self._text is not None
        if repeated or self._text.unrolls:
            own *= 2
        if is_loop and _stores_above_a_load(own):
            self._found = True
        events += own

    def _is_range(self, turns: ast.expr) -> bool:
        """Whether it is a call of Python's or Triton's range, not of another function of that name."""
        if not isinstance(turns, ast.Call) or _last_name(turns.func) != "range":
            return False
        function = self._lookup(turns.func)
        return function is range or _is_tritons(function) or isinstance(turns.func, ast.Attribute)

    def _lookup(self, node: ast.expr) -> Any:
        """The object that a name, or a name in a module, stands for."""
        assert self._text is not None
        if isinstance(node, ast.Name) and node.id not in self._text.own:
            return self._scope.get(node.id, getattr(builtins, node.id, _LEADS_NOWHERE))
        if isinstance(node, ast.Attribute):
            module = self._lookup(node.value)
            if isinstance(module, ModuleType):
                return getattr(module, node.attr, _LEADS_NOWHERE)
        return _LEADS_NOWHERE

    def _done_by(self, function: ast.expr) -> _Event:
        """The reads and writes of a call of it."""
        named = _words(_last_name(function))
        callee = self._lookup(function)
        if isinstance(getattr(callee, "src", None), str):
            return named | _done_in(callee)
        if _is_tritons(callee) or getattr(callee, "__module__", None) == "builtins":
            return named | _words_of(callee)
        # A tensor's method has the effect of its name; any other may do anything.
        known = isinstance(function, ast.Attribute) and not self._aggregates
        return named if known and (named or _last_name(function) in _tensor_methods()) else _BOTH


def _is_target(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _is_tritons(value: Any) -> bool:
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and as_tritons(module).partition(".")[0] == "triton"


@functools.lru_cache(maxsize=None)
def _tensor_methods() -> FrozenSet[str]:
    import triton.language as tl

    return frozenset(dir(tl.tensor))


def _done_in(function: Any) -> _Event:
    """By the words in all that a function reaches; one that calls its parameters may do both."""
    done: _Event = _NOTHING
    for item in reachable([function]):
        done |= _words_of(item)
        if done == _BOTH or (isinstance(getattr(item, "src", None), str) and _calls_its_own(item)):
            return _BOTH
    return done


def _calls_its_own(item: Any) -> bool:
    """Whether a function may call a parameter, or a value that it has assigned."""
    code = getattr(getattr(item, "fn", None), "__code__", None)
    if code is None:
        return True
    return bool(_calls_of(code.co_varnames + code.co_cellvars).search(item.src))


@functools.lru_cache(maxsize=None)
def _calls_of(names: Tuple[str, ...]) -> "re.Pattern[str]":
    # Not behind a dot, or as the end of a longer name: a method of the same name is another thing.
    return lazily(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names)) or '(?!)'})\s*\(")


def _stores_above_a_load(events: List[_Event]) -> bool:
    stored = False
    for event in events:
        if event == _BOTH or (stored and LOAD in event):
            return True
        stored = stored or STORE in event
    return False
