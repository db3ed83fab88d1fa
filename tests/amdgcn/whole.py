"""Instructions that are more than one expression beside AMD's pseudo-code: flags, masks, branches, other lanes, memory.

Each function runs an instruction once, with other inputs in each wave or lane, and returns what differs from the text.
"""

import random
import re

import numpy as np
from amd_running import start
from oracle import interesting, same, texts
from pseudocode.evaluator import Run
from pseudocode.values import Bits, Int, Memory

from crosswarp.matrix.cell.machines import amdgcn
from crosswarp.matrix.cell.machines.amdgcn.operands import EXEC, VCC

u4, u8 = np.uint32, np.uint64
WAVES, LANES = 16, 64
_ROOM = 4096
CODES = texts("cdna")


def _finish(began):
    with np.errstate(all="ignore"):
        assert began.chunk.run()
    return began.machine


def _bits(mask):
    return sum(1 << lane for lane in range(LANES) if mask[lane])


def _text(name, **variables):
    return Run(CODES.__getitem__, variables).execute(CODES[name])


def _masks(generator):
    """Of each wave: none, all, or some lanes."""
    rows = [[0] * LANES, [1] * LANES] + [
        [generator.getrandbits(1) for _ in range(LANES)] for _ in range(WAVES - 2)
    ]
    return np.array(rows, bool)


def scalar(line, widths, width):
    """Scalars at s20, s22, ..; the result at s10. `width`: of the result, 0 without one."""
    name = line.split()[0]
    generator = random.Random(line)
    began = start(f"{line}\ns_cselect_b32 s60, 1, 0", waves=WAVES)
    machine, masks = began.machine, [_masks(generator), _masks(generator)]
    inputs = [[interesting(f"u{bits}", generator) for _ in range(WAVES)] for bits in widths]
    if "_cmp" in name and len(inputs) == 2:
        # Some that are equal.
        inputs[1][:4] = [one & ((1 << widths[1]) - 1) for one in inputs[0][:4]]
    before = [generator.getrandbits(64) for _ in range(WAVES)]
    for place, values in [(10, before), *zip((20, 22), inputs)]:
        machine.w64(place, np.array(values, u8).reshape(-1, 1), None)
    flags = [generator.getrandbits(1) for _ in range(WAVES)]
    machine.scc = np.array(flags, bool).reshape(-1, 1)
    machine.setmask(VCC, masks[0], None)
    machine.setmask(EXEC, masks[1], None)
    number = re.search(r", (0x[0-9a-f]+)$", line)
    machine = _finish(began)
    found = []
    for wave in range(WAVES):
        given = {f"S{place}": Bits(values[wave], 64) for place, values in enumerate(inputs)}
        if number:
            given[f"S{len(inputs)}"] = Bits(int(number.group(1), 16), 64)
        said = _text(
            name, **given, D0=Bits(before[wave], 64), SCC=Int(flags[wave], 1, False),
            EXEC=Bits(_bits(masks[1][wave]), 64), VCC=Bits(_bits(masks[0][wave]), 64),
        )  # fmt: skip
        results = [
            (said["SCC"].value != 0, bool(machine.r(60)[wave, 0])),
            (said["EXEC"].raw(64), int(machine.r64(EXEC)[wave, 0])),
        ]
        if width:
            got = int(machine.r64(10)[wave, 0]) & ((1 << width) - 1)
            results.append((said["D0"].raw(width) & ((1 << width) - 1), got))
        found += [f"{line}: wave {wave} {pair}" for pair in results if pair[0] != pair[1]]
    return found


