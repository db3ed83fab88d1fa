"""Import a file that is no suite until its kernels are defined: only inside a forked child.

Many files run a benchmark or a test when they are imported, after their kernels. So the import ends at the first
launch, and its exceptions count only if a kernel is not defined yet.
"""

import ast
import contextlib
import gc
import importlib
import importlib.util
import inspect
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from crosswarp.matrix.cell.plain import attribute, below_decorators, text_of, type_name

from . import absent

_NAME = "crosswarp_check_"
# The kernels that kernel-making functions returned.
_made: List[Any] = []
# The kernels that Triton's decorator refused: unfinished, and kept, so that no other object gets their id.
_refused: List[Any] = []
_MOST_ABSENT = 40
_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


class Launched(BaseException):
    """Raised where a file launches a kernel while it is imported. The file's ``except Exception`` does not catch it."""


def load(check: Dict[str, Any], stop: bool = True) -> Tuple[Any, Optional[BaseException]]:
    """Return the module as far as it was imported, and the error that ended the import; None if it finished.

    With `stop` its import ends where it launches a kernel.

    Raises:
        any exception of the import, if nothing is left of the module.
    """
    undo = _stop_at_launch() if stop else lambda: None
    # Modules beside the file come before installed ones, as when the file itself is run.
    sys.path.insert(0, check["root"])
    # A checkout's own packages, where they are not installed.
    sys.path += check.get("above", ())
    sys.dont_write_bytecode = True
    # A script may read its arguments, or itself, before its kernels.
    sys.argv = [check["file"]]
    names = check.setdefault("absent", [])
    absent.install(names)
    if absent.names_extensions(check["file"]):
        # A build takes minutes, and waits for whoever builds the same.
        absent.without_extensions()
    try:
        module, error = _reached(check, names)
        if absent.builds(error):
            absent.without_extensions()
            sys.modules.pop(check["module"], None)
            module, error = _reached(check, names)
        if names and check["module"] and error is not None and not isinstance(error, Launched):
            if any(find(check, module, name) is None for name in check["kernels"]):
                # Its package stumbles over the stand-ins; perhaps the kernels need nothing of it.
                absent.stand_before(check["module"].partition(".")[0])
                check["alone"] = True
                module, error = _reached(check, names)
        module, error = _past_stumbles(check, names, module, error)
        if isinstance(error, Launched) and any(
            find(check, module, name) is None for name in check["kernels"]
        ):
            # A launch between two kernels, as in a notebook.
            check["past"] = True
            sys.modules.pop(check["module"], None)
            module, error = _reached(check, names)
        if names and any(find(check, module, name) is None for name in check["kernels"]):
            absent.be_true()
            sys.modules.pop(check["module"], None)
            module, error = _loaded(check)
        for name, facts in check["kernels"].items():
            if facts["within"] and find(check, module, name) is None:
                _make(module, name)
        return module, error
    finally:
        undo()


def _reached(check: Dict[str, Any], names: List[str]) -> Tuple[Any, Optional[BaseException]]:
    """The module, with one stand-in more for each thing that its import fails for."""
    module, error = _loaded(check)
    while (name := absent.lacking(error)) and name not in names and len(names) < _MOST_ABSENT:
        absent.grow(names, name)
        # As far as it came it counts as imported.
        sys.modules.pop(check["module"], None)
        module, error = _loaded(check)
    return module, error


def _past_stumbles(
    check: Dict[str, Any], names: List[str], module: Any, error: Optional[BaseException]
) -> Tuple[Any, Optional[BaseException]]:
    """The module, with stand-ins for those that fail in their own code where the file imports them."""
    before: List[str] = []
    while (
        error is not None
        and any(find(check, module, name) is None for name in check["kernels"])
        and (name := _stumbling(error, check["file"], attribute(module, "__package__")))
        and name not in before
    ):
        before.append(name)
        absent.stand_before(name)
        own = name.startswith(absent.PACKAGE) or name.startswith(
            f"{check['module'].split('.')[0]}."
        )
        listed = absent.RELATIVE if own else name.split(".")[0]
        if listed not in names:
            names.append(listed)
        sys.modules.pop(check["module"], None)
        module, error = _reached(check, names)
    return module, error


def _stumbling(error: BaseException, path: str, package: Any) -> str:
    """Return the module whose import, by a statement of the file, ended the file's; '' where something else did.

    A shared library that is not there is no reason for a stand-in: what lacks it works where that is installed.
    """
    if isinstance(error, Launched) or absent.never_replaced(error) or absent.library(error):
        return ""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    with contextlib.suppress(Exception):
        for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and (
                node.lineno <= line <= (node.end_lineno or node.lineno)
            ):
                if isinstance(node, ast.Import):
                    return absent.replaceable(node.names[0].name)
                written = "." * node.level + (node.module or "")
                return absent.replaceable(importlib.util.resolve_name(written, package))
    return ""


