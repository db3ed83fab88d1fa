"""Tensor memory: allocation, tcgen05.ld, st and cp; layouts by the ISA's figures, one thread at a time.

No GPU of this generation has run these rows yet.
"""

import numpy as np
import pytest
from blackwell import (
    HEAD,
    TAIL,
    WAIT_LD,
    WAIT_ST,
    after,
    before,
    descriptor,
    fill,
    give,
    in_shared,
    names,
    run,
    wait,
)  # fmt: skip
from running import execute, on_machine_only

from crosswarp.matrix.cell.machines import ptx


def _lane_and_column(shape, thread, register):
    """Of a thread's register, from the address: the ISA's figures of the matrix fragments."""
    if shape == "32x32b":
        return thread, register
    if shape == "16x32bx2":
        # The upper half of the threads begins 16 columns further: what the tests add.
        return thread % 16, register + (16 if thread >= 16 else 0)
    if shape == "16x64b":
        # T0 and T2 share lane 0, T1 and T3 lane 8, T4 and T6 lane 1 …
        return thread // 4 + (8 if thread & 1 else 0), 2 * register + (1 if thread & 2 else 0)
    if shape == "16x128b":
        # r0 in the upper eight lanes, r1 in the lower, four columns by four threads.
        return thread // 4 + 8 * (register % 2), 4 * (register // 2) + thread % 4
    quad, at = divmod(register, 4)
    return thread // 4 + (8 if at >= 2 else 0), 8 * quad + 2 * (thread % 4) + at % 2


_REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
_CELLS = (np.arange(128)[:, None] << 16 | np.arange(64)[None] | 0xA000).astype(np.uint32)
_SHAPES = [(shape, times) for shape in _REGISTERS for times in (1, 4)]


