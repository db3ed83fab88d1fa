"""Each detector on small kernels: what it finds, and what it leaves alone."""

import launches
import numpy as np
import pytest
from launches import kinds, run, small

from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.observers import sanitizer

ADDRESS = "mad.wide.u32 %d8, %r2, 4, %d0; mad.wide.u32 %d9, %r2, 4, %d1;\n"
OWN = "shl.b32 %r4, %r0, 2; mov.u32 %r5, room; add.u32 %r4, %r4, %r5;\n"


def ints(size=256):
    return np.arange(size, dtype=np.int32)


class TestBounds:
    def test_into_the_neighbour_is_out_of_bounds_too(self):
        both = ints(64)
        x, y = both[:32], both[32:]
        body = "mad.wide.u32 %d8, %r0, 4, %d0; st.global.u32 [%d8], %r0;"
        (found,) = run(small(body), [x, y])
        assert (found.kind, found.thread, found.program_id) == ("out-of-bounds", 32, (0, 0, 0))
        assert found.line == ("small.py", 7) and found.address == y.ctypes.data
        assert "0 bytes behind the end of p0 (int32[32])" in str(found)
        assert "that is 0 bytes into p1" in str(found)

    def test_a_pointer_chosen_of_two_may_mean_both(self):
        both = ints(128)
        body = (
            "setp.lt.u32 %p0, %r0, 32; selp.b64 %d7, %d0, %d1, %p0; and.b32 %r3, %r0, 31;\n"
            "mad.wide.u32 %d8, %r3, 4, %d7; st.global.u32 [%d8], %r0;"
        )
        assert run(small(body), [both[:32], both[96:]]) == []

    def test_an_index_that_was_loaded_belongs_to_its_pointer(self):
        x, y = ints(64), ints(64)
        x[5] = 64
        body = ADDRESS + (
            "ld.global.u32 %r4, [%d8]; mul.wide.u32 %d10, %r4, 4; add.u64 %d10, %d1, %d10; st.global.u32 [%d10], %r0;"
        )
        (found,) = run(small(body), [x, y])
        assert (found.kind, found.thread) == ("out-of-bounds", 5) and "p1" in found.tensor

    def test_a_table_of_pointers_is_not_known(self):
        y = ints(64)
        table = np.array([y.ctypes.data], np.uint64)
        body = "ld.global.u64 %d7, [%d0]; mad.wide.u32 %d8, %r0, 4, %d7; st.global.u32 [%d8], %r0;"
        assert run(small(body), [table, y]) == []

    def test_between_the_rows_of_a_view(self):
        wide = np.zeros((8, 16), np.int32)
        body = "mad.wide.u32 %d8, %r0, 4, %d0; st.global.u32 [%d8], %r0;"
        (found,) = run(small(body), [wide[:, :8], wide[:, :8]])
        assert "falls between the rows of p0" in found.what and found.thread == 8

    def test_an_expanded_tensor_is_one_row(self):
        row = np.broadcast_to(np.zeros(64, np.int32), (4, 64))
        assert sanitizer.Tensor.of_array(row, "x").extents() == (
            row.ctypes.data,
            row.ctypes.data + 256,
        )
        assert sanitizer.Tensor.of_array(row, "x").footprint() is None

    @pytest.mark.parametrize("shape", [(3, 4), (1, 1), (5, 0)])
    def test_extents_are_those_of_the_elements(self, shape):
        base = np.zeros((9, 9), np.int16)
        view = base[1 : 1 + 2 * shape[0] : 2, 7 : 7 - shape[1] : -1]
        tensor = sanitizer.Tensor.of_array(view, "x")
        places = [
            view.ctypes.data + i * view.strides[0] + j * view.strides[1]
            for i in range(shape[0])
            for j in range(shape[1])
        ]
        low, high = tensor.extents()
        assert (low, high) == ((min(places), max(places) + 2) if places else (low, low))
        own = tensor.footprint()
        if own is not None:
            assert sorted((low + 2 * np.flatnonzero(own)).tolist()) == sorted(places)


