"""Counters of AMD's code: sectors, cycles of LDS, classes of instructions, waits, local memory; of a sample as well."""

import numpy as np
import pytest
from amd_running import by_lane, pair, room, start, text_of

from crosswarp.matrix.cell.machines import amdgcn, ptx
from crosswarp.matrix.cell.machines.amdgcn.lowering import HANDLERS
from crosswarp.matrix.cell.observers import amd_counters
from crosswarp.matrix.cell.observers.amd_counters import AMDCounters, class_of, layout_of

# SQ_LDS_BANK_CONFLICT of one ds_read on an MI300X, by the bytes of a lane and between lanes: what rocprof counted for
# blocks of 64 reads, divided by 64. Source: nod-ai/amd-shark-ai#2919, docs/empirical-lds/cdna3info.md.
MI300X = {
    4: {4: 0, 8: 2, 16: 6, 32: 14, 64: 30, 128: 62, 256: 62, 512: 62},
    8: {8: 0, 16: 4, 32: 12, 64: 28, 128: 60, 256: 60, 512: 60},
    16: {16: 0, 32: 8, 64: 24, 128: 56, 256: 56, 512: 56},
}
WIDTHS = {4: ("b32", "v1"), 8: ("b64", "v[10:11]"), 16: ("b128", "v[10:13]")}


def counted(body, target="gfx942", **more):
    kernel = amdgcn.load(text_of(body, target)).kernel
    watch = AMDCounters(kernel)
    began = start(body, target, watch=watch, **more)
    with np.errstate(all="ignore"):
        assert began.chunk.run()
    return watch.figures()


def of_lds(name, step, target="gfx942", lanes=64, nbytes=4):
    register = WIDTHS[nbytes][1]
    operands = f"v3, {register}" if "write" in name or "store" in name else f"{register}, v3"
    figures = counted(
        f"{name} {operands}", target, v={3: np.arange(lanes) * step, 13: 0}, shared=lanes * max(step, 16)
    )  # fmt: skip
    (row,) = figures["memory"]
    assert row["cycles"] == figures["cycles"]
    return row


@pytest.mark.parametrize(
    ("nbytes", "step", "conflicts"),
    [(nbytes, *each) for nbytes, steps in MI300X.items() for each in steps.items()],
)
def test_bank_conflicts_are_those_of_an_mi300x(nbytes, step, conflicts):
    row = of_lds(f"ds_read_{WIDTHS[nbytes][0]}", step, nbytes=nbytes)
    assert row["cycles"] - row["least"] == conflicts
    assert row["requests"] == 1 and row["bytes"] == 64 * nbytes


def together(target, lanes, nbytes, kind):
    """The sets of lanes that are served at once."""
    phases = layout_of(target, lanes).phases(nbytes, kind)
    order = np.arange(lanes) if phases.order is None else phases.order
    return {frozenset(map(int, part)) for part in order.reshape(-1, phases.lanes)}


def lanes(*spans):
    return frozenset(lane for first, last in spans for lane in range(first, last + 1))


@pytest.mark.parametrize(
    ("target", "wave", "nbytes", "kind", "measured"),
    [
        ("gfx942", 64, 4, "load", [lanes((0, 31)), lanes((32, 63))]),
        ("gfx942", 64, 16, "load", [lanes((0, 3), (20, 23)), lanes((4, 7), (16, 19)), lanes((8, 11), (28, 31)),
                                    lanes((12, 15), (24, 27)), lanes((44, 47), (56, 59))]),
        ("gfx942", 64, 16, "", [lanes((0, 7)), lanes((8, 15)), lanes((56, 63))]),
        ("gfx950", 64, 4, "load", [lanes((0, 63))]),
        ("gfx950", 64, 8, "load", [lanes((0, 31)), lanes((32, 63))]),
        ("gfx950", 64, 16, "load", [lanes((0, 3), (12, 15), (20, 27)), lanes((4, 11), (16, 19), (28, 31)),
                                    lanes((32, 35), (44, 47), (52, 59)), lanes((36, 43), (48, 51), (60, 63))]),
        ("gfx1100", 32, 8, "load", [lanes((0, 15)), lanes((16, 31))]),
        ("gfx1100", 32, 16, "load", [lanes((0, 3), (20, 23)), lanes((4, 7), (16, 19)), lanes((8, 11), (28, 31)),
                                     lanes((12, 15), (24, 27))]),
        ("gfx1201", 32, 4, "load", [lanes((0, 31))]),
        ("gfx1201", 32, 16, "load", [lanes((0, 7)), lanes((8, 15)), lanes((16, 23)), lanes((24, 31))]),
    ],
)  # fmt: skip
def test_lanes_that_lds_serves_at_once(target, wave, nbytes, kind, measured):
    """As nod-ai/amd-shark-ai#2919 and triton-lang/triton#11365 have them."""
    assert set(measured) <= together(target, wave, nbytes, kind)
    assert sum(map(len, together(target, wave, nbytes, kind))) == wave


def test_gfx950_has_twice_the_banks():
    assert [of_lds("ds_read_b32", step, "gfx950")["cycles"] for step in (4, 8, 128, 256)] == [
        1, 2, 32, 64,
    ]  # fmt: skip