@pytest.mark.parametrize("shape, times", _SHAPES)
def test_loads_of_every_shape(shape, times):
    count = times * _REGISTERS[shape]
    more = ", 16" if shape == "16x32bx2" else ""
    upper = 0 if shape == "32x32b" else 16
    lines = [
        *fill(64), f"tcgen05.st.sync.aligned.32x32b.x64.b32 [%r6], {names('c', 64)};", WAIT_ST,
        f"add.u32 %r10, %r6, {upper << 16 | 8};",
        f"tcgen05.ld.sync.aligned.{shape}.x{times}.b32 {names('o', count)}, [%r10 + 4]{more};", WAIT_LD, *give(count),
    ]  # fmt: skip
    got = run(lines, b"", _CELLS, count)
    for thread in range(128):
        for register in range(count):
            lane, column = _lane_and_column(shape, thread % 32, register)
            assert got[thread, register] == _CELLS[32 * (thread // 32) + upper + lane, 12 + column]


@pytest.mark.parametrize("shape, times", _SHAPES)
def test_stores_of_every_shape(shape, times):
    count = times * _REGISTERS[shape]
    more = "16, " if shape == "16x32bx2" else ""
    values = np.random.default_rng(2).integers(0, 2**32, (128, count), np.uint32)
    lines = [
        *fill(count), f"tcgen05.st.sync.aligned.{shape}.x{times}.b32 [%r6], {more}{names('c', count)};", WAIT_ST,
        f"tcgen05.ld.sync.aligned.32x32b.x64.b32 {names('o', 64)}, [%r6];", WAIT_LD, *give(64),
    ]  # fmt: skip
    expected = np.full((128, 64), 0xFFFFFFFF, np.uint32)
    for thread in range(128):
        for register in range(count):
            lane, column = _lane_and_column(shape, thread % 32, register)
            expected[32 * (thread // 32) + lane, column] = values[thread, register]
    assert np.array_equal(run(lines, b"", values, 64), expected)


def test_halves_are_unpacked_to_columns_and_packed_again():
    values = np.random.default_rng(3).integers(0, 2**32, (128, 2), np.uint32)
    lines = [
        *fill(2), f"tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r6], {names('c', 2)};", WAIT_ST,
        f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {names('o', 4)}, [%r6];", WAIT_LD,
        "tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%o4, %o5}, [%r6];", WAIT_LD, *give(6),
    ]  # fmt: skip
    got = run(lines, b"", values, 6)
    assert np.array_equal(got[:, :4] & 0xFFFF, np.ascontiguousarray(values).view(np.uint16))
    assert np.array_equal(got[:, 4:], values)


@pytest.mark.parametrize("shape", ["32x128b.warpx4", "128x256b", "128x128b"])
def test_copies_to_tensor_memory(shape):
    rows, words = (32, 4) if shape.startswith("32") else (128, 8 if "256" in shape else 4)
    block = np.random.default_rng(4).integers(0, 2**32, (rows, words), np.uint32)
    raw, leading, stride = in_shared(block, 0)
    lines = [
        *before(64, len(raw)), "@!%p0 bra copied;", "add.u32 %r11, %r2, 1024; shr.u32 %r11, %r11, 4;",
        f"cvt.u64.u32 %d6, %r11; mov.b64 %d8, {descriptor(leading, stride, 0):#x}; or.b64 %d6, %d6, %d8;",
        f"tcgen05.cp.cta_group::1.{shape} [%r5 + 8], %d6;",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r3];", "copied:", *wait(), *after(64),
    ]  # fmt: skip
    cells = np.arange(128 * 64, dtype=np.uint32).reshape(128, 64)
    expected = cells.copy()
    expected[:, 8 : 8 + words] = np.tile(block, (128 // rows, 1))
    assert np.array_equal(run(lines, raw, cells, 64), expected)


@on_machine_only
def test_a_store_that_nobody_waits_for_has_not_come():
    lines = [
        *fill(4), f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%r6], {names('c', 4)};",
        f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {names('o', 4)}, [%r6];", WAIT_LD, *give(4),
    ]  # fmt: skip
    assert (run(lines, b"", _CELLS[:, :4], 4) == 0xFFFFFFFF).all()


@on_machine_only
@pytest.mark.parametrize("line, told", [
    ("@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;", "after relinquish_alloc_permit"),
    ("@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 256;", "which nobody has allocated"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%o0}, [%r5];", "lanes that belong to another"),
    ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%o0, %o1}, [%r6 + 511];", "nobody has allocated"),
    ("@%p0 tcgen05.wait::st.sync.aligned;", ""),
    ("@%p0 tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%c0};", "by some of the threads"),
])  # fmt: skip
def test_what_a_gpu_would_not_survive(line, told):
    lines = [line, "mov.u32 %o0, 0;", *give(1)]
    if "dealloc" in line:
        lines.insert(1, "bar.sync 0;")
    if not told:
        # Nothing was stored: there is nothing to wait for.
        run(lines, b"", _CELLS, 1)
        return
    with pytest.raises(ptx.Fault, match=told):
        run(lines, b"", _CELLS, 1)


@pytest.mark.parametrize(
    "columns, told", [(48, "48 columns"), (16, "16 columns"), (512, "no 512 columns are free")]
)
@on_machine_only
def test_allocations_that_cannot_be(columns, told):
    text = HEAD.replace("@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", (
        f"@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], {columns};"))  # fmt: skip
    with pytest.raises(ptx.Fault, match=told):
        execute(text + TAIL, (1,), [np.zeros(4, np.uint32)] * 3, shared=1024)


@on_machine_only
@pytest.mark.parametrize("line", [
    "tcgen05.shift.cta_group::1.down [%r5];",
    "tcgen05.mma.ws.cta_group::1.kind::f16 [%r5], %d6, %d7, %r12, %p3;",
    "tcgen05.cp.cta_group::1.4x256b [%r5], %d6;",
])  # fmt: skip
def test_what_is_not_known_is_refused_by_its_name(line):
    with pytest.raises(ptx.Unsupported) as caught:
        ptx.load(HEAD + line + "\n" + TAIL)
    assert caught.value.opcode == line.split()[0]