class TestUninitialised:
    def test_an_output_that_is_read_first(self):
        x, y = ints(64), ints(64)
        body = ADDRESS + "ld.global.u32 %r4, [%d9]; st.global.u32 [%d9], %r4;"
        (found,) = run(small(body), [x, y], unwritten=[y])
        assert (found.kind, found.count, found.thread) == ("uninitialised read", 64, 0)

    def test_what_it_stored_itself_it_may_read(self):
        x, y = ints(64), ints(64)
        body = ADDRESS + "st.global.u32 [%d9], %r0; ld.global.u32 %r4, [%d9];"
        assert run(small(body), [x, y], unwritten=[y]) == []

    def test_an_atomic_reads(self):
        x, y = ints(64), ints(64)
        body = ADDRESS + "red.global.add.u32 [%d9], 1;"
        assert kinds(run(small(body), [x, y], unwritten=[y])) == ["uninitialised read"]
        assert run(small(body), [x, y], unwritten=[]) == []

    def test_what_one_launch_stores_the_next_may_read(self):
        x, y = ints(64), ints(64)
        tensors = [sanitizer.Tensor.of_array(x, "x", 0), sanitizer.Tensor.of_array(y, "y", 1)]
        empty = sanitizer.Unwritten(y.ctypes.data, y.nbytes, 4)
        values = [x.ctypes.data, y.ctypes.data]
        half = "setp.lt.u32 %p0, %r0, 40; @%p0 st.global.u32 [%d9], %r0;"
        reads = "ld.global.u32 %r4, [%d9];"
        assert sanitizer.run(small(ADDRESS + half), (1,), values, tensors, unwritten=[empty]) == []
        (found,) = sanitizer.run(small(ADDRESS + reads), (1,), values, tensors, unwritten=[empty])
        assert (found.count, found.thread) == (24, 40)

    def test_shared_memory(self):
        body = (
            OWN
            + "setp.lt.u32 %p0, %r0, 60; @%p0 st.shared.u32 [%r4], %r0; ld.shared.u32 %r6, [%r4];"
        )
        (found,) = run(small(body, shared=256), [ints(), ints()])
        assert (found.kind, found.thread, found.count) == ("uninitialised shared memory", 60, 4)


class TestSharedRaces:
    SWAP = (
        OWN
        + "st.shared.u32 [%r4], %r0;\n{between}\nxor.b32 %r6, %r4, 128; ld.shared.u32 %r7, [%r6];"
    )

    @pytest.mark.parametrize(
        ("between", "found"),
        [
            ("", ["race in shared memory"]),
            ("bar.warp.sync -1;", ["race in shared memory"]),
            ("bar.sync 0;", []),
            ("barrier.sync 3, 64;", []),
            ("bar.arrive 1, 128; bar.sync 1, 128;", []),
        ],
    )
    def test_what_counts_as_order(self, between, found):
        text = small(self.SWAP.format(between=between), shared=256)
        assert kinds(run(text, [ints(), ints()])) == found

    def test_a_warp_is_in_order_with_itself(self):
        body = OWN + "st.shared.u32 [%r4], %r0; xor.b32 %r6, %r4, 64; ld.shared.u32 %r7, [%r6];"
        assert run(small(body, shared=256), [ints(), ints()]) == []

    def test_a_read_before_a_write(self):
        body = self.SWAP.format(between="bar.sync 0;") + " st.shared.u32 [%r4], %r7;"
        (found,) = run(small(body, shared=256), [ints(), ints()])
        assert "a warp writes what another one reads" in found.what
        body = self.SWAP.format(between="bar.sync 0;") + " bar.sync 0; st.shared.u32 [%r4], %r7;"
        assert run(small(body, shared=256), [ints(), ints()]) == []

    def test_equal_values_are_benign(self):
        twice = "st.shared.u32 [%r5], %r6; " * 2
        body = "mov.u32 %r5, room; mov.u32 %r6, {}; " + twice
        same, own = small(body.format("7"), shared=4), small(body.format("%r0"), shared=4)
        assert run(same, [ints(), ints()]) == []
        assert kinds(run(same, [ints(), ints()], benign=True)) == [
            "equal values written without order"
        ]
        assert kinds(run(own, [ints(), ints()])) == ["race in shared memory"]

    def test_halves_of_a_word_are_two_places(self):
        body = (
            "shl.b32 %r4, %r0, 1; and.b32 %r4, %r4, 62; shr.u32 %r6, %r0, 5; mov.u32 %r5, room;\n"
            "shl.b32 %r4, %r4, 1; shl.b32 %r6, %r6, 1; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r5;\n"
            ".reg .b16 %h0; cvt.u16.u32 %h0, %r0; st.shared.b16 [%r4], %h0;"
        )
        assert run(small(body, shared=256), [ints(), ints()]) == []

    def test_atomics_do_not_race_with_each_other(self):
        body = (
            "mov.u32 %r5, room; setp.eq.u32 %p0, %r0, 0; mov.u32 %r6, 0; @%p0 st.shared.u32 [%r5], %r6;\n"
            "bar.sync 0; atom.shared.add.u32 %r7, [%r5], 1;{} ld.shared.u32 %r8, [%r5];"
        )
        assert run(small(body.format("bar.sync 0;"), shared=4), [ints(), ints()]) == []
        assert kinds(run(small(body.format(""), shared=4), [ints(), ints()])) == [
            "race in shared memory"
        ]

    def test_an_mbarrier_orders_who_waits_for_it(self):
        body = (
            "mov.u32 %r5, room; setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%r5], 32; bar.sync 0;\n"
            "setp.lt.u32 %p1, %r0, 32; @!%p1 bra READ;\n"
            "st.shared.u32 [%r5+16], %r0; mbarrier.arrive.shared.b64 _, [%r5]; bra END;\n"
            "READ:\n{}\nld.shared.u32 %r7, [%r5+16];\nEND:"
        )
        wait = "AGAIN:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra AGAIN;"
        store = body.replace("st.shared.u32 [%r5+16], %r0;", "st.shared.u32 [%r5+16], 1;")
        for text, found in (
            (store.format(wait), []),
            (store.format(""), ["race in shared memory"]),
        ):
            assert kinds(run(small(text, shared=32, target="sm_90"), [ints(), ints()])) in (
                found,
                [*found, "uninitialised shared memory"] if found else found,
            )


