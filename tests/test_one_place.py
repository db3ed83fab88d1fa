"""Of the cell side: versions are compared in compat/versions.py, and Triton's generations told apart in features.py."""

import ast
from pathlib import Path

import pytest

from crosswarp.compat.versions import as_planned, numbers, same_public, would_install

ROOT = Path(__file__).parent.parent
CELL_SIDE = [
    path
    for folder in ("compat", "kernels", *(f"matrix/{name}" for name in (
        "cell", "suite", "virtual_gpu", "language_probes", "library_ops")))
    for path in sorted((ROOT / folder).rglob("*.py"))
]  # fmt: skip
# What only some Tritons have, by which their generations are told apart.
FACTS = {
    *("backends", "create_binder", "function_type", "libdevice_path", "make_tensor_descriptor"),
    *("_experimental_make_tensor_descriptor", "constexpr_function", "all_kwargs", "knobs"),
    *("interpreter_semantic",),
}


def compares_versions(tree):
    """Lines that bring in what compares versions, or compare one as it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in (
            "packaging.version",
            "packaging.specifiers",
        ):
            yield node.lineno
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name in ("packaging", "packaging.version", "packaging.specifiers"):
                    yield node.lineno
        elif isinstance(node, ast.Compare):
            inside = [part for one in (node.left, *node.comparators) for part in ast.walk(one)]
            if any(isinstance(part, ast.Attribute) and part.attr in ("__version__", "python_version")
                   for part in inside):  # fmt: skip
                yield node.lineno


def asks_for_generation(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr":
            if getattr(node.args[1], "value", None) in FACTS:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "triton.backends.compiler":
            yield node.lineno


@pytest.mark.parametrize(
    "finds, home",
    [(compares_versions, "compat/versions.py"), (asks_for_generation, "compat/features.py")],
)
def test_in_one_file_only(finds, home):
    found = {
        str(path.relative_to(ROOT)): lines
        for path in CELL_SIDE
        if (lines := list(finds(ast.parse(path.read_text("utf-8")))))
    }
    assert list(found) == [home], found


def test_a_local_part_counts_where_it_was_planned_however_it_is_spelt():
    assert same_public("2.6.0+cpu", "2.6.0")
    assert not same_public("2.6.0", "2.6.0+cpu")
    assert same_public("3.8.0+git1a2b", "3.8.0+git1A2B")
    assert not same_public("3.8.0.dev1", "3.8.0")
    assert as_planned("python", "3.11.7", "3.11") and not as_planned("python", "3.11.7", "3.1")


def test_an_installer_takes_no_nightly_for_its_release():
    from packaging.specifiers import SpecifierSet

    assert would_install(SpecifierSet(">=3.8.0.dev1"), "3.8.0.dev2")
    assert not would_install(SpecifierSet(">=3.8"), "3.8.0.dev2")


def test_numbers_of_tools_are_not_compared_as_text():
    assert numbers("12.10") > numbers("12.8")
