"""What begins with an underscore belongs to the module that it stands in."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("compat", "kernels", "laboratory", "matrix", "reports")
MODULES = {
    "crosswarp." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
}


def ours(node, module):
    """What an import is from, as a full name; None where it is not ours."""
    parts = module.split(".")
    start = ".".join(parts[: len(parts) - node.level]) if node.level else ""
    name = ".".join(part for part in (start, node.module or "") if part)
    return name if name.split(".")[0] == "crosswarp" else None


def private(name):
    return name.startswith("_") and not name.startswith("__")


def taken(tree, module):
    """Private names of other modules that are imported, or looked up in an imported module."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (source := ours(node, module)):
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                # A module may be for its package alone.
                if whole in MODULES:
                    modules[alias.asname or alias.name] = whole
                elif private(alias.name):
                    yield f"{node.lineno}: {whole}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr):
            if isinstance(node.value, ast.Name) and node.value.id in modules:
                yield f"{node.lineno}: {modules[node.value.id]}.{node.attr}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_private_name_crosses_modules(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        # A relative import counts from the package, so `__init__` keeps its own part.
        module = "crosswarp." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(path.read_text("utf-8"))
        found += [f"{path.relative_to(ROOT)}:{told}" for told in taken(tree, module)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text, seen",
    [
        ("from crosswarp.matrix.facts.columns import _specifier", True),
        ("from .columns import _specifier as specifier", True),
        ("from crosswarp.matrix.facts import columns\ncolumns._specifier('')", True),
        ("def f():\n    from crosswarp.compat import run\n    return run._argv", True),
        ("from crosswarp.matrix.cell.kinds.library_ops import _library", False),
        ("from triton.runtime import _allocation", False),
        ("from crosswarp.matrix.facts.columns import __doc__", False),
        ("from crosswarp.matrix.facts import columns as _columns\n_columns.load()", False),
    ],
)
def test_what_is_found(text, seen):
    assert bool(list(taken(ast.parse(text), "crosswarp.matrix.facts.targets"))) == seen