class TestWaits:
    COPY = OWN + (
        "mad.wide.u32 %d8, %r0, 4, %d0; cp.async.ca.shared.global [%r4], [%d8], 4; cp.async.commit_group;\n"
        "{}\nld.shared.u32 %r7, [%r4];"
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("wait", "found"),
        [
            ("cp.async.wait_group 0;", []),
            ("cp.async.wait_all;", []),
            ("cp.async.wait_group 1;", ["missing wait"]),
            ("bar.sync 0;", ["missing wait"]),
        ],
    )
    def test_a_group_that_nobody_waits_for(self, wait, found):
        assert (
            kinds(run(small(self.COPY.format(wait), shared=256), [ints(), ints()], orders=False))
            == found
        )

    def test_a_wait_is_no_barrier(self):
        other = self.COPY.replace(
            "ld.shared.u32 %r7, [%r4]", "xor.b32 %r6, %r4, 128; ld.shared.u32 %r7, [%r6]"
        )
        alone = small(other.format("cp.async.wait_group 0;"), shared=256)
        assert kinds(run(alone, [ints(), ints()])) == ["race in shared memory"]
        both = small(other.format("cp.async.wait_group 0; bar.sync 0;"), shared=256)
        assert run(both, [ints(), ints()]) == []


class TestTensorMemory:
    """One product of what the threads stored, which are then stored to again."""

    BODY = """
setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32; mov.u32 %r20, room; add.u32 %r21, %r20, 16;
@%p0 mbarrier.init.shared::cta.b64 [%r21], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r20], 32;
mov.u32 %r9, 0; mad.lo.u32 %r22, %r0, 32, %r20;
st.shared.v4.b32 [%r22+128], {%r9, %r9, %r9, %r9}; st.shared.v4.b32 [%r22+144], {%r9, %r9, %r9, %r9};
fence.proxy.async.shared::cta; bar.sync 0;
ld.shared.b32 %r23, [%r20]; add.u32 %r24, %r20, 128; shr.u32 %r24, %r24, 4; cvt.u64.u32 %d3, %r24;
or.b64 %d3, %d3, 0x0000401000080000; mov.b32 %r25, 0x8040010; setp.ne.u32 %p2, %r9, 0;
@%p0 tcgen05.mma.cta_group::1.kind::f16 [%r23], %d3, %d3, %r25, %p2;
@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r21];
WAIT
st.shared.v4.b32 [%r22+128], {%r9, %r9, %r9, %r9};
bar.sync 0; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r23, 32;
"""
    WAIT = "ask: mbarrier.try_wait.parity.shared.b64 %p3, [%r21], %r9; @!%p3 bra ask;"

    def _found(self, wait):
        body = self.BODY.replace("WAIT", wait)
        text = small(body, threads=128, shared=128 + 4096, target="sm_100a")
        return run(text, [ints(), ints()])

    def test_nothing_is_said_of_a_product_that_was_waited_for(self):
        assert self._found(self.WAIT) == []

    def test_operands_that_are_overwritten_before_the_product_is_done(self):
        found = self._found("")
        assert kinds(found) == ["race in shared memory"]
        assert "tcgen05 may still read" in str(found[0])


