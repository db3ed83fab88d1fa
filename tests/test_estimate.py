"""The estimate of a launch, by hand-made machine code: scheduling bits, blocks, executions, waits, units, occupancy."""

from __future__ import annotations

import struct
from dataclasses import asdict

import numpy as np
import pytest

from crosswarp.matrix.cell import estimate
from crosswarp.matrix.cell.estimate import (
    chips,
    encodings,
    flow,
    launch,
    machine_code,
    opcodes,
    warp,
)
from crosswarp.matrix.cell.estimate.opcodes import anchor_of_machine, anchor_of_ptx, kind_of
from crosswarp.matrix.cell.standins.virtual_gpu import Target
from crosswarp.matrix.facts import targets

NONE = machine_code.NONE


def row(text, offset=0, stall=1, write=NONE, read=NONE, waits=0):
    """An instruction as nvdisasm prints it, with its scheduling bits."""
    high = stall << 41 | write << 46 | read << 49 | waits << 52
    return f"        /*{offset:04x}*/   {text} ;   /* 0x0000000000000000 */\n   /* 0x{high:016x} */"


def code(*rows):
    """The blocks of a kernel: rows, labels such as `.L_x_0:`, and numbers of source lines."""
    lines = ["//--------------------- .text.kernel ----"]
    for number, one in enumerate(rows):
        if isinstance(one, int):
            lines.append(f'	//## File "kernel.py", line {one}')
        elif one.endswith(":"):
            lines.append(one)
        else:
            lines.append(one if "\n" in one else row(one, 16 * number))
    return machine_code._blocks(*machine_code.parsed("\n".join(lines)))


def counted(*blocks, memory=()):
    """As of `Counters.by_instruction`: of each block how many warps ran it, and (opcode, line) of its instructions."""
    instructions, ranges = [], []
    for ran, *inside in blocks:
        ranges.append((len(instructions), len(instructions) + len(inside), ran))
        instructions += inside
    return {"blocks": ranges, "instructions": instructions, "memory": list(memory)}


def chip(name="sm_90"):
    return estimate.chip_of(Target.from_table(name, asdict(targets.load()[name])))


def launched(**changes):
    values = {
        "programs": 132, "executed": 1, "num_warps": 4, "registers": 32, "stack": 0, "shared": 0, "moved": 1000,
    }  # fmt: skip
    return estimate.Launched(**{**values, **changes})


LOOP = (
    11, "MOV R1, 0x1", ".L_x_0:", 12, "LDG.E R2, [R4]", "FFMA R3, R2, R2, R3", "@P0 BRA `(.L_x_0)", 13,
    "STG.E [R6], R3", "EXIT", ".L_x_1:", "BRA `(.L_x_1)", "NOP",
)  # fmt: skip
TEN_TURNS = ((1, ("mov.u32", 11)), (10, ("ld.global.b32", 12), ("bra", 12)), (1, ("st.global.b32", 13)))  # fmt: skip


def test_scheduling_bits_lines_and_blocks():
    (block,) = code(7, row("@!P0 LDG.E R2, [R4]", stall=5, write=2, read=3, waits=0b101), "EXIT")
    load = block.instructions[0]
    assert (load.op, load.guard, load.line, load.stall) == ("LDG.E", "!P0", 7, 5)
    assert (load.write_barrier, load.read_barrier, load.waits) == (2, 3, 0b101)
    # The padding behind the last EXIT is no block.
    assert [(one.number, one.next) for one in code(*LOOP)] == [(0, [1]), (1, [1, 2]), (2, [-1])]


def test_a_loop_runs_as_often_as_the_emulator_counted():
    assert flow.executions(code(*LOOP), counted(*TEN_TURNS), 1) == pytest.approx([1, 10, 1], abs=1e-4)  # fmt: skip


def test_unrolling_is_found():
    unrolled = [*LOOP]
    unrolled[5:5] = ["LDG.E R8, [R4]"] * 4
    assert flow.executions(code(*unrolled), counted(*TEN_TURNS), 1) == pytest.approx([1, 2, 1], abs=1e-4)  # fmt: skip


def test_what_no_warp_entered_does_not_run():
    blocks = code("@P0 BRA `(.L_x_1)", 3, "LDG.E R2, [R4]", ".L_x_1:", 4, "STG.E [R4], R2", "EXIT")
    taken, skipped = ("ld.global.b32", 3), ("st.global.b32", 4)
    # Three of four warps branched around it.
    found = flow.executions(blocks, counted((1, taken), (4, skipped)), 4)
    assert found == pytest.approx([1, 0.25, 1], abs=1e-4)


