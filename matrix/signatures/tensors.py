"""Results of torch: the dtype and the shape that its functions and a tensor's methods return."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crosswarp.matrix.signatures.kinds import BOOL, INT, SHAPE, TENSOR, UNKNOWN, Kind, number, value
from crosswarp.matrix.signatures.source import Scope

# Functions that make a tensor, with torch's default dtype; None: that of the first argument.
MAKERS: Mapping[str, str | None] = {
    **dict.fromkeys(("empty", "zeros", "ones", "rand", "randn", "empty_strided", "normal", "linspace"), "fp32"),
    **dict.fromkeys(("randint", "randperm"), "i64"),
    **dict.fromkeys(
        ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "clone", "relu", "exp",
         "sigmoid", "softmax", "transpose", "flatten", "cat", "stack", "matmul", "abs", "flip"), None,
    ),
    "full": "", "arange": "", "tensor": "", "as_tensor": "",
}  # fmt: skip
# Methods that leave a tensor's dtype as it is, or give it another.
_KEEPS = (
    "contiguous", "clone", "detach", "view", "reshape", "transpose", "permute", "t", "flatten", "squeeze", "unsqueeze",
    "expand", "expand_as", "cuda", "cpu", "requires_grad_", "fill_", "zero_", "normal_", "uniform_", "view_as", "mT",
    "T", "data", "grad", "repeat", "narrow", "select", "chunk", "new_empty", "new_zeros", "new_ones", "new_full",
    "flip", "sum", "mean", "abs", "exp", "neg", "mul", "add", "div", "copy_", "unflatten", "swapaxes", "movedim", "mH",
)  # fmt: skip
# Those of them that keep the shape.
_SHAPED = (
    "contiguous", "clone", "detach", "cuda", "cpu", "requires_grad_", "fill_", "zero_", "normal_",
    "uniform_", "data", "grad", "abs", "exp", "neg",
)  # fmt: skip
_CASTS = {
    "half": "fp16", "bfloat16": "bf16", "float": "fp32", "double": "fp64", "int": "i32", "long": "i64", "bool": "i1",
    "short": "i16", "char": "i8", "byte": "u8",
}  # fmt: skip


class Tensors:
    """Evaluates calls of torch for `Evaluation`, which evaluates their arguments."""

    def kind(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Kind:
        raise NotImplementedError

    def _item(self, of: Kind, index: ast.expr, scope: Scope, depth: int) -> Kind:
        if of.what == "shape":
            return SHAPE if isinstance(index, ast.Slice) else INT
        if of.what == "tensor":
            return replace(of, value=None)
        if of.what == "tuple":
            if isinstance(index, ast.Slice):
                return SHAPE
            at = self.kind(index, scope, depth)
            if (
                at.what == "value"
                and isinstance(at.value, int)
                and -len(of.value) <= at.value < len(of.value)
            ):
                return of.value[at.value]
        return UNKNOWN

    def _made(
        self, node: ast.Call, maker: str, words: Mapping[str, ast.expr], scope: Scope, depth: int
    ) -> Kind:
        first = self.kind(node.args[0], scope, depth) if node.args else UNKNOWN
        if maker in ("cat", "stack") and first.what == "tuple" and first.value:
            first = first.value[0]
        if "dtype" in words:
            kind = self.kind(words["dtype"], scope, depth)
            of = str(kind.value) if kind.what == "dtype" else ""
            sizes = (
                first.value if maker.endswith("_like") else self._sizes(node, maker, scope, depth)
            )
            return Kind("tensor", sizes, of, node.lineno if of else 0, kind.others)
        own = MAKERS[maker]
        if own is None:
            if first.what != "tensor":
                return TENSOR
            return (
                first if maker.endswith("_like") or maker == "clone" else replace(first, value=None)
            )
        if own == "":
            # Made of numbers, whose kind it has.
            given = (
                self.kind(node.args[1], scope, depth)
                if maker == "full" and len(node.args) > 1
                else first
            )
            while given.what == "tuple" and given.value:
                given = given.value[0]
            own = {"int": "i64", "float": "fp32", "bool": "i1"}.get(number(given), "")
        sizes = self._sizes(node, maker, scope, depth)
        return Kind("tensor", sizes, own, node.lineno if own else 0)

    def _sizes(self, node: ast.Call, maker: str, scope: Scope, depth: int) -> Any:
        """The shape that a maker is given, as kinds of its sizes; None where the file does not show all of it."""
        if maker not in ("empty", "zeros", "ones", "rand", "randn", "full"):
            return None
        kinds = [self.kind(arg, scope, depth) for arg in node.args]
        if kinds and kinds[0].what == "tuple":
            kinds = list(kinds[0].value)
        elif maker == "full":
            return None
        return tuple(kinds) if kinds and all(number(kind) == "int" for kind in kinds) else None

    def _method(
        self,
        node: ast.Call,
        func: ast.Attribute,
        words: Mapping[str, ast.expr],
        scope: Scope,
        depth: int,
    ) -> Kind:
        name = func.attr
        if name == "stride":
            return self._stride(node, func, scope, depth) if node.args else SHAPE
        if name == "size":
            whole = shape(self.kind(func.value, scope, depth))
            return self._item(whole, node.args[0], scope, depth) if node.args else whole
        if name in ("numel", "nelement"):
            whole = shape(self.kind(func.value, scope, depth))
            sizes = whole.value if whole.what == "tuple" else ()
            known = sizes and all(size.what == "value" for size in sizes)
            return value(math.prod(size.value for size in sizes), node.lineno) if known else INT
        if name in ("dim", "element_size", "data_ptr", "get_device"):
            return INT
        if name == "item":
            return UNKNOWN
        if name in ("is_contiguous", "is_floating_point"):
            return BOOL
        of = self.kind(func.value, scope, depth)
        if of.what != "tensor" and not (name == "to" or name in _CASTS and not node.args):
            return UNKNOWN
        if name == "to" or "dtype" in words:
            kinds = [
                self.kind(argument, scope, depth) for argument in [*node.args, *words.values()]
            ]
            dtypes = [kind for kind in kinds if kind.what == "dtype"]
            if dtypes:
                return Kind("tensor", of.value, str(dtypes[0].value), node.lineno, dtypes[0].others)
            like = [kind for kind in kinds if kind.what == "tensor"]
            return like[0] if like else of
        if name in _CASTS:
            return Kind("tensor", of.value, _CASTS[name], node.lineno)
        return self._kept(of, name)

    @staticmethod
    def _kept(of: Kind, name: str) -> Kind:
        """Returns the kind of a tensor's attribute, or of a method's result."""
        if of.what != "tensor" or name not in _KEEPS:
            return UNKNOWN
        return of if name in _SHAPED else replace(of, value=None)

    def _stride(self, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Kind:
        """The stride of a tensor as it was made, which is contiguous."""
        whole = shape(self.kind(func.value, scope, depth))
        at = self.kind(node.args[0], scope, depth)
        if whole.what != "tuple" or at.what != "value" or not isinstance(at.value, int):
            return INT
        sizes = whole.value
        if not -len(sizes) <= at.value < len(sizes):
            return INT
        after = sizes[at.value % len(sizes) + 1 :]
        if not all(size.what == "value" for size in after):
            return INT
        return value(math.prod(size.value for size in after), node.lineno)


def shape(of: Kind) -> Kind:
    return Kind("tuple", of.value) if of.what == "tensor" and of.value else SHAPE
