"""The fix `dot_accumulator` beside a `dot` that takes more arguments, as fbtriton 3.7.4's does."""

from types import SimpleNamespace

import pytest

pytest.importorskip("triton.language.semantic")


def test_more_arguments_of_a_vendor_are_handed_on(monkeypatch):
    import triton.language as tl
    from triton.language import semantic

    from crosswarp.compat.record import Patches
    from crosswarp.compat.shims import dot_accumulator

    if not hasattr(semantic, "TritonSemantic"):
        pytest.skip("the fix is for releases in which dot is a method")

    def dot(self, lhs, rhs, acc, input_precision, allow_tf32=None, imprecise=None, out_dtype=None, attrs=None,
            two_ctas=False):  # fmt: skip
        return out_dtype, two_ctas

    monkeypatch.setattr(semantic.TritonSemantic, "dot", dot)
    dot_accumulator._fix(Patches())
    operand, sums = SimpleNamespace(dtype=tl.int8), SimpleNamespace(dtype=tl.int32)
    method = semantic.TritonSemantic.dot
    assert method(None, operand, operand, sums, None, None, None, tl.float32, None, True) == (
        tl.int32,
        True,
    )
    assert method(None, operand, operand, None, None, None, None, tl.float32) == (tl.float32, False)
