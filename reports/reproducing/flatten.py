"""Python modules as the text of one file: only the parts that are needed, under names that do not collide.

It reads and imports nothing. A top-level statement is included when it binds a needed name, with the comments above it.
`from module import name` is followed if the module's source is there; every other import is copied.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

# The source of a module by its dotted name, or None where it is to stay an import.
Find = Callable[[str], str | None]
# The meaning of a name: a definition of a module, or an import that stays.
Meaning = tuple[str, str]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class _Module:
    name: str
    source: str
    tree: ast.Module
    # The binding of a name: statements, or for an import that is followed the name in another module.
    binds: dict[str, list[ast.stmt] | Meaning] = field(default_factory=dict)
    # Names that imports which stay bind, with the imports of that name alone: `import a` and `import a.b` are two.
    imports: dict[str, list[str]] = field(default_factory=dict)
    copied: set[ast.stmt] = field(default_factory=set)
    used_imports: set[str] = field(default_factory=set)


def flatten(
    roots: Mapping[str, Iterable[str]], find: Find, there: Mapping[str, str] = {}, reserved: Iterable[str] = ()
) -> str:  # fmt: skip
    """Returns one text that binds the names in `roots` of each module; the last module's names stay unchanged.

    `there`: imports already at the top of the file, by the name that they bind. `reserved`: names that the rest of the
    file uses. Raises SyntaxError for a source that cannot be parsed and LookupError for a name that is not bound.
    """
    modules: dict[str, _Module] = {}
    for name, wanted in roots.items():
        for wish in wanted:
            _take(modules, find, name, wish)
    order: list[str] = []
    for name in roots:
        _after_its_needs(modules, order, name, set())
    renamed = _renamed(modules, order, there, reserved)
    parts, seen = [], {(text, name) for name, text in there.items()}
    for name in order:
        module = modules[name]
        blocks = list(_blocks(module, renamed, modules, seen))
        text = "".join(_spaced(blocks))
        if text:
            parts.append(f"# from {name.replace('.', '/')}.py\n{text}")
    return "\n\n\n".join(parts)


def names(source: str) -> list[str]:
    """All that a module binds at its top level, by imports as well. Raises SyntaxError."""
    module = _read("", source, lambda name: None)
    return [*module.imports, *module.binds]


def _after_its_needs(
    modules: Mapping[str, _Module], order: list[str], name: str, passed: set[str]
) -> None:
    passed.add(name)
    for bound in modules[name].binds.values():
        if isinstance(bound, tuple) and bound[0] in modules and bound[0] not in passed:
            _after_its_needs(modules, order, bound[0], passed)
    if name not in order:
        order.append(name)


def _take(modules: dict[str, _Module], find: Find, name: str, wanted: str) -> None:
    """Mark all that `wanted` of a module needs."""
    module = modules.get(name)
    if module is None:
        source = find(name)
        if source is None:
            raise LookupError(f"the source of {name} is not here")
        module = modules[name] = _read(name, source, find)
        for statement in module.tree.body:
            # The rest may rely on a statement that runs for its effect.
            if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
                _take_statement(modules, find, module, statement)
    bound = module.binds.get(wanted)
    if bound is None:
        if wanted in module.imports:
            module.used_imports.add(wanted)
        elif not hasattr(builtins, wanted) and wanted not in ("__name__", "__file__"):
            raise LookupError(f"{name} binds no {wanted}")
    elif isinstance(bound, tuple):
        _take(modules, find, *bound)
    else:
        for statement in bound:
            if statement not in module.copied:
                _take_statement(modules, find, module, statement)


def _take_statement(
    modules: dict[str, _Module], find: Find, module: _Module, statement: ast.stmt
) -> None:  # fmt: skip
    module.copied.add(statement)
    for used in dict.fromkeys(node.id for node in _globals(statement)):
        # Python complains of a name that nothing binds at the top level, as it did before.
        if used in module.binds or used in module.imports:
            _take(modules, find, module.name, used)


def _read(name: str, source: str, find: Find) -> _Module:
    module = _Module(name, source, ast.parse(source))
    for statement in module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            _read_import(module, statement, find)
            continue
        for bound in _bound_by(statement):
            others = module.binds.get(bound)
            # A later statement may need an earlier binding of the name.
            module.binds[bound] = [*(others if isinstance(others, list) else ()), statement]
    return module


def _read_import(module: _Module, statement: ast.Import | ast.ImportFrom, find: Find) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            bound = alias.asname or alias.name.partition(".")[0]
            module.imports.setdefault(bound, []).append(f"import {ast.unparse(alias)}")
        return
    source = statement.module or ""
    if statement.level:
        package = module.name.split(".")[: -statement.level]
        source = ".".join([*package, *filter(None, [source])])
    followed = find(source) is not None
    for alias in statement.names:
        bound = alias.asname or alias.name
        if alias.name == "*":
            # Its names are not known here, so it is always copied.
            bound = f"* of {source}"
            module.used_imports.add(bound)
            module.imports[bound] = [f"from {source} import *"]
        elif followed:
            module.binds[bound] = (source, alias.name)
        else:
            module.imports[bound] = [f"from {source} import {ast.unparse(alias)}"]


def _renamed(
    modules: Mapping[str, _Module], order: list[str], there: Mapping[str, str], reserved: Iterable[str]
) -> dict[tuple[str, str], str]:  # fmt: skip
    """The name in the file of each name of each module; the last module chooses first."""
    held: dict[str, Meaning] = {name: ("", text) for name, text in there.items()}
    held |= {name: ("", "") for name in reserved}
    final: dict[Meaning, str] = {}
    for name in reversed(order):
        module = modules[name]
        own = [
            bound
            for statement in module.tree.body
            if statement in module.copied
            for bound in _bound_by(statement)
        ]
        for bound in [*own, *sorted(module.used_imports)]:
            meaning = (name, bound)
            if bound in module.used_imports:
                # `import a.b` binds a, as `import a` does.
                first = module.imports[bound][0]
                plain = first.startswith("import ") and " as " not in first
                meaning = ("", f"import {bound}" if plain else first)
            chosen = bound
            while held.setdefault(chosen, meaning) != meaning:
                chosen = f"{name.rpartition('.')[2]}_{chosen}"
            final[name, bound] = chosen
            final.setdefault(meaning, chosen)
    return final


def _blocks(
    module: _Module, renamed: Mapping[tuple[str, str], str], modules: Mapping[str, _Module], seen: set[tuple[str, str]]
) -> Iterator[str]:  # fmt: skip
    imports = []
    for bound in module.imports:
        if bound in module.used_imports:
            name = renamed[module.name, bound]
            for text in module.imports[bound]:
                if (text, name) not in seen:
                    seen.add((text, name))
                    imports.append(
                        text if name == bound else f"{text.partition(' as ')[0]} as {name}"
                    )
    if imports:
        yield "\n".join(imports)
    names = {
        bound: _final(modules, renamed, module.name, bound)
        for bound in [*module.binds, *module.used_imports]
    }
    names = {bound: name for bound, name in names.items() if name not in (None, bound)}
    lines = module.source.splitlines(keepends=True)
    end = 0
    for statement in module.tree.body:
        first, last = _lines(statement, lines)
        if statement in module.copied and last > end:
            edits = list(_edits(statement, names, lines)) if names else []
            yield _text(lines, first, last, edits).rstrip("\n")
            end = last


def _spaced(blocks: list[str]) -> Iterator[str]:
    """Puts two blank lines around blocks of several lines, and none between single lines."""
    for number, block in enumerate(blocks):
        if number:
            yield "\n\n\n" if "\n" in block or "\n" in blocks[number - 1] else "\n"
        yield block


def _final(
    modules: Mapping[str, _Module], renamed: Mapping[tuple[str, str], str], name: str, bound: str
) -> str | None:  # fmt: skip
    """Returns the name that a module has for `bound` in the file, through the imports that were followed."""
    while isinstance(meaning := modules[name].binds.get(bound), tuple) and meaning[0] in modules:
        name, bound = meaning
    return renamed.get((name, bound))


def _edits(
    statement: ast.stmt, names: Mapping[str, str | None], lines: list[str]
) -> Iterator[tuple[int, int, int, str]]:
    """`(line, column, length, new)` for each place that has to say another name."""
    for node in _globals(statement):
        if new := names.get(node.id):
            column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
            yield node.lineno, column, len(node.id), new
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if new := names.get(statement.name):
            match = re.search(
                rf"\b(?:def|class)\s+({statement.name})\b", lines[statement.lineno - 1]
            )
            if match:
                yield statement.lineno, match.start(1), len(statement.name), new


def _text(lines: list[str], first: int, last: int, edits: list[tuple[int, int, int, str]]) -> str:
    changed = {number: lines[number - 1] for number in range(first, last + 1)}
    for number, column, length, new in sorted(set(edits), reverse=True):
        line = changed[number]
        changed[number] = line[:column] + new + line[column + length :]
    return "".join(changed.values())


def _lines(statement: ast.stmt, lines: list[str]) -> tuple[int, int]:
    """The first and the last line, from the comments above on."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    return first, statement.end_lineno or statement.lineno