def test_lanes_of_one_word_do_not_conflict():
    assert of_lds("ds_read_b32", 0)["cycles"] == 2
    assert of_lds("ds_write_b32", 0)["cycles"] == 2


def test_two_accesses_of_one_instruction_are_two_requests():
    figures = counted(
        "ds_read2_b32 v[10:11], v3 offset1:32", v={3: np.arange(64) * 4, 11: 0}, shared=1024
    )
    (row,) = figures["memory"]
    assert (row["requests"], row["cycles"], row["bytes"]) == (2, 4, 512)
    assert figures["instructions"]["shared load"] == 1


@pytest.mark.parametrize(
    ("name", "step", "sectors", "lines", "least"),
    [
        ("dword v1", 4, 4, 2, 4),
        ("dword v1", 64, 64, 32, 4),
        ("dword v1", 0, 1, 1, 1),
        ("dwordx4 v[10:13]", 16, 16, 8, 16),
        # Not at a multiple of its size: the bytes of a lane lie in two sectors.
        ("dwordx4 v[10:13]", 128, 128, 64, 16),
        ("ubyte v1", 1, 2, 1, 1),
    ],
)
def test_sectors_and_lines_of_a_request(name, step, sectors, lines, least):
    data = np.zeros(64 * 128 + 256, np.uint8)
    # Behind the begin of a line where lanes are to lie in two sectors.
    first = -data.ctypes.data % 128 + (56 if step in (1, 128) else 0)
    memory, (source,) = room(data)
    figures = counted(
        f"global_load_{name}, v[2:3], off", v={**by_lane(2, source + first + np.arange(64) * step), 13: 0},
        memory=memory,
    )  # fmt: skip
    (row,) = figures["memory"]
    assert (row["what"], row["space"], row["requests"]) == ("load", "global", 1)
    assert (row["sectors"], row["lines"], row["least"]) == (sectors, lines, least)
    assert figures["sectors"] == sectors


def test_lanes_that_do_not_act_ask_for_nothing():
    memory, (source,) = room(np.zeros(4096, np.uint8))
    body = "s_mov_b64 exec, 3\nglobal_load_dword v1, v[2:3], off"
    figures = counted(body, v=by_lane(2, source + np.arange(64) * 64), memory=memory, waves=2)
    (row,) = figures["memory"]
    # Two waves with two lanes each.
    assert (row["requests"], row["sectors"], row["bytes"], row["lanes"]) == (2, 4, 16, 4)


def test_a_scalar_load_is_one_access_of_a_wave():
    data = np.zeros(512, np.uint8)
    first = -data.ctypes.data % 64
    memory, (source,) = room(data)
    figures = counted(
        "s_load_dwordx8 s[8:15], s[4:5], 0x10\ns_waitcnt lgkmcnt(0)", s=pair(4, source + first), memory=memory, waves=3
    )  # fmt: skip
    (row,) = figures["memory"]
    assert (row["what"], row["requests"], row["bytes"], row["sectors"]) == ("scalar load", 3, 96, 3)
    assert figures["instructions"] == {"control": 3, "scalar load": 3, "wait": 3}


def test_scratch_is_local_memory():
    body = "scratch_store_dword off, v1, off\nscratch_load_dword v2, off, off"
    figures = counted(body, v={1: 5}, private_segment_fixed_size=16)
    assert figures["bytes"] == {"local": 512}
    assert {row["what"]: row["requests"] for row in figures["memory"]} == {"store": 1, "load": 1}
    assert figures["instructions"]["local load"] == figures["instructions"]["local store"] == 1


def test_gfx90a_spills_with_instructions_of_buffers():
    body = "buffer_store_dword v1, off, s[0:3], 0 offset:8\nbuffer_load_dword v2, off, s[0:3], 0 offset:8"
    directives = {"private_segment_fixed_size": 16, "user_sgpr_private_segment_buffer": 1}
    figures = counted(body, "gfx90a", v={1: 5}, **directives)
    assert figures["bytes"] == {"local": 512}
    assert figures["instructions"] == {"control": 1, "local load": 1, "local store": 1}


def test_waits_by_what_may_stay_under_way():
    memory, (source,) = room(np.zeros(4096, np.uint8))
    body = (
        "global_load_dword v1, v[2:3], off\ns_waitcnt vmcnt(3) lgkmcnt(0)\n"
        "again:\ns_waitcnt vmcnt(0)\ns_add_i32 s8, s8, 1\ns_cmp_lt_i32 s8, 4\ns_cbranch_scc1 again"
    )
    figures = counted(body, v=by_lane(2, np.full(64, source)), s={8: 0}, memory=memory, waves=2)
    waits = {(row["counter"], row["left"]): row["times"] for row in figures["waits"]}
    assert waits == {("vmcnt", 3): 2, ("lgkmcnt", 0): 2, ("vmcnt", 0): 8}
    assert figures["waits"][0]["times"] == 8 and figures["instructions"]["wait"] == 10


