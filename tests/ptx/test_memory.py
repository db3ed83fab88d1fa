"""Loads, stores, atomics, cp.async and faults: whole kernels."""

import numpy as np
import pytest
from running import ON_DEVICE, execute, on_machine_only

from crosswarp.matrix.cell.machines import ptx

_HEAD = """.version 8.4
.target {target}
.address_size 64
.visible .entry test(.param .u64 p0, .param .u64 p1)
.reqntid {threads}
{{
{shared}
.reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>;
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1];
mov.u32 %r2, %ntid.x; mad.lo.s32 %r3, %r1, %r2, %r0;
{body}
ret;
}}
"""


def kernel(body, threads=32, shared="", target="sm_80"):
    return _HEAD.format(body=body, threads=threads, shared=shared, target=target)


@pytest.mark.parametrize(
    "form", ["b8", "b16", "b32", "b64", "v2.b32", "v4.b32", "v2.b64", "v4.b16", "v2.b8"]
)
def test_vectors_are_neighbours(form):
    count, bits = int(form[1]) if form[0] == "v" else 1, int(form.split("b")[1])
    registers = [f"%{ {8: 'h', 16: 'h', 32: 'r', 64: 'd'}[bits] }{5 + i}" for i in range(count)]
    operand = "{" + ", ".join(registers) + "}" if count > 1 else registers[0]
    size = count * bits // 8
    body = (
        f"mad.wide.u32 %d2, %r0, {size}, %d0; mad.wide.u32 %d3, %r0, {size}, %d1;\n"
        f"ld.global.{form} {operand}, [%d2];\nst.global.{form} [%d3], {operand};"
    )
    x = np.random.default_rng(1).integers(0, 256, 32 * size).astype(np.uint8)
    y = np.zeros_like(x)
    execute(kernel(body), (1,), [x, y])
    assert np.array_equal(x, y)


def test_loads_extend():
    body = (
        "mad.wide.u32 %d2, %r0, 1, %d0; mad.wide.u32 %d3, %r0, 16, %d1;\n"
        "ld.global.s8 %r5, [%d2]; ld.global.u8 %r6, [%d2]; ld.global.s8 %d5, [%d2];\n"
        "st.global.b32 [%d3], %r5; st.global.b32 [%d3+4], %r6; st.global.b64 [%d3+8], %d5;"
    )
    x = np.arange(0, 256, 8, dtype=np.uint8)
    y = np.zeros((32, 4), np.uint32)
    execute(kernel(body), (1,), [x, y])
    signed = x.view(np.int8)
    assert np.array_equal(y[:, 0].view(np.int32), signed)
    assert np.array_equal(y[:, 1], x)
    assert np.array_equal(np.ascontiguousarray(y[:, 2:]).view(np.int64)[:, 0], signed)


def test_what_is_masked_is_not_touched():
    body = (
        "setp.lt.u32 %p0, %r0, 5; mad.wide.u32 %d2, %r0, 4, %d0; mad.wide.u32 %d3, %r0, 4, %d1;\n"
        "mov.u32 %r5, 77;\n@%p0 ld.global.b32 %r5, [%d2];\nst.global.b32 [%d3], %r5;"
    )
    # Only five elements: the others would be out of bounds.
    x, y = np.arange(5, dtype=np.uint32), np.zeros(32, np.uint32)
    execute(kernel(body), (1,), [x, y])
    assert y.tolist() == [0, 1, 2, 3, 4] + [77] * 27


