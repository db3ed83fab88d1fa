"""Snippets of AMD assembly on the emulator: registers in, registers out."""

from types import SimpleNamespace

import numpy as np

from crosswarp.matrix.cell.machines import amdgcn
from crosswarp.matrix.cell.machines.amdgcn import launch
from crosswarp.matrix.cell.machines.amdgcn.machine import Machine
from crosswarp.matrix.cell.machines.amdgcn.schedule import Chunk, Clock

BIG = 0xFFFFFFFF
WAVES_OF_32 = ("gfx10", "gfx11", "gfx12")


def text_of(body, target="gfx942", arguments=(), tables="", **directives):
    """The assembly of a kernel `row` with this body.

    Args:
        arguments: (offset, size, kind) of each of its arguments.
        tables: text behind the kernel.
        directives: of `.amdhsa_kernel`, without their prefix.
    """
    if target.startswith(WAVES_OF_32):
        directives.setdefault("wavefront_size32", 1)
    lines = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{target}"', "\t.text", "row:"]
    for line in body.strip().split("\n"):
        line = line.strip()
        lines.append(line if line.endswith(":") else f"\t{line}")
    lines += ["\ts_endpgm", "\t.section\t.rodata", "\t.amdhsa_kernel row"]
    lines += [f"\t\t.amdhsa_{name} {value}" for name, value in directives.items()]
    lines += [
        "\t.end_amdhsa_kernel",
        "\t.amdgpu_metadata",
        "amdhsa.kernels:",
        "  - .agpr_count: 0",
        "    .args:",
    ]
    for offset, size, kind in arguments:
        lines += [
            f"      - .offset: {offset}",
            f"        .size: {size}",
            f"        .value_kind: {kind}",
        ]
    lines += ["    .name: row", "\t.end_amdgpu_metadata", tables]
    return "\n".join(lines) + "\n"


def start(body, target="gfx942", *, v=(), a=(), s=(), waves=1, grid=(1,), memory=None, shared=0, values=(), watch=None,
          lanes=16384, **more):  # fmt: skip
    """A chunk that is about to execute a snippet: its machine's registers can be looked at and changed.

    Args:
        v, a, s: number -> raw bits: of each lane for vector registers, one number for scalar ones.
        waves: of a workgroup.
        values: of the arguments.
    """
    program = amdgcn.load(text_of(body, target, **more))
    # Registers that only the test names.
    program.vectors = max([program.vectors, *(number + 1 for number in dict(v))])
    program.accumulators = max([program.accumulators, *(number + 1 for number in dict(a))])
    threads = waves * program.kernel.wave
    one = launch._Launch(program, grid, list(values), threads, shared, memory, "forward", watch)
    machine = Machine(one, one.numbers())
    chunk = Chunk(machine, Clock(amdgcn.Limits(seconds=20)))
    for file, given in ((machine.V, dict(v)), (machine.A, dict(a))):
        for number, bits in given.items():
            file[number] = np.broadcast_to(np.asarray(bits).astype(np.uint32), machine.shape).copy()
    for number, value in dict(s).items():
        machine.w(number, np.full((machine.waves, 1), value, np.uint32), None)
    return SimpleNamespace(chunk=chunk, machine=machine, launch=one)


def run(body, target="gfx942", **more):
    """The machine after a snippet; see `start`."""
    began = start(body, target, **more)
    with np.errstate(all="ignore"):
        assert began.chunk.run()
    began.machine.keep = began
    return began.machine


def lanes_of(machine, number, file="V"):
    """A vector register of the first wave."""
    return machine.whole(getattr(machine, file)[number])[0]


def f32(*values):
    """Raw bits of float32 numbers."""
    return np.array(values, np.float32).view(np.uint32)


def edges(count=64, seed=1):
    """Raw bits that are often wrong: small numbers, powers of two and their neighbours, floats of every kind."""
    random = np.random.default_rng(seed)
    special = [0, 1, 2, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
               0x80000001, 0xFFFFFFFF, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001,
               0x00800000, 0x3C003C00, 0x7C007C00, 0x4B800000, 0xCF000000]  # fmt: skip
    some = random.choice(np.array(special, np.uint32), count // 2)
    wild = random.integers(0, 1 << 32, count - count // 2, np.uint32, endpoint=False)
    return random.permutation(np.concatenate([some, wild])).astype(np.uint32)


def room(*arrays):
    memory = amdgcn.Memory()
    return memory, [memory.add_array(array, f"array{place}") for place, array in enumerate(arrays)]


def pair(register, address):
    """An address in two registers."""
    return {register: address & BIG, register + 1: address >> 32}


def by_lane(register, addresses):
    addresses = np.asarray(addresses, np.uint64)
    return {register: addresses & np.uint64(BIG), register + 1: addresses >> np.uint64(32)}