class TestPrograms:
    def test_two_programs_write_one_place(self):
        body = "mad.wide.u32 %d8, %r0, 4, %d0; st.global.u32 [%d8], {};"
        different, same = small(body.format("%r1")), small(body.format("%r0"))
        found = run(different, [ints(), ints()], grid=3)
        assert kinds(found) == ["order dependence", "race between programs"]
        assert "two programs write different values" in found[0].what and "p0" in found[0].tensor
        assert run(same, [ints(), ints()], grid=3) == []
        assert kinds(run(same, [np.zeros(64, np.int32), ints()], grid=3, benign=True)) == [
            "equal values written by several programs"
        ]

    @pytest.mark.parametrize("lanes", [64, 4096])
    def test_reading_what_another_writes(self, lanes):
        body = (
            ADDRESS
            + "xor.b32 %r4, %r2, 64; mad.wide.u32 %d10, %r4, 4, %d0;\nld.global.u32 %r5, [%d10]; {}"
        )
        inplace = small(body.format("st.global.u32 [%d8], %r5;"))
        found = run(inplace, [ints(128), ints(128)], grid=2, lanes=lanes, orders=False)
        assert kinds(found) == ["race between programs"]
        elsewhere = small(body.format("st.global.u32 [%d9], %r5;"))
        assert run(elsewhere, [ints(128), ints(128)], grid=2, lanes=lanes) == []

    def test_atomics_are_no_race_and_their_float_sums_may_differ(self):
        body = (
            "cvt.rn.f32.u32 %f0, %r2; mul.f32 %f0, %f0, 0f3DCCCCCD; red.global.add.f32 [%d0], %f0;"
        )
        assert run(small(body), [np.zeros(1, np.float32), ints()], grid=5) == []

    def test_a_load_that_a_compare_and_swap_follows_is_part_of_it(self):
        """What LLVM makes of an atomic addition of bfloat16 on sm_80."""
        body = (
            "ld.global.u32 %r4, [{}];\nAGAIN:\nadd.u32 %r5, %r4, 1; atom.global.cas.b32 %r6, [%d0], %r4, %r5;\n"
            "setp.ne.u32 %p0, %r6, %r4; mov.u32 %r4, %r6; @%p0 bra AGAIN;"
        )
        x = np.zeros(1, np.int32)
        assert run(small(body.format("%d0")), [x, ints()], grid=3, lanes=64) == []
        assert x[0] == 3 * 64
        alone = small("ld.global.u32 %r4, [%d0]; red.global.add.u32 [%d0], 1;")
        assert kinds(run(alone, [x, ints()], grid=3)) == ["race between programs"]

    def test_a_ticket_orders_the_last_one(self):
        """Each writes its part and takes a ticket; who has the last reads all."""
        body = (
            "setp.eq.u32 %p0, %r0, 0; @!%p0 bra END;\nmad.wide.u32 %d8, %r1, 4, %d0; st.global.u32 [%d8+4], %r1;\n"
            "{}mov.u32 %r6, 0; @!%p1 bra END;\n"
            "ld.global.u32 %r5, [%d0+4]; ld.global.u32 %r6, [%d0+8]; st.global.u32 [%d1], %r6;\nEND:"
        )
        ticket = "atom.global.gpu.acq_rel.add.u32 %r4, [%d0], 1; setp.eq.u32 %p1, %r4, 2;\n"
        fixed = "setp.eq.u32 %p1, %r1, 2;\n"
        assert run(small(body.format(ticket)), [np.zeros(4, np.int32), ints(1)], grid=3) == []
        found = run(small(body.format(fixed)), [np.zeros(4, np.int32), ints(1)], grid=3)
        assert "race between programs" in kinds(found)

    def test_order_alone_changes_a_result(self):
        """An exchange that returns nothing that is used: no race, and yet the last one is seen."""
        body = "atom.global.exch.b32 %r9, [%d0], %r1;"
        (found,) = run(small(body), [np.zeros(1, np.int32), ints()], grid=4)
        assert found.kind == "order dependence" and "reversed" in found.what

    def test_memory_is_left_as_the_usual_order_leaves_it(self):
        x = np.zeros(1, np.int32)
        run(small("atom.global.exch.b32 %r9, [%d0], %r1;"), [x, ints()], grid=4)
        assert x[0] == 3