def test_code_without_an_end_is_not_understood():
    with pytest.raises(flow.NoFlow):
        flow.executions(code(".L_x_0:", "NOP", "BRA `(.L_x_0)", "EXIT")[:1], counted((1,)), 1)


def test_a_warp_waits_for_what_its_scoreboard_says():
    blocks = code(
        21, row("LDG.E R2, [R4]", write=0), 22, row("FADD R3, R2, R2", waits=1), row("EXIT")
    )
    loads = counted((4, ("ld.global.b32", 21)), memory=[("load", "global", 21, 4, 4, (16, 16, 16))])
    near = estimate.estimated(blocks, loads, launched(), chip())
    far = estimate.estimated(blocks, loads, launched(moved=10**9), chip())
    rates = chip().rates
    assert near["waits"] == {"global loads": (pytest.approx(rates.to_l2 - 1), 21)}
    assert far["path"] - near["path"] == pytest.approx(rates.to_dram - rates.to_l2)
    # Only what does not fit the L2 comes from DRAM.
    assert near["dram"] == 0 and far["dram"] > 0 and not near["cold"] and far["cold"]


def test_sectors_take_the_unit_of_loads_and_the_l2():
    blocks = code(5, row("LDG.E R2, [R4]", write=0), row("EXIT", waits=1))

    def units(sectors):
        loads = counted(
            (4, ("ld.global.b32", 5)), memory=[("load", "global", 5, 4, 4, (sectors,) * 3)]
        )
        return estimate.estimated(blocks, loads, launched(), chip())["units"]

    coalesced, scattered = units(4 * 4), units(4 * 32)
    # Four warps, of which each takes one wavefront, and then eight.
    assert (coalesced["lsu"], scattered["lsu"]) == (4, 32)
    assert scattered["l2"] == pytest.approx(8 * coalesced["l2"], rel=0.02)


def test_ptxas_makes_one_access_of_several_small_ones():
    """Four loads of PTX, each of 16 wavefronts, that are one of 32; and what stays as small as it was."""
    merged = code(5, row("LDS.128 R4, [R2]", write=0), row("EXIT", waits=1))
    alone = code(5, row("LDS R4, [R2]", write=0), row("EXIT", waits=1))
    small = ("load", "shared", 5, 4, 4, (16 * 4, 24 * 4, 32 * 4))
    wide = ("load", "shared", 5, 4, 16, (8 * 4,) * 3)

    def wavefronts(blocks, *memory):
        loads = counted((4, ("ld.shared.b32", 5)), memory=memory)
        return estimate.estimated(blocks, loads, launched(), chip())["units"]["lsu"] / 4

    assert (wavefronts(merged, small), wavefronts(alone, small)) == (32, 16)
    assert (wavefronts(merged, wide), wavefronts(merged, small, wide)) == (8, 20)
    # A small access was made of small ones.
    assert wavefronts(alone, small, wide) == 16


def test_beside_much_shared_memory_the_l1_has_little_room_for_spills():
    """Triton's loader asks for the least L1 from 48 KiB on: 28 KiB on sm_90, however little of the rest is used."""
    blocks = code(1, row("LDL R2, [R1]", write=0), row("BAR.SYNC", waits=1), row("EXIT"))
    spilled = counted((4, ("bar.sync", 1)))

    def far(shared, stack):
        made = launched(shared=shared, stack=stack, registers=255)
        waited = estimate.estimated(blocks, spilled, made, chip())["waits"]["local loads"][0]
        return waited > chip().rates.to_l1

    # Of four warps: 28 KiB are 224 bytes a thread.
    kib = 1024
    assert [far(shared, 232) for shared in (48 * kib, 48 * kib + 16, 96 * kib)] == [
        False,
        True,
        True,
    ]
    assert not far(96 * kib, 224) and not far(0, 1024)


def test_spills_are_counted_by_the_flow():
    blocks = code(
        1, row("STL [R1], R2"), row("LDL R2, [R1]", write=0), row("BAR.SYNC", waits=1), row("EXIT")
    )
    found = estimate.estimated(blocks, counted((4, ("bar.sync", 1))), launched(moved=10**9), chip())
    assert found["local"] == 2 and found["spilled"] > 0
    assert {"local loads", "barriers"} <= found["waits"].keys()