def test_two_counters_of_one_wait():
    figures = counted("s_wait_loadcnt_dscnt 0x203", "gfx1201")
    assert {(row["counter"], row["left"]) for row in figures["waits"]} == {("loadcnt", 2), ("dscnt", 3)}  # fmt: skip


def test_matrix_products_by_opcode():
    body = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"
    figures = counted(body, v={3: 0}, a={15: 0}, waves=2)
    assert figures["products"] == {"v_mfma_f32_32x32x8_f16": 2}
    assert figures["instructions"]["matrix"] == 2


def test_a_target_that_nobody_measured_says_so():
    assert "guessed" not in counted("s_nop 0")
    assert counted("s_nop 0", "gfx90a")["guessed"] == "LDS of gfx90a: as measured on gfx942"
    assert counted("s_nop 0", "gfx1200")["guessed"] == "LDS of gfx1200: as measured on gfx1201"


def test_every_opcode_has_a_class_of_its_unit():
    """A name that begins like memory's or the scalar unit's is never counted as arithmetic of vectors."""
    for name in HANDLERS:
        kind = class_of(name)
        if name.startswith(("s_", "ds_", "global_", "buffer_", "flat_", "scratch_")):
            assert kind not in ("integer", "float", "move", "compare", "conversion", "special"), (
                name
            )
        else:
            assert kind not in ("scalar", "wait", "barrier", "control") or name == "v_nop", name
    assert class_of("v_dot2_f32_f16") == "float" and class_of("v_dot4_i32_i8") == "integer"
    assert class_of("v_swap_b32") == class_of("v_pk_mov_b32") == "move"
    assert class_of("v_mbcnt_lo_u32_b32") == "integer"
    assert class_of("v_fma_f32") == class_of("v_pk_mul_f16") == "float"
    assert class_of("v_add_u32") == class_of("v_lshlrev_b32") == "integer"
    assert class_of("ds_bpermute_b32") == "shuffle" and class_of("ds_add_f32") == "atomic"
    assert class_of("v_exp_f32") == "special" and class_of("v_cmp_lt_f32") == "compare"


def test_lanes_exchange_values_by_dpp():
    body = "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf\nv_mov_b32_e32 v1, v2"
    body += "\nv_add_f32_dpp v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf"
    assert counted(body, v={3: 0})["instructions"] == {
        "control": 1,
        "float": 1,
        "move": 1,
        "shuffle": 1,
    }


def test_a_barrier_of_two_instructions_counts_once():
    figures = counted("s_barrier_signal -1\ns_barrier_wait -1", "gfx1201", waves=4)
    assert figures["barriers"] == figures["instructions"]["barrier"] == 4


def test_only_the_lines_with_most_waits_stay(monkeypatch):
    monkeypatch.setattr(amd_counters, "MOST_LINES", 2)
    figures = counted(
        "s_waitcnt vmcnt(1)\ns_waitcnt vmcnt(2)\ns_waitcnt vmcnt(2)\ns_waitcnt vmcnt(3)"
    )
    assert [row["times"] for row in figures["waits"]] == [2, 1]


@pytest.mark.parametrize(
    ("sample", "ran"), [(None, 9), (3, 3), (1, 1), (20, 9)], ids=["all", "three", "one", "more"]
)
def test_a_sample_executes_so_many_workgroups(sample, ran):
    class Seen(ptx.Watch):
        numbers = []

        def finished(self, machine):
            self.numbers = [*self.numbers, *machine.numbers.tolist()]

    watch = Seen()
    done = amdgcn.run(text_of("s_nop 0"), (3, 3), [], threads=64, watch=watch, sample=sample)
    assert done.ctas == ran == len(watch.numbers)
    if sample == 3:
        assert sorted(watch.numbers) == [0, 4, 8]


def test_loads_of_sixteen_bytes_meet_other_lanes_than_stores():
    """Fours of lanes that are neighbours lie in different banks, and those that loads put together in the same."""
    lane = np.arange(64)
    four = lane // 4 % 8
    address = 128 * four + 64 * np.isin(four, (1, 3, 4, 6)) + 16 * (lane % 4)
    stored = counted("ds_write_b128 v3, v[10:13]", v={3: address, 13: 0}, shared=1024)
    loaded = counted("ds_read_b128 v[10:13], v3", v={3: address, 13: 0}, shared=1024)
    assert (stored["cycles"], loaded["cycles"]) == (8, 16)


def test_requests_of_several_waves_add_up():
    steps = np.array([[4], [128]]) * np.arange(64)
    figures = counted("ds_read_b32 v1, v3", "gfx950", v={3: steps}, shared=1 << 14, waves=2)
    assert (figures["cycles"], figures["memory"][0]["requests"]) == (1 + 32, 2)


def test_an_instruction_counts_for_the_waves_that_come_to_it():
    body = (
        "v_cmp_eq_u32 vcc, 0, v1\ns_cbranch_vccz over\nv_exp_f32 v2, v2\n"
        "over:\ns_branch end\nv_cvt_f32_u32 v2, v2\nend:\ns_nop 0"
    )
    figures = counted(body, v={1: np.array([[0], [5], [5]]), 2: 0}, waves=3)
    assert figures["instructions"] == {"compare": 3, "control": 12, "special": 1}
