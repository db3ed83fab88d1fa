import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    tl.store(y + offsets, values * factor, mask=offsets < n)


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + offsets, values / tl.sum(values, axis=0), mask=offsets < columns)


@triton.jit
def wrong_kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.there_is_no_such_name(offsets))


@triton.autotune(
    configs=[triton.Config({"BLOCK": size}, num_warps=4) for size in (32, 64, 128, 256, 512)],
    key=["n"],
)
@triton.jit
def tuned_kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def running_sum_kernel(x, before, length, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    total = tl.zeros([ROWS], dtype=tl.float32)
    for start in range(0, length, BLOCK):
        tl.store(before + start // BLOCK * ROWS + rows, total)
        total += tl.sum(tl.load(x + rows[:, None] * length + start + columns[None, :]), axis=1)


@triton.jit
def too_far_kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n + 1)


@triton.jit
def vector_max_kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    asm: tl.constexpr = "vmax4.u32.u32.u32 $0, $1, $1, $1;"
    values = tl.load(x + offsets)
    values = tl.inline_asm_elementwise(asm, "=r,r", [values], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(y + offsets, values)


@triton.jit
def patient_kernel(x, rounds, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    for _ in range(0, rounds):
        values = values * 1.0001 + 0.5
    tl.store(x + offsets, values)


@triton.autotune(
    configs=[triton.Config({"BLOCK": size}, num_warps=4) for size in (64, 128)],
    key=["n"],
)
@triton.jit
def add_in_place_kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.store(x + offsets, values + 1, mask=offsets < n)