_ATOMICS = [
    ("add.u32", np.uint32, lambda v: int(v.sum()) % 2**32), ("min.s32", np.int32, lambda v: v.min()),
    ("max.s32", np.int32, lambda v: v.max()), ("min.u32", np.uint32, lambda v: v.min()),
    ("max.u32", np.uint32, lambda v: v.max()), ("and.b32", np.uint32, np.bitwise_and.reduce),
    ("or.b32", np.uint32, np.bitwise_or.reduce), ("xor.b32", np.uint32, np.bitwise_xor.reduce),
    ("add.u64", np.uint64, lambda v: v.sum()), ("max.s64", np.int64, lambda v: v.max()),
    ("add.f32", np.float32, lambda v: v.sum()), ("add.f64", np.float64, lambda v: v.sum()),
    ("add.noftz.f16", np.float16, lambda v: v.sum()),
]  # fmt: skip


@pytest.mark.parametrize("operation, dtype, meaning", _ATOMICS, ids=[one[0] for one in _ATOMICS])
@pytest.mark.parametrize("returns", [False, True])
def test_atomics_lose_nothing(operation, dtype, meaning, returns):
    size = np.dtype(dtype).itemsize
    register = {2: "%h5", 4: "%r5", 8: "%d5"}[size]
    old = {2: "%h6", 4: "%r6", 8: "%d6"}[size]
    form = (
        f"atom.global.gpu.relaxed.{operation} {old},"
        if returns
        else f"red.global.gpu.relaxed.{operation}"
    )
    form = form.replace("gpu.relaxed", "relaxed.gpu")
    body = f"mad.wide.u32 %d2, %r3, {size}, %d0; ld.global.b{8 * size} {register}, [%d2];\n{form} [%d1], {register};"
    # Whole numbers: every order of a sum gives the same.
    x = (
        np.random.default_rng(2).integers(0, 9, 128).astype(dtype) - dtype(4)
        if dtype != np.uint32
        else None
    )
    if x is None:
        x = np.random.default_rng(2).integers(0, 2**32, 128, np.uint64).astype(np.uint32)
    start = dtype(1) if "and" not in operation else dtype(2**32 - 1)
    y = np.array([start], dtype)
    execute(kernel(body, threads=64), (2,), [x, y])
    with np.errstate(over="ignore"):
        expected = np.array([meaning(np.concatenate([y * 0 + start, x]))]).astype(dtype)
    assert y[0] == expected[0]


def test_atomics_return_what_was_there():
    body = "mad.wide.u32 %d2, %r3, 4, %d0; atom.global.add.u32 %r5, [%d1], 1; st.global.b32 [%d2], %r5;"
    x, y = np.zeros(256, np.uint32), np.zeros(1, np.uint32)
    execute(kernel(body, threads=64), (4,), [x, y])
    assert sorted(x.tolist()) == list(range(256))
    assert y[0] == 256


def test_compare_and_swap_lets_one_in():
    body = (
        "mad.wide.u32 %d2, %r3, 4, %d0; add.u32 %r7, %r3, 1;\n"
        "atom.global.cas.b32 %r5, [%d1], 0, %r7; st.global.b32 [%d2], %r5;"
    )
    x, y = np.zeros(64, np.uint32), np.zeros(1, np.uint32)
    execute(kernel(body, threads=64), (1,), [x, y])
    winner = np.flatnonzero(x == 0)
    assert len(winner) == 1
    assert y[0] == winner[0] + 1


def test_increment_and_decrement_wrap():
    body = "atom.global.inc.u32 %r5, [%d0], 9; atom.global.dec.u32 %r5, [%d1], 9;"
    x, y = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    execute(kernel(body, threads=32), (1,), [x, y])
    assert (x[0], y[0]) == (32 % 10, (-32) % 10)


def test_packed_and_exchanged_atomics():
    body = (
        "mov.b32 %r5, 0x40003C00; red.global.add.noftz.f16x2 [%d0], %r5;\n"
        "atom.global.exch.b32 %r6, [%d1], %r0;"
    )
    x, y = np.zeros(2, np.float16), np.array([99], np.uint32)
    execute(kernel(body, threads=32), (1,), [x, y])
    assert x.tolist() == [32.0, 64.0]
    assert y[0] < 32