def branch(name):
    """Whether each wave goes where the text says."""
    generator = random.Random(name)
    began = start(f"{name} .LBB0_2\ns_mov_b32 s10, 1\n.LBB0_2:\ns_nop 0", waves=WAVES, s={10: 0})
    machine, masks = began.machine, [_masks(generator), _masks(generator)]
    flags = [generator.getrandbits(1) for _ in range(WAVES)]
    machine.scc = np.array(flags, bool).reshape(-1, 1)
    machine.setmask(VCC, masks[0], None)
    machine.setmask(EXEC, masks[1], None)
    machine = _finish(began)
    found = []
    for wave in range(WAVES):
        said = _text(
            name, PC=Int(0, 64), SIMM16=Int(100, 16), SCC=Int(flags[wave], 1, False),
            VCCZ=Int(not masks[0][wave].any(), 1, False), EXECZ=Int(not masks[1][wave].any(), 1, False),
        )  # fmt: skip
        if (said["PC"].value == 404) != (int(machine.r(10)[wave, 0]) == 0):
            found.append(f"{name}: wave {wave}")
    return found


def vector(line, kinds, result, ulps=0):
    """Vectors at v4, v6, v8, and the result at v2. `kinds`, `result`: of each 32-bit (64-bit) part; VCC is a source.

    Args:
        ulps: by how many units in the last place the result may differ.
    """
    name = re.sub(r"_e(32|64)$", "", line.split()[0])
    generator = random.Random(line)
    inputs = [[_part(kind, generator) for _ in range(LANES)] for kind in kinds]
    before = [_part(result, generator) for _ in range(LANES)]
    v = {}
    for place, values in [(2, before), *zip((4, 6, 8), inputs)]:
        raw = np.array(values, u8)
        v[place], v[place + 1] = raw & u8(0xFFFFFFFF), raw >> u8(32)
    began = start(line, v=v)
    mask = np.array([[generator.getrandbits(1) for _ in range(LANES)]], bool)
    began.machine.setmask(VCC, mask, None)
    machine = _finish(began)
    low, high = (machine.whole(machine.V[place])[0].astype(u8) for place in (2, 3))
    carried = _bits(machine.mask(VCC)[0])
    found = []
    for lane in range(LANES):
        given = {f"S{place}": Bits(values[lane], 64) for place, values in enumerate(inputs)}
        said = _text(
            name, **given, D0=Bits(before[lane], 64), VCC=Bits(_bits(mask[0]), 64), laneId=Int(lane),
            OPSEL=Int(0, 4),
        )  # fmt: skip
        got, wanted = int(low[lane] | high[lane] << u8(32)), said["D0"].raw(64)
        for kind, shift in _parts(result):
            both = got >> shift, wanted >> shift
            if same(kind, *both) == "different" and not _near(kind, *both, ulps):
                found.append(f"{line}: lane {lane} {both[0]:#x}, the text says {both[1]:#x}")
        flag = said["D1"].raw(1) if "D1" in said else said["VCC"].raw(64) >> lane & 1
        if "vcc," in line.split(None, 1)[1][4:] and carried >> lane & 1 != flag:
            found.append(f"{line}: lane {lane} carries otherwise")
    return found


def _near(kind, a, b, ulps):
    bits = int(kind[1:])
    return ulps and abs((a & (1 << bits) - 1) - (b & (1 << bits) - 1)) <= ulps


def _parts(kind):
    """(kind, its place) of each part: "2f16" is two halves."""
    count, one = (int(kind[0]), kind[1:]) if kind[0].isdigit() else (1, kind)
    return [(one, place * int(one[1:])) for place in range(count)]


def _part(kind, generator):
    return sum(interesting(one, generator) << shift for one, shift in _parts(kind))


def lanes(line, name):
    """Values of other lanes: the data at v4, the place at v6, the result at v2 or s10; EXEC is some lanes."""
    generator = random.Random(line)
    data, place, before = (
        np.array([generator.getrandbits(32) for _ in range(LANES)], u4) for _ in range(3)
    )
    began = start(
        f"{line}\ns_waitcnt lgkmcnt(0)", v={4: data, 6: place, 2: before}, s={10: 7, 22: 0x25}
    )
    mask = np.array([[generator.getrandbits(1) for _ in range(LANES)]], bool)
    began.machine.setmask(EXEC, mask, None)
    machine = _finish(began)
    registers = {
        lane: {
            4: Bits(int(data[lane]), 32),
            6: Bits(int(place[lane]), 32),
            2: Bits(int(before[lane]), 32),
        }
        for lane in range(LANES)
    }
    said = _text(
        name, VGPR=registers, EXEC=Bits(_bits(mask[0]), 64), SRC0=Int(4), VDST=Int(2), ADDR=Int(6), DATA0=Int(4),
        OFFSET=Int(0), S0=Bits(7, 32), S1=Bits(0x25, 32), D0=Bits(7, 32),
    )  # fmt: skip
    wanted = [registers[lane][2].raw(32) for lane in range(LANES)]
    got = [int(one) for one in machine.whole(machine.V[2])[0]]
    both = [(said["D0"].raw(32), int(machine.r(10)[0, 0]))] if " s10" in line else zip(wanted, got)
    return [f"{line}: {pair}" for pair in both if pair[0] != pair[1]]


