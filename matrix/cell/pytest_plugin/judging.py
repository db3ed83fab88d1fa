"""Is a failed assert about values? Where kernels compute nothing it is noted; everything else stays red.

PYTEST_DONT_REWRITE
"""

import ast
import re
from pathlib import PurePath
from typing import Any, List, NamedTuple, Optional, Sequence

# Of a tensor, and known without computing it. A shape is as real as in a run on the device.
STRUCTURE = frozenset(
    """shape dtype ndim device layout is_cuda is_contiguous requires_grad grad_fn is_leaf size stride dim numel
    element_size itemsize nbytes __name__ __class__""".split()
)
# Functions that say nothing about values of their arguments.
_KINDS = frozenset(("isinstance", "issubclass", "hasattr", "callable"))
# torch.testing and numpy.testing, of tensors that differ in more than values.
_OTHER_THAN_VALUES = re.compile(
    r"attribute '(?:shape|dtype|layout|is_quantized|stride\(\))' do not match|\(shapes .* mismatch\)"
)
# Names of helpers that compare, also in a library's own package: fla.utils.assert_close.
_COMPARES = re.compile(r"assert|close|equal|compar|verif|check|correct|match", re.I)
_COMPILER = ("triton", "crosswarp")
# Ours, but no compiler and no limit: modules that stand in for torch and pass calls on to it.
_TORCH = ("crosswarp.matrix.cell.standins.virtual_torch", "crosswarp.matrix.cell.pytest_plugin")


class Frame(NamedTuple):
    file: str
    function: str
    module: str = ""


def frames_of(error: BaseException) -> List[Frame]:
    """The frames of its traceback, the outermost first."""
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        code, names = traceback.tb_frame.f_code, traceback.tb_frame.f_globals
        frames.append(Frame(code.co_filename, code.co_name, str(names.get("__name__", ""))))
        traceback = traceback.tb_next
    return frames


def about_values(text: str, frames: Sequence[Frame]) -> bool:
    """Whether an AssertionError with this text, raised at the last of `frames`, is about values.

    It is if a test's file, or any function that compares, raises it. Triton's own asserts are not, nor are those of a
    library that refuses its arguments, nor differences in shape or type.
    """
    if _OTHER_THAN_VALUES.search(text) or not frames:
        return False
    deepest = frames[-1]
    if deepest.module.partition(".")[0] in _COMPILER:
        return False
    if is_test_file(deepest.file):
        return True
    called = []
    for frame in reversed(frames):
        if is_test_file(frame.file):
            break
        called.append(frame)
    return any(compares(frame.function) for frame in called)


def compares(function: str) -> bool:
    """Whether a function of this name compares for a test, wherever it lies."""
    return _COMPARES.search(function) is not None


def of_the_compiler(frames: Sequence[Frame]) -> bool:
    """Return whether Triton, or the check of a launch against the target, raised an error with these frames."""
    modules = [frame.module for frame in frames if not frame.module.startswith(_TORCH)]
    return bool(modules) and modules[-1].partition(".")[0] in _COMPILER


def is_test_file(file: str) -> bool:
    """By its name: test_x.py, x_test.py, conftest.py, or a helper in a folder that is called test… or …tests."""
    path = PurePath(file)
    if path.stem == "conftest" or path.stem.startswith("test_") or path.stem.endswith("_test"):
        return True
    folders = path.parts[:-1]
    if "site-packages" in folders or "dist-packages" in folders:
        return False
    return any(folder in ("test", "tests", "testing", "unit_tests") for folder in folders)


def structural(test: ast.expr) -> bool:
    """Return whether an assert needs no values: ``y.shape == (4, 8)``, ``y is None``."""
    if isinstance(test, ast.BoolOp):
        return all(structural(value) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return structural(test.operand)
    if isinstance(test, ast.Call):
        return _called(test) in _KINDS or _head(test) is not None
    if isinstance(test, ast.Compare):
        if all(isinstance(operation, (ast.Is, ast.IsNot)) for operation in test.ops):
            return True
        return any(_head(side) is not None for side in (test.left, *test.comparators))
    return _head(test) is not None


def _head(node: Any) -> Optional[str]:
    """The structural attribute that an expression ends in: of ``x.size(0)``, ``x.shape[0]`` or ``x.dtype``."""
    if isinstance(node, ast.Call) and _called(node) == "len":
        return "len"
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    name = getattr(node, "attr", None)
    return name if name in STRUCTURE else None


def _called(node: ast.Call) -> Optional[str]:
    return getattr(node.func, "id", None)