def test_registers_shared_memory_and_warps_decide_what_is_resident():
    blocks = code(row("EXIT"))

    def resident(**changes):
        found = estimate.estimated(blocks, counted((4,)), launched(programs=10**6, **changes), chip())  # fmt: skip
        return found["resident"], found["waves"] > 1

    assert resident() == (16, True) and resident(registers=255) == (2, True)
    assert resident(shared=100_000) == (2, True) and resident(num_warps=32) == (2, True)


def test_plain_data():
    import json

    found = estimate.estimated(code(*LOOP), counted(*TEN_TURNS), launched(num_warps=1), chip())
    assert json.loads(json.dumps(found))["path"] == found["path"] and found["ghz"] == 1.755


@pytest.mark.parametrize(
    ("machine", "ptx", "anchor"),
    [
        ("LDG.E.128 R4, [R2]", "ld.global.v4.b32", "ldg"), ("LDS R4, [R2]", "ld.shared.b32", "lds"),
        ("LDGSTS.E [R3], [R4]", "cp.async.cg.shared.global", "ldgsts"), ("BAR.SYNC 0x0", "bar.sync", "bar"),
        ("HMMA.16816.F32 R4, R2, R3, R4", "mma.sync.aligned.m16n8k16", "mma"),
        ("HGMMA.64x64x16.F32 R4", "wgmma.mma_async.sync.aligned", "wgmma"),
        ("SHFL.BFLY R1, R2", "shfl.sync.bfly.b32", "shfl"), ("MUFU.EX2 R1, R2", "ex2.approx.f32", "mufu"),
        ("ATOMG.E.ADD R1, [R2]", "atom.global.add.f32", "atom"), ("UTMALDG.2D [UR8]", "cp.async.bulk.tensor.2d", "tma"),
        ("@!PT LDS RZ, [RZ]", "cp.async.commit_group", None), ("IADD3 R1, R2, R3", "add.s32", None),
    ],
)  # fmt: skip
def test_what_both_languages_are_counted_by(machine, ptx, anchor):
    (block,) = code(machine, "EXIT")
    assert anchor_of_machine(block.instructions[0]) == anchor == anchor_of_ptx(ptx)


def test_what_is_never_done_takes_no_unit():
    (block,) = code("@!PT LDS RZ, [RZ]", "LDS R1, [R2]", "EXIT")
    assert [kind_of(one) for one in block.instructions[:2]] == ["other", "lsu"]


def test_each_target_that_is_estimated_has_its_numbers_and_the_others_none():
    known = [name for name, one in targets.load().items() if one.backend == "cuda" and chip(name)]
    assert {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"} <= set(known)
    # All but the two that somebody measured say what is guessed.
    assert [name for name in known if not chip(name).rates.guessed] == ["sm_80", "sm_90"]
    assert chip("gfx942") is None and chip("sm_75") is None


def test_a_cubin_that_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(machine_code, "nvdisasm", lambda: None)
    with pytest.raises(estimate.NotDisassembled, match="without nvdisasm"):
        estimate.blocks_of_cubin(b"")
    broken = tmp_path / "nvdisasm"
    broken.write_text("#!/bin/sh\necho no cubin >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(machine_code, "nvdisasm", lambda: str(broken))
    with pytest.raises(estimate.NotDisassembled, match="exits 3: no cubin"):
        estimate.blocks_of_cubin(b"")


RATES = chips.Rates(
    ghz=1.0, dram=1e12, l2=3.2e12, l2_size=1000.0, l1_size=100_000.0,
    lanes={"fp32": 32, "int": 16, "imad": 16, "half": 32, "mufu": 4, "conv": 16, "fp64": 8}, mma=256.0, wgmma=1024.0,
    to_l1=30.0, to_shared=20.0, to_l2=200.0, to_dram=400.0, atomic=300.0, tma=500.0,
)  # fmt: skip
CHIP = chips.Chip("made up", RATES, 100, 65_536, 64, 32, 200_000)


def instruction(text):
    return code(text, "EXIT")[0].instructions[0]


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("LDG.E R2, [R4]", 200, 400), ("LD.E R2, [R4]", 200, 400), ("LDGSTS.E [R3], [R4]", 200, 400),
        ("ATOMG.E.ADD R1, [R2]", 300, 300), ("RED.E.ADD [R2], R1", 300, 300), ("LDL R2, [R1]", 30, 30),
        ("LDS R2, [R1]", 20, 20), ("LDSM R2, [R1]", 20, 20), ("ATOMS.ADD R2, [R1]", 20, 20), ("STG [R2], R1", 12, 12),
        ("STS [R2], R1", 12, 12), ("R2UR UR4, R1", 12, 12), ("MUFU.EX2 R1, R2", 23, 23), ("SHFL.BFLY R1, R2", 24, 24),
        ("S2R R0, SR_TID.X", 40, 40), ("LDC R1, c[0x0]", 40, 40), ("F2I R1, R2", 20, 20), ("POPC R1, R2", 20, 20),
        ("DFMA R1, R2, R3, R4", 16, 16), ("HMMA.16816.F32 R4, R2, R3, R4", 33, 33), ("IMMA.16832 R4, R2", 33, 33),
        ("FFMA R1, R2, R3, R4", 14, 14), ("HGMMA.64x64x16.F32 R4", 14, 14),
    ],
)  # fmt: skip
def test_when_a_result_is_there(text, near, far):
    made = instruction(text)
    assert [opcodes.latency(made, CHIP, cold) for cold in (False, True)] == [near, far]


