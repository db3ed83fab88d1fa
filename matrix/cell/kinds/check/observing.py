"""Record the launches of a file when it is run: its ``__main__``, tests and benchmarks, under the virtual GPU.

Only inside a forked child. A launch is noted and not executed, so the outputs of kernels are zeros, and comparisons
count as true. Any other exception ends only the part of the file that raised it.
"""

import contextlib
import dataclasses
import inspect
import os
import runpy
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from crosswarp.compat.vendors import as_tritons
from crosswarp.kernels.case import TORCH
from crosswarp.matrix.cell.plain import attribute

from . import absent, importing, launching

# Of one kernel, programs that are noted.
_MOST = 3
_NOT_OPTIONS = ("grid", "warmup", "stream")
_TORCH = {name: element for element, name in TORCH.items()}
_PLAIN = (bool, int, float, str, type(None))

Note = Callable[[Tuple[str, int, Dict[str, Any]]], None]


def observe(check: Dict[str, Any], note: Note) -> None:
    """Run the file, and call ``note((kernel, line, signature))`` for each program that it launches."""
    seen: Dict[str, List[str]] = {}
    read = _reads()

    def launched(thing: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        read.update(begun=True)
        made = importing.jit_function(thing)
        name = next(
            (
                kernel
                for kernel, facts in check["kernels"].items()
                if importing.is_of(made, check["file"], facts)
            ),
            None,
        )
        if name is None or len(seen.setdefault(name, [])) >= _MOST:
            return
        with contextlib.suppress(_NoSignature):
            signature = _signature(made, args, kwargs)
            if read["number"]:
                signature["assumed"] = [
                    argument["name"] for argument in signature["arguments"] if _is_empty(argument)
                ]
            if repr(signature) not in seen[name]:
                seen[name].append(repr(signature))
                note((name, _line(check["file"]), signature))

    _watch(launched)
    _agree()
    sys.path.insert(0, check["root"])
    # A checkout's own packages, where they are not installed.
    sys.path += check.get("above", ())
    sys.dont_write_bytecode = True
    sys.argv = [check["file"]]
    absent.install(check.get("absent") or [])
    os.chdir(tempfile.mkdtemp(prefix="crosswarp-check-"))
    names: Dict[str, Any] = {}
    with contextlib.suppress(BaseException):
        names = (
            runpy.run_module(check["module"], run_name="__main__", alter_sys=True)
            if check["module"]
            else runpy.run_path(check["file"], run_name="__main__")
        )
    if set(seen) >= set(check["kernels"]):
        return
    if not names:
        # Its __main__ raised, and its names are lost.
        with contextlib.suppress(BaseException):
            module, _ = importing.load(check, stop=False)
            names = vars(module)
    for function, arguments in _tests(names, check["file"]):
        with contextlib.suppress(BaseException):
            function(**arguments)


class _NoSignature(Exception):
    pass


def _reads() -> Dict[str, bool]:
    """Return whether a launch has `begun`, and whether a tensor's `number` was read since: nothing has computed it."""
    import torch

    read = {"begun": False, "number": False}

    def reading(own: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *args: Any) -> Any:
            read["number"] |= read["begun"]
            return own(self, *args)

        return method

    for name in ("item", "tolist", "numpy", "__int__", "__index__"):
        setattr(torch.Tensor, name, reading(getattr(torch.Tensor, name)))
    return read


def _is_empty(argument: Dict[str, Any]) -> bool:
    """Whether it is a constant that no kernel has a use for as a size: zero, as all that was not computed."""
    value = argument["value"].get("value") if argument["type"] == "constexpr" else None
    return type(value) is int and value <= 0


def _watch(launched: Callable[[Any, Tuple[Any, ...], Dict[str, Any]], None]) -> None:
    from triton.runtime import autotuner, jit

    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        launched(
            self, args, {name: value for name, value in kwargs.items() if name not in _NOT_OPTIONS}
        )

    for owner in (jit.JITFunction, autotuner.Autotuner, autotuner.Heuristics):
        owner.run = run


def _agree() -> None:
    """Replace comparisons, which agree, and timings, which take a second: nothing is computed."""
    import torch
    import triton.testing

    def once(fn: Callable[[], Any], *args: Any, quantiles: Any = None, **options: Any) -> Any:
        fn()
        return [1.0] * len(quantiles) if quantiles else 1.0

    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, once)
    mark = attribute(triton.testing, "Mark")
    if mark is not None:
        mark.run = _first_of_each_line
    torch.allclose = lambda *args, **options: True
    torch.equal = lambda *args, **options: True
    torch.testing.assert_close = lambda *args, **options: None


def _first_of_each_line(self: Any, *args: Any, **options: Any) -> None:
    """Call the function of a triton.testing benchmark with the first of its sizes."""
    several = self.benchmarks if isinstance(self.benchmarks, list) else [self.benchmarks]
    for benchmark in several:
        for line in benchmark.line_vals:
            first = benchmark.x_vals[0]
            sizes = first if isinstance(first, (list, tuple)) else [first] * len(benchmark.x_names)
            with contextlib.suppress(Exception):
                self.fn(
                    **dict(zip(benchmark.x_names, sizes)),
                    **{benchmark.line_arg: line},
                    **benchmark.args,
                )


