"""Classify the files of a suite's folder by their text: nothing is imported, so the host may look as well.

A kernel's module sets KERNEL where it is imported. A file that cannot be read, or that sets a misspelt KERNEL, is
reported as such: a run that silently left it out would pass.
"""

import ast
import difflib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, List, Tuple, Union

KERNEL = "KERNEL"
# Upper case names that are nearer to it than this were meant to be it.
_NEAR = 0.75
_HELPER = "begin its name with _ if it is no kernel"


@dataclass(frozen=True)
class Module:
    """One file of a suite's folder.

    Attributes:
        name: of the kernel, which is the file's without ``.py``.
        path: of the file.
        kind: ``kernel``; ``helper``, which is not run; ``syntax``, Python refuses it, as its import in a cell says;
            ``broken``, it cannot be read; ``misspelt``, it sets something like KERNEL and not KERNEL.
        line: where it is broken or misspelt, 0 where that is the file as a whole.
        why: it is not a kernel, in a few words.
    """

    name: str
    path: Path
    kind: str
    line: int = 0
    why: str = ""

    @property
    def place(self) -> str:
        """``suite/softmax.py:12``."""
        return f"{self.path}:{self.line}" if self.line else str(self.path)


def look(folder: Union[str, Path]) -> List[Module]:
    """All Python files of `folder`, by name. Folders in it are not looked into."""
    return [_look_at(path) for path in sorted(Path(folder).glob("*.py"))]


def kernels(looked: List[Module]) -> List[str]:
    """Return the names to import. Broken modules are among them, so that their import shows why they are broken."""
    return [module.name for module in looked if module.kind in ("kernel", "syntax", "broken")]


def _look_at(path: Path) -> Module:
    name = path.stem
    if name.startswith("_"):
        return Module(name, path, "helper", why="its name begins with _")
    if not name.isprintable():
        return Module(name, path, "broken", why=f"its name holds more than text; {_HELPER}")
    if not path.is_file():
        return Module(name, path, "broken", why="no file that can be read")
    try:
        # Warnings about a stranger's code are not ours to print.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except OSError as error:
        return Module(name, path, "broken", why=error.strerror or type(error).__name__)
    except SyntaxError as error:
        return Module(name, path, "syntax", error.lineno or 0, f"SyntaxError: {error.msg}")
    except ValueError as error:
        # Null bytes, of which newer Pythons say SyntaxError.
        return Module(name, path, "syntax", why=f"SyntaxError: {error}")
    except (RecursionError, MemoryError) as error:
        return Module(name, path, "broken", why=f"{type(error).__name__}: {error}")
    names = list(_set_names(tree.body))
    if any(name_set == KERNEL for name_set, _, _ in names):
        return Module(name, path, "kernel")
    for name_set, line, is_kernel in names:
        if is_kernel or _meant(name_set):
            why = f"sets {name_set}, and a kernel's module sets {KERNEL}: rename it, or {_HELPER}"
            return Module(name, path, "misspelt", line, why)
    return Module(name, path, "helper", why=f"it sets no {KERNEL}")


def _meant(name: str) -> bool:
    near = difflib.SequenceMatcher(None, name, KERNEL).ratio() > _NEAR
    return name.isupper() and near


def _set_names(body: List[ast.stmt]) -> Iterator[Tuple[str, int, bool]]:
    """Yield the names that a module's own statements set: name, line, and whether it is set to ``Kernel(...)``."""
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                # Another module's kernel is that module's; only KERNEL itself counts.
                name = alias.asname or alias.name
                if name == KERNEL:
                    yield name, statement.lineno, False
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            if statement.value is None:
                # Told of, and set nowhere.
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        yield node.id, statement.lineno, _makes_kernel(statement.value)
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                yield from _set_names(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", []):
                yield from _set_names(handler.body)


def _makes_kernel(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    called = value.func
    return getattr(called, "attr", getattr(called, "id", "")) in ("Kernel", "kernel_of")


def folders(folder: Union[str, Path]) -> List[str]:
    """The folders in a suite's folder that hold Python files, none of which is looked at."""
    subfolders = []
    for path in sorted(Path(folder).iterdir()):
        if path.is_dir() and path.suffix != ".py" and not path.name.startswith((".", "__")):
            if any(path.glob("*.py")):
                subfolders.append(path.name + os.sep)
    return subfolders
