"""Kernels for sm_100 that fill tensor memory, multiply, and give back what is there; and matrices as they lie.

Layouts by the ISA's figures and tables, one element at a time.
"""

import numpy as np
from running import execute

# Shared memory: the address of what was allocated, two mbarriers at 8 and 16, operands from 1024 on.
HEAD = """.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 room[];
.visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2)
.reqntid 128
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<30>; .reg .b32 %c<256>; .reg .b32 %o<256>;
mov.u32 %r0, %tid.x; mov.u32 %r2, room; setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32;
ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1]; ld.param.u64 %d2, [p2];
add.u32 %r3, %r2, 8; add.u32 %r4, %r2, 16;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1; @%p0 mbarrier.init.shared::cta.b64 [%r4], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 512;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.b32 %r5, [%r2];
shr.u32 %r6, %r0, 5; shl.b32 %r6, %r6, 21; add.u32 %r6, %r6, %r5;
"""
TAIL = """bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 512;
ret;
}
"""
WAIT_ST, WAIT_LD = "tcgen05.wait::st.sync.aligned;", "tcgen05.wait::ld.sync.aligned;"


def names(letter, count):
    return "{" + ", ".join(f"%{letter}{n}" for n in range(count)) + "}"


def fill(count):
    """Registers %c of each thread from p1, (128, count)."""
    lines = [f"mad.wide.u32 %d3, %r0, {4 * count}, %d1;"]
    return lines + [f"ld.global.b32 %c{n}, [%d3+{4 * n}];" for n in range(count)]


def give(count):
    """Registers %o of each thread to p2, (128, count)."""
    lines = [f"mad.wide.u32 %d4, %r0, {4 * count}, %d2;"]
    return lines + [f"st.global.b32 [%d4+{4 * n}], %o{n};" for n in range(count)]


def operands(nbytes):
    """p0 to shared memory."""
    return [
        "mov.u32 %r7, %r0;", "fill:", "mad.wide.u32 %d5, %r7, 4, %d0; ld.global.b32 %r8, [%d5];",
        "mad.lo.u32 %r9, %r7, 4, %r2; st.shared.b32 [%r9+1024], %r8; add.u32 %r7, %r7, 128;",
        f"setp.lt.u32 %p2, %r7, {nbytes // 4};", "@%p2 bra fill;", "fence.proxy.async.shared::cta;",
    ]  # fmt: skip


def wait(barrier="%r3", parity=0, label="come"):
    return [
        "{", ".reg .pred %w;", f"{label}:", f"mbarrier.try_wait.parity.shared::cta.b64 %w, [{barrier}], {parity};",
        f"@!%w bra {label};", "}", "tcgen05.fence::after_thread_sync;",
    ]  # fmt: skip


def run(lines, source, cells, count, shared=0):
    """Execute; returns the (128, count) that the threads give."""
    got = np.full((128, count), 0x5A5A5A5A, np.uint32)
    source = np.frombuffer(bytes(source) or bytes(4), np.uint8).copy()
    text = HEAD + "\n".join(lines) + "\n" + TAIL
    execute(
        text, (1,), [source, np.ascontiguousarray(cells), got], shared=1024 + len(source) + shared
    )
    return got


SPAN_CODES = {0: 0, 128: 2, 64: 4, 32: 6}


def _swizzle(at, span):
    """The ISA's permutation of the 16 bytes of a line of 128: within 1024, 512 or 256 bytes."""
    line, chunk, byte = at // 128, at // 16 % 8, at % 16
    chunk ^= {0: 0, 32: line % 2, 64: line % 4, 128: line % 8}[span]
    return 128 * line + 16 * chunk + byte


def in_shared(matrix, span, along_rows=False):
    """(bytes, leading, stride) of a matrix (rows, K): K-major, or with rows next to each other.

    The bytes of 8 rows of `span` bytes are an atom; without a swizzle, an atom is 8 rows of 16 bytes.
    """
    raw = np.ascontiguousarray(matrix.T if along_rows else matrix)
    size = raw.dtype.itemsize
    raw = raw.view(np.uint8).reshape(*raw.shape, size)
    outer, inner = raw.shape[:2]
    pitch = span or 16
    per = pitch // size
    groups, atoms = -(-outer // 8), -(-inner // per)
    room = np.zeros(groups * atoms * 8 * pitch, np.uint8)
    for i in range(outer):
        for j in range(inner):
            # Atoms along the inner dimension first, then groups of 8.
            atom = (i // 8) * atoms + j // per
            at = _swizzle(atom * 8 * pitch + i % 8 * pitch + j % per * size, span)
            room[at : at + size] = raw[i, j]
    between_atoms, between_groups = 8 * pitch, 8 * pitch * atoms
    if along_rows and not span:
        return room, between_groups, between_atoms
    return room, between_atoms, between_groups


def descriptor(leading, stride, span):
    """All but the address."""
    return (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 46 | SPAN_CODES[span] << 61


def instruction(m, n, a, b, d, transposed=(0, 0), negated=(0, 0)):
    return (
        d << 4 | a << 7 | b << 10 | negated[0] << 13 | negated[1] << 14 | transposed[0] << 15 | transposed[1] << 16
        | n >> 3 << 17 | m >> 4 << 24
    )  # fmt: skip


def lanes_of(m):
    """The lane of each row of D."""
    return [row if m == 128 else row // 16 * 32 + row % 16 for row in range(m)]


def multiply(kind, code, a, b, adds=1, tensor_a=None, more="", commit="%r3"):
    """The lines of one product; `a` and `b` are (offset in the operands, descriptor)."""
    lines = ["@!%p0 bra multiplied;"]
    for place, (offset, form) in enumerate((a, b)):
        lines += [
            f"add.u32 %r11, %r2, {1024 + offset}; shr.u32 %r11, %r11, 4; cvt.u64.u32 %d{6 + place}, %r11;",
            f"mov.b64 %d8, {form:#x}; or.b64 %d{6 + place}, %d{6 + place}, %d8;",
        ]
    left = "%d6" if tensor_a is None else f"[%r5 + {tensor_a}]"
    lines += [f"mov.b32 %r12, {code}; setp.ne.u32 %p3, {adds}, 0;",
              f"tcgen05.mma.cta_group::1.kind::{kind} [%r5 + 0], {left}, %d7, %r12, {more}%p3;",
              f"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{commit}];",
              "multiplied:"]  # fmt: skip
    return lines


def before(columns, nbytes):
    """Cells from p1, operands from p0, and all threads have seen both."""
    return [
        *fill(columns), f"tcgen05.st.sync.aligned.32x32b.x{columns}.b32 [%r6], {names('c', columns)};", WAIT_ST,
        *operands(nbytes), "tcgen05.fence::before_thread_sync;", "bar.sync 0;", "tcgen05.fence::after_thread_sync;",
    ]  # fmt: skip


def after(columns):
    return [
        f"tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {names('o', columns)}, [%r6];",
        WAIT_LD,
        *give(columns),
    ]


def raw_cells(matrix):
    """(lanes, columns) of the numbers of D: 16 bits lie alone in a column."""
    raw = np.ascontiguousarray(matrix)
    return raw.view(np.uint16).astype(np.uint32) if raw.dtype.itemsize == 2 else raw.view(np.uint32)