def _bound_by(statement: ast.stmt) -> list[str]:
    """The names that a top-level statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return []
    return list(dict.fromkeys(_stored(statement)))


def _stored(node: ast.AST) -> Iterator[str]:
    """Yields the names bound in this scope, not in functions and comprehensions inside it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    if isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _stored(child)


def _globals(node: ast.AST, local: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """The places in a statement that name something of the module."""
    if isinstance(node, ast.Name):
        if node.id not in local:
            yield node
        return
    inner = local
    if isinstance(node, _FUNCTIONS):
        outside = [
            *getattr(node, "decorator_list", []),
            *node.args.defaults,
            *filter(None, node.args.kw_defaults),
        ]
        arguments = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        outside += [a.annotation for a in arguments if a.annotation]
        if getattr(node, "returns", None):
            outside.append(node.returns)  # type: ignore[union-attr]
        for part in outside:
            yield from _globals(part, local)
        body = node.body if isinstance(node.body, list) else [node.body]
        declared = {
            n
            for statement in ast.walk(node)
            if isinstance(statement, ast.Global)
            for n in statement.names
        }
        bound = {a.arg for a in arguments} | {
            name for statement in body for name in _stored(statement)
        }
        for part in body:
            yield from _globals(part, local | (bound - declared))
        return
    if isinstance(node, ast.ClassDef):
        for part in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            yield from _globals(part, local)
        bound = {name for statement in node.body for name in _stored(statement)}
        for part in node.body:
            # Methods do not see the names of a class body.
            hidden = local if isinstance(part, _FUNCTIONS) else local | bound
            yield from _globals(part, hidden)
        return
    if isinstance(node, _COMPREHENSIONS):
        inner = local | {
            name for generator in node.generators for name in _stored(generator.target)
        }
    for child in ast.iter_child_nodes(node):
        yield from _globals(child, inner)
