"""The kernels of a file, however they are written: decorated, made by a call of ``triton.jit``, or in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from crosswarp.matrix.signatures import source as text
from crosswarp.matrix.signatures.source import Function, Kernel, Parameter, Source, statements

# From triton.jit downwards: the decorators that compile a function.
_JIT = (
    "triton.jit",
    "triton.runtime.jit.jit",
    "triton.experimental.gluon.jit",
    "gluon.jit",
    "triton.JITFunction",
    "triton.runtime.jit.JITFunction",
)
_TUNERS = {
    "triton.autotune": "autotune",
    "triton.runtime.autotuner.autotune": "autotune",
    "triton.heuristics": "heuristics",
    "triton.runtime.autotuner.heuristics": "heuristics",
}


def read(path: Path) -> Source:
    """A file with its kernels and functions. Raises UsageError where it is no Python of ours to read."""
    source = text.parse(path)
    makers = _makers(source)
    _walk(source, source.tree.body, "", "", makers)
    _called(source, makers)
    return source


def _makers(source: Source) -> set[str]:
    """The names under which the file has triton.jit: another name, a partial, a function that returns its call."""
    made = set(_JIT)
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            value = node.value
            partial = (
                isinstance(value, ast.Call)
                and source.full(value.func).endswith("partial")
                and value.args
            )
            named = partial and source.full(value.args[0]) in made  # type: ignore[attr-defined]
            if (
                named
                or source.full(value) in made
                or isinstance(value, ast.Call)
                and not value.args
                and (source.full(value.func) in made)
            ):
                made.add(node.targets[0].id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            returned = (
                child.value
                for child in ast.walk(node)
                if isinstance(child, ast.Return) and child.value is not None
            )
            own = {arg.arg for arg in node.args.args}
            if any(_jits(source, value, made) & own for value in returned):
                made.add(node.name)
    return made


def _jits(source: Source, node: ast.expr, makers: set[str]) -> set[str]:
    """The names of functions that an expression hands to triton.jit, through tuners and other calls around it."""
    if not isinstance(node, ast.Call):
        return set()
    func = node.func
    of = func.func if isinstance(func, ast.Call) else func
    if source.full(of) in makers:
        given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "fn")]
        return {name.id for name in given if isinstance(name, ast.Name)}
    return set().union(*(_jits(source, arg, makers) for arg in node.args)) if node.args else set()


def _walk(
    source: Source, body: Sequence[ast.stmt], prefix: str, within: str, makers: set[str]
) -> None:
    for statement, _ in statements(body):
        if isinstance(statement, ast.ClassDef):
            _walk(source, statement.body, f"{prefix}{statement.name}.", within, makers)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if _is_jitted(source, statement, makers):
                _add(
                    source,
                    kernel(
                        source,
                        f"{prefix}{statement.name}",
                        statement,
                        statement.decorator_list,
                        within,
                    ),
                )
                continue
            source.functions[f"{prefix}{statement.name}"] = statement
            _walk(
                source,
                statement.body,
                f"{prefix}{statement.name}.",
                within or statement.name,
                makers,
            )


def _add(source: Source, made: Kernel) -> None:
    # Of several kernels of one name, the module has the last.
    source.kernels = [other for other in source.kernels if other.name != made.name]
    source.kernels.append(made)


def _called(source: Source, makers: set[str]) -> None:
    """``f = triton.jit(g)``, with tuners around it."""
    for statement, _ in statements(source.tree.body):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            continue
        for name in _jits(source, statement.value, makers):
            function = source.functions.get(name)
            if function is not None:
                _add(
                    source,
                    kernel(source, target.id, function, list(_wrapping(statement.value)), ""),
                )
    source.kernels.sort(key=lambda made: made.line)


def _wrapping(node: ast.expr) -> Iterator[ast.expr]:
    """Yields the calls around a function: ``a(1)`` for ``a(1)(jit(g))``."""
    while isinstance(node, ast.Call):
        yield node.func
        node = node.args[0] if node.args else node.func


def _is_jitted(source: Source, node: Function, makers: set[str]) -> bool:
    for decorator in node.decorator_list:
        names = {
            source.full(child)
            for child in ast.walk(decorator)
            if isinstance(child, (ast.Name, ast.Attribute))
        }
        if names & makers:
            return True
        if any(name.lower().endswith("jit") for name in names) and _speaks(source, node):
            return True
    return False


def _speaks(source: Source, node: Function) -> bool:
    """Whether a function is in Triton's language: one below another library's ``jit`` is not."""
    return any(
        source.full(child).startswith(("tl.", "triton.language.", "triton.experimental.gluon."))
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute)
    )


def kernel(
    source: Source, name: str, node: Function, decorators: Sequence[ast.expr], within: str
) -> Kernel:
    tuned: set[str] = set()
    tunes, written = [], True
    for decorator in decorators:
        tuner = _TUNERS.get(
            source.full(decorator.func if isinstance(decorator, ast.Call) else decorator), ""
        )
        if not tuner or not isinstance(decorator, ast.Call):
            # An unknown decorator may pass any argument.
            continue
        tunes.append(tuner)
        values = (
            _configs(source, decorator) if tuner == "autotune" else _heuristics(source, decorator)
        )
        written = written and values is not None
        tuned |= values or set()
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(every) - len(arguments.defaults)), *arguments.defaults]
    parameters = [
        Parameter(
            argument.arg, _is_constexpr(source, argument.annotation), default, argument.annotation
        )
        for argument, default in [
            *zip(every, defaults),
            *zip(arguments.kwonlyargs, arguments.kw_defaults),
        ]
    ]
    return Kernel(name, node, tuple(parameters), within, frozenset(tuned), tuple(tunes), written)


def _is_constexpr(source: Source, annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2] == "constexpr"
    if isinstance(annotation, ast.Subscript):
        return _is_constexpr(source, annotation.value)
    return annotation is not None and source.full(annotation).rpartition(".")[2] == "constexpr"


def _configs(source: Source, call: ast.Call) -> set[str] | None:
    """The names that all configurations give, where they are written out; None where they are computed."""
    given = [word.value for word in call.keywords if word.arg == "configs"] + call.args[:1]
    return _names(source, given[0], 0) if given else None


def _names(source: Source, node: ast.expr, depth: int) -> set[str] | None:
    if depth > 8:
        return None
    if isinstance(node, ast.Name):
        values = [
            statement.value
            for statement, _ in statements(source.tree.body)
            if isinstance(statement, ast.Assign)
            and any(
                isinstance(target, ast.Name) and target.id == node.id
                for target in statement.targets
            )
        ]
        return _names(source, values[-1], depth + 1) if values else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _all([_names(source, node.left, depth + 1), _names(source, node.right, depth + 1)])
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        function = source.functions.get(source.full(node.func))
        returned = [
            child.value
            for child in ast.walk(function or node)
            if isinstance(child, ast.Return) and child.value is not None
        ]
        written = [value for value in returned if isinstance(value, (ast.List, ast.ListComp))]
        return _all([_names(source, value, depth + 1) for value in written]) if written else None
    # A comprehension over numbers is written out as far as the names go.
    if isinstance(node, ast.ListComp):
        configs = [node.elt]
    elif isinstance(node, (ast.List, ast.Tuple)):
        configs = node.elts
    else:
        return None
    names: list[set[str] | None] = []
    for config in configs:
        if not isinstance(config, ast.Call) or not source.full(config.func).endswith("Config"):
            return None
        given = [word.value for word in config.keywords if word.arg == "kwargs"] + config.args[:1]
        names.append(_keys(given[0]) if given else None)
    return _all(names)


def _all(names: Sequence[set[str] | None]) -> set[str] | None:
    known = [name for name in names if name is not None]
    if len(known) < len(names):
        return None
    return set.intersection(*known) if known else set()


def _heuristics(source: Source, call: ast.Call) -> set[str] | None:
    given = [word.value for word in call.keywords if word.arg == "values"] + call.args[:1]
    if given and isinstance(given[0], ast.Name):
        name = given[0].id
        given = [
            statement.value
            for statement, _ in statements(source.tree.body)
            if isinstance(statement, ast.Assign)
            and any(
                isinstance(target, ast.Name) and target.id == name for target in statement.targets
            )
        ][-1:]
    return _keys(given[0]) if given else None


def _keys(node: ast.expr) -> set[str] | None:
    """The keys of a dict that is written out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return (
            None
            if node.args or not all(w.arg for w in node.keywords)
            else {str(w.arg) for w in node.keywords}
        )
    if not isinstance(node, ast.Dict):
        return None
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys):
        return None
    return {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