@pytest.mark.parametrize(
    ("text", "kind", "cycles"),
    [
        ("FFMA R1, R2, R3, R4", "fp32", 1), ("IADD3 R1, R2, R3", "int", 2), ("UIADD3 UR1, UR2, UR3", "int", 1),
        ("IMAD R1, R2, R3, R4", "imad", 2), ("UIMAD UR1, UR2, UR3, UR4", "imad", 2), ("MUFU.EX2 R1, R2", "mufu", 8),
        ("F2F R1, R2", "conv", 2), ("DADD R1, R2, R3", "fp64", 4), ("HADD2 R1, R2, R3", "half", 1),
        ("LDS R1, [R2]", "lsu", 1), ("MOV R1, R2", "other", 1), ("@!PT FFMA R1, R2, R3, R4", "other", 1),
    ],
)  # fmt: skip
def test_how_long_a_pipe_is_taken(text, kind, cycles):
    made = instruction(text)
    assert kind_of(made) == kind and opcodes.issue_cycles(made, kind, RATES) == cycles


@pytest.mark.parametrize(
    ("op", "kind", "cycles"),
    [
        ("HMMA.16816.F32", "mma", 8), ("HMMA.1688.F32", "mma", 4), ("HMMA.1688.F32.TF32", "mma", 8),
        ("HMMA.884.F16", "mma", 1), ("HMMA.99", "mma", 8), ("IMMA.16832.S8", "mma", 8), ("IMMA.8816.S8", "mma", 2),
        ("QMMA.16832.F32", "mma", 8), ("HGMMA.64x64x16.F32", "wgmma", 64), ("HGMMA.64x128x16", "wgmma", 128),
        ("HGMMA.64x64x8.F32.TF32", "wgmma", 64), ("IGMMA.64x64x32", "wgmma", 64), ("QGMMA.64x64x32", "wgmma", 64),
        ("HGMMA", "wgmma", 64), ("HGMMA.F32", "wgmma", 64),
    ],
)  # fmt: skip
def test_how_long_a_tensor_core_is_taken(op, kind, cycles):
    made = instruction(f"{op} R4, R2")
    assert opcodes.product_cycles(made, kind, RATES) == cycles
    older = RATES._replace(wgmma=0.0, mma=512.0)
    assert opcodes.product_cycles(made, kind, older) == cycles / 2


