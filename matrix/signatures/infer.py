"""The signatures of a file's kernels: given, else of its launches, else as far as a kernel itself declares them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crosswarp.matrix.signatures.assumed import Assuming, Assumption, assumptions, torch_name
from crosswarp.matrix.signatures.evaluation import Evaluation
from crosswarp.matrix.signatures.given import Given, number_argument
from crosswarp.matrix.signatures.kinds import DTYPES, ELEMENTS, TENSOR, UNKNOWN, Call, Kind, number
from crosswarp.matrix.signatures.launches import Launch, callers, find
from crosswarp.matrix.signatures.signature import (
    CONSTEXPR,
    DESCRIPTOR,
    NONE,
    SCALARS,
    Argument,
    Inferred,
    Signature,
)
from crosswarp.matrix.signatures.source import Kernel, Parameter, Scope, Source

_NUMBERS = {"int": "i32", "float": "fp32", "bool": "i1"}
# The most assumptions under which a launch is compiled.
_MOST_ATTEMPTS = 12
_FIRST = Assumption()
# In place of a value that nothing reads.
_ANY = {"value": 1}
# The tensor of a descriptor, by place or by name.
_BASES = (0, "base", "tensor")
_INTEGERS = ({"dtype": "int32"}, {"dtype": "int8"})


def infer(
    source: Source,
    signatures: Sequence[Given] = (),
    constexprs: Sequence[Given] = (),
    dtype: str = "fp32",
) -> list[Inferred]:
    """The facts about each kernel, in the order of the file. `dtype`: for tensors whose dtype is not in the file."""
    evaluation = Evaluation(source)
    launches: dict[str, list[Launch]] = {}
    for launch in find(source):
        launches.setdefault(launch.kernel, []).append(launch)
    called = callers(source)
    return [
        _Inference(source, kernel, evaluation, signatures, constexprs, dtype).inferred(
            launches.get(kernel.name, ()), called.get(kernel.name, ())
        )
        for kernel in source.kernels
    ]


class _Inference:
    """Infers the signatures of one kernel."""

    def __init__(
        self,
        source: Source,
        kernel: Kernel,
        evaluation: Evaluation,
        signatures: Sequence[Given],
        constexprs: Sequence[Given],
        dtype: str,
    ) -> None:
        self._source = source
        self._kernel = kernel
        self._evaluation = evaluation
        self._dtype = dtype
        self._assuming = Assuming(source, kernel, dtype)
        self._given: dict[str, Argument] = {}
        self._wrong = ""
        for signature in signatures:
            if signature.of(kernel.name):
                self._take(signature)
        self._constants: dict[str, Any] = {}
        for constexpr in constexprs:
            if constexpr.of(kernel.name):
                self._constants.update(constexpr.names)

    def inferred(self, launches: Sequence[Launch], called: Sequence[str]) -> Inferred:
        kernel = self._kernel
        plain = Inferred(
            kernel.name,
            kernel.line,
            tuple(parameter.name for parameter in kernel.parameters),
            tunes=kernel.tunes,
        )
        if self._wrong:
            return replace(plain, why=self._wrong)
        if not launches and called and not self._given:
            return replace(plain, part_of=tuple(called))
        returns = kernel.returns or self._assuming.takes_blocks()
        if not launches and returns and not self._given:
            return replace(plain, device=True)
        if self._given and not any(self._lacking(launch) == [] for launch in launches):
            launches = ()
        signatures: list[Signature] = []
        lacking: list[str] = []
        for launch in launches or (None,):
            signature, lacks = self._attempts(launch)
            if lacks:
                lacking.append(self._sentence(launch, signature, lacks))
                continue
            same = next(
                (earlier for earlier in signatures if earlier.program == signature.program), None
            )
            if same is None:
                signatures.append(signature)
            elif launch is not None:
                at = signatures.index(same)
                signatures[at] = replace(same, lines=(*same.lines, launch.line))
        signatures = _distinct(signatures)
        if not signatures:
            return replace(plain, why=lacking[0])
        return replace(plain, signatures=tuple(signatures), lacking=tuple(lacking))

    def _take(self, given: Given) -> None:
        open_ = [free for free in self._kernel.parameters if not free.constexpr]
        if given.places and len(given.places) != len(open_):
            names = ", ".join(free.name for free in open_)
            self._wrong = (
                f'--signature "{given.text}" has {len(given.places)} types, and it has {len(open_)} parameters that '
                f"are no constexpr: {names}. Give one for each, or name them: {open_[0].name if open_ else 'x'}=*fp32."
            )
            return
        for parameter, argument in zip(open_, given.places):
            self._given[parameter.name] = replace(argument, name=parameter.name)
        for name, argument in given.names.items():
            if name not in [free.name for free in open_]:
                self._wrong = (
                    f'--signature "{given.text}": {name} is no parameter of it that is typed. There are: '
                    f"{', '.join(free.name for free in open_)}; a constexpr is given by --constexpr."
                )
                return
            self._given[name] = argument

    def _lacking(self, launch: Launch) -> list[str]:
        return self._signature(launch)[1]

    def _attempts(self, launch: Launch | None) -> tuple[Signature, list[str]]:
        """The signature of a launch with the likeliest assumption, and the others behind it where it has any."""
        first, lacks = self._signature(launch)
        if lacks or not (first.assumed or first.spare):
            return first, lacks
        distinct = [first]
        integers = any(
            argument.value in _INTEGERS for argument in first.arguments if not argument.assumed
        ) or _computes_in_bytes(self._source)
        for assumption in assumptions(self._dtype, integers):
            other, _ = self._signature(launch, assumption)
            if all(known.program != other.program for known in distinct):
                distinct.append(other)
        return replace(first, others=tuple(distinct[1:_MOST_ATTEMPTS])), lacks

    def _signature(
        self, launch: Launch | None, other: Assumption = _FIRST
    ) -> tuple[Signature, list[str]]:
        """The signature of a launch, or of the kernel by itself; and the parameters of which too little is known."""
        kernel = self._kernel
        arguments: list[Argument] = []
        left: list[str] = []
        lacks: list[str] = []
        spare: list[Argument] = []
        for parameter in kernel.parameters:
            argument = self._argument(parameter, launch, other)
            is_left = argument is None and self._is_left(parameter, launch)
            has_default = is_left and parameter.default is not None
            if (
                argument is None
                and not has_default
                and (not is_left or parameter.name not in kernel.tuned)
            ):
                argument = self._assuming.argument(parameter, other)
                if argument is not None and is_left:
                    spare.append(argument)
                    argument = None
            if argument is not None:
                arguments.append(argument)
            elif is_left:
                left.append(parameter.name)
            else:
                lacks.append(parameter.name)
        options, origins, notes = self._options(launch)
        if launch is None:
            identifier = "given" if self._given else "declared"
            positional = 0
        else:
            identifier, positional = f"line-{launch.line}", launch.positional
        # By place as far as the launch goes, and as far as nothing is left out between.
        names = [declared.name for declared in kernel.parameters]
        leading = 0
        while leading < len(arguments) and arguments[leading].name == names[leading]:
            leading += 1
        if launch is None:
            plain = [declared.constexpr for declared in kernel.parameters]
            positional = plain.index(True) if True in plain else len(plain)
        signature = Signature(
            identifier, tuple(arguments), min(positional, leading), tuple(left), options, origins,
            (launch.line,) if launch else (), tuple(notes), tuple(spare),
        )  # fmt: skip
        return signature, lacks

    def _argument(
        self, parameter: Parameter, launch: Launch | None, other: Assumption
    ) -> Argument | None:
        name = parameter.name
        if name in self._constants and (parameter.constexpr or name not in self._given):
            return Argument(name, CONSTEXPR, value=self._constants[name], origin="--constexpr")
        if name in self._given:
            return self._given[name]
        node = launch.given.get(name) if launch else None
        kind = self._evaluation.kind(node, launch.scope) if launch and node is not None else UNKNOWN
        where = f"the launch at line {launch.line}" if launch else ""
        if parameter.constexpr:
            return self._constexpr(parameter, node, kind, where)
        if node is None and name in self._kernel.tuned:
            return None
        declared = self._declared(parameter)
        if declared:
            return declared
        return self._typed(parameter, node, kind, where, other)

    def _constexpr(
        self, parameter: Parameter, node: ast.expr | None, kind: Kind, where: str
    ) -> Argument | None:
        if _is_a_dtypes_name(node):
            text = {"value": f"torch.{torch_name(self._dtype)}"}
            return Argument(parameter.name, CONSTEXPR, value=text, origin=where, assumed=True)
        if node is not None:
            given = _encoded(kind)
            if given is None or given == {"value": None} and not isinstance(node, ast.Constant):
                return None
            if not isinstance(node, ast.Constant) and self._assuming.is_too_small(
                parameter.name, given
            ):
                # A default that the launcher replaces.
                return None
            return Argument(
                parameter.name, CONSTEXPR, value=given, origin=where, others=kind.others
            )
        if parameter.name in self._kernel.tuned:
            return None
        if parameter.default is not None and not self._may_be_tuned():
            given = _encoded(self._evaluation.kind(parameter.default, Scope(None)))
            if given is not None:
                return Argument(parameter.name, CONSTEXPR, value=given, origin="its default")
        return None

    def _typed(
        self,
        parameter: Parameter,
        node: ast.expr | None,
        kind: Kind,
        where: str,
        other: Assumption,
    ) -> Argument | None:
        name = parameter.name
        if number(kind) == "int" and self._assuming.is_address(name):
            return Argument(name, "i64", "16", origin="the kernel makes an address of it")
        if kind.what == "int" and self._assuming.is_surely_pointer(name):
            # The launcher's annotation says otherwise: one that nothing checks.
            kind = UNKNOWN
        if kind.what == "made":
            dtype = other.dtype or self._dtype
            known = _encoded(kind, dtype)
            given = known or _encoded(kind, dtype, self._assuming.size(other))
            if given is None:
                return None
            assumed = _lacks_dtype(kind) or known is None
            return Argument(name, DESCRIPTOR, value=given, origin=where, assumed=assumed)
        if self._assuming.is_descriptor(name):
            return None
        pointer = self._assuming.is_pointer(name)
        if kind.what == "tensor" or (kind.what == "unknown" and pointer):
            if kind.dtype:
                at = f"its dtype at line {kind.line}" if kind.line else where
                return Argument(name, f"*{kind.dtype}", "16", origin=at, others=kind.others)
            if kind.what == "unknown" and other.unset and self._assuming.may_be_none(name):
                return self._assuming.none(name)
            element, why = self._assuming.element(name, other)
            how = (
                f"{where}: a tensor"
                if kind.what == "tensor"
                else "the kernel loads or stores through it"
            )
            return Argument(name, f"*{element}", "16", origin=why or how, assumed=True)
        if kind.what == "value" and kind.value is None:
            if pointer and not isinstance(node, ast.Constant):
                # A default of the launcher's, in place of which a tensor may be passed.
                return None
            return Argument(name, NONE, origin=where)
        if kind.what == "value" and number(kind):
            return replace(number_argument(name, kind.value, where), others=kind.others)
        if number(kind):
            type_ = _NUMBERS[number(kind)]
            return Argument(
                name, type_, "16" if type_ == "i32" else "", origin=where, others=kind.others
            )
        if node is None and parameter.default is not None:
            default = self._evaluation.kind(parameter.default, Scope(None))
            if default.what == "value" and number(default):
                return number_argument(name, default.value, "its default")
            if default.what == "value" and default.value is None:
                return Argument(name, NONE, origin="its default")
        return None

    def _declared(self, parameter: Parameter) -> Argument | None:
        """By its annotation."""
        node = parameter.annotation or self._kernel.compiled_as.get(parameter.name)
        if node is None:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.strip()
        else:
            full = self._source.full(node)
            text = full.rpartition(".")[2]
        pointer = text.startswith("*")
        text = text.removeprefix("*").removeprefix("const ").strip()
        element = text if text in ELEMENTS else DTYPES.get(text, "")
        origin = "its annotation" if parameter.annotation else "its triton_meta"
        if pointer and element:
            return Argument(parameter.name, f"*{element}", "16", origin=origin)
        if element in SCALARS and not pointer:
            if parameter.annotation and self._assuming.is_surely_pointer(parameter.name):
                # A launch passes a tensor, and Triton decides: before 3.3 it takes `int` for a remark.
                return None
            return Argument(
                parameter.name, element, "" if element in ("i1", "fp32") else "16", origin=origin
            )
        return None

    def _is_left(self, parameter: Parameter, launch: Launch | None) -> bool:
        """Whether its decorators give it, as far as the file shows."""
        kernel = self._kernel
        if launch is not None and parameter.name in launch.given:
            return False
        if parameter.name in kernel.tuned:
            return True
        if parameter.constexpr and parameter.default is not None and self._may_be_tuned():
            # Where no configuration gives it, Triton takes the default.
            return True
        if launch is not None and launch.starred:
            return False
        return parameter.constexpr and self._may_be_tuned()

    def _may_be_tuned(self) -> bool:
        """Whether its decorators may give more than the file shows."""
        return bool(self._kernel.tunes) and not self._kernel.written

    def _options(self, launch: Launch | None) -> tuple[dict[str, Any], dict[str, str], list[str]]:
        options: dict[str, Any] = {}
        origins: dict[str, str] = {}
        notes: list[str] = []
        for name, node in (launch.options if launch else {}).items():
            assert launch is not None
            kind = self._evaluation.kind(node, launch.scope)
            given = _encoded(kind)
            if given is None and name not in self._constants and self._is_refused(name):
                # Triton refuses the launch, whatever the value.
                options[name], origins[name] = _ANY, f"the launch at line {launch.line}"
                continue
            if given is None or name in self._constants:
                if given is None and name not in self._constants:
                    notes.append(
                        f"the file does not say {name} of the launch at line {launch.line}, so Triton's default is "
                        f"taken: --constexpr '{self._kernel.name}:{name}=…'"
                    )
                continue
            options[name] = given
            origins[name] = f"the launch at line {launch.line}"
            if kind.others:
                notes.append(f"{name} is also {', '.join(kind.others)}")
        names = [parameter.name for parameter in self._kernel.parameters]
        for name, given in self._constants.items():
            if name not in names:
                options[name], origins[name] = given, "--constexpr"
        return options, origins, notes

    def _is_refused(self, word: str) -> bool:
        """Whether a launch's word is surely neither an option of Triton's nor read by a decorator of the file's."""
        decorators = self._kernel.node.decorator_list
        functions = [
            decorator.func if isinstance(decorator, ast.Call) else decorator
            for decorator in decorators
        ]
        own = all(self._source.full(function).startswith("triton.") for function in functions)
        return own and bool(functions) and not word.islower()

    def _sentence(self, launch: Launch | None, signature: Signature, lacks: Sequence[str]) -> str:
        """A sentence about the unknown arguments, and options for them, with the known ones filled in."""
        kernel = self._kernel
        by_name = {argument.name: argument for argument in signature.arguments}
        constants = [
            parameter.name
            for parameter in kernel.parameters
            if parameter.constexpr and parameter.name in lacks
        ]
        numbers = [parameter for parameter in kernel.parameters if not parameter.constexpr]
        if launch is None:
            sentence = (
                f"the file launches it nowhere, and nothing can be assumed for {', '.join(lacks)}"
            )
        else:
            sentence = (
                f"nothing can be assumed for {', '.join(lacks)} of its launch at line {launch.line}"
            )
        if any(self._assuming.is_layout(name) for name in lacks):
            sentence += " (a layout of Gluon's is given as gl.BlockedLayout([1], [32], [4], [0]))"
        if launch and launch.starred:
            sentence += " (it passes *args or **kwargs)"
        hints = []
        if any(declared.name in lacks for declared in numbers):
            types = [
                _written(by_name[declared.name]) if declared.name in by_name else "?"
                for declared in numbers
            ]
            hints.append(f"--signature '{kernel.name}:{','.join(types)}'")
        if constants:
            hints.append(
                f"--constexpr '{kernel.name}:{','.join(f'{name}=?' for name in constants)}'"
            )
        return f"{sentence}. Give it, in place of each ? : {' '.join(hints)}"