def _tests(names: Dict[str, Any], path: str) -> Iterator[Tuple[Callable[..., Any], Dict[str, Any]]]:
    """The file's tests and benchmarks that can be called, each with the first of its parameters."""
    for name, thing in names.items():
        if type(thing).__name__ == "Mark" and hasattr(thing, "benchmarks"):
            yield thing.run, {}
        if not inspect.isfunction(thing) or thing.__code__.co_filename != path:
            continue
        if not name.lower().startswith(("test", "bench", "main", "run", "demo", "check", "verify")):
            continue
        given = _parametrized(thing)
        needed = [
            parameter.name for parameter in inspect.signature(thing).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]  # fmt: skip
        if all(parameter in given for parameter in needed):
            yield thing, given


def _parametrized(thing: Any) -> Dict[str, Any]:
    given: Dict[str, Any] = {}
    for mark in attribute(thing, "pytestmark") or []:
        if attribute(mark, "name") != "parametrize":
            continue
        names, sets = mark.args[0], list(mark.args[1])
        names = (
            [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        )
        first = attribute(sets[0], "values") or (sets[0] if len(names) > 1 else (sets[0],))
        given.update(zip(names, first))
    return given


def _line(path: str) -> int:
    frame: Optional[Any] = sys._getframe()
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0


def _signature(made: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    parameters = list(inspect.signature(made.fn).parameters.values())
    names = [parameter.name for parameter in parameters]
    constants = {
        parameter.name for parameter in parameters if "constexpr" in str(parameter.annotation)
    }
    given = dict(zip(names, args))
    given.update({name: value for name, value in kwargs.items() if name in names})
    options = {name: value for name, value in kwargs.items() if name not in names}
    return {
        "arguments": [
            _constant(name, given[name]) if name in constants else _argument(name, given[name])
            for name in names
            if name in given
        ],
        "positional": len(args),
        "options": {
            name: {"value": value} for name, value in options.items() if isinstance(value, _PLAIN)
        },
        "spare": {},
        "assumed": [],
    }  # fmt: skip


def _constant(name: str, value: Any) -> Dict[str, Any]:
    if isinstance(value, _PLAIN):
        fields: Dict[str, Any] = {"value": value}
    elif type(value).__name__ == "dtype" and launching.is_of_triton(value):
        spelled = {"fp": "float", "bf": "bfloat"}
        text = str(value)
        fields = {
            "dtype": next(
                (f"{long}{text[2:]}" for short, long in spelled.items() if text.startswith(short)),
                text,
            )
        }
    elif attribute(value, "fn") is not None:
        fields = {"name": value.fn.__name__}
    elif _is_tritons(value):
        fields = _made(value)
    else:
        raise _NoSignature
    return {"name": name, "type": "constexpr", "hint": "", "value": fields}


def _is_tritons(value: Any) -> bool:
    """Whether it is a layout or a descriptor: a dataclass of Triton's."""
    return dataclasses.is_dataclass(value) and launching.is_of_triton(value)


def _made(value: Any) -> Dict[str, Any]:
    words = {
        field.name: _part(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.init
    }
    return {
        "made": as_tritons(f"{type(value).__module__}.{type(value).__qualname__}"),
        "arguments": [],
        "words": words,
    }


def _part(value: Any) -> Dict[str, Any]:
    if _is_tritons(value):
        return _made(value)
    if isinstance(value, (list, tuple)):
        return {"value": [_part(element)["value"] for element in value]}
    if not isinstance(value, _PLAIN):
        return {"tensor": _element(value), "sizes": [launching.ELEMENTS]}
    return {"value": value}


def _argument(name: str, value: Any) -> Dict[str, Any]:
    if value is None:
        return {"name": name, "type": "none", "hint": "", "value": None}
    if isinstance(value, bool):
        return {"name": name, "type": "i1", "hint": "", "value": value}
    if isinstance(value, int):
        kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
        return {"name": name, "type": kind, "hint": "", "value": value}
    if isinstance(value, float):
        return {"name": name, "type": "fp32", "hint": "", "value": value}
    if _is_tritons(value):
        return {"name": name, "type": "descriptor", "hint": "", "value": _made(value)}
    element = _element(value)
    hint = "any" if value.data_ptr() % 16 else "16"
    return {"name": name, "type": f"*{element}", "hint": hint, "value": None}


def _element(value: Any) -> str:
    """Triton's name of a tensor's elements."""
    element = _TORCH.get(str(attribute(value, "dtype")).rpartition(".")[2])
    if element is None or not callable(attribute(value, "data_ptr")):
        raise _NoSignature
    return element


def shown(signature: Dict[str, Any]) -> str:
    """A signature as check shows one."""
    parts = []
    for argument in signature["arguments"]:
        if argument["type"] in ("constexpr", "descriptor"):
            value = argument["value"]
            text = (
                value["made"].rpartition(".")[2]
                if "made" in value
                else repr(value.get("value", value.get("dtype", value.get("name"))))
            )
            parts.append(f"{argument['name']}={text}")
        elif argument["value"] is not None:
            parts.append(f"{argument['name']}={argument['value']} {argument['type']}")
        else:
            parts.append(f"{argument['name']} {argument['type']}")
    return ", ".join(
        [
            *parts,
            *(f"{name}={argument['value']!r}" for name, argument in signature["options"].items()),
        ]
    )
