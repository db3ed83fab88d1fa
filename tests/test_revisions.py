"""A fix whose code changed has another revision: what users have compiled with the old code is not taken for the new.

`tests/revisions.json` holds, for each fix that may change what a kernel is compiled to, its revision and a digest of
its code and of the modules of compat that it reads IR or writes kernels with: comments, docstrings, messages of the
record and layout do not count. After a change:

    python tests/test_revisions.py --write

which raises no number by itself: where the change makes other code of a kernel, raise `revision` in the fix's record
first. Where it does not (a new name, a faster way to the same answer), the number stays.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from crosswarp import compat
from crosswarp.compat.shims import all_shims

FOLDER = Path(compat.__file__).parent
TABLE = Path(__file__).with_name("revisions.json")
# What every fix meets Triton by makes nothing of a kernel by itself.
_MACHINERY = (
    "acts",
    "copies",
    "errors",
    "features",
    "install",
    "launch",
    "reachable",
    "record",
    "versions",
)
AGAIN = "raise `revision` in its record if kernels become other code, then run: python tests/test_revisions.py --write"


def keyed():
    return [shim for shim in all_shims() if shim.concerns is not None]


def files_of(name: str) -> list[Path]:
    """The file of a fix and those of our own that it imports, wherever in it, machinery apart."""
    left, found = [FOLDER / "shims" / f"{name}.py"], []
    while left:
        path = left.pop()
        if path in found:
            continue
        found.append(path)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = path.parents[node.level - 1]
            parts = (node.module or "").split(".") if node.module else []
            for names in (parts, *([*parts, one.name] for one in node.names)):
                file = base.joinpath(*names).with_suffix(".py") if names else None
                inside = file is not None and file.is_file() and file.parent.name != "seams"
                if inside and file.stem not in _MACHINERY:
                    left.append(file)
    return sorted(found)


def normalised(source: bytes) -> str:
    """The code of a module, without comments, docstrings and its `SHIM` record."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not _is_record(node)]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)] or [ast.Pass()]
    return " ".join(_words(tree))


def _words(node: object) -> Iterator[str]:
    """A tree as words, the same in every Python: what a later one adds is empty here."""
    if isinstance(node, ast.AST):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if value not in (None, []) and name != "ctx":
                yield f"({name}"
                yield from _words(value)
                yield ")"
    elif isinstance(node, list):
        for one in node:
            yield from _words(one)
    else:
        yield repr(node)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_record(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and [getattr(one, "id", "") for one in node.targets] == [
        "SHIM"
    ]


def digest(name: str, change=lambda path, source: source) -> str:
    texts = [normalised(change(path, path.read_bytes())) for path in files_of(name)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def table() -> dict[str, list]:
    return {shim.name: [shim.revision, digest(shim.name)] for shim in keyed()}


def test_a_fix_whose_code_changed_has_another_revision():
    committed = json.loads(TABLE.read_text())
    found = table()
    assert found.keys() == committed.keys(), AGAIN
    changed = [name for name in found if found[name] != committed[name]]
    assert not changed, f"{', '.join(changed)}: {AGAIN}"


def test_every_fix_that_changes_kernels_counts_its_revisions():
    assert [shim.name for shim in keyed() if shim.revision < 1] == []
    assert [shim.name for shim in all_shims() if shim.changes and shim.concerns is None] == []


def test_code_counts_and_words_do_not():
    name = "thread_locality"
    own = digest(name)
    assert any(path.name == "loop_sums.py" for path in files_of(name))
    assert digest(name, lambda path, source: source + b"\n# a comment\n") == own
    assert digest(name, lambda path, source: source.replace(b'"""', b'"""More. ', 1)) == own
    of_reading = digest(
        name, lambda path, source: source + b"\nx = 1\n" if path.name == "loop_sums.py" else source
    )
    assert of_reading != own


if __name__ == "__main__":
    assert sys.argv[1:] == ["--write"], __doc__
    TABLE.write_text(json.dumps(table(), indent=1) + "\n")
