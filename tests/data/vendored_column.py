"""Run in a column by tests/test_real_columns.py: what is wrong bare is right with a vendored copy, also beside others.

Arguments: names of the packages that install, in order.
"""

import importlib
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + at, tl.maximum(tl.load(x_ptr + at), tl.load(y_ptr + at)))


def right():
    """Whether the interpreter's maximum leaves a NaN out, as a GPU's does."""
    x, y, out = torch.full((16,), float("nan")), torch.ones(16), torch.zeros(16)
    kernel[(1,)](x, y, out, 16)
    return bool((out == 1).all())


def attributes():
    import triton.runtime.interpreter as interpreter

    builder = getattr(interpreter, "InterpreterBuilder", interpreter)
    return {**vars(JITFunction), **vars(builder)}


own = attributes()
print("bare", right())
copies = [importlib.import_module(name) for name in sys.argv[1:]]
for each in copies:
    each.install()
    each.install()
    names = [shim.name for shim in each.active()]
    print(each.__name__, right(), len(names), len(names) == len(set(names)))
for each in copies:
    each.uninstall()
print("taken back", attributes() == own, right())
print("crosswarp" in sys.modules)
