"""Planted miscompilations: PTX of the suite with one line changed is told from what was compiled, by its numbers.

The texts were recorded from kernels of the suite with a real Triton (`planted/record.py`), with their inputs and with
what PyTorch expects; the judgement is the suite's: relative error of each output, NaN and infinities apart.
"""

import json
from functools import lru_cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from planted.mutations import MUTATIONS
from running import on_machine_only

from crosswarp.matrix.cell.machines import ptx

HERE = Path(__file__).parent / "planted"
RECORDED = sorted(path.stem for path in HERE.glob("*.json"))
_SCALARS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}

pytestmark = on_machine_only


@lru_cache(maxsize=None)
def recorded(name):
    """The manifest, the arrays and the texts of a kernel."""
    told = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    with np.load(HERE / f"{name}.npz") as file:
        arrays = dict(file)
    count = 1 + max(launch["text"] for launch in told["launches"])
    texts = [(HERE / f"{name}-{number}.ptx").read_text("utf-8") for number in range(count)]
    return told, arrays, texts


def _value(argument, storages):
    kind, value, *offset = argument
    if kind == "tensor":
        return storages[value].ctypes.data + offset[0]
    if kind == "bytes":
        return bytes.fromhex(value)
    return value if kind == "int" else _SCALARS[kind](value)


def execute(name, number=None, text=None):
    """Run the launches of a kernel, with `text` in place of its text `number`; returns what is wrong, or ""."""
    told, arrays, texts = recorded(name)
    storages = {
        int(key[len("storage") :]): array.copy()
        for key, array in arrays.items()
        if key.startswith("storage")
    }
    for launch in told["launches"]:
        memory = ptx.Memory()
        for argument in launch["arguments"]:
            if argument[0] == "tensor":
                memory.add_array(storages[argument[1]], f"storage {argument[1]}")
        try:
            ptx.run(
                text if launch["text"] == number else texts[launch["text"]],
                launch["grid"],
                [_value(argument, storages) for argument in launch["arguments"]],
                shared=launch["shared"],
                memory=memory,
                threads=launch["threads"],
                limits=ptx.Limits(seconds=60),
            )
        except (ptx.Fault, ptx.Deadlock) as error:
            return f"{type(error).__name__}: {error}"
    for key, where in told["outputs"].items():
        wrong = _difference(_output(where, storages), arrays[f"expected {key}"], told["tolerance"])
        if wrong:
            return f"{key}: {wrong}"
    return ""


def _output(where, storages):
    dtype = ml_dtypes.bfloat16 if where["dtype"] == "bfloat16" else np.dtype(where["dtype"])
    raw = storages[where["storage"]]
    return np.ndarray(where["shape"], dtype, raw, where["offset"], where["strides"])


def _difference(out, expected, tolerance):
    """As `matrix/cell/judging/compare.py` judges, with numpy alone."""
    out, expected = out.astype(np.float64), expected.astype(np.float64)
    for kind in (np.isnan, np.isposinf, np.isneginf):
        if (kind(out) != kind(expected)).any():
            return kind.__name__
    same = np.isfinite(expected)
    size = np.linalg.norm(expected[same])
    error = np.linalg.norm((out - expected)[same]) / (size or 1.0)
    return f"relative error {error:.3g}" if error > tolerance else ""


def words(line):
    return " ".join(line.split())


def changed(mutation):
    """The text with the mutation in it, its number, and the name of its kernel."""
    name, _, number = mutation.text.rpartition("-")
    lines = recorded(name)[2][int(number)].splitlines()
    found = [place for place, line in enumerate(lines) if words(line) == words(mutation.line)]
    assert mutation.place is not None or len(found) == 1, (mutation, found)
    place = found[mutation.place or 0]
    lines[place : place + 1] = [] if mutation.instead is None else [mutation.instead]
    return name, int(number), "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_compiled_is_right(name):
    assert execute(name) == ""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[f"{one.text} {one.kind}" for one in MUTATIONS])
def test_what_is_planted_is_found(mutation):
    wrong = execute(*changed(mutation))
    if mutation.survives:
        assert wrong == "", f"it is found after all; {mutation.survives}"
    else:
        assert wrong


def test_enough_is_planted():
    assert len({one.text.rpartition("-")[0] for one in MUTATIONS}) >= 10
    red = [one for one in MUTATIONS if not one.survives]
    assert len(red) >= 28 and len(MUTATIONS) >= 30
