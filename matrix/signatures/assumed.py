"""Values that a file does not give: a few assumptions, the likeliest first, by names and by uses in the body.

Nothing here comes from the file's author. Each value is marked as assumed, and a cell tries one assumption after the
other. A failure under every one of them is no verdict on the kernel if it looks like one on a type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswarp.matrix.signatures import gluon
from crosswarp.matrix.signatures.signature import CONSTEXPR, NONE, Argument
from crosswarp.matrix.signatures.source import Kernel, Parameter, Source
from crosswarp.matrix.signatures.uses import (
    BASE,
    BITS,
    BLOCK,
    BYTES,
    CALLED,
    DESCRIPTOR,
    DTYPE,
    FLOAT,
    HALVES,
    INDEX,
    LAYOUT,
    LOADED,
    PIECES,
    POINTER,
    SIZE,
    STORED,
    TABLE,
    TESTED,
    TRUTH,
    UNROLLED,
    Use,
    uses,
)

_BOOL = re.compile(
    r"(?i)^(has|is|use|with|enable|do|need|return|store|save|output|apply|allow|even|causal|varlen|transpose|trans|"
    r"reverse|head_?first|initial|final|add|compute|skip|fuse|inplace|in_place)(_|$)|(?<![a-z])causal|_flag$|^(HAS|IS|USE)[A-Z]"
)
_SIZE = re.compile(
    r"(?i)block|blk|tile|(?<!group_)size|_sz$|dim|head|(^|_)(m|n|k|d|v|c|b|t|h|w|s|e)\d?$|chunk|^b[a-z]\d?$|width|"
    r"rank|length|len$|rows|cols|vec|padded|pow2|page|hidden|channels"
)
_SMALL = re.compile(
    r"(?i)^(num|n)_|_num$|group|split|unroll|stages|iters?$|steps|count|topk|top_k|(?<!h)order|depth|grp|world"
)
_FLOAT = re.compile(
    r"(?i)(^|_)(eps|epsilon|scale|alpha|beta\d?|gamma|lr|momentum|decay|wd|p|prob|dropout|temperature|slope|factor|inv|"
    r"theta|softcap|cap|limit|rate|norm|coef|coeff|std|mean|weight_decay|threshold|lambda|lmbda|mu|sigma|tau|min_val|max_val|"
    r"(soft)?max_?scale|sm_scale|clip|step_size|bias_correction\d?|p_drop|scaling|scalar|value|val|base)$"
)
_POINTER = re.compile(r"(?i)ptrs?\d?$|^ptr|_ptr|^p_|pointer")
_INDICES = re.compile(
    r"(?i)ind(ex|ices|ptr)?(_ptr)?s?$|(^|_)idx|(^|_)ids?(_ptr)?$|cu_?seq|_?lens?(_ptr)?$|offsets?(_ptr)?$|block_?tables?|"
    r"slot_?map|perm|labels?(_ptr)?$|target(s|_ptr)?$|count|lock|seed|token"
)
_STRINGS = re.compile(r"(?i)activation|mode|act$|reduction|kind|type$|layout|name")
# Names of several numbers in one.
_SEVERAL = re.compile(r"(?i)(strides|shape|sizes)$")
# Parts of a block, of which each must be large enough for a product of matrices.
_PARTS = re.compile(r"(?i)(block|blk|slice).*factor$")
_WARPS = {"num_warps": 4, "num_stages": 2, "num_ctas": 1}
_DEFAULT_SIZE = 64
# By the most axes of a tensor, where all of that size would be too many elements, or slow to compile.
_SIZES_BY_AXES = {3: 16, 4: 8, 5: 4}
# Where a kernel goes over one axis alone.
_ONE_AXIS = 128
_SMALL_NUMBER = 4
_TWO_AXES = 2
_MOST = 12
_FLOATS = ("fp16", "bf16", "fp32")
_BYTES = "i8"
_TESTED = "it is compared with None"
# Tensors that stay floats beside tensors of bytes.
_SCALE = re.compile(r"(?i)scale|zero")


@dataclass(frozen=True)
class Assumption:
    """A change to the first assumption: sizes, dtype of tensors, flags, and whether unknown scalars change sides.

    With `compared` a constant has the number that the kernel compares it with, although its name is that of a size.
    With `wide` loaded indices are of torch's default type of integers.
    """

    size: int = 0
    dtype: str = ""
    flags: bool = False
    scalars: bool = False
    alone: bool = False
    unset: bool = False
    compared: bool = False
    wide: bool = False


def assumptions(dtype: str, integers: bool = False) -> Iterator[Assumption]:
    """The likeliest first. `dtype`: that of tensors; `integers`: whether a launch or a kernel computes in integers."""
    other = "fp16" if dtype != "fp16" else "fp32"
    yield Assumption()
    if integers:
        yield Assumption(dtype=_BYTES)
    yield Assumption(compared=True)
    yield Assumption(wide=True)
    yield Assumption(dtype=other)
    yield Assumption(size=_DEFAULT_SIZE, alone=True)
    yield Assumption(size=16)
    yield Assumption(scalars=True)
    yield Assumption(flags=True)
    yield Assumption(size=32, dtype=other)
    yield Assumption(unset=True)
    yield Assumption(size=128, dtype="bf16")
    yield Assumption(size=16, dtype=other, flags=True)
    yield Assumption(size=256)
    yield Assumption(size=32, dtype=other, scalars=True)


class Assuming:
    """The assumptions about one kernel's parameters."""

    def __init__(self, source: Source, kernel: Kernel, dtype: str) -> None:
        self._source = source
        self._kernel = kernel
        self._dtype = dtype
        self.uses = uses(source, kernel)
        self._tested = _tested(kernel)
        sized = [
            parameter
            for parameter in kernel.parameters
            if parameter.constexpr and self._is_size(parameter.name)
        ]
        self._size = _SIZES_BY_AXES.get(_axes(kernel), _DEFAULT_SIZE)
        if len(sized) <= 1:
            self._size = _ONE_AXIS
        self._written = _written(source)
        self._gluon = gluon.is_gluon(source, kernel)

    def argument(self, parameter: Parameter, other: Assumption) -> Argument | None:
        """The argument for a parameter; None where nothing sensible can be passed."""
        name = parameter.name
        use = self.uses.get(name, Use())
        if parameter.constexpr:
            given = self._constant(name, use, other)
            if given is None:
                return None
            number = given[0].get("value")
            if use.most is not None and type(number) is int and number > use.most:
                given = {"value": use.most}, "the kernel asserts that it is no larger"
            return Argument(name, CONSTEXPR, value=given[0], origin=given[1], assumed=True)
        return self._typed(name, use, other)

    def element(self, name: str, other: Assumption) -> tuple[str, str]:
        """The type of a pointer's elements, and why."""
        use = self.uses.get(name, Use())
        loaded = {fact[len(LOADED) :] for fact in use.facts if fact.startswith(LOADED)}
        if TABLE in loaded:
            return "i64", "the kernel loads addresses through it"
        if BYTES in loaded or HALVES in loaded:
            return (
                _BYTES if BYTES in loaded else "fp16",
                "inline assembly takes several in one register",
            )
        # No float is shifted; a name that is both an index and a float may be one after the other, and where a branch
        # shifts the values of a tensor that another takes for floats, a constant chooses between them.
        both = FLOAT in loaded
        whole = (
            BITS in loaded
            and not (both and other.scalars)
            or INDEX in loaded
            and (not both or other.scalars)
        )
        if whole:
            return (
                "i64" if other.wide and INDEX in loaded else "i32",
                f"what is loaded through it is {'an index' if INDEX in loaded else 'shifted or masked'}",
            )
        if TRUTH in loaded and not loaded & {FLOAT, SIZE}:
            return "i1", "what is loaded through it is a mask or a condition"
        if FLOAT not in loaded and (STORED in loaded or _INDICES.search(name)):
            return "i32", "integers are stored through it" if STORED in loaded else "its name"
        if other.dtype == _BYTES and _SCALE.search(name):
            return self._dtype, ""
        return other.dtype or self._dtype, ""

    def size(self, other: Assumption) -> int:
        """The size of an axis that the file does not say."""
        return other.size or self._size

    def is_too_small(self, name: str, given: Mapping[str, Any]) -> bool:
        """Whether it is the size of a block, of which none has no elements."""
        size = given.get("value")
        return type(size) is int and size <= 0 and SIZE in self.uses.get(name, Use()).facts

    def is_layout(self, name: str) -> bool:
        return (
            LAYOUT in self.uses.get(name, Use()).facts or self._gluon and "layout" in name.lower()
        )

    def is_descriptor(self, name: str) -> bool:
        """Whether it is a descriptor of Gluon's, which a kernel is passed ready made."""
        facts = self.uses.get(name, Use()).facts
        return self._gluon and DESCRIPTOR in facts and POINTER not in facts

    def is_pointer(self, name: str) -> bool:
        use = self.uses.get(name, Use())
        return bool(use.facts & {POINTER, DESCRIPTOR}) or any(
            fact.startswith(LOADED) for fact in use.facts
        )

    def is_address(self, name: str) -> bool:
        """Whether it is an integer of which the kernel makes an address."""
        return TABLE in self.uses.get(name, Use()).facts

    def is_surely_pointer(self, name: str) -> bool:
        """Whether it is that to which the kernel adds an offset, and no offset that is added to another parameter."""
        facts = self.uses.get(name, Use()).facts
        return BASE in facts and TABLE not in facts and DESCRIPTOR not in facts

    def takes_blocks(self) -> bool:
        """Whether a parameter is a block of elements, which no launch passes: another function calls this one."""
        return any(BLOCK in use.facts for use in self.uses.values())

    def may_be_none(self, name: str) -> bool:
        """Whether the kernel or one of its heuristics compares it with None."""
        return TESTED in self.uses.get(name, Use()).facts or name in self._tested

    def none(self, name: str) -> Argument:
        return Argument(name, NONE, origin=_TESTED, assumed=True)

    def _typed(self, name: str, use: Use, other: Assumption) -> Argument | None:
        if DESCRIPTOR in use.facts and POINTER not in use.facts:
            return None
        if PIECES in use.facts and use.elements or _is_whole(name, use) and use.beside:
            pieces = _pieces(name, use)
            return pieces and Argument(
                name, CONSTEXPR, value=pieces[0], origin=pieces[1], assumed=True
            )
        tested_only = use.facts and use.facts <= {TESTED}
        if tested_only:
            return self.none(name)
        pointer = self.is_pointer(name) or bool(_POINTER.search(name)) and INDEX not in use.facts
        if pointer:
            if other.unset and self.may_be_none(name):
                return self.none(name)
            element, why = self.element(name, other)
            return Argument(
                name,
                f"*{element}",
                "16",
                origin=why or "the kernel loads or stores through it",
                assumed=True,
            )
        if TABLE in use.facts:
            return Argument(
                name, "i64", "16", origin="the kernel makes an address of it", assumed=True
            )
        is_float = (
            FLOAT in use.facts
            and not use.facts & {INDEX, BITS, SIZE}
            or (bool(_FLOAT.search(name)) and not use.facts & {INDEX, BITS, SIZE, POINTER})
        )
        only_truth = (
            TRUTH in use.facts and not use.facts & {INDEX, BITS, SIZE, FLOAT} and not use.numbers
        )
        if only_truth and (_BOOL.search(name) or not _SIZE.search(name)):
            return Argument(name, "i1", origin="it is a condition", assumed=True)
        if not use.facts and self._gluon:
            # It may be shared memory or a descriptor as well as a number, and with a wrong type the compiler dies.
            return None
        if not use.facts and other.scalars:
            is_float = not is_float
        if is_float:
            return Argument(
                name, "fp32", origin="its use" if FLOAT in use.facts else "its name", assumed=True
            )
        return Argument(
            name, "i32", "16", origin="its use" if use.facts else "its name", assumed=True
        )

    def _constant(
        self, name: str, use: Use, other: Assumption
    ) -> tuple[dict[str, Any], str] | None:
        facts = use.facts
        lower = name.lower()
        if use.texts:
            return {"value": use.texts[0]}, "the kernel compares it with that"
        if CALLED in facts:
            none = ({"value": None}, _TESTED) if TESTED in facts else None
            return self._function(name) or none
        if self.is_layout(name):
            return None
        if lower in _WARPS:
            return {"value": _WARPS[lower]}, "its name"
        by_name = not use.numbers and re.search(r"(?i)d_?type$|_ty$|_type$|^dtype", name)
        if DTYPE in facts or by_name:
            element = "float32" if "acc" in lower or not other.dtype else torch_name(other.dtype)
            return {"dtype": element}, "it is used as a dtype"
        if PIECES in facts and use.elements or _is_whole(name, use):
            return _pieces(name, use)
        if facts & {POINTER, DESCRIPTOR, PIECES}:
            return None
        if facts and facts <= {TESTED}:
            return {"value": None}, "the kernel compares it with None"
        written = self._written.get(name)
        number = (
            not facts & {TRUTH} or bool(facts & {SIZE, INDEX, BITS, FLOAT}) or bool(use.numbers)
        )
        if not number or (_BOOL.search(name) and not facts & {SIZE, INDEX}):
            return {"value": other.flags}, "it is a condition"
        if use.numbers and not facts & {SIZE} and (other.compared or not self._is_size(name)):
            return {"value": use.numbers[0]}, "the kernel compares it with that"
        if written is not None and not other.alone and not other.size:
            if SIZE in facts and written[0] & (written[0] - 1):
                return {
                    "value": 1 << written[0].bit_length()
                }, f"{name} at line {written[1]}, and a power of 2"
            return {"value": written[0]}, f"{name} at line {written[1]}"
        if re.search(r"(?i)(?<!st)eps", name):
            return {"value": 1e-6}, "its name"
        if _PARTS.search(name):
            return {"value": _SMALL_NUMBER}, "its name"
        if _FLOAT.search(name) and not facts & {SIZE, INDEX, BITS}:
            return {"value": 1.0}, "its name"
        if re.search(r"(?i)num_?sms?$|n_?sm$", name):
            return {"value": 132}, "its name"
        if re.search(r"(?i)split_?k$|num_?splits$", name):
            return {"value": 1}, "its name"
        if re.search(r"(?i)precision$", name) and not facts & {SIZE, INDEX}:
            return {"value": "ieee"}, "its name"
        if _STRINGS.search(name) and not facts:
            return {"value": ""}, "its name"
        if self._is_size(name):
            return {"value": other.size or self._size}, "its name"
        if _SMALL.search(name) or not facts & {SIZE}:
            return {"value": _SMALL_NUMBER}, "its name"
        return {"value": other.size or self._size}, "its use"

    def _is_size(self, name: str) -> bool:
        use = self.uses.get(name, Use())
        if name.lower() in _WARPS or _BOOL.search(name) and SIZE not in use.facts:
            return False
        if UNROLLED in use.facts and SIZE not in use.facts:
            return False
        return SIZE in use.facts or bool(_SIZE.search(name)) and not _SMALL.search(name)

    def _function(self, name: str) -> tuple[dict[str, Any], str] | None:
        """A function of the file that takes as many arguments as the kernel passes."""
        passed = {
            len(node.args) + len(node.keywords)
            for node in ast.walk(self._kernel.node)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
        }
        for kernel in self._source.kernels:
            if (
                kernel.name != self._kernel.name
                and not kernel.within
                and len(kernel.parameters) in passed
                and kernel.returns
            ):
                return {"name": kernel.name}, "a function of the file that can be called so"
        return None