def test_a_spin_lock_is_passed_from_hand_to_hand():
    # One thread of each CTA takes the lock, adds one without an atomic, and gives it back.
    body = (
        "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra done;\n"
        "wait:\natom.global.acquire.gpu.cas.b32 %r5, [%d0], 0, 1;\nsetp.ne.u32 %p0, %r5, 0;\n@%p0 bra wait;\n"
        "ld.volatile.global.u32 %r6, [%d1]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%d1], %r6;\n"
        "atom.global.release.gpu.exch.b32 %r5, [%d0], 0;\ndone:"
    )
    x, y = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    execute(kernel(body), (40,), [x, y])
    assert y[0] == 40


def test_a_cta_waits_for_one_that_comes_later():
    # CTA 0 waits for the flag of the last: only by leaving it can the machine come there.
    body = (
        "setp.eq.u32 %p0, %r1, 0;\n@%p0 bra wait;\n"
        "setp.ne.u32 %p1, %r1, 7;\n@%p1 bra done;\nst.volatile.global.u32 [%d0], 1;\nbra done;\n"
        "wait:\nld.volatile.global.u32 %r5, [%d0];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra wait;\n"
        "st.global.u32 [%d1], 5;\ndone:"
    )
    x, y = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    options = {} if ON_DEVICE else {"lanes": 32}
    execute(kernel(body), (8,), [x, y], **options)
    assert y[0] == 5


_COPY = (
    "mov.u32 %r4, room; shl.b32 %r5, %r0, 4; add.u32 %r4, %r4, %r5;\n"
    "mad.wide.u32 %d2, %r0, 16, %d0; mad.wide.u32 %d3, %r0, 16, %d1;\n"
)
_BACK = (
    "ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r4]; st.global.v4.b32 [%d3], {%r5, %r6, %r7, %r8};"
)
_ROOM = ".shared .align 16 .b8 room[1024];"


def test_copies_arrive_by_their_wait():
    body = (
        _COPY
        + "cp.async.cg.shared.global [%r4], [%d2], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
        + _BACK
    )
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [x, y])
    assert np.array_equal(x, y)


@on_machine_only
def test_copies_do_not_arrive_before_their_wait():
    body = _COPY + "cp.async.cg.shared.global [%r4], [%d2], 16;\ncp.async.commit_group;\n" + _BACK
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [x, y])
    assert (y == 0xFFFFFFFF).all()


def test_the_last_group_may_stay_out():
    body = (
        _COPY + "mov.b32 %r9, 0; st.shared.b32 [%r4], %r9; bar.sync 0;\n"
        "cp.async.ca.shared.global [%r4], [%d2], 4;\ncp.async.commit_group;\n"
        "cp.async.ca.shared.global [%r4+4], [%d2+4], 4;\ncp.async.commit_group;\n"
        "cp.async.wait_group 1;\nld.shared.b32 %r5, [%r4];\nst.global.b32 [%d3], %r5;\n"
        "cp.async.wait_all;\nld.shared.b32 %r5, [%r4+4];\nst.global.b32 [%d3+4], %r5;"
    )
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [x, y])
    assert np.array_equal(x.reshape(32, 4)[:, :2], y.reshape(32, 4)[:, :2])


@on_machine_only
def test_the_last_group_does_stay_out():
    body = (
        _COPY + "cp.async.ca.shared.global [%r4], [%d2], 4;\ncp.async.commit_group;\n"
        "cp.async.ca.shared.global [%r4+4], [%d2+4], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
        + _BACK
    )
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [x, y])
    assert np.array_equal(y.reshape(32, 4)[:, 0], x.reshape(32, 4)[:, 0])
    assert (y.reshape(32, 4)[:, 1] == 0xFFFFFFFF).all()


