"""Versions are compared in compat/versions.py on the cell side and in matrix/versions.py on the host's.

On the cell side Triton's generations are distinguished in compat/features.py. And records are values: only the
listed ones are filled step by step.
"""

import ast
import functools
from pathlib import Path

import pytest

from crosswarp.compat.versions import as_planned, numbers, same_public, would_install
from crosswarp.matrix import versions

ROOT = Path(__file__).parent.parent
CELL_SIDE = [
    path
    for folder in ("compat", "kernels", "laboratory/cell", "matrix/cell")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
HOST_SIDE = [
    path
    for folder in ("laboratory", "matrix", "reports")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path not in CELL_SIDE
]
# What a version is called where it is a text: in columns, issues, libraries and environments.
TEXTS = {"triton", "torch", "fixed_in", "triton_version", "torch_version"}
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
# What only some Tritons have, by which their generations are told apart.
FACTS = {
    *("backends", "create_binder", "function_type", "libdevice_path", "make_tensor_descriptor"),
    *("_experimental_make_tensor_descriptor", "constexpr_function", "all_kwargs", "knobs"),
    *("interpreter_semantic",),
}


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


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


def reads_versions(tree):
    """What the host may do in one place only. The type, for annotations and to sort by, is imported from there."""
    yield from compares_versions(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
            if called in ("Version", "SpecifierSet", "Specifier"):
                yield node.lineno
            # The local part, or what a column has in place of its own.
            elif called in ("partition", "split", "rpartition", "rsplit"):
                if [getattr(one, "value", None) for one in node.args[:1]] == ["+"]:
                    yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            texts = [side for side in sides if isinstance(side, ast.Subscript) and names(side)]
            fields = [side for side in sides if getattr(side, "attr", "") in TEXTS]
            ordered = any(isinstance(operator, ORDER) for operator in node.ops)
            if len(texts) > 1 or (texts and ordered) or len(fields) > 1:
                yield node.lineno


def names(side):
    """Whether it is `versions[...]`, of a record or a side."""
    return getattr(side.value, "attr", "") == "versions"


def places(paths, finds):
    return {
        str(path.relative_to(ROOT)): lines
        for path in paths
        if (lines := list(finds(tree_of(path))))
    }


# Dataclasses that a function fills. All others are frozen, for caches and comparisons share them.
FILLED = {
    "compat/isolate.py": {"Raised", "Outcome", "_HeadAndTail", "Child"},
    "compat/shims/attrs_descriptor.py": {"AttrsDescriptor"},
    "matrix/results/verdict.py": {"Verdict"},
    "matrix/running/ir.py": {"Compiled"},
    "matrix/running/progress.py": {"Expected"},
    "matrix/running/run.py": {"Result"},
    "matrix/running/unchanged.py": {"Taken"},
    "matrix/signatures/source.py": {"Source"},
    "matrix/signatures/uses.py": {"Use"},
    "matrix/work/library_ops.py": {"Verdict"},
    "reports/findings/causes.py": {"Cause"},
    "reports/findings/diff.py": {"Group"},
    "reports/findings/guards.py": {"Answer"},
    "reports/findings/view.py": {"Regression"},
}
VALUES = ("compat/", "matrix/facts/", "matrix/results/", "matrix/running/", "matrix/signatures/", "matrix/work/",
          "matrix/cell/protocol.py", "matrix/cell/starting/", "reports/findings/")  # fmt: skip


def filled(tree):
    """The dataclasses that can be changed."""
    for node in tree.body:
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            if ast.unparse(decorator).partition("(")[0] == "dataclass":
                if "frozen=True" not in ast.unparse(decorator):
                    yield node.name


def test_records_are_values():
    names = {
        home: names
        for path in (*CELL_SIDE, *HOST_SIDE)
        if (home := str(path.relative_to(ROOT))).startswith(VALUES)
        if (names := set(filled(tree_of(path))))
    }
    assert names == FILLED


@pytest.mark.parametrize(
    "paths, finds, home",
    [
        (CELL_SIDE, compares_versions, "compat/versions.py"),
        (CELL_SIDE, asks_for_generation, "compat/features.py"),
        (HOST_SIDE, reads_versions, "matrix/versions.py"),
    ],
)
def test_in_one_file_only(paths, finds, home):
    found = places(paths, finds)
    assert list(found) == [home], found


@pytest.mark.parametrize(
    "text",
    [
        "from packaging.version import Version",
        "import packaging.specifiers",
        "SpecifierSet(window)",
        "versions.Version(text)",
        'text.partition("+")[0]',
        "good.versions[axis] != bad.versions[axis]",
        'record.versions["triton"] > other',
        "column.triton == other.triton",
    ],
)
def test_what_is_found_on_the_host(text):
    assert list(reads_versions(ast.parse(text)))


def test_what_sorts_versions_is_not_found():
    for text in (
        "one.triton < two",
        "from crosswarp.matrix.versions import Version",
        "a.versions == b",
    ):
        assert not list(reads_versions(ast.parse(text)))


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("3.8.0+git1a2b", "3.8.0+git1A2B", True),
        ("3.8.0+git1a2b", "3.8.0+git1a2c", False),
        ("2.6", "2.6.0", True),
        ("3.8.0a0", "3.8.0.alpha0", True),
        ("3.8.0", "3.8.0.dev1", False),
        ("2.6.0+cpu", "2.6.0", False),
        ("built here", "built here", True),
        ("built here", "3.8.0", False),
    ],
)
def test_one_version_however_it_is_spelled(one, other, same):
    assert versions.same(one, other) == versions.same(other, one) == same
    # Where a local part is planned, both sides have the one rule.
    if "+" in other:
        assert same_public(one, other) == same


def test_the_parts_of_a_window():
    assert {(operator, str(edge)) for operator, edge in versions.bounds(">=3.0,!=3.1.*")} == {
        (">=", "3.0"),
        ("!=", "3.1"),
    }
    assert versions.leaves_out(">=3.0,<3.3", versions.exact("3.2.1")) is None
    assert versions.leaves_out(">=3.0", versions.exact("2.3.1")) == (">=", versions.exact("3.0"))
    assert versions.same_window(">=3.0,<3.3", "<3.3,>=3.0")
    assert versions.within("3.9", versions.both(">=3.9", "<3.13"))
    assert not versions.within("3.13", versions.both(">=3.9", "<3.13"))
    assert versions.within(None, "") and not versions.within(None, ">=3.0")


def test_the_order_to_the_letter():
    told = ["3.10.0", None, "3.9.0", "3.9.0.dev1", "3.9.0+git2"]
    assert sorted(told, key=versions.exact) == [None, "3.9.0.dev1", "3.9.0", "3.9.0+git2", "3.10.0"]


def test_the_local_part_goes_and_what_is_no_version_stays():
    assert versions.public("2.6.0+cpu") == "2.6.0"
    assert versions.public("built here") == "built here"


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
