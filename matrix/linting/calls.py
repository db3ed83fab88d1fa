"""The results of calls and imports on one release, and the findings in them."""

from __future__ import annotations

import ast
from typing import Any

from crosswarp.matrix.linting import gluon, python_names, rules, values
from crosswarp.matrix.linting.expressions import Expressions
from crosswarp.matrix.linting.rules import Where
from crosswarp.matrix.linting.values import (
    UNKNOWN,
    Builtin,
    Function,
    Made,
    Module,
    Parameters,
    Ref,
    Text,
)

# Libraries whose queries are understood; those of all others are unknown.
_LIBRARIES = {
    "packaging", "pkg_resources", "inspect", "importlib", "functools", "contextlib", "sys", "typing",
    "typing_extensions", "builtins", "operator", "math",
}  # fmt: skip
_VERSION_OF = ("importlib.metadata.version", "importlib_metadata.version", "metadata.version")
_PARSERS = ("Version", "parse_version", "LooseVersion", "StrictVersion")


class Calls(Expressions):
    def _Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, (str, list, tuple, dict)):
                arguments = self._arguments(node)
                return values.method(owner, node.func.attr, arguments)
            if isinstance(owner, Made):
                return self._method_of(owner, node.func, node)
            function = self.attribute(owner, node.func.attr, node.func)
        else:
            function = self.value(node.func)
        if isinstance(function, Builtin):
            return self._builtin(function.name, node)
        arguments = self._arguments(node)
        if isinstance(function, Function) and not function.kernel and not node.keywords:
            return self.value_of_call(function, arguments)
        self.uncertain += 1
        if (
            function is UNKNOWN
            and self.in_gluon
            and isinstance(node.func, ast.Attribute)
            and owner is UNKNOWN
        ):
            gluon.method(self, node)
        if function is UNKNOWN and _called(node) in _PARSERS and len(arguments) == 1:
            # From any library: it parses a version.
            return values.called("packaging.version.parse", arguments)
        if isinstance(function, Ref):
            rules.arguments(self, node, function.path)
            if function.path in rules.TUNER:
                python_names.hooks(self, node, function.path)
            rules.removed(self, node, function.path)
            gluon.layouts(self, node, function.path)
            if function.path.rpartition(".")[2] == "constexpr" and len(arguments) == 1:
                return arguments[0]
            return gluon.made(function.path)
        if isinstance(function, Function) and isinstance(node.func, ast.Subscript):
            rules.launch(self, node, function)
            python_names.restored(self, node, function)
        return UNKNOWN

    def _method_of(self, owner: Made, function: ast.Attribute, node: ast.Call) -> Any:
        self._arguments(node)
        self.uncertain += 1
        path = gluon.method_of(self, owner, function)
        if not path:
            return UNKNOWN
        rules.arguments(self, node, path)
        return gluon.made(path)

    def _arguments(self, node: ast.Call) -> list[Any]:
        given = [self.value(argument) for argument in node.args]
        for keyword in node.keywords:
            self.value(keyword.value)
        return [*given, *([UNKNOWN] if node.keywords else [])]

    def _builtin(self, name: str, node: ast.Call) -> Any:
        if name.startswith("math.") and self.where is Where.KERNEL:
            python_names.math(self, node, name)
        if name in ("hasattr", "getattr") and len(node.args) >= 2 and not node.keywords:
            return self._has_or_get(name, node)
        arguments = self._arguments(node)
        first = arguments[0] if arguments else UNKNOWN
        if (
            name == "map"
            and isinstance(first, Builtin)
            and isinstance(arguments[-1], (list, tuple))
        ):
            return [values.called(first.name, [element]) for element in arguments[-1]]
        if name == "inspect.signature" and isinstance(first, Ref):
            names = self.api.parameters(self.release, first.path)
            return UNKNOWN if names is None else Parameters(frozenset(names))
        if name in _VERSION_OF and first == "triton":
            return Text(self.release)
        if name in ("importlib.util.find_spec", "importlib.import_module") and isinstance(
            first, str
        ):
            return self._found_spec(name, first, node)
        result = values.called(name, arguments)
        if result is UNKNOWN:
            self.uncertain += 1
        return result

    def _has_or_get(self, name: str, node: ast.Call) -> Any:
        owner, wanted = self.value(node.args[0]), self.value(node.args[1])
        default = self.value(node.args[2]) if len(node.args) > 2 else None
        path = f"{_path_of(owner)}.{wanted}" if isinstance(wanted, str) else ""
        if path and _path_of(owner):
            has = True if wanted == "__version__" else self.api.has(self.release, path)
            if name == "hasattr":
                return UNKNOWN if has is None else has
            if wanted == "__version__":
                return Text(self.release)
            if has is False:
                if len(node.args) > 2:
                    return default
                self.wrong("AttributeError", rules.of_name(path), node, path, "")
            return Ref(path) if has else UNKNOWN
        return UNKNOWN

    def _found_spec(self, name: str, path: str, node: ast.Call) -> Any:
        if path.partition(".")[0] != "triton":
            self.uncertain += 1
            return UNKNOWN
        missing = self.api.missing(self.release, path)
        if missing is None:
            return Ref(path)
        if name.endswith("find_spec"):
            return None
        self.wrong("ModuleNotFoundError", rules.of_name(missing), node, missing, "")
        return UNKNOWN

    # Imports

    def imported(self, path: str, node: ast.AST) -> Any:
        """Returns the result of `import path`."""
        top = path.partition(".")[0]
        if top == "triton":
            missing = self.api.missing(self.release, path)
            if self.api.no_module(self.release, path):
                missing = path
            if missing is not None and (self.api.is_module(missing) or self.api.is_gone(missing)):
                self.wrong("ModuleNotFoundError", rules.of_name(missing), node, missing, "")
                return UNKNOWN
            return Ref(path)
        if top in _LIBRARIES:
            return Builtin(path)
        self.uncertain += 1
        return Module(path) if self.project.has_module(path) else UNKNOWN

    def imported_from(self, path: str, name: str, node: ast.AST) -> Any:
        """Returns the result of `from path import name`."""
        if path.partition(".")[0] == "triton":
            whole = f"{path}.{name}"
            if whole == "triton.__version__":
                return Text(self.release)
            missing = self.api.missing(self.release, whole)
            if self.api.no_module(self.release, path):
                missing = path
            if missing is not None:
                error = "ImportError" if missing == whole else "ModuleNotFoundError"
                if missing == whole and isinstance(node, ast.ImportFrom):
                    # It may stand on a later line than the module does. Python 3.9 does not say where.
                    named = next(alias for alias in node.names if alias.name == name)
                    node = named if getattr(named, "lineno", node.lineno) > node.lineno else node
                self.wrong(error, rules.of_name(missing), node, missing, "")
                return UNKNOWN
            return Ref(whole)
        if path.partition(".")[0] in _LIBRARIES:
            return self._known(Builtin(f"{path}.{name}"))
        self.uncertain += 1
        if self.project.has_module(f"{path}.{name}"):
            return Module(f"{path}.{name}")
        if self.project.has_module(path):
            return self.project.name_in(path, name, self.release)
        return UNKNOWN


def _path_of(owner: Any) -> str:
    if isinstance(owner, Function) and owner.kernel:
        return python_names.class_of(owner)
    return owner.path if isinstance(owner, Ref) else ""


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))