def test_what_a_copy_leaves_out_is_zero():
    body = (
        _COPY + "and.b32 %r9, %r0, 3; shl.b32 %r9, %r9, 2; mov.b32 %r10, 16;\n"
        "setp.gt.u32 %p0, %r0, 15; selp.b32 %r9, %r9, %r10, %p0;\n"
        "cp.async.cg.shared.global [%r4], [%d2], 16, %r9;\ncp.async.wait_all;\n" + _BACK
    )
    x, y = np.arange(1, 129, dtype=np.uint32), np.zeros(128, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [x, y])
    expected = x.reshape(32, 4).copy()
    for lane in range(16, 32):
        expected[lane, lane & 3 :] = 0
    assert np.array_equal(y.reshape(32, 4), expected)


@pytest.mark.parametrize("ignored", ["%p0", "!%p0"])
def test_a_copy_whose_source_is_ignored_gives_zeros(ignored):
    # Lanes that ignore their source have none: their address is no array's.
    body = (
        _COPY
        + f"setp.gt.u32 %p0, %r0, 15; selp.b64 %d2, {'0, %d2' if ignored == '%p0' else '%d2, 0'}, %p0;\n"
        f"cp.async.cg.shared.global [%r4], [%d2], 0x10, {ignored};\ncp.async.wait_all;\n" + _BACK
    )
    x, y = np.arange(1, 129, dtype=np.uint32), np.full(128, 7, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [x, y])
    expected = x.reshape(32, 4).copy()
    expected[slice(16, 32) if ignored == "%p0" else slice(16)] = 0
    assert np.array_equal(y.reshape(32, 4), expected)


def test_local_memory_is_each_thread_s_own():
    body = (
        "mov.u64 %d4, depot; cvta.local.u64 %d5, %d4;\nst.local.u32 [%d4+4], %r0;\n"
        "ld.u32 %r5, [%d5+4];\nmad.wide.u32 %d3, %r0, 4, %d1; st.global.u32 [%d3], %r5;"
    )
    y = np.zeros(32, np.uint32)
    execute(kernel(body, shared=".local .align 4 .b8 depot[16];"), (1,), [y, y])
    assert np.array_equal(y, np.arange(32))


def test_generic_addresses_of_shared_memory():
    body = (
        "mov.u64 %d4, room; cvta.shared.u64 %d5, %d4; mad.wide.u32 %d5, %r0, 4, %d5;\n"
        "st.u32 [%d5], %r0;\nbar.sync 0;\nxor.b32 %r6, %r0, 1; mov.u32 %r4, room; mad.lo.u32 %r4, %r6, 4, %r4;\n"
        "ld.shared.u32 %r5, [%r4];\nmad.wide.u32 %d3, %r0, 4, %d1; st.u32 [%d3], %r5;"
    )
    y = np.zeros(32, np.uint32)
    execute(kernel(body, shared=_ROOM), (1,), [y, y])
    assert np.array_equal(y, np.arange(32) ^ 1)


