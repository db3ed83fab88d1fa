"""The estimate of a launch, by hand-made machine code: scheduling bits, blocks, executions, waits, units, occupancy."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from crosswarp.matrix.cell import estimate
from crosswarp.matrix.cell.estimate import flow, machine_code
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