def _loaded(check: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
    if check["module"] and not check.get("alone"):
        try:
            return _packaged(check)
        except Exception as error:
            if not absent.lacking(error) and not check["absent"]:
                raise
            return None, error
    return _alone(check)


def kernel(module: Any, name: str) -> Any:
    """The kernel that a module has under a name such as ``Class.kernel``; None where it has not come so far."""
    kernel_or_part = module
    for part in name.split("."):
        kernel_or_part = attribute(kernel_or_part, part)
    return kernel_or_part


def find(check: Dict[str, Any], module: Any, name: str) -> Any:
    """Return a kernel of the file: the module's object with its name, or else triton.jit's result for that function.

    Kernels made in a function have no name in the module, and a foreign decorator may hide the kernel below it.
    """
    named = kernel(module, name)
    if attribute(named, "run") is not None and hasattr(type(named), "__getitem__"):
        return named
    facts = check["kernels"][name]
    unfinished = set(map(id, _refused))
    made = [
        item for item in gc.get_objects() if _is_launchable(item) and id(item) not in unfinished
    ]
    own = [item for item in made if is_of(jit_function(item), check["file"], facts)]
    # The outermost: that which nothing else wraps.
    wrapped = {id(attribute(item, "fn")) for item in own}
    outermost = [item for item in own if id(item) not in wrapped]
    return outermost[-1] if outermost else None


def unbound(check: Dict[str, Any], module: Any) -> Dict[str, str]:
    """Return the names that the file's own lines bind and the module lacks: each with the package it is imported from.

    A package that is not there, or another branch, may be why. A name that is None in place of a package's lacks too.
    Under "*" is a stand-in of which everything is imported.
    """
    packages: Dict[str, str] = {}
    with contextlib.suppress(Exception):
        for node in _lines(ast.parse(Path(check["file"]).read_bytes()).body):
            for name, package in _bound(node, check["absent"]).items():
                packages[name] = package or packages.get(name, "")
    there = attribute(module, "__dict__") or {}
    return {
        name: package
        for name, package in packages.items()
        if name not in there or package and there[name] is None
    }


def _lines(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those in its branches."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            handlers = getattr(node, "handlers", [])
            for part in (node, *handlers):
                for field in ("body", "orelse", "finalbody"):
                    yield from _lines(getattr(part, field, []))


def _bound(node: ast.stmt, names: Sequence[str]) -> Dict[str, str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name: ""}
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {target.id: "" for target in targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.Import):
        return {
            alias.asname or alias.name.split(".")[0]: alias.name.split(".")[0]
            for alias in node.names
            if absent.replaceable(alias.name)
        }
    if not isinstance(node, ast.ImportFrom) or not absent.replaceable(node.module or "."):
        return {}
    package = absent.RELATIVE if node.level else (node.module or "").split(".")[0]
    return {
        alias.asname or alias.name: package
        for alias in node.names
        if alias.name != "*" or any(package == absence.split(".")[0] for absence in names)
    }


def refused(error: Optional[BaseException]) -> Any:
    """Return the kernel that Triton's decorator was making where an import ended; None if it was making none."""
    at = attribute(error, "__traceback__")
    while at is not None:
        own = at.tb_frame.f_locals.get("self")
        if at.tb_frame.f_code.co_name == "__init__" and _is_jit_function(own):
            return own
        at = at.tb_next
    return None


def _is_jit_function(thing: Any) -> bool:
    from triton.runtime.jit import JITFunction

    return issubclass(type(thing), JITFunction)


def _is_launchable(thing: Any) -> bool:
    from triton.runtime.jit import KernelInterface

    return issubclass(type(thing), KernelInterface)


def jit_function(thing: Any) -> Any:
    """Return the function of triton.jit below a kernel's other decorators."""
    from triton.runtime.jit import KernelInterface

    return below_decorators(thing, KernelInterface)


def is_of(made: Any, path: str, facts: Dict[str, Any]) -> bool:
    code = attribute(attribute(made, "fn"), "__code__")
    return (
        code is not None
        and code.co_filename == path
        and code.co_name == facts["function"]
        and facts["first"] <= code.co_firstlineno <= facts["line"]
    )


def _make(module: Any, name: str) -> None:
    """Call the function that makes a kernel, once with integers and once with tensors for parameters without default.

    It ends at its first launch, when its kernel exists; any other exception is ignored.
    """
    import torch

    function = kernel(module, name.rpartition(".")[0])
    if not inspect.isfunction(function):
        return
    required = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    for value in (64, torch.empty(64, 64)):
        with contextlib.suppress(BaseException):
            # Kept, so that the kernels made here are not garbage-collected too early.
            _made.append(function(**{parameter.name: value for parameter in required}))
            return


def ended(error: Optional[BaseException], path: str) -> str:
    """Return in a few words where and why an import ended."""
    line, at = 0, attribute(error, "__traceback__")
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    where = f" at line {line}" if line else ""
    if isinstance(error, Launched):
        return f"its import launches a kernel{where}"
    return f"its import ends{where}: {type_name(error)}: {text_of(error)}"


def _alone(check: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
    name = f"{_NAME}{Path(check['file']).stem}"
    if absent.RELATIVE in check["absent"]:
        # With a package around it, in which its relative imports are looked for.
        name = f"{absent.package(str(Path(check['file']).parent))}.{name}"
    spec = importlib.util.spec_from_file_location(name, check["file"])
    return _executed(name, spec, check, f"{check['file']} cannot be imported")


def _packaged(check: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
    """Its package first, as an import does it; the module itself is kept although its import ends."""
    name = check["module"]
    package, _, last = name.rpartition(".")
    try:
        parent = importlib.import_module(package)
    except Exception as raised:
        if absent.lacking(raised):
            raise
        # The file may need nothing of what its package runs before it.
        check["package"] = f"{package} cannot be imported: {type_name(raised)}: {text_of(raised)}"
        parent = _of_folders(package)
    known = sys.modules.get(name)
    if known is not None:
        return known, None
    module, error = _executed(
        name, importlib.util.find_spec(name), check, f"{name} is not found in {check['root']}"
    )
    if error is None:
        setattr(parent, last, module)
    return module, error


def _of_folders(package: str) -> ModuleType:
    """Make the package and its parents without running their code: empty modules that find those in their folders."""
    parts = package.split(".")
    for level in range(1, len(parts) + 1):
        name = ".".join(parts[:level])
        if name not in sys.modules:
            spec = importlib.util.find_spec(name)
            if spec is None or spec.submodule_search_locations is None:
                raise ImportError(f"{name} is no package")
            made = ModuleType(name)
            made.__path__ = list(spec.submodule_search_locations)
            sys.modules[name] = made
    return sys.modules[package]


def _executed(
    name: str, spec: Optional[ModuleSpec], check: Dict[str, Any], why_not: str
) -> Tuple[Any, Optional[BaseException]]:
    """Return the module and the error that ended its import; its kernels may exist by then."""
    if spec is None or spec.loader is None:
        raise ImportError(why_not)
    module = importlib.util.module_from_spec(spec)
    # Triton reads the source of a kernel through its module.
    sys.modules[name] = module
    try:
        if check.get("past") and spec.origin:
            _execute_past_launches(module, spec.origin)
        elif check.get("cut") and spec.origin:
            _execute_to_kernels(module, spec.origin, check["kernels"])
        else:
            spec.loader.exec_module(module)
    except BaseException as error:
        if (unfinished := refused(error)) is not None:
            _refused.append(unfinished)
        return module, error
    return module, None


def _execute_to_kernels(module: Any, path: str, kernels: Dict[str, Any]) -> None:
    """Run a file to its last kernel, and of the rest only what defines something."""
    last = max(facts["line"] for facts in kernels.values())
    tree = ast.parse(Path(path).read_bytes(), path)
    tree.body = [
        statement
        for statement in tree.body
        if statement.lineno <= last or isinstance(statement, _DEFINING)
    ]
    exec(compile(tree, path, "exec"), vars(module))


def _execute_past_launches(module: Any, path: str) -> None:
    """Run a file without its statements that launch a kernel, and then without those that fail for lack of these."""
    launched = False
    for statement in ast.parse(Path(path).read_bytes(), path).body:
        try:
            exec(compile(ast.Module([statement], []), path, "exec"), vars(module))
        except Launched:
            launched = True
        except Exception:
            if not launched or isinstance(statement, _DEFINING):
                raise


def _stop_at_launch() -> Any:
    from triton.runtime.jit import JITFunction

    own = JITFunction.run

    def run(self, *args, **kwargs):
        raise Launched

    JITFunction.run = run

    def undo() -> None:
        JITFunction.run = own

    return undo
