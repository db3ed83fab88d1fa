"""Matmuls of a wave, with each element where AMD's matrix instruction calculator places it (layouts.txt)."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from amd_running import run

from crosswarp.matrix.cell.machines.amdgcn.errors import Unsupported

KINDS = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "iu8": np.int8, "i32": np.int32,
}  # fmt: skip
# First registers of the operands, in the order of the text.
FIRST = {"D": 0, "A": 40, "B": 50, "C": 60}


def read():
    """(target, opcode) -> {"A": {"row": [(register, lane, bit), ..], ..}, "B": .., "D": ..}"""
    layouts = {}
    for line in (Path(__file__).parent / "layouts.txt").read_text().splitlines():
        target, opcode, matrix, *parts = line.split()
        steps = {}
        for part in parts:
            axis, _, numbers = part.partition("=")
            steps[axis] = [
                tuple(int((re.search(letter + r"(\d+)", step) or [0, 0])[1]) for letter in "rlb")
                for step in numbers.split(",")
            ]
        layouts.setdefault((target, opcode), {})[matrix] = steps
    return layouts


LAYOUTS = read()


def places(steps, shape):
    """Register, lane and bit of each element, as arrays of `shape`: (rows, columns, blocks)."""
    total = np.zeros((3, *shape), np.int64)
    for number, axis in zip(np.indices(shape), ("row", "column", "block")):
        for power, step in enumerate(steps.get(axis, ())):
            total += (number >> power & 1) * np.array(step).reshape(3, 1, 1, 1)
    return total


def shape_of(steps):
    return tuple(1 << len(steps.get(axis, ())) for axis in ("row", "column", "block"))


def kind_of(name, target):
    if name in ("fp8", "bf8"):
        old = "fnuz" if target == "gfx942" else "fn" if name == "fp8" else ""
        return np.dtype(getattr(ml_dtypes, f"float8_{'e4m3' if name == 'fp8' else 'e5m2'}{old}"))
    return np.dtype(KINDS[name])


def kinds_of(opcode, target):
    """Of the items of A, B and D."""
    form, items = re.match(
        r"v_\w+?_([fbi]+\d+)_\d+x\d+x\d+(?:_\d+b)?_?(\w+?)(?:_1k)?$", opcode
    ).groups()
    first, last = items.split("_")[0], items.split("_")[-1]
    return kind_of(first, target), kind_of(last, target), kind_of(form, target)


def registers_of(steps):
    """How many registers a matrix of items of at most 32 bits takes."""
    return 1 + sum(step[0] for axis in ("row", "column", "block") for step in steps.get(axis, ()))


def laid_out(values, steps, lanes):
    """Words by register, of items of 8 to 64 bits."""
    register, lane, bit = places(steps, values.shape)
    size = values.dtype.itemsize
    raw = np.ascontiguousarray(values).view(f"u{size}").astype(np.uint64)
    words = np.zeros((int(register.max()) + max(1, size // 4), lanes), np.uint64)
    for copy in [(0, 0, 0), *steps.get("copy", ())]:
        for half in range(max(1, size // 4)):
            part = raw >> np.uint64(32 * half) & np.uint64(0xFFFFFFFF)
            at = (register + copy[0] + half, lane + copy[1])
            np.bitwise_or.at(words, at, part << bit.astype(np.uint64))
    return list(words.astype(np.uint32))


def read_back(words, steps, shape, kind):
    register, lane, bit = places(steps, shape)
    words = np.stack(words).astype(np.uint64)
    raw = words[register, lane] >> bit.astype(np.uint64)
    if kind.itemsize == 8:
        raw |= words[register + 1, lane] << np.uint64(32)
    return raw.astype(f"u{kind.itemsize}").view(kind)


def is_refused(target, opcode):
    """Several blocks of more than 4 rows, items of 4 bits, and 16-bit sums of gfx11."""
    blocks = LAYOUTS[target, opcode]["D"].get("block")
    short = target == "gfx1100" and not opcode.startswith(("v_wmma_f32", "v_wmma_i32"))
    return short or opcode.endswith("iu4") or (blocks and "_4x4x" not in opcode)


REFUSED = [key for key in LAYOUTS if is_refused(*key)]
EXECUTED = [key for key in LAYOUTS if key not in REFUSED]


@pytest.mark.parametrize("target, opcode", EXECUTED, ids=lambda value: value)
def test_each_element_lies_where_amds_calculator_places_it(target, opcode):
    layout, lanes = LAYOUTS[target, opcode], 32 if opcode.startswith("v_wmma") else 64
    *kinds, form = kinds_of(opcode, target)
    random = np.random.default_rng(3)
    a, b = (
        random.integers(-6, 7, shape_of(layout[matrix])).astype(kind)
        for matrix, kind in zip("AB", kinds)
    )
    c = random.integers(-6, 7, shape_of(layout["D"])).astype(form)
    v, spans = {}, {}
    for matrix, values in (("A", a), ("B", b), ("C", c)):
        words = laid_out(values, layout["D" if matrix == "C" else matrix], lanes)
        v.update({FIRST[matrix] + place: word for place, word in enumerate(words)})
        spans[matrix] = len(words)
    spans["D"] = spans["C"]
    text = [
        f"v[{FIRST[matrix]}:{FIRST[matrix] + spans[matrix] - 1}]"
        if spans[matrix] > 1
        else f"v{FIRST[matrix]}"
        for matrix in "DABC"
    ]
    more = " neg_lo:[1,1,0]" if opcode.endswith("iu8") else ""
    machine = run(f"{opcode} {', '.join(text)}{more}", target, v=v)
    got = read_back(
        [machine.whole(machine.V[place])[0] for place in range(spans["D"])],
        layout["D"],
        c.shape,
        form,
    )
    product = np.einsum("ikb,kjb->ijb", a.astype(np.float64), b.astype(np.float64))
    assert np.array_equal(got.astype(np.float64), product + c.astype(np.float64))


@pytest.mark.parametrize("target, opcode", REFUSED, ids=lambda value: value)
def test_other_forms_are_refused_by_name(target, opcode):
    layout = LAYOUTS[target, opcode]
    spans = [registers_of(layout[matrix]) for matrix in "DABD"]
    text = ", ".join(
        f"v[{FIRST[matrix]}:{FIRST[matrix] + count - 1}]" if count > 1 else f"v{FIRST[matrix]}"
        for matrix, count in zip("DABC", spans)
    )
    with pytest.raises(Unsupported, match=opcode):
        run(f"{opcode} {text}", target)