class TestBarriers:
    def test_half_a_warp(self):
        body = "setp.lt.u32 %p0, %r0, 48; @!%p0 bra OVER;\nbar.sync 0;\nOVER:"
        (found,) = run(small(body), [ints(), ints()])
        assert found.kind == "barrier in divergence"
        assert "16 of 32 threads of a warp wait here, and the others have ended" in found.what

    def test_whole_warps_may_part(self):
        body = "setp.lt.u32 %p0, %r0, 32; @!%p0 bra OTHER;\nbar.sync 0;\nbra END;\nOTHER:\nbar.sync 0;\nEND:"
        assert run(small(body), [ints(), ints()]) == []

    def test_a_deadlock(self):
        body = (
            "setp.lt.u32 %p0, %r0, 32; @!%p0 bra OTHER;\nbar.sync 1, 64;\nOTHER:\nbar.sync 2, 64;"
        )
        (found,) = run(small(body), [ints(), ints()])
        assert found.kind == "deadlock"
        assert "threads 0-31 of program (0, 0, 0) at `bar.sync 1, 64`" in found.what
        assert "threads 32-63 of program (0, 0, 0) at `bar.sync 2, 64`" in found.what


def test_findings_are_told_once_for_each_instruction_and_kind():
    body = "mad.wide.u32 %d8, %r2, 4, %d0; st.global.u32 [%d8], %r0; st.global.u32 [%d8], %r0;"
    found = run(small(body), [ints(100), ints()], grid=1)
    assert found == []
    text = small(body)
    x = ints(64)
    windows = [x, ints(64)]
    found = run(text, windows, grid=2)
    assert [finding.count for finding in found] == [64]
    assert found[0].fingerprint == "fault: out-of-bounds in small"
    assert hex(x.ctypes.data)[2:8] not in found[0].fingerprint


def test_a_watch_alone_is_enough():
    x = ints(64)
    text = small("mad.wide.u32 %d8, %r0, 8, %d0; st.global.u32 [%d8], %r0;", parameters=1)
    watch = sanitizer.watching(text, (1,), [sanitizer.Tensor.of_array(x, "x", 0)])
    with pytest.raises(ptx.Fault):
        ptx.run(text, (1,), [x.ctypes.data], memory=watch.memory, watch=watch)
    assert kinds(watch.findings) == ["out-of-bounds"]


def test_another_watch_looks_on_beside_the_detectors():
    class Counting(ptx.Watch):
        accesses = 0

        def access(self, *given):
            self.accesses += 1

    counting, both = Counting(), ints(64)
    # Past the first half, into the second: no fault, so a detector alone reports it.
    body = "mad.wide.u32 %d8, %r0, 4, %d0; st.global.u32 [%d8], %r0;"
    found = run(small(body), [both[:32], both[32:]], watch=counting)
    assert kinds(found) == ["out-of-bounds"] and counting.accesses == 1


def test_the_texts_name_no_folder():
    for name in launches.NAMES:
        assert "/" not in "".join(
            line for line in launches.text_of(name).split("\n") if line.startswith(".file")
        )


class TestDependent:
    """As Triton 3.7.1 compiles triton#11905: the wait in line 18, what it guards in line 19."""

    READ = "mad.wide.u32 %d8, %r0, 4, %d0;\n.loc 1 {} 20\nld.global.u32 %r4, [%d8];\n"
    WAIT = ".loc 1 18 8\ngriddepcontrol.wait;\n"
    KIND = "read ahead of griddepcontrol.wait"

    @pytest.mark.parametrize(
        "body, line",
        [
            (READ.format(19) + WAIT, 19),
            # Of the weights, ahead of the wait in the source as well.
            (READ.format(17) + WAIT, None),
            (WAIT + READ.format(19), None),
            # The next iteration's, behind the first wait.
            (WAIT + READ.format(19) + WAIT, None),
            (READ.format(19), None),
            (READ.format(19).replace("ld.global.u32 %r4, [%d8]", "cvta.to.global.u64 %d9, %d8") + WAIT, None),
        ],
    )  # fmt: skip
    def test_a_read_behind_the_wait_in_the_source_alone(self, body, line):
        found = [
            one
            for one in run(small(body, target="sm_90"), [ints(), ints()])
            if one.kind == self.KIND
        ]
        assert [one.line for one in found] == ([("small.py", line)] if line else [])
        if line:
            assert "the source waits in small.py:18" in found[0].what

    def test_a_copy_into_shared_memory_reads(self):
        copy = (
            "shl.b32 %r4, %r0, 4; mov.u32 %r5, room; add.u32 %r5, %r5, %r4; mad.wide.u32 %d8, %r0, 16, %d0;\n"
            ".loc 1 19 20\ncp.async.cg.shared.global [%r5], [%d8], 16;\ncp.async.wait_all;\n"
        )
        found = run(small(copy + self.WAIT, shared=1024, target="sm_90"), [ints(), ints()])
        assert kinds(found) == [self.KIND]
