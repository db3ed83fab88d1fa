"""Rows of instructions, and kernels, on the machine or, by a switch, on a GPU."""

import os
from dataclasses import dataclass, field
from typing import Any, List, Sequence, Tuple

import numpy as np
import pytest

from crosswarp.matrix.cell.machines import ptx

ON_DEVICE = os.environ.get("CROSSWARP_PTX_DEVICE") == "1"
# Whether the figures are printed at the end of the run.
TOLD = ON_DEVICE or os.environ.get("CROSSWARP_PTX_FIGURES") == "1"
_INPUTS, _OUTPUTS = "abcd", "xyzw"

on_machine_only = pytest.mark.skipif(ON_DEVICE, reason="a GPU does not survive it")


# What is to be told at the end of the run: (instruction, numbers, how many of them are the nearest to the truth,
# largest error in units of the last place, what is allowed).
FIGURES: List[Tuple[str, int, int, float, str]] = []


@dataclass
class Row:
    """One snippet for all lanes.

    Attributes:
        body: PTX; inputs are %a, %b, %c, %d, outputs %x, %y, %z, %w, each as wide as its array. %p, %q are predicates,
            %r0 to %r9, %h0 to %h9 and %rd0 to %rd9 are free.
        inputs: raw bits of each lane, one array an operand.
        expected: likewise.
        floats: format of an output, by place ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2"): any NaN is as good as
            another there.
        ulps: how far the device may be away, in units of the last place of float32; the machine may be 1 away.
    """

    name: str
    body: str
    inputs: List[np.ndarray]
    expected: List[np.ndarray]
    floats: Tuple[str, ...] = ()
    ulps: int = 0
    target: str = "sm_80"
    version: str = "8.4"
    lanes: int = field(init=False)

    def __post_init__(self):
        self.lanes = len(self.inputs[0])

    @property
    def threads(self):
        """Of a CTA: those that a CTA cannot hold go to further ones."""
        return min(-(-self.lanes // 32) * 32, 1024)


def _load(register, array, place):
    bits = 8 * array.dtype.itemsize
    return [f"    ld.param.u64 %rd90, [p{place}];", f"    mad.wide.u32 %rd90, %r90, {bits // 8}, %rd90;",
            f"    ld.global.b{bits} %{register}, [%rd90];"]  # fmt: skip


def kernel_of(row):
    """The PTX text of a row."""
    names = [*zip(_INPUTS, row.inputs), *zip(_OUTPUTS, row.expected)]
    lines = [
        f".version {row.version}", f".target {row.target}", ".address_size 64", "",
        ".visible .entry row(" + ", ".join(f".param .u64 p{place}" for place in range(len(names))) + ")",
        f".reqntid {row.threads}", "{",
        "    .reg .pred %p, %q, %p9; .reg .b16 %h<10>; .reg .b32 %r<92>; .reg .b64 %rd<92>;",
    ]  # fmt: skip
    for name, array in names:
        # 8 bits live in a register of 16.
        lines.append(f"    .reg .b{max(16, 8 * array.dtype.itemsize)} %{name};")
    lines.append("    mov.u32 %r90, %ctaid.x; mov.u32 %r91, %tid.x;")
    lines.append(f"    mad.lo.u32 %r90, %r90, {row.threads}, %r91;")
    for place, (name, array) in enumerate(names[: len(row.inputs)]):
        lines += _load(name, array, place)
    lines += ["    " + line for line in row.body.strip().split("\n")]
    for place, (name, array) in enumerate(names):
        if place >= len(row.inputs):
            address = _load(name, array, place)[:2]
            bits = 8 * array.dtype.itemsize
            lines += address + [f"    st.global.b{bits} [%rd90], %{name};"]
    return "\n".join([*lines, "    ret;", "}", ""])


def outputs_of(row):
    """Run the row; its outputs, one array each."""
    padded = -(-row.lanes // row.threads) * row.threads

    def whole(array):
        return np.concatenate([array, np.repeat(array[-1:], padded - len(array))])

    inputs = [whole(array) for array in row.inputs]
    outputs = [
        np.full(padded, 0x5A, np.uint8).repeat(e.dtype.itemsize).view(e.dtype) for e in row.expected
    ]
    execute(kernel_of(row), (padded // row.threads, 1, 1), [*inputs, *outputs])
    return [output[: row.lanes] for output in outputs]


def check(row):
    """Run the row and compare."""
    for place, (got, wanted) in enumerate(zip(outputs_of(row), row.expected)):
        kind = row.floats[place] if place < len(row.floats) else ""
        compare(
            row.name, got, wanted, kind, row.ulps if ON_DEVICE else min(row.ulps, 1), row.inputs
        )


def _nan(raw, kind):
    bits, exponent = {"f16": (16, 0x7C00), "bf16": (16, 0x7F80), "f32": (32, 0x7F800000),
                      "f64": (64, 0x7FF << 52)}[kind]  # fmt: skip
    return (raw & raw.dtype.type((1 << bits - 1) - 1)) > raw.dtype.type(exponent)


def compare(name, got, wanted, kind="", ulps=0, inputs=()):
    if kind.endswith("x2"):
        got, wanted, kind = got.view(np.uint16), wanted.view(np.uint16), kind[:-2]
        inputs = ()
    good = got == wanted
    if kind:
        good |= _nan(got, kind) & _nan(wanted, kind)
    if ulps and kind == "f32":
        a, b = got.view(np.float32).astype(np.float64), wanted.view(np.float32).astype(np.float64)
        unit = np.maximum(np.abs(b) * 2.0**-23, 2.0**-149)
        with np.errstate(all="ignore"):
            good |= np.abs(a - b) <= ulps * unit
    bad = np.flatnonzero(~good)
    if len(bad):
        first = bad[0]
        of = ", ".join(hex(int(array[first])) for array in inputs if first < len(array))
        pytest.fail(
            f"{name}: {len(bad)} of {len(good)} lanes wrong; lane {first}: ({of}) gave {int(got[first]):#x}, "
            f"expected {int(wanted[first]):#x}"
        )


def where():
    """What the numbers come from, in words."""
    if not ON_DEVICE:
        return "the PTX machine"
    import device

    return "%s, sm_%d" % device.described()[::-1]


def execute(
    text: str,
    grid: Sequence[int],
    buffers: Sequence[Any],
    shared: int = 0,
    cluster: Tuple[int, int, int] = (1, 1, 1),
    **options: Any,
) -> Any:
    """Run the kernel of `text`: arrays are passed by address and changed in place, ints and bytes by value.

    On a GPU arrays are copied there and back. A tensor map is a function of addresses: it is given as a callable that
    takes an encoder and the addresses of the arrays.
    """
    if ON_DEVICE:
        import device

        device.execute(text, grid, buffers, shared, cluster)
        return None
    memory = ptx.Memory()
    arguments = []
    addresses = {}
    for place, buffer in enumerate(buffers):
        if isinstance(buffer, np.ndarray):
            addresses[place] = memory.add_array(buffer, f"buffer {place}")
    for place, buffer in enumerate(buffers):
        if callable(buffer):
            arguments.append(buffer(ptx.tensor_map, addresses))
        else:
            arguments.append(addresses.get(place, buffer))
    return ptx.run(text, grid, arguments, shared=shared, memory=memory, cluster=cluster, **options)