HGMMA = "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0"
FIRST = "FADD R3, R2, R2"
# Instructions of a warp -> its clock at the end, and what it waited for.
WARPS = [
    ((row("MOV R1, R2", stall=3), row("NOP", stall=0)), 4, {}),
    ((row("LDG.E R2, [R4]", write=0), row(FIRST, waits=1)), 201, {"global loads": 199}),
    ((row("LDG.E R2, [R4]", write=0, stall=15), row(FIRST, waits=2)), 16, {}),
    ((row("LDS R2, [R4]", write=5), row(FIRST, waits=1 << 5)), 21, {"shared loads": 19}),
    ((row("LDS R2, [R4]", write=5, stall=15), row("NOP", stall=15), row(FIRST, waits=1 << 5)), 31, {}),
    ((row("STG.E [R4], R2", read=1), row(FIRST, waits=2)), 14, {"operands of global stores": 12}),
    ((row("STS [R4], R2", write=2, read=1), row(FIRST, waits=4)), 13, {"shared stores": 11}),
    ((row("LDL R2, [R4]", write=0), row(FIRST, waits=1)), 31, {"local loads": 29}),
    ((row("MUFU.EX2 R1, R2"), row("MUFU.EX2 R1, R2", write=0), row(FIRST, waits=1)), 32, {"MUFU": 22}),
    ((row("FFMA R1, R2, R3, R4"), row("MUFU.EX2 R1, R2"), row("FFMA R1, R2, R3, R4")), 3, {}),
    # Two products: the second begins when the tensor core is free, and four cycles before is soon enough to issue it.
    ((row("HMMA.16816.F32 R4, R2, R3, R4"), row("HMMA.16816.F32 R4, R2, R3, R4", write=0), row(FIRST, waits=1)), 42,
     {"mma": 36}),
    ((row(HGMMA), row("WARPGROUP.DEPBAR.LE gsb0, 0x0"), row("NOP")), 90, {"wgmma": 87}),
    ((row(HGMMA), row(HGMMA), row("WARPGROUP.DEPBAR.LE gsb0, 0x1")), 89, {"wgmma": 86}),
    ((row(HGMMA), row(HGMMA), row("WARPGROUP.DEPBAR.LE gsb0, 0x0")), 153, {"wgmma": 150}),
    ((row(HGMMA), row("WARPGROUP.DEPBAR.LE gsb0, 0x0"), row("WARPGROUP.DEPBAR.LE gsb0, 0x0")), 90, {"wgmma": 87}),
    ((row(HGMMA), row("WARPGROUP.ARRIVE")), 2, {}),
    ((row(HGMMA.replace(", gsb0", "")), row("WARPGROUP.DEPBAR.LE gsb0, 0x0")), 2, {}),
    ((row("LDGSTS.E [R3], [R4]"), row("LDGDEPBAR"), row("DEPBAR.LE SB0, 0x0")), 201, {"cp.async": 198}),
    ((row("LDGSTS.E [R3], [R4]"), row("LDGDEPBAR"), row("DEPBAR.LE SB0, 0x1")), 3, {}),
    ((row("LDGSTS.E [R3], [R4]"), row("LDGDEPBAR"), row("DEPBAR.LE SB5, 0x0")), 3, {}),
    ((row("LDGSTS.E [R3], [R4]"), row("DEPBAR.LE SB0, 0x0")), 2, {}),
    ((row("BAR.SYNC 0x0"), row("NOP")), 26, {"barriers": 24}),
    ((row("UTMALDG.2D [UR8]"), row("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2]")), 501, {"TMA": 499}),
    ((row("UBLKCP [UR8]"), row("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2]"),
      row("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2]")), 502, {"TMA": 499}),
    ((row("UTMALDG.2D [UR8]"), row("SYNCS.ARRIVE [R2]")), 2, {}),
    ((row("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2]"),), 1, {}),
    ((row("FENCE.VIEW.ASYNC"), row("MEMBAR.SC.GPU")), 26, {}),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "clock", "waits"), WARPS)
def test_a_warp_by_hand(rows, clock, waits):
    (block,) = code(5, *rows, row("EXIT"))
    del block.instructions[-1]
    ran = warp.Warp(CHIP, {}, False, False)
    ran.run(block)
    assert (ran.clock, dict(ran.waits)) == (
        clock,
        {(what, 5): cycles for what, cycles in waits.items()},
    )


def test_a_warp_whose_memory_is_far():
    (block,) = code(row("LDL R2, [R4]", write=0), row(FIRST, waits=1), "EXIT")
    for far, clock in ((False, 32), (True, 202)):
        ran = warp.Warp(CHIP, {}, False, far)
        ran.run(block)
        assert ran.clock == clock


def test_a_queue_of_loads():
    """A load of 10 wavefronts takes their unit as long, and a warp runs 16 cycles ahead of it."""
    (block,) = code(*["LDS R2, [R4]"] * 4, "EXIT")
    ways = {id(made): 10.0 for made in block.instructions[:4]}
    ran = warp.Warp(CHIP, ways, False, False)
    clocks = []
    for made in block.instructions[:4]:
        ran._run(made)
        clocks.append(ran.clock)
    assert clocks == [1, 2, 5, 15]


