"""Which tensors hold numbers that nothing computed, and whether the library has read one of them.

A launch that is only compiled writes nothing, and large work of a test's reference is skipped: the outputs of both are
zeros. A library that reads such a number on the host, to size a tensor or to check an argument, takes a path that it
would not take on a GPU; an error there says nothing about it.

PYTEST_DONT_REWRITE
"""

import contextlib
import functools
import sys
from typing import Any, Callable, Iterable, Iterator, Optional, Set

import torch

from crosswarp.compat.record import Patches

from . import judging

# Addresses of storages: those that a launch may write, and those of results computed from them.
_storages: Set[int] = set()
# How many operators this process is inside of; torch does not show a dispatch mode the operators that they call.
_depth = 0
# Whether anything was launched inside the outermost of them.
_launched_inside = False
# Where the library first read one since `forget`.
_read: Optional[str] = None

# Methods of torch.Tensor that pass a number to Python. A dispatch mode sees `item` behind most others, but not these.
_READERS = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__")
# As it is before it is made to notice.
_own_numpy = torch.Tensor.numpy
# Frames of these are not the reader: they act for a caller.
_MACHINERY = ("torch", "numpy", "crosswarp", "triton", "contextlib", "functools")
# Frames beyond these do not read for the test: pytest itself does, to show a tensor.
_ABOVE = ("_pytest", "pytest", "pluggy")
# An error of these kinds may come of a wrong number. A name or a type that is not there never does.
_KINDS = (AssertionError, ValueError, LookupError, ArithmeticError, RuntimeError)


def forget() -> None:
    """Before a test: nothing is uncomputed, nothing was read."""
    global _depth, _launched_inside, _read
    _storages.clear()
    _depth, _launched_inside, _read = 0, False, None


def reading() -> Optional[str]:
    """Where the library read a number that nothing computed, since `forget`; None if it has not."""
    return _read


def explains(error: BaseException) -> bool:
    """Whether `error` may have come of such a number: the library has read one, and it is no word of the compiler."""
    if _read is None or not isinstance(error, _KINDS) or isinstance(error, NotImplementedError):
        return False
    return not judging.of_the_compiler(judging.frames_of(error))


def handed(launch: Any) -> None:
    """Passed to `launching.run_with`: gets a launch that passed the limits, and wrote nothing."""
    global _launched_inside
    _launched_inside = _depth > 0
    mark([argument for argument in launch.arguments if not _is_input(argument)])


def _is_input(argument: Any) -> bool:
    """Whether it is a tensor of integers or truths that are not all the same: lengths, indices, a mask.

    It is not known here which arguments a kernel writes, but its outputs are empty or filled with one value.
    """
    if not isinstance(argument, torch.Tensor) or not _address(argument) or argument.numel() < 2:
        return False
    if argument.is_floating_point() or argument.is_complex():
        return False
    try:
        values = _own_numpy(argument.detach())
    except (RuntimeError, TypeError):
        # A type that numpy lacks.
        return False
    return bool((values != values.flat[0]).any())


def mark(values: Any) -> None:
    """Mark the tensors among `values` as not computed."""
    _storages.update(_addresses(values))


def unmark(values: Any) -> None:
    _storages.difference_update(_addresses(values))


def holds(values: Any) -> bool:
    return bool(_storages) and any(address in _storages for address in _addresses(values))


def _addresses(values: Any) -> Iterator[int]:
    if isinstance(values, torch.Tensor):
        address = _address(values)
        if address:
            yield address
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _addresses(value)
    elif isinstance(values, dict):
        yield from _addresses(list(values.values()))
    elif type(values).__name__ == "TensorDescriptor":
        yield from _addresses(values.base)


def _address(tensor: torch.Tensor) -> int:
    # A FakeTensor and other subclasses have no storage, or override access to it.
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


def follow(operator: Any, run: Callable[[], Any], arguments: Any) -> Any:
    """Return the result of `run`, which executes `operator` on `arguments`; uncomputed arguments mark its results."""
    global _launched_inside
    known = not holds(arguments)
    if not known and _reads(operator):
        _note(str(operator), by_library=torch.Tag.dynamic_output_shape in operator.tags)
    outermost = _depth == 0
    if outermost:
        _launched_inside = False
    with _inside():
        result = run()
    if _launched_inside:
        known = False
        if torch.Tag.dynamic_output_shape in getattr(operator, "tags", ()):
            _note(str(operator), by_library=True)
    (unmark if known else mark)(result)
    return result


def _reads(operator: Any) -> bool:
    tags: Iterable[Any] = getattr(operator, "tags", ())
    return torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def install(patches: Patches) -> None:
    """Note reads of a tensor past any dispatch mode: `tolist`, `numpy`, and everything inside an operator."""
    for name in _READERS:
        patches.set(torch.Tensor, name, _noticing(getattr(torch.Tensor, name), name))


def _noticing(own: Callable, name: str) -> Callable:
    @functools.wraps(own)
    def read(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if _read is None and ((_depth and _launched_inside) or holds(self)):
            _note(f"Tensor.{name}", by_library=False)
        return own(self, *args, **kwargs)

    return read


def _note(what: str, by_library: bool) -> None:
    """Note that `what` read an uncomputed number, if that was `by_library`, or the stack says so."""
    global _read
    if _read is not None:
        return
    frame: Any = sys._getframe(2)
    place = ""
    while frame is not None:
        code, module = frame.f_code, str(frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if package in _ABOVE or judging.is_test_file(code.co_filename):
            break
        if package not in _MACHINERY:
            if judging.compares(code.co_name):
                # A helper that compares does so for the test.
                place = ""
                break
            place = place or f" in {code.co_name} ({module}:{frame.f_lineno})"
        frame = frame.f_back
    if place or by_library:
        _read = f"{what}{place}"
