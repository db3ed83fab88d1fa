"""Counters of the PTX emulator: sectors, lines, bank wavefronts, bytes, instructions of warps, by hand-made kernels."""

from types import SimpleNamespace

import numpy as np
import pytest
from running import execute, on_machine_only
from test_memory import kernel

from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.observers.counters import Counters, class_of

pytestmark = on_machine_only


def aligned(size):
    """Zeros that begin where a line of 128 bytes does, as what a GPU's allocator hands out."""
    room = np.zeros(size + 128, np.uint8)
    start = -room.ctypes.data % 128
    return room[start : start + size]


def counted(body, size=1 << 14, grid=1, **options):
    text = kernel(body, **options)
    program = ptx.load(text)
    watch = Counters(program.entry().kernel)
    execute(text, (grid,), [aligned(size), aligned(size)], watch=watch)
    return watch.figures()


@pytest.mark.parametrize(
    ("step", "sectors", "lines"),
    [(4, 4, 1), (32, 32, 8), (128, 32, 32), (0, 1, 1), (8, 8, 2)],
)
def test_sectors_and_lines_of_a_request(step, sectors, lines):
    found = counted(f"mad.wide.u32 %d2, %r0, {step}, %d0; ld.global.b32 %r5, [%d2];")
    (load,) = found["memory"]
    assert (load["requests"], load["sectors"], load["lines"], load["bytes"]) == (
        1,
        sectors,
        lines,
        128,
    )
    assert load["least"] == (1 if step == 0 else 4)
    assert found["sectors"] == sectors and found["bytes"] == {"global": 128}


def test_lanes_that_take_no_part_ask_for_nothing():
    body = "setp.lt.u32 %p1, %r0, 8; mad.wide.u32 %d2, %r0, 32, %d0; @%p1 ld.global.b32 %r5, [%d2];"
    found = counted(body, threads=64)
    (load,) = found["memory"]
    # The second warp has no lane below 8: no request.
    assert (load["requests"], load["sectors"], load["bytes"], load["lanes"]) == (1, 8, 32, 8)


@pytest.mark.parametrize(
    ("step", "form", "wavefronts", "least"),
    [
        (4, "b32", 1, 1),
        (8, "b32", 2, 1),
        (128, "b32", 32, 1),
        (0, "b32", 1, 1),
        (8, "b64", 2, 2),
        (16, "v4.b32", 4, 4),
    ],
)
def test_wavefronts_over_the_banks(step, form, wavefronts, least):
    register = {"b32": "%r5", "b64": "%d5", "v4.b32": "{%r5, %r6, %r7, %r8}"}[form]
    body = (
        f"mov.u32 %r4, data; mad.lo.u32 %r4, %r0, {step}, %r4; ld.shared.{form} {register}, [%r4];"
    )
    found = counted(body, shared=".shared .align 16 .b8 data[8192];")
    assert (found["wavefronts"], found["memory"][0]["least"]) == (wavefronts, least)


@pytest.mark.parametrize(
    ("space", "step", "form", "own", "wider"),
    [
        # The lanes' words lie 16 bytes apart, or 128, or in the same 16 bytes.
        ("shared", 16, "b32", 4, (4, 4)),
        ("shared", 128, "b32", 32, (32, 32)),
        ("shared", 0, "b32", 1, (2, 4)),
        ("shared", 16, "v4.b32", 4, (4, 4)),
        # Sectors: as many as the aligned bytes lie in.
        ("global", 16, "b32", 16, (16, 16)),
        ("global", 4, "b32", 4, (4, 4)),
    ],
)
def test_what_ptxas_may_make_of_smaller_accesses(space, step, form, own, wider):
    register = {"b32": "%r5", "v4.b32": "{%r5, %r6, %r7, %r8}"}[form]
    at, move = {
        "shared": ("%r4", "mov.u32 %r4, data; mad.lo.u32 %r4, %r0, {}, %r4;"),
        "global": ("%d2", "mad.wide.u32 %d2, %r0, {}, %d0;"),
    }[space]
    body = move.format(step) + f"ld.{space}.{form} {register}, [{at}];"
    text = kernel(body, shared=".shared .align 16 .b8 data[8192];")
    program = ptx.load(text)
    watch = Counters(program.entry().kernel)
    execute(text, (1,), [aligned(1 << 14), aligned(1 << 14)], watch=watch)
    (row,) = watch.by_instruction()["memory"]
    assert row[4:] == (16 if "v4" in form else 4, (own, *wider))