@on_machine_only
class TestFaults:
    def _fault(self, body, buffers, **more):
        with pytest.raises(ptx.Fault) as caught:
            execute(kernel(body, **more), (4,), buffers)
        return caught.value

    def test_behind_a_window(self):
        body = ".loc 1 42 5\nmad.wide.u32 %d2, %r3, 4, %d0;\nld.global.b32 %r5, [%d2];"
        x, y = np.zeros(100, np.uint32), np.zeros(1, np.uint32)
        fault = self._fault(body, [x, y])
        assert fault.kind == "out-of-bounds"
        assert fault.address == x.ctypes.data + 400
        assert (fault.program_id, fault.thread) == ((3, 0, 0), 4)
        assert fault.line == ("1", 42)
        assert "at the end of buffer 0" in fault.nearest or "behind buffer 0" in fault.nearest
        assert "ld.global.b32" in fault.instruction

    def test_windows_that_overlap_are_one_and_those_that_touch_are_two(self):
        array = np.zeros(64, np.uint32)
        start = array.ctypes.data
        for windows, good in (
            ([(0, 256), (64, 16)], True),
            ([(0, 128), (64, 192)], True),
            ([(0, 130), (130, 126)], False),
        ):
            memory = ptx.Memory()
            for offset, nbytes in windows:
                memory.add(start + offset, nbytes, "part")
            body = "mad.wide.u32 %d2, %r0, 8, %d0;\nld.global.b64 %d5, [%d2];"
            if good:
                ptx.run(kernel(body), (1,), [start, start], memory=memory)
                continue
            with pytest.raises(ptx.Fault) as caught:
                ptx.run(kernel(body), (1,), [start, start], memory=memory)
            assert caught.value.address == start + 128

    def test_misaligned(self):
        body = "mad.wide.u32 %d2, %r3, 2, %d0;\nst.global.b32 [%d2], %r0;"
        fault = self._fault(body, [np.zeros(100, np.uint64), np.zeros(1, np.uint32)])
        assert (fault.kind, fault.thread) == ("misaligned", 1)

    def test_a_null_pointer(self):
        fault = self._fault(
            "mov.u64 %d2, 0; st.global.b32 [%d2], %r0;", [np.zeros(1, np.uint32)] * 2
        )
        assert (fault.kind, fault.address) == ("out-of-bounds", 0)

    def test_shared_memory_ends(self):
        body = "mov.u32 %r4, room; mad.lo.u32 %r4, %r0, 64, %r4; st.shared.u32 [%r4], %r0;"
        fault = self._fault(body, [np.zeros(1, np.uint32)] * 2, shared=_ROOM)
        assert (fault.kind, fault.space, fault.address, fault.thread) == (
            "out-of-bounds",
            "shared",
            1024,
            16,
        )

    def test_copies_are_checked_at_both_ends(self):
        body = _COPY + "cp.async.cg.shared.global [%r4], [%d2], 16;"
        fault = self._fault(body, [np.zeros(64, np.uint32), np.zeros(1, np.uint32)], shared=_ROOM)
        assert (fault.kind, fault.space, fault.thread) == ("out-of-bounds", "global", 16)
        fault = self._fault(
            body, [np.zeros(128, np.uint32)] * 2, shared=".shared .align 16 .b8 room[256];"
        )
        assert (fault.space, fault.thread) == ("shared", 16)

    def test_atomics_are_checked(self):
        fault = self._fault("atom.global.add.u32 %r5, [%d0+4], 1;", [np.zeros(1, np.uint32)] * 2)
        assert fault.kind == "out-of-bounds"

    def test_inactive_lanes_do_not_fault(self):
        body = "setp.eq.u32 %p0, %r0, 99; mov.u64 %d2, 0;\n"
        body += "@%p0 st.global.b32 [%d2], %r0;\n@%p0 ld.global.b32 %r5, [%d2];"
        execute(kernel(body), (1,), [np.zeros(1, np.uint32)] * 2)


def test_a_parameter_is_read_through_a_register():
    """Also at a place that each thread computes."""
    body = (
        "mov.u64 %d2, p0; ld.param.u64 %d3, [%d2]; ld.param.u64 %d4, [%d2+8];\n"
        "and.b32 %r4, %r0, 1; mad.wide.u32 %d5, %r4, 8, %d2; ld.param.u64 %d6, [%d5];\n"
        "sub.s64 %d7, %d3, %d0; sub.s64 %d8, %d4, %d1;\n"
        "mad.wide.u32 %d9, %r0, 24, %d1;\n"
        "st.global.b64 [%d9], %d7; st.global.b64 [%d9+8], %d8; st.global.b64 [%d9+16], %d6;"
    )
    x, y = np.zeros(1, np.uint64), np.ones((32, 3), np.uint64)
    execute(kernel(body), (1,), [x, y])
    assert not y[:, :2].any()
    # The addresses of both, one thread after the other.
    assert len(set(y[::2, 2])) == len(set(y[1::2, 2])) == 1 and y[0, 2] != y[1, 2]
