"""Launches of the texts in programs/, as they are and mutated; and of small kernels written here."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np

from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.observers import sanitizer

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.ptx"))


@cache
def text_of(name):
    return (PROGRAMS / f"{name}.ptx").read_text()


@cache
def _told(name):
    return json.loads((PROGRAMS / f"{name}.json").read_text())


def arrays_of(name):
    """Its tensors by name, of seeded numbers; the output, which comes last, is empty."""
    generator = np.random.default_rng(7)
    made = {}
    for argument in _told(name)["arguments"]:
        if len(argument) == 3:
            argument_name, shape, dtype = argument
            made[argument_name] = generator.standard_normal(shape).astype(dtype)
    made[list(made)[-1]][:] = np.nan
    return made


def launch(name, text=None, made=None, scalars=None, also=(), grid=None, **options):
    """Findings of a launch; `made` are its arrays, `scalars` replace other arguments, `also` is empty too."""
    told = _told(name)
    made = arrays_of(name) if made is None else made
    output = made[list(made)[-1]]
    tensors, values = [], []
    for place, (argument, value, *_) in enumerate(told["arguments"]):
        if argument in made:
            tensors.append(sanitizer.Tensor.of_array(made[argument], argument, place))
            value = made[argument].ctypes.data
        value = (scalars or {}).get(argument, value)
        values.append(value)
    blocks = np.prod(told["grid"])
    # As Triton's launcher: memory for descriptors, aligned for tensor maps.
    scratch = np.zeros(told["scratch"] * blocks + 128, np.uint8)
    if told["scratch"]:
        room = scratch[-scratch.ctypes.data % 128 :][: told["scratch"] * blocks]
        tensors.append(sanitizer.Tensor.of_array(room, "scratch", len(values)))
        values.append(room.ctypes.data)
    # A view's storage is no allocation of its own.
    unwritten = [*also]
    if output.base is None:
        unwritten.append(sanitizer.Unwritten(output.ctypes.data, output.nbytes, output.itemsize))
    return sanitizer.run(
        text or text_of(name), grid or told["grid"], values, tensors, shared=told["shared"], unwritten=unwritten,
        limits=ptx.Limits(seconds=60), **options,
    )  # fmt: skip


def without(text, pattern, *numbers):
    """The text without the instructions of these numbers among those that match."""
    found = list(re.finditer(rf"(?m)^{pattern}[^;]*;", text))
    for number in sorted(numbers, reverse=True):
        text = text[: found[number].start()] + text[found[number].end() :]
    return text


def count(text, pattern):
    return len(re.findall(rf"(?m)^{pattern}[^;]*;", text))


def small(body, parameters=2, threads=64, shared=0, target="sm_80"):
    """A kernel with its thread in %r0, its CTA in %r1, their element in %r2, and its parameters in %d0, %d1, …"""
    names = ", ".join(f".param .u64 p{place}" for place in range(parameters))
    loads = " ".join(f"ld.param.u64 %d{place}, [p{place}];" for place in range(parameters))
    room = f".shared .align 16 .b8 room[{shared}];" if shared else ""
    return (
        f'.version 8.4\n.target {target}\n.address_size 64\n.visible .entry small({names})\n.reqntid {threads}\n'
        "{\n.reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %d<40>;\n"
        f'{room}\n.file 1 "small.py"\n.loc 1 7 0\n'
        f"{loads} mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, {threads}, %r0;\n"
        f"{body}\nret;\n}}\n"
    )  # fmt: skip


def run(text, arrays, grid=1, unwritten=(), **options):
    """Findings of a small kernel whose parameters are the arrays."""
    tensors = [
        sanitizer.Tensor.of_array(array, f"p{place}", place) for place, array in enumerate(arrays)
    ]
    empty = [
        sanitizer.Unwritten(array.ctypes.data, array.nbytes, array.itemsize) for array in unwritten
    ]
    values = [array.ctypes.data for array in arrays]
    return sanitizer.run(text, (grid,), values, tensors, unwritten=empty, **options)


def kinds(findings):
    return sorted({finding.kind for finding in findings})
