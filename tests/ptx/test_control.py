"""Branches, barriers, limits, orders, arguments, and what is refused."""

import numpy as np
import pytest
from running import execute, on_machine_only
from test_memory import kernel

from crosswarp.matrix.cell.machines import ptx


def _numbers(threads=64):
    return np.zeros(threads, np.uint32)


def test_loops_end_lane_by_lane():
    # Lane n goes round n times.
    body = (
        "mov.u32 %r5, 0; mov.u32 %r6, 0;\nloop:\nsetp.ge.u32 %p0, %r6, %r0;\n@%p0 bra done;\n"
        "add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1;\nbra loop;\ndone:\n"
        "mad.wide.u32 %d3, %r0, 4, %d1; st.global.u32 [%d3], %r5;"
    )
    y = _numbers()
    execute(kernel(body, threads=64), (1,), [y, y])
    assert y.tolist() == [n * (n - 1) // 2 for n in range(64)]


def test_both_sides_of_a_branch_meet_again():
    body = (
        "and.b32 %r5, %r0, 1; setp.eq.u32 %p0, %r5, 0;\n@%p0 bra even;\nmul.lo.u32 %r6, %r0, 10;\nbra join;\n"
        "even:\nadd.u32 %r6, %r0, 1000;\njoin:\nbar.sync 0;\nmad.wide.u32 %d3, %r0, 4, %d1;\n"
        "st.global.u32 [%d3], %r6;"
    )
    y = _numbers()
    execute(kernel(body, threads=64), (1,), [y, y])
    assert y.tolist() == [10 * n if n % 2 else n + 1000 for n in range(64)]


def test_a_jump_by_a_table_and_its_lanes_meet_again():
    # As LLVM writes the switch of specialised warps.
    body = (
        "rem.u32 %r5, %r0, 3;\n$L_brx_0: .branchtargets two, one, none;\nbrx.idx %r5, $L_brx_0;\n"
        "one:\nmov.u32 %r6, 1;\nbra join;\ntwo:\nmov.u32 %r6, 2;\nbra join;\nnone:\nmov.u32 %r6, 0;\n"
        "join:\nvote.sync.ballot.b32 %r7, 1, -1;\nmul.lo.u32 %r7, %r7, %r6;\nmad.wide.u32 %d3, %r0, 4, %d1;\n"
        "st.global.u32 [%d3], %r7;"
    )
    y = _numbers(32)
    execute(kernel(body), (1,), [y, y])
    assert y.tolist() == [0xFFFFFFFF * (2, 1, 0)[n % 3] & 0xFFFFFFFF for n in range(32)]


def test_lanes_meet_before_a_block_that_stands_ahead_of_where_they_went():
    # As LLVM writes a loop that it has split by a condition of each thread: behind the block that all of them come to.
    body = (
        "setp.lt.u32 %p0, %r0, 16; mov.u32 %r6, 0;\n@%p0 bra behind;\n"
        "join:\nvote.sync.ballot.b32 %r5, 1, -1;\nmad.wide.u32 %d3, %r0, 4, %d1;\nst.global.u32 [%d3], %r5;\nret;\n"
        "behind:\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p0, %r6, %r0;\n@%p0 bra behind;\nbra join;"
    )
    y = _numbers(32)
    execute(kernel(body), (1,), [y, y])
    assert (y == 0xFFFFFFFF).all()


@on_machine_only
class TestRanks:
    @staticmethod
    def _order(body):
        program = ptx.Program(kernel(body))
        ranks = program.entry().ranks
        assert sorted(ranks) == list(range(len(ranks)))
        return sorted(range(len(ranks)), key=ranks.__getitem__)

    def test_are_those_of_the_text_where_it_is_in_order(self):
        branch = "@%p0 bra two;\nmov.u32 %r5, 1;\nbra join;\ntwo:\nmov.u32 %r5, 2;\njoin:\nmov.u32 %r6, 3;"
        assert self._order(branch) == [0, 1, 2, 3]

    def test_a_loop_comes_with_its_body_ahead_of_what_follows_it(self):
        # 0 enters; 1 follows the loops; 2 begins the outer one, 3 is the inner one, 4 goes back; 5 is `kernel`'s end.
        text = (
            "bra outer;\nafter:\nmov.u32 %r5, 1;\nret;\nouter:\n@%p0 bra after;\n"
            "inner:\n@%p0 bra inner;\nbra outer;"
        )
        assert self._order(text) == [0, 2, 3, 4, 1, 5]

    def test_a_loop_that_is_entered_in_two_places(self):
        text = "@%p0 bra b;\na:\nmov.u32 %r5, 1;\nb:\n@%p0 bra a;"
        assert self._order(text)[0] == 0
        assert self._order(text)[-1] == 3

    def test_what_nothing_comes_to_is_last(self):
        assert self._order("bra end;\nmov.u32 %r5, 1;\nbra end;\nend:") == [0, 2, 1]

    def test_of_thousands_of_blocks(self):
        text = "".join(f"@%p0 bra l{n};\nl{n}:\n" for n in range(3000))
        assert self._order(text) == list(range(len(self._order(text))))


def test_labels_belong_to_their_scopes():
    loop = (
        "{\n.reg .pred %q;\nmov.u32 %r6, 0;\nagain:\nadd.u32 %r6, %r6, 1; add.u32 %r5, %r5, 1;\n"
        "setp.lt.u32 %q, %r6, 3;\n@%q bra again;\n}\n"
    )
    y = _numbers(32)
    body = (
        "mov.u32 %r5, 0;\n"
        + loop
        + loop
        + "mad.wide.u32 %d3, %r0, 4, %d1; st.global.u32 [%d3], %r5;"
    )
    execute(kernel(body), (1,), [y, y])
    assert (y == 6).all()


def test_barriers_hold_warps_together():
    # Each warp writes, all wait, each reads what another has written; many rounds with the same memory.
    body = (
        "mov.u32 %r4, room; mad.lo.u32 %r5, %r0, 4, %r4; mov.u32 %r6, 0; mov.u32 %r7, %r0;\nloop:\n"
        "st.shared.u32 [%r5], %r7;\nbar.sync 0;\nadd.u32 %r8, %r0, 33; rem.u32 %r8, %r8, 128;\n"
        "mad.lo.u32 %r8, %r8, 4, %r4; ld.shared.u32 %r7, [%r8];\nbar.sync 0;\nadd.u32 %r6, %r6, 1;\n"
        "setp.lt.u32 %p0, %r6, 3;\n@%p0 bra loop;\nmad.wide.u32 %d3, %r0, 4, %d1; st.global.u32 [%d3], %r7;"
    )
    y = _numbers(128)
    execute(kernel(body, threads=128, shared=".shared .align 4 .b8 room[512];"), (1,), [y, y])
    assert y.tolist() == [(n + 99) % 128 for n in range(128)]


def test_named_barriers_of_producers_and_consumers():
    # The first warp arrives and goes on; the second waits for it at barrier 1 of 64 threads.
    body = (
        "mov.u32 %r4, room; and.b32 %r5, %r0, 31; mad.lo.u32 %r5, %r5, 4, %r4;\nsetp.gt.u32 %p0, %r0, 31;\n"
        "@%p0 bra consume;\nst.shared.u32 [%r5], %r0;\nbar.arrive 1, 64;\nbra done;\n"
        "consume:\nbar.sync 1, 64;\nld.shared.u32 %r6, [%r5];\nmad.wide.u32 %d3, %r0, 4, %d1;\n"
        "st.global.u32 [%d3], %r6;\ndone:"
    )
    y = _numbers()
    execute(kernel(body, threads=64, shared=".shared .align 4 .b8 room[128];"), (1,), [y, y])
    assert y[32:].tolist() == list(range(32))


def test_ctas_know_their_place():
    body = (
        "mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z; mov.u32 %r7, %nctaid.x; mov.u32 %r8, %nctaid.y;\n"
        "mad.lo.u32 %r9, %r6, %r8, %r5; mad.lo.u32 %r9, %r9, %r7, %r1;\nmad.lo.u32 %r10, %r9, 32, %r0;\n"
        "shl.b32 %r11, %r6, 8; or.b32 %r11, %r11, %r5; shl.b32 %r11, %r11, 8; or.b32 %r11, %r11, %r1;\n"
        "mad.wide.u32 %d3, %r10, 4, %d1; st.global.u32 [%d3], %r11;"
    )
    y = np.zeros((2, 3, 4, 32), np.uint32)
    execute(kernel(body), (4, 3, 2), [y, y])
    z, row, x, _ = np.indices(y.shape)
    assert np.array_equal(y, z << 16 | row << 8 | x)


@on_machine_only
class TestLimits:
    def test_a_barrier_that_not_all_reach(self):
        body = "setp.gt.u32 %p0, %r0, 31;\n@%p0 bra done;\nbar.sync 1, 64;\ndone:\nbar.sync 0;"
        with pytest.raises(ptx.Deadlock) as caught:
            execute(kernel(body, threads=64), (1,), [_numbers()] * 2)
        assert "bar.sync 1, 64" in caught.value.place

    def test_a_flag_that_nobody_sets(self):
        body = "wait:\nld.volatile.global.u32 %r5, [%d0];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra wait;"
        with pytest.raises(ptx.Deadlock) as caught:
            execute(kernel(body), (3,), [_numbers()] * 2)
        assert "ld.volatile.global.u32" in caught.value.place

    def test_a_loop_that_does_not_end(self):
        body = (
            "mov.u32 %r5, 0;\nloop:\nadd.u32 %r5, %r5, 1;\nsetp.ne.u32 %p0, %r5, 0;\n@%p0 bra loop;"
        )
        for limits in (ptx.Limits(instructions=100_000), ptx.Limits(seconds=0.2)):
            with pytest.raises(ptx.OutOfTime) as caught:
                execute(kernel(body), (1,), [_numbers()] * 2, limits=limits)
            assert "add.u32" in caught.value.place

    @pytest.mark.parametrize(("thread", "fails"), [(3, True), (500, False)])
    def test_a_failed_assertion_is_a_fault(self, thread, fails):
        # As LLVM writes tl.device_assert.
        body = (
            f"setp.ne.u32 %p0, %r0, {thread};\n@%p0 bra done;\n"
            "{ .param .b64 param0; .param .b32 param1;\nst.param.b64 [param0], %d1; st.param.b32 [param1], %r0;\n"
            "call.uni __assertfail, (param0, param1);\n}\ndone:\nmad.wide.u32 %d3, %r0, 4, %d1;\n"
            "st.global.u32 [%d3], %r0;"
        )
        y = _numbers()
        if fails:
            with pytest.raises(ptx.Fault) as caught:
                execute(kernel(body, threads=64), (1,), [y, y])
            assert (caught.value.kind, caught.value.thread) == ("trap", 3)
        else:
            execute(kernel(body, threads=64), (1,), [y, y])
            assert y.tolist() == list(range(64))

    def test_a_print_goes_on(self):
        body = (
            "{ .param .b64 param0; .param .b64 param1; .param .b32 retval0;\nst.param.b64 [param0], %d1;\n"
            "st.param.b64 [param1], %d1; call.uni (retval0), vprintf, (param0, param1);\n"
            "ld.param.b32 %r5, [retval0];\n}\nmad.wide.u32 %d3, %r0, 4, %d1; st.global.u32 [%d3], %r0;"
        )
        y = _numbers()
        execute(kernel(body, threads=64), (1,), [y, y])
        assert y.tolist() == list(range(64))

    def test_trap_is_a_fault(self):
        with pytest.raises(ptx.Fault) as caught:
            execute(kernel("setp.eq.u32 %p0, %r0, 3;\n@%p0 trap;"), (1,), [_numbers()] * 2)
        assert (caught.value.kind, caught.value.thread) == ("trap", 3)


@on_machine_only
class TestOrder:
    # The last CTA that writes is seen.
    BODY = "st.global.u32 [%d1], %r1;"

    def _last(self, order, lanes=32):
        y = _numbers(1)
        execute(kernel(self.BODY), (9,), [y, y], order=order, lanes=lanes)
        return int(y[0])

    def test_forward_and_reversed(self):
        assert (self._last("forward"), self._last("reversed")) == (8, 0)

    def test_a_seed_shuffles_always_the_same(self):
        found = [self._last(seed) for seed in range(8)]
        assert len(set(found)) > 1
        assert found == [self._last(seed) for seed in range(8)]

    def test_results_do_not_depend_on_the_chunk(self):
        found = []
        for lanes in (32, 96, 100_000):
            y = _numbers(9 * 32)
            body = (
                "mad.wide.u32 %d3, %r3, 4, %d1; mul.lo.u32 %r5, %r3, %r3; st.global.u32 [%d3], %r5;"
            )
            execute(kernel(body), (9,), [y, y], lanes=lanes)
            found.append(y)
        assert all(np.array_equal(found[0], other) for other in found)


# Forms that are not known, of instructions that are.
REFUSED = """
prmt.b32.f4e %r5, %r6, %r7, %r8;
lop3.and.b32 %r5, %r6, %r7, %r8, 1;
add.sat.u32 %r5, %r5, %r6;
add.rz.f64 %d5, %d1, %d2;
mul.rp.f64 %d5, %d1, %d2;
mad.hi.sat.s32 %r5, %r5, %r6, %r7;
fma.rm.bf16x2 %r5, %r5, %r6, %r7;
min.xorsign.f32 %f0, %f1, %f2;
max.xorsign.abs.f32 %f0, %f1, %f2, %f3;
max.relu.xorsign.abs.f32 %f0, %f1, %f2;
neg.u32 %r5, %r6;
abs.u32 %r5, %r6;
match.all.sync.b32 %r5, %r6, -1;
redux.sync.mul.s32 %r5, %r6, -1;
redux.sync.add.f32 %f0, %f1, -1;
ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r5, %r6}, [%r7];
set.eq.u64.u32 %d5, %r5, %r6;
isspacep.const %p1, %d1;
cvta.shared.u32 %r5, %r6;
cvta.to.param.u64 %d5, %d1;
cvta.param.u32 %r5, %r6;
cvt.rn.satfinite.f16x2.f32 %r5, %f1, %f2;
cvt.rna.satfinite.tf32.f32 %r5, %f1;
cvt.rn.bf16x2.e4m3x2 %r5, %r6;
cvt.rn.bf16.s64 %r5, %d1;
cvt.rn.bf16.f64 %r5, %d1;
cp.async.cx.shared.global [%r5], [%d0], 16;
cp.async.ca.wild.global [%r5], [%d0], 16;
cp.sync.ca.shared.global [%r5], [%d0], 16;
mma.sync.aligned.m16n8k16.row.col.f64.f16.f16.f64 {%r5}, {%r6}, {%r7}, {%r8};
wgmma.mma_async.sync.aligned.m64n8k16.f64.f16.f16 {%r5}, %d0, %d1, 1, 1, 1, 0, 0;
tcgen05.fence::wild;
tcgen05.ld.sync.aligned.8x8b.x1.b32 {%r5}, [%r6];
tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%r5], %d0;
tcgen05.mma.cta_group::1.kind::wild [%r5], %d0, %d1, %r6, %p1;
mbarrier.pending_count.b64 %r5, %d1;
tensormap.replace.tile.wild.global.b1024.b64 [%d0], %d1;
clusterlaunchcontrol.wild.b128 [%r5], [%r6];
""".strip().splitlines()


@on_machine_only
class TestRefusals:
    @pytest.mark.parametrize(
        "instruction",
        ["frobnicate.b32 %r5, %r6;", "max.relu.u32 %r5, %r5, %r6;", "mul24.lo.u32 %r5, %r5, %r6;",
         "cvt.rs.f16x2.f32 %r5, %r6, %r7, %r8;", "cvt.rz.f32.s64 %f5, %d1;", "cvt.rm.f64.u64 %d5, %d1;",
         "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r5}, {%r6}, {%r7}, {%r8};",
         "tcgen05.alloc.wild.sync.aligned.shared::cta.b32 [%r5], 32;", "brkpt;", *REFUSED],
    )  # fmt: skip
    def test_what_is_not_known_is_named(self, instruction):
        text = kernel("mov.u32 %r5, 1;\n" + instruction)
        with pytest.raises(ptx.Unsupported) as caught:
            ptx.load(text)
        assert caught.value.opcode == instruction.split()[0].rstrip(";")
        assert text.split("\n")[caught.value.line - 1].startswith(instruction)

    def test_a_modifier_that_is_not_known_is_not_skipped(self):
        with pytest.raises(ptx.Unsupported):
            ptx.load(kernel("ld.global.v3.b32 {%r5, %r6, %r7}, [%d0];"))
        with pytest.raises(ptx.Unsupported):
            ptx.load(kernel("fma.rn.wild.f32 %f0, %f1, %f2, %f3;"))

    def test_a_function_that_is_called_is_refused_by_name(self):
        function = ".func helper(.param .b32 x)\n{\n.reg .b32 %r<2>;\nret;\n}\n"
        unused = kernel("").replace(".visible .entry", function + ".visible .entry")
        assert ptx.load(unused).kernels == ("test",)
        with pytest.raises(ptx.Unsupported, match="call helper"):
            ptx.load(kernel("call helper, (%r5);"))


@on_machine_only
class TestArguments:
    TEXT = (
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 to, .param .u8 a, .param .u16 b, .param .f32 c, .param .f64 d, .param .s32 e,\n"
        ".param .align 64 .b8 block[128], .param .u64 scratch)\n.maxntid 32, 1, 1\n{\n"
        ".reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %d<9>;\n"
        "ld.param.u64 %d0, [to]; ld.param.u8 %h0, [a]; ld.param.u16 %h1, [b]; ld.param.b32 %r0, [c];\n"
        "ld.param.b64 %d1, [d]; ld.param.s32 %d2, [e]; ld.param.b64 %d3, [block+8]; ld.param.u64 %d4, [scratch];\n"
        "st.global.b16 [%d0], %h0; st.global.b16 [%d0+2], %h1; st.global.b32 [%d0+4], %r0;\n"
        "st.global.b64 [%d0+8], %d1; st.global.b64 [%d0+16], %d2; st.global.b64 [%d0+24], %d3;\n"
        "st.global.b64 [%d0+32], %d4;\nret;\n}\n"
    )

    def test_are_packed_by_their_types(self):
        out = np.zeros(5, np.uint64)
        block = bytes(8) + np.uint64(123456789).tobytes() + bytes(112)
        program = ptx.load(self.TEXT)
        assert (program.kernels, program.target, program.threads, program.shared) == (
            ("k",),
            "sm_80",
            32,
            0,
        )
        execute(program, (1,), [out, True, 65535, 1.5, np.float64(-2.5), -7, block])
        raw = out.tobytes()
        assert raw[:4] == b"\x01\x00\xff\xff"
        assert np.frombuffer(raw[4:8], np.float32)[0] == 1.5
        assert np.frombuffer(raw[8:16], np.float64)[0] == -2.5
        assert out.view(np.int64)[2:].tolist() == [-7, 123456789, 0]

    def test_that_do_not_fit_are_refused(self):
        with pytest.raises(ValueError, match="takes 8 arguments"):
            execute(self.TEXT, (1,), [0] * 9)
        with pytest.raises(ValueError, match="block takes 128"):
            execute(self.TEXT, (1,), [0, 0, 0, 0.0, 0.0, 0, b"short"])
        with pytest.raises(ValueError, match="argument 1 is a str"):
            execute(self.TEXT, (1,), [0, "x"])

    def test_an_empty_grid_runs_nothing(self):
        assert execute(self.TEXT, (0,), [0, 0, 0, 0.0, 0.0, 0, bytes(128)]).instructions == 0


@on_machine_only
def test_instructions_are_counted_by_thread():
    y = _numbers(32)
    body = "setp.gt.u32 %p0, %r0, 15;\n@%p0 bra done;\nadd.u32 %r5, %r5, 1;\nadd.u32 %r5, %r5, 1;\ndone:"
    plain = execute(kernel(""), (2,), [y, y]).instructions
    # Two more for all, two for half of them.
    assert execute(kernel(body), (2,), [y, y]).instructions - plain == 2 * (2 * 32 + 2 * 16)


@on_machine_only
def test_the_watch_sees_accesses_and_barriers():
    seen = []

    class Watch(ptx.Watch):
        def access(self, machine, at, space, what, address, condition, nbytes, lane=None):
            seen.append((space, what, nbytes))

        def released(self, machine, name, mask):
            seen.append(("barrier",))

        def landed(self, machine, lanes, index, size, done):
            seen.append(("landed",))

    body = (
        "mov.u32 %r4, room; st.shared.u32 [%r4], %r0;\nbar.sync 0;\n"
        "cp.async.ca.shared.global [%r4], [%d0], 4;\ncp.async.wait_all;\nst.global.u32 [%d1], %r0;"
    )
    y = _numbers(32)
    execute(kernel(body, shared=".shared .align 4 .b8 room[4];"), (1,), [y, y], watch=Watch())
    assert seen == [
        ("shared", "store", 4), ("barrier",), ("shared", "cp.async", 4), ("global", "cp.async load", 4), ("landed",),
        ("global", "store", 4),
    ]  # fmt: skip
