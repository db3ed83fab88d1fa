"""The fix `dot_accumulator` beside a `dot` that takes more arguments, as fbtriton 3.7.4's does."""

from types import SimpleNamespace

import pytest

# `dot` is a method from 3.5 on.
pytestmark = pytest.mark.triton(">=3.5")


def _products():
    """The results of the fixed `dot` with an accumulator of int32, and without one."""
    import triton.language as tl
    from triton.language import semantic

    from crosswarp.compat.record import Patches
    from crosswarp.compat.shims import dot_accumulator

    def dot(self, lhs, rhs, acc, input_precision, allow_tf32=None, imprecise=None, out_dtype=None, attrs=None,
            two_ctas=False):  # fmt: skip
        return out_dtype, two_ctas

    semantic.TritonSemantic.dot = dot
    dot_accumulator._fix(Patches())
    operand, sums = SimpleNamespace(dtype=tl.int8), SimpleNamespace(dtype=tl.int32)
    method = semantic.TritonSemantic.dot
    into = method(None, operand, operand, sums, None, None, None, tl.float32, None, True)
    alone = method(None, operand, operand, None, None, None, None, tl.float32)
    return [(str(kind), pair) for kind, pair in (into, alone)]


def test_more_arguments_of_a_vendor_are_handed_on(in_fork):
    assert in_fork(_products) == [("int32", True), ("fp32", False)]
