"""A kernel's module as inductor wrote it, made to stand alone: without torch's heuristics, with a copy of its helpers.

It contains the functions, decorated only by ``triton.jit``, the constants, and the imports of Triton and the helpers.
The helpers are torch's, from the release that wrote the kernel. They are copied at run time into the work folder, and
are never a part of crosswarp.
"""

import ast
import re
import shutil
from pathlib import Path
from typing import Any, List, Set

# Where torch keeps them; before 2.4 in the second.
_HELPERS = (("runtime", "triton_helpers"), ("", "triton_helpers"))
_KEPT = ("triton", "math", "torch", "__future__")
# Imports from Triton that only a decorator used: other releases may lack them, and they are no longer needed.
_LEFT = ("triton.compiler", "triton.backends", "triton.runtime")


class NotAlone(RuntimeError):
    """A kernel's module holds something that cannot be extracted."""


def package_name(torch_version: str) -> str:
    """Returns the package name of a torch's copied helpers: several releases may stand side by side."""
    return f"inductor_helpers_{re.sub('[^0-9a-z]+', '_', torch_version.partition('+')[0].lower())}"


def copy_helpers(inductor: Path, into: Path, package: str) -> List[str]:
    """Copies torch's `triton_helpers` and the modules that it imports beside it; returns the copied names.

    Args:
        inductor: the folder of ``torch._inductor``.

    Raises:
        NotAlone: there are no helpers.
    """
    for folder, name in _HELPERS:
        if (inductor / folder / f"{name}.py").is_file():
            home = inductor / folder
            break
    else:
        msg = f"{inductor}: torch's triton_helpers are not there"
        raise NotAlone(msg)
    to = into / package
    to.mkdir(parents=True, exist_ok=True)
    (to / "__init__.py").write_text("", "utf-8")
    copied: Set[str] = set()
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module in copied or not (home / f"{module}.py").is_file():
            continue
        copied.add(module)
        shutil.copyfile(home / f"{module}.py", to / f"{module}.py")
        waiting += _beside(home / f"{module}.py")
    return sorted(copied)


def _beside(path: Path) -> List[str]:
    """The modules that a module's own statements import from its package."""
    names = []
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names += [node.module] if node.module else [alias.name for alias in node.names]
    return names


def alone(source: str, package: str) -> str:
    """Returns the text of a module that holds the kernel, and imports only Triton and `package`.

    Raises:
        NotAlone: it is not Python, or has no kernel.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        msg = f"the kernel's source is no Python: {error}"
        raise NotAlone(msg) from None
    body: List[Any] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            body += _imported(node, package)
        elif isinstance(node, ast.FunctionDef):
            node.decorator_list = [
                decorator for decorator in node.decorator_list if _is_jit(decorator)
            ]
            body.append(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            body.append(node)
    if not any(isinstance(node, ast.FunctionDef) and node.decorator_list for node in body):
        msg = "the kernel's source has no function below @triton.jit"
        raise NotAlone(msg)
    tree.body = body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _imported(node: Any, package: str) -> List[Any]:
    if isinstance(node, ast.Import):
        names = [alias for alias in node.names if alias.name.split(".")[0] in _KEPT]
        return [ast.Import(names)] if names else []
    module = node.module or ""
    tail = module.rpartition(".")[2]
    if tail in ("triton_helpers", "triton_compat") and module.startswith("torch._inductor"):
        return [ast.ImportFrom(f"{package}.{tail}", node.names, 0)]
    if module in ("torch._inductor.runtime", "torch._inductor"):
        names = [alias for alias in node.names if alias.name in ("triton_helpers", "triton_compat")]
        return [ast.ImportFrom(package, names, 0)] if names else []
    if module.startswith(("torch._", *_LEFT)):
        return []
    return [node] if module.split(".")[0] in _KEPT else []


def _is_jit(node: Any) -> bool:
    return ast.unparse(node) in ("triton.jit", "jit")