def test_the_units_of_a_block():
    rows = ["FFMA R1, R2, R3, R4"] * 2 + ["IMAD R1, R2, R3, R4", "IADD3 R1, R2, R3", "LDL R1, [R2]", "STL [R1], R2",
            "LDS R1, [R2]", "HMMA.16816.F32 R4, R2", "HGMMA.64x64x16.F32 R4", "MUFU.EX2 R1, R2", "EXIT"]  # fmt: skip
    (block,) = blocks = code(*rows)
    ways = {id(made): 4.0 for made in block.instructions if made.name == "LDS"}
    units, local, instructions = launch._units(blocks, np.array([2.0]), ways, 8, CHIP)
    assert (local, instructions) == (32, 22)
    assert units == {
        "issue": 44, "fma": 12, "int": 8, "half": 0, "mufu": 32, "conv": 0, "fp64": 0, "mma": 32, "wgmma": 256,
        "lsu": (2 + 2 + 8) * 8,
    }  # fmt: skip
    more = code(*["IMAD R1, R2, R3, R4"] * 8, "FFMA R1, R2, R3, R4", "EXIT")
    assert launch._units(more, np.array([1.0]), {}, 4, CHIP)[0]["fma"] == 16


@pytest.mark.parametrize(
    ("l2", "moved", "cycles", "dram"),
    [
        # 4 sectors of 32 bytes by each of 2 blocks: 128 bytes at 32 a cycle, and at no more than 64.
        (3.2e12, 500, 4.0, 0.0), (64e12, 500, 2.0, 0.0),
        # From DRAM, at 10 bytes a cycle of a multiprocessor: all, or no more than the tensors have.
        (3.2e12, 1e6, 4.0, 12.8), (3.2e12, 8000, 4.0, 8.0),
    ],
)  # fmt: skip
def test_the_memory_of_a_block(l2, moved, cycles, dram):
    blocks = code(5, row("LDG.E R2, [R4]", write=0), row("EXIT", waits=1))
    loads = counted(
        (8, ("ld.global.b32", 5)),
        memory=[("load", "global", 5, 8, 4, (8, 8, 8)), ("load", "shared", 5, 8, 4, (9, 9, 9))],
    )
    launched_once = launched(executed=2, programs=100, moved=moved)
    result = estimate.estimated(
        blocks, loads, launched_once, CHIP._replace(rates=RATES._replace(l2=l2))
    )
    assert (result["units"]["l2"], result["dram"], result["cold"]) == (cycles, dram, moved > 1000)
    assert (result["resident"], result["together"], result["waves"]) == (16, 1, 1.0)
    assert result["waits"] == {"global loads": ((400 if moved > 1000 else 200) - 1, 5)}


@pytest.mark.parametrize(
    ("changes", "resident"),
    [
        ({}, 16), ({"registers": 33}, 12), ({"registers": 40}, 12), ({"registers": 41}, 10), ({"num_warps": 8}, 8),
        ({"registers": 0}, 16), ({"num_warps": 1}, 32), ({"shared": 99_000}, 1), ({"shared": 98_976}, 2),
        ({"shared": 300_000}, 1), ({"registers": 255, "num_warps": 16}, 1),
    ],
)  # fmt: skip
def test_how_many_blocks_fit(changes, resident):
    assert launch._resident(launched(**changes), CHIP) == resident


def test_the_longest_waits_come_first():
    waits = {("a", 1): 5.0, ("a", 2): 7.0, ("b", 3): 11.0, ("c", 4): 0.5, ("d", 5): 40.0}
    made = launch._longest(waits)
    assert list(made.items()) == [("d", (40.0, 5)), ("a", (12.0, 2)), ("b", (11.0, 3))]
    many = {(str(number), 1): number + 1.0 for number in range(12)}
    assert list(launch._longest(many)) == [str(number) for number in range(11, 1, -1)]