def _tested(kernel: Kernel) -> set[str]:
    """The parameters that a heuristic compares with None: ``args["bias"] is not None``."""
    return {
        node.left.slice.value
        for decorator in kernel.node.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Subscript)
        and isinstance(node.left.slice, ast.Constant)
        and isinstance(node.left.slice.value, str)
        and any(
            isinstance(compared, ast.Constant) and compared.value is None
            for compared in node.comparators
        )
    }


def _axes(kernel: Kernel) -> int:
    """The most axes that the kernel gives a tensor by ``[:, None, None]``."""
    return max(
        (
            len(node.slice.elts)
            for node in ast.walk(kernel.node)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Tuple)
            and any(
                isinstance(element, ast.Constant) and element.value is None
                for element in node.slice.elts
            )
        ),
        default=0,
    )


def _is_whole(name: str, use: Use) -> bool:
    """Whether it is a tuple by its name, which the kernel passes on whole."""
    return not use.facts and bool(_SEVERAL.search(name))


def _pieces(name: str, use: Use) -> tuple[dict[str, Any], str] | None:
    """The tuple of a kernel that takes its numbers apart: strides or sizes. Nothing is assumed for one of pointers."""
    if use.facts & {POINTER, DESCRIPTOR} or any(fact.startswith(LOADED) for fact in use.facts):
        return None
    last = 1 if "stride" in name.lower() else _DEFAULT_SIZE
    elements = use.elements or use.beside or _TWO_AXES
    why = "the kernel takes it apart" if use.elements else "its name"
    return {"value": [*[_DEFAULT_SIZE] * (elements - 1), last]}, why


def torch_name(element: str) -> str:
    return {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(
        element, "float32"
    )


def _written(source: Source) -> Mapping[str, tuple[int, int]]:
    """By name, an integer that the file gives it somewhere (assigned, a default, a keyword, a key), and its line."""
    constants: dict[str, tuple[int, int]] = {}

    def note(name: str | None, node: ast.expr | None) -> None:
        if name and isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0:
            constants.setdefault(name, (node.value, node.lineno))

    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            note(node.targets[0].id, node.value)
        elif isinstance(node, ast.Call):
            for word in node.keywords:
                note(word.arg, word.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    note(key.value, value)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            every = [*node.args.posonlyargs, *node.args.args]
            defaults: Sequence[ast.expr | None] = [
                *[None] * (len(every) - len(node.args.defaults)), *node.args.defaults
            ]  # fmt: skip
            for argument, default in [
                *zip(every, defaults),
                *zip(node.args.kwonlyargs, node.args.kw_defaults),
            ]:
                note(argument.arg, default)
    return constants