def test_words_that_one_wide_access_covers_count_alike():
    """Four loads of a lane's own four words are each a part of the same access of 16 bytes."""
    body = "mov.u32 %r4, data; mad.lo.u32 %r4, %r0, 16, %r4;"
    body += "".join(f"ld.shared.b32 %r5, [%r4+{step}];" for step in (0, 4, 8, 12))
    text = kernel(body, shared=".shared .align 16 .b8 data[8192];")
    watch = Counters(ptx.load(text).entry().kernel)
    execute(text, (1,), [aligned(1 << 14), aligned(1 << 14)], watch=watch)
    assert [row[5] for row in watch.by_instruction()["memory"]] == [(4, 4, 4)] * 4


def test_all_programs_count_and_a_block_counts_as_often_as_a_warp_ran_it():
    body = "mov.u32 %r5, 0;\nagain: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 5; @%p1 bra again;\nbar.sync 0;"
    one, three = (counted(body, threads=64, grid=grid) for grid in (1, 3))
    assert one["barriers"] == 2 and three["barriers"] == 6
    # Two warps, five times.
    assert one["instructions"]["compare"] == 10 and three["instructions"]["compare"] == 30


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("ld.global.b32", "global load"), ("st.shared.v4.b32", "shared store"), ("fma.rn.f32", "float"),
        ("add.s32", "integer"), ("ex2.approx.f32", "special"), ("mma.sync.aligned.m16n8k16.row.col", "matrix"),
        ("cp.async.cg.shared.global", "async copy"), ("bar.sync", "barrier"), ("ld.param.u64", "param load"),
    ],
)  # fmt: skip
def test_classes(opcode, kind):
    assert class_of(opcode) == kind


@pytest.mark.parametrize(("sample", "ctas"), [(None, 9), (4, 4), (9, 9), (100, 9), (1, 1)])
def test_a_sample_of_the_programs(sample, ctas):
    text = kernel("bar.sync 0;", threads=64)
    program = ptx.load(text)
    watch = Counters(program.entry().kernel)
    result = execute(text, (9,), [aligned(64), aligned(64)], watch=watch, sample=sample)
    assert result.ctas == ctas and watch.figures()["barriers"] == 2 * ctas


@pytest.mark.parametrize(
    ("space", "steps", "units"),
    [
        # Whole lines further on, and 4 bytes, which make a fifth sector of four.
        ("global", (0, 128, 256), [4, 4, 4]),
        ("global", (0, 128, 4), [4, 4, 5]),
        # Other banks, and two words to a bank where lanes are 8 bytes apart.
        ("shared", (0, 4, 132), [2, 2, 2]),
    ],
)
def test_accesses_that_repeat_a_pattern_count_like_the_first(space, steps, units):
    body = {
        "global": "mad.wide.u32 %d2, %r0, 4, %d0;",
        "shared": "mov.u32 %r4, data; mad.lo.u32 %r4, %r0, 8, %r4;",
    }[space]
    register = {"global": "%d2", "shared": "%r4"}[space]
    body += "".join(f"ld.{space}.b32 %r5, [{register}+{step}];" for step in steps)
    text = kernel(body, shared=".shared .align 16 .b8 data[4096];", threads=64)
    program = ptx.load(text)
    watch = Counters(program.entry().kernel)
    execute(text, (1,), [aligned(1 << 14), aligned(1 << 14)], watch=watch)
    memory = watch.by_instruction()["memory"]
    assert [one[3] for one in memory] == [2, 2, 2]
    assert [one[5][0] for one in memory] == [2 * one for one in units]


@pytest.mark.parametrize(("copies", "condition"), [(1, None), (2, [[True, False, True]])])
def test_a_bulk_copy_counts_its_bytes_and_the_sectors_and_lines_in_them(copies, condition):
    text = kernel("cp.async.bulk.commit_group;")
    watch = Counters(ptx.load(text).entry().kernel)
    machine = SimpleNamespace(ctas=1, threads=128)
    address = np.zeros((1, 3 if condition else 1), np.uint64)
    mask = None if condition is None else np.array(condition)
    watch.access(machine, 0, "global", "bulk load", address, mask, 4096)
    (row,) = watch.figures()["memory"]
    assert (row["requests"], row["bytes"], row["lanes"]) == (1, copies * 4096, copies)
    assert (row["sectors"], row["least"], row["lines"]) == (copies * 128, copies * 128, copies * 32)
    assert watch.by_instruction()["memory"][0][5] == (copies * 128,) * 3