@pytest.mark.parametrize(
    ("rows", "following"),
    [
        (["@P0 BRA `(.L_x_1)", "NOP", ".L_x_1:", "EXIT"], [[2, 1], [2], [-1]]),
        (["BRA `(.L_x_1)", "NOP", ".L_x_1:", "EXIT"], [[2], [2], [-1]]),
        (["BRA.DIV UR4, `(.L_x_1)", "NOP", ".L_x_1:", "EXIT"], [[2, 1], [2], [-1]]),
        (["BRA.U UP0, `(.L_x_1)", "NOP", ".L_x_1:", "EXIT"], [[2, 1], [2], [-1]]),
        (["BRA `(.L_gone)", "EXIT"], [[], [-1]]), (["@P0 EXIT", "NOP", "EXIT"], [[-1, 1], [-1]]),
        (["CALL.REL.NOINC `(.L_x_1)", "EXIT", ".L_x_1:", "NOP", "RET.REL.NODEC R20 `(kernel)"], [[2], [-1], [1]]),
        (["CALL.REL.NOINC `(.L_gone)", "EXIT"], [[1], [-1]]), (["RET.REL.NODEC R20 `(kernel)"], [[-1]]),
        (["NOP", ".L_x_1:", "NOP", "@P0 BRA `(.L_x_1)", "EXIT"], [[1], [1, 2], [-1]]),
    ],
)  # fmt: skip
def test_the_blocks_that_may_follow(rows, following):
    assert [block.next for block in code(*rows)] == following


def test_the_largest_function_is_the_kernel():
    head = "//--------------------- .text.{} ----"
    small, large = [row("NOP"), row("EXIT")], [row("MOV R1, R2"), row("NOP", stall=7), row("EXIT")]
    for order in ((small, large), (large, small)):
        text = "\n".join(
            part for number, rows in enumerate(order) for part in (head.format(number), *rows)
        )
        instructions, _ = machine_code.parsed(
            f"   /* 0x0000000000000001 */\n.L_x_9:\n{text}\n{head.format('none')}"
        )
        assert [made.op for made in instructions] == ["MOV", "NOP", "EXIT"] and instructions[
            1
        ].stall == 7
    assert machine_code.parsed("") == ([], {})
    assert machine_code.parsed("//------ .nv.info.kernel\n" + row("NOP")) == ([], {})


def test_endless_code_is_not_estimated(monkeypatch):
    monkeypatch.setattr(machine_code, "MOST_INSTRUCTIONS", 2)
    assert code("NOP", "EXIT")
    with pytest.raises(estimate.NotDisassembled, match="more than 2 instructions"):
        code("NOP", "NOP", "EXIT")


@pytest.mark.parametrize(
    ("bits", "guard"), [(0, "P0"), (2, "P2"), (7, ""), (8 | 2, "!P2"), (8 | 7, "!PT")]
)
def test_the_guard_of_an_encoded_instruction(bits, guard):
    assert encodings._decoded("BRA", "", bits << 12, 0, 1).guard == guard


def test_a_table_with_a_line_out_of_range_is_not_read():
    # DWARF 2: a row with line 1, and 16 bytes later one with `more` lines added.
    def table(more):
        program = bytes([1, 2, 16, 3, more & 0x7F, 1])
        head = struct.pack("<IHIBBbBB", 20 + len(program), 2, 14, 1, 1, -5, 14, 10)
        return head + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + program

    assert encodings._lines(table(5)) == {0: 1, 16: 6}
    with pytest.raises(ValueError, match="out of range"):
        encodings._lines(table(-5))


@pytest.mark.parametrize(
    ("ptx", "anchor"),
    [
        ("ld.nc.b32", "ldg"), ("ld.global.nc.b32", "ldg"), ("ld.param.u64", None), ("ld.local.b32", None),
        ("st.local.b32", None), ("st.shared.b32", "sts"), ("ld.shared::cta.b32", "lds"), ("bar.warp.sync", None),
        ("barrier.cta.arrive", None), ("barrier.sync", "bar"), ("wgmma.fence.sync.aligned", None),
        ("div.full.f32", "mufu"),
        ("div.approx.ftz.f32", "mufu"), ("div.rn.f32", None), ("div.s32", None), ("rsqrt.approx.f32", "mufu"),
        ("ldmatrix.sync.aligned", "ldsm"), ("red.global.add.f32", "atom"), ("cp.async.ca.shared.global", "ldgsts"),
        ("cp.async.wait_all", None), ("cp.async.bulk.commit_group", None), ("cp.async.bulk.wait_group.read", None),
        ("cp.reduce.async.bulk.global", "tma"), ("cp.async", None), ("add.f32", None),
    ],
)  # fmt: skip
def test_what_ptx_is_counted_by(ptx, anchor):
    assert anchor_of_ptx(ptx) == anchor