def memory(line, name, words, wait="vmcnt(0)"):
    """Loads and stores: addresses at v4 (v[4:5]), s[20:21] or a buffer's, data at v8 and v12, loads at v16 or s24.

    Args:
        words: how many are loaded; 0 for a store.
    """
    generator = random.Random(line)
    room = np.frombuffer(generator.randbytes(_ROOM), np.uint8).copy()
    in_lds = name.startswith("ds_")
    host = amdgcn.Memory()
    base = 0 if in_lds else host.add_array(room, "room")
    # So far from each other that no two lanes touch the same bytes.
    step = int(name[-2:]) // 8 if "st64" in name else 32
    places = [step * lane for lane in generator.sample(range(LANES), LANES)]
    whole = np.array(places, u8) + u8(base)
    v = {4: whole & u8(0xFFFFFFFF), 5: whole >> u8(32)}
    data = [np.array([generator.getrandbits(32) for _ in range(LANES)], u4) for _ in range(8)]
    for place in range(4):
        v[8 + place], v[12 + place] = data[place], data[4 + place]
        v[16 + place] = 0
    if "s[20:23]" in line:
        v[4] = (whole - u8(base)).astype(u4)
    s = {20: base & 0xFFFFFFFF, 21: base >> 32, 22: _ROOM, 23: 0x00027000}
    began = start(f"{line}\ns_waitcnt {wait}", v=v, s=s, memory=host, shared=_ROOM if in_lds else 0)
    if in_lds:
        began.machine.lds.bytes[:_ROOM] = room
    text_room = Memory(room.tobytes())
    machine = _finish(began)
    offsets = [int(one) for one in re.findall(r"offset[01]:(\d+)", line)] or [0, 0]
    found = []
    for lane in range(1 if name.startswith("s_") else LANES):
        first, second = (
            sum(int(one[lane]) << 32 * place for place, one in enumerate(part))
            for part in (data[:4], data[4:])
        )
        at = Int(0 if name.startswith("s_") else places[lane])
        store = name.startswith(("buffer_store", "global_store"))
        nothing = Int(0)
        said = _text(
            name, MEM=text_room, ADDR=at, VADDR=at, SBASE=at, SADDR=nothing, SRSRC=nothing, SOFFSET=nothing,
            OFFSET=nothing, OFFSET0=Int(offsets[0]), OFFSET1=Int(offsets[1]), DATA=Bits(first, 128),
            DATA2=Bits(second, 128), VDATA=Bits(first if store else 0, 128), SDATA=Bits(0, 512),
            RETURN_DATA=Bits(0, 128), laneId=Int(lane),
        )  # fmt: skip
        if words:
            key = "RETURN_DATA" if in_lds else "SDATA" if name.startswith("s_") else "VDATA"
            wanted = said[key].raw(512)
            for place in range(words):
                if key == "SDATA":
                    got = int(machine.r(24 + place)[0, 0])
                else:
                    got = int(machine.whole(machine.V[16 + place])[0][lane])
                if got != wanted >> 32 * place & 0xFFFFFFFF:
                    found.append(f"{line}: lane {lane}, word {place}: {got:#x}")
    after = machine.lds.bytes[:_ROOM] if in_lds else room
    if bytes(after) != bytes(text_room.data):
        found.append(f"{line}: other bytes in memory")
    return found
