"""The emulator beside what tinygrad's tests say that a GPU of RDNA3 gives; `gpu_recorder.py` wrote the lines.

A line: instructions | registers before | registers after. `@4` before it: four lanes act. Values are hexadecimal bits,
a value each lane where they differ (`-`: nobody asked), `/` leads to a mask of the bits asked for, and `f32:1.0~0.001`
is a float within a bound; `h` after its width is the upper half of a register.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from amd_running import lanes_of, run

from crosswarp.matrix.cell.machines.amdgcn import names
from crosswarp.matrix.cell.machines.amdgcn.errors import Unsupported

LINES = [
    line
    for line in (Path(__file__).parent / "gpu_rows.txt").read_text().splitlines()
    if line[0] != "#"
]
SPECIAL = {"vcc": 106, "exec": 126}
KINDS = {
    "f16": (np.uint16, np.float16),
    "f32": (np.uint32, np.float32),
    "f64": (np.uint64, np.float64),
}
# Beginnings of lines -> why the emulator gives something else.
DIFFERENT = {
    "v_mul_f32_e32 v1, 2.0, v0 | v0=1 |": "the tests flush float32 denormals, and Triton's code keeps them",
    "v_div_scale_f32 v2, vcc_lo, v1, v1, v0 | v0=3f800000 v1=1 |": "the same, of a denominator",
    "@64 v_mov_b32 v0, v255; v_cmp_eq_u32_dpp vcc_lo, v0, v0 row_bcast:15": "RDNA has no row_bcast by AMD's text",
}  # fmt: skip
# Refused by name: those of carries for their `clamp`, the others as a whole. Triton's suite compiles to none of these.
REFUSED = {
    "ds_cmpstore_b32", "ds_storexchg_2addr_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32",
    "ds_storexchg_2addr_stride64_rtn_b64", "s_quadmask_b32", "s_wqm_b32", "v_add_co_ci_u32", "v_add_co_u32",
    "v_cvt_norm_i16_f16", "v_cvt_norm_u16_f16", "v_cvt_pk_norm_i16_f32", "v_cvt_pk_u8_f32", "v_dot2_f16_f16",
    "v_dot4_u32_u8", "v_dot8_i32_iu4", "v_dot8_u32_u4", "v_msad_u8", "v_mullit_f32", "v_sub_co_ci_u32",
    "v_sub_co_u32", "v_subrev_co_ci_u32", "v_subrev_co_u32", "v_trig_preop_f64", "v_wmma_f16_16x16x16_f16",
}  # fmt: skip


def registers(words):
    """(name, value) of each register in `v0=1 v4:7=0`."""
    for word in words.split():
        names, _, value = word.partition("=")
        first, _, last = names.partition(":")
        if last:
            yield from (
                (f"{first[0]}{number}", value) for number in range(int(first[1:]), int(last) + 1)
            )
        else:
            yield first, value


def after(body, lanes, before):
    """(machine, function from a register's name to its value in each lane)."""
    given = {name: int(value, 16) for name, value in registers(before)}
    wave = 64 if lanes > 32 else 32
    vectors = {number: 0 for number in range(16)}
    vectors.update(
        (int(name[1:]), value) for name, value in given.items() if re.match(r"v\d", name)
    )
    vectors[255] = np.arange(wave)
    scalars = dict.fromkeys([*range(16), 106, 107], 0)
    scalars.update((SPECIAL.get(name) or int(name[1:]), value) for name, value in given.items()
                   if not re.match(r"v\d", name))  # fmt: skip
    act = "" if lanes == wave else f"s_mov_b32 exec_lo, {(1 << lanes) - 1:#x}\n"
    machine = run(
        act + body.replace("; ", "\n"), "gfx1100", v=vectors, s=scalars, shared=65536,
        group_segment_fixed_size=65536, wavefront_size32=int(wave == 32),
    )  # fmt: skip

    def read(name):
        if name == "scc":
            return np.array([machine.scc.reshape(-1)[0]], np.uint32)
        if re.match(r"v\d", name):
            return lanes_of(machine, int(name[1:]))[:lanes].astype(np.uint32)
        return machine.r(SPECIAL.get(name) or int(name[1:])).reshape(-1)[:1]

    return read


def agrees(read, name, lane, wanted):
    """Whether a register has the value wanted in a lane."""
    bits = int(read(name)[lane])
    if ":" not in wanted:
        value, _, mask = wanted.partition("/")
        return bits & int(mask or "ffffffff", 16) == int(value, 16)
    kind, _, number = wanted.partition(":")
    if kind == "f64":
        bits |= int(read(f"{name[0]}{int(name[1:]) + 1}")[lane]) << 32
    if kind == "f16h":
        bits >>= 16
    raw, of = KINDS[kind[:3]]
    found = np.array([bits & np.iinfo(raw).max], np.uint64).astype(raw).view(of)[0].item()
    value, _, bound = number.partition("~")
    if value == "nan":
        return found != found
    return found == float(value) or abs(found - float(value)) <= float(bound)


def differences(line):
    """`v3 lane 0: 0x0, not 1`, of each register that is not as the line says."""
    body, before, results = line.split(" | ")
    lanes = 1
    if body.startswith("@"):
        count, _, body = body[1:].partition(" ")
        lanes = int(count)
    read, found = after(body, lanes, before), []
    for name, values in registers(results):
        values = values.split(",")
        for lane in range(len(read(name))):
            wanted = values[lane if len(values) > 1 else 0]
            if wanted != "-" and not agrees(read, name, lane, wanted):
                found.append(f"{name} lane {lane}: {int(read(name)[lane]):#x}, not {wanted}")
    return found


def compared():
    """(the lines that agree, lines that do not with their differences, names of refused instructions)."""
    agreeing, wrong, refused = [], {}, set()
    for line in LINES:
        try:
            found = differences(line)
        except Unsupported as error:
            refused.add(re.search(r"does not know (\S+)", str(error))[1])
            continue
        if found:
            wrong[line] = found
        else:
            agreeing.append(line)
    return agreeing, wrong, refused


def opcodes(lines):
    """The instructions in lines, without their encodings."""
    texts = "; ".join(re.sub(r"^@\d+ ", "", line).split(" | ")[0] for line in lines).replace(
        " :: ", "; "
    )
    return {names.base(text.split()[0]) for text in texts.split("; ")}


def test_instructions_give_what_a_gpu_gave():
    agreeing, wrong, refused = compared()
    unexplained = {
        line: found for line, found in wrong.items() if not line.startswith(tuple(DIFFERENT))
    }
    assert not unexplained and len(wrong) == len(DIFFERENT)
    assert refused == REFUSED
    assert len(agreeing) >= 600 and len(opcodes(agreeing)) >= 200


@pytest.mark.parametrize(
    "line, wrong",
    [
        (
            "v_add_co_u32 v2, vcc_lo, v0, v1 | v0=ffffffff v1=1 | v2=0 vcc=0/1",
            "vcc lane 0: 0x1, not 0/1",
        ),
        (
            "v_rcp_f32 v1, v0 | v0=40000000 | v1=f32:0.4~0.001",
            "v1 lane 0: 0x3f000000, not f32:0.4~0.001",
        ),
        ("@2 v_mov_b32 v1, v255 |  | v1=0,2", "v1 lane 1: 0x1, not 2"),
        (
            "v_add_f32_e32 v1, v0, v0 | v0=3f800000 | v1=f32:nan",
            "v1 lane 0: 0x40000000, not f32:nan",
        ),
    ],
)
def test_another_value_would_be_seen(line, wrong):
    assert differences(line) == [wrong]


if __name__ == "__main__":
    agreeing, wrong, refused = compared()
    print(f"{len(LINES)} lines, {len(agreeing)} agree, of {len(opcodes(agreeing))} instructions")
    print(
        f"{len(wrong)} differ, {len(LINES) - len(agreeing) - len(wrong)} of {len(refused)} instructions are refused"
    )
    for line, found in wrong.items():
        print(line, *found[:3], sep="\n   ")