def _written(argument: Argument) -> str:
    if argument.type == NONE:
        return "None"
    if argument.value is not None:
        return str(argument.value)
    return argument.type


def _is_a_dtypes_name(node: ast.expr | None) -> bool:
    """Whether it is `str(x.dtype)`."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "str"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Attribute)
        and node.args[0].attr == "dtype"
    )


def _encoded(kind: Kind, dtype: str = "", size: int = 0) -> dict[str, Any] | None:
    """A constant as plain data; None where it is not known.

    `dtype`: of tensors whose dtype is not in the file; `size`: in place of integers of a block that are not in it.
    """
    if kind.what == "value" and isinstance(kind.value, (bool, int, float, str, type(None))):
        return {"value": kind.value}
    if kind.what == "dtype" and kind.value:
        names = {
            type_: name
            for name, type_ in DTYPES.items()
            if name not in ("half", "double", "int", "long")
        }
        names.update({"i1": "int1", "fp16": "float16", "fp32": "float32", "fp64": "float64", "i32": "int32",
                      "i64": "int64", "i16": "int16", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5"})  # fmt: skip
        return {"dtype": names[str(kind.value)]}
    if kind.what == "function":
        return {"name": kind.value}
    if kind.what == "tuple" and all(element.what == "value" for element in kind.value):
        return {"value": [element.value for element in kind.value]}
    return _call(kind.value, dtype, size) if kind.what == "made" else None


def _call(call: Call, dtype: str, size: int) -> dict[str, Any] | None:
    """A call of Triton's as plain data; None where an argument is not known."""
    block = call.arguments[1] if len(call.arguments) > 1 else call.words.get("block_shape", UNKNOWN)
    given = {
        name: _passed(
            TENSOR if size and kind == UNKNOWN and name in _BASES else kind, dtype, block, size
        )
        for name, kind in [*enumerate(call.arguments), *call.words.items()]
    }
    if not all(given.values()):
        return None
    words = {name: word for name, word in given.items() if isinstance(name, str)}
    return {
        "made": call.of,
        "arguments": list(given.values())[: len(call.arguments)],
        "words": words,
    }


def _passed(kind: Kind, dtype: str, block: Kind, size: int) -> dict[str, Any] | None:
    """An argument of such a call. A tensor is as large as the block that a descriptor of it has."""
    if kind.what == "tensor":
        sizes = _plain(block, size)
        element = kind.dtype or dtype
        return {"tensor": element, "sizes": sizes} if element and isinstance(sizes, list) else None
    if kind.what == "tuple":
        plain = _plain(kind, size)
        return None if plain is None else {"value": plain}
    return _encoded(kind, dtype, size)


def _plain(kind: Kind, size: int = 0) -> Any:
    """The numbers of a list of lists; None where one of them is neither known nor assumed to be of that size."""
    if kind.what == "tuple":
        elements = [_plain(element, size) for element in kind.value]
        return None if None in elements else elements
    if kind.what == "int" and size:
        return size
    return kind.value if kind.what == "value" and number(kind) else None


def _lacks_dtype(kind: Kind) -> bool:
    if kind.what == "made":
        return any(map(_lacks_dtype, (*kind.value.arguments, *kind.value.words.values())))
    return kind.what == "tensor" and not kind.dtype


def _distinct(signatures: Sequence[Signature]) -> list[Signature]:
    """Two launches on one line are two cases."""
    distinct: list[Signature] = []
    counts: dict[str, int] = {}
    for signature in signatures:
        counts[signature.id] = counts.get(signature.id, 0) + 1
        distinct.append(
            signature
            if counts[signature.id] == 1
            else replace(signature, id=f"{signature.id}-{counts[signature.id]}")
        )
    return distinct


def _computes_in_bytes(source: Source) -> bool:
    """Whether a kernel of the file casts to bytes for a product of matrices."""
    names = {
        source.full(node)
        for kernel in source.kernels
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.Attribute)
    }
    return {"triton.language.int8", "triton.language.dot"} <= names
