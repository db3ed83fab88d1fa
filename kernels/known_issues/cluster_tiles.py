"""Blocks in a cluster, for whose layouts all tiles of a kernel are planned together."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _ranks_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    tl.store(out_ptr + rows, tl.load(x_ptr + rows))
    at = SIZE + rows[:, None] * SIZE + rows[None, :]
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _sum_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    tl.store(out_ptr, tl.sum(tl.sum(x, 0), 0))


@triton.jit
def _chained_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(tl.dot(x, x).to(tl.float16), x))


@triton.jit
def _joined_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    pair = tl.arange(0, 2)
    tl.store(out_ptr + 2 * at[:, :, None] + pair[None, None, :], tl.join(x, x + x))


@triton.jit
def _turned_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    tl.store(out_ptr + rows[:, None] * SIZE + rows[None, :], tl.trans(x))


@triton.jit
def _product_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE // 2)
    columns = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    y = tl.load(x_ptr + rows[:, None] * SIZE + columns[None, :])
    tl.store(out_ptr + rows[:, None] * SIZE + columns[None, :], tl.dot(x, y))


@triton.jit
def _stored_kernel(
    x_ptr, y_ptr, out_ptr, kept_x_ptr, kept_y_ptr, HALF: tl.constexpr, SIZE: tl.constexpr
):
    rows = tl.arange(0, HALF)
    columns = tl.arange(0, SIZE)
    # pointers, as they are added up here, decide on the layouts
    x = tl.load(x_ptr + rows[:, None] * HALF + rows[None, :])
    y = tl.load(y_ptr + rows[:, None] * SIZE + columns[None, :])
    tl.store(out_ptr + rows[:, None] * SIZE + columns[None, :], tl.dot(x, y))
    tl.store(kept_x_ptr + rows[:, None] * HALF + rows[None, :], x)
    tl.store(kept_y_ptr + rows[:, None] * SIZE + columns[None, :], y)


@triton.jit
def _gathered_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    tl.store(out_ptr + rows, tl.gather(tl.load(x_ptr + rows), SIZE - 1 - rows, 0))


@triton.jit
def _gathered_rows_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    # each column from its end
    turned = (SIZE - 1 - rows)[:, None] + tl.zeros([SIZE, SIZE], tl.int32)
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), turned, 0))


@triton.jit
def _while_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows)
    total = x
    done = 0
    while done < 3:
        total += x
        done += 1
    tl.store(out_ptr + rows, total)


@triton.jit
def _split_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE), tl.arange(0, SIZE // 2)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    first, second = tl.split(tl.reshape(x, [SIZE, SIZE // 2, 2]))
    at = rows[:, None] * (SIZE // 2) + columns[None, :]
    tl.store(out_ptr + at, first)
    tl.store(out_ptr + SIZE * (SIZE // 2) + at, second)


@triton.jit
def _turned_sum_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    tl.store(out_ptr + rows, tl.sum(tl.trans(x), 1))


@triton.jit
def _square_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, x))


@triton.jit
def _by_turned_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, tl.trans(x), allow_tf32=False))


@triton.jit
def _handed_on_kernel(x_ptr, out_ptr, halves_ptr, turns, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at).to(tl.int64)
    # a tile of another type, which is planned for by itself
    halves = tl.load(halves_ptr + at)
    total = tl.zeros([SIZE, SIZE], tl.int64)
    last = x
    for _ in range(0, turns):
        last = total
        total += x
    tl.store(out_ptr + at, last)
    tl.store(halves_ptr + at, halves)


@triton.jit
def _turned_stored_kernel(x_ptr, out_ptr, kept_ptr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE), tl.arange(0, 2 * SIZE)
    x = tl.load(x_ptr + rows[:, None] * 2 * SIZE + columns[None, :])
    at = columns[:, None] * 2 * SIZE + columns[None, :]
    y = tl.load(x_ptr + at)
    tl.store(kept_ptr + at, y)
    tl.store(out_ptr + rows[:, None] * 2 * SIZE + columns[None, :], tl.dot(x, tl.trans(y)))


@triton.jit
def _kept_kernel(x_ptr, out_ptr, kept_ptr, SIZE: tl.constexpr):
    rows, inner = tl.arange(0, 4 * SIZE), tl.arange(0, 2 * SIZE)
    at = rows[:, None] * 2 * SIZE + inner[None, :]
    x = tl.load(x_ptr + at)
    y = tl.load(x_ptr + inner[:, None] * 4 * SIZE + rows[None, :])
    tl.store(kept_ptr + at, x)
    tl.store(out_ptr + rows[:, None] * 4 * SIZE + rows[None, :], tl.dot(x, y))


@triton.jit
def _narrow_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows, inner = tl.arange(0, 2 * SIZE), tl.arange(0, SIZE // 2)
    at = rows[:, None] * (SIZE // 2) + inner[None, :]
    y = tl.load(x_ptr + inner[:, None] * (SIZE // 2) + inner[None, :])
    tl.store(out_ptr + at, tl.dot(tl.load(x_ptr + at), y))


def launch(x, way):
    square = SIZE * SIZE
    kernel, size, dtype = {
        "ranks": (_ranks_kernel, x.numel(), x.dtype),
        "sum": (_sum_kernel, 1, x.dtype),
        "chained": (_chained_kernel, square, torch.float32),
        "joined": (_joined_kernel, 2 * square, x.dtype),
        "turned": (_turned_kernel, square, x.dtype),
        "gathered": (_gathered_kernel, SIZE, x.dtype),
        "gathered-rows": (_gathered_rows_kernel, square, x.dtype),
        "while": (_while_kernel, SIZE, x.dtype),
        "split": (_split_kernel, square, x.dtype),
        "turned-sum": (_turned_sum_kernel, SIZE, x.dtype),
        "square": (_square_kernel, square, torch.float32),
        # by the instruction for four warps together
        "square-64": (_square_kernel, 4 * square, torch.float32),
        "by-turned": (_by_turned_kernel, square, torch.float32),
        "product": (_product_kernel, square // 2, torch.float32),
        "stored": (_stored_kernel, square // 2, torch.float32),
        "handed-on": (_handed_on_kernel, square, torch.int64),
        "turned-stored": (_turned_stored_kernel, 2 * square, torch.float32),
        "kept": (_kept_kernel, 16 * square, torch.float32),
        "narrow": (_narrow_kernel, square, torch.float32),
    }[way]
    out = torch.empty(size, dtype=dtype, device=x.device)
    if way == "square-64":
        kernel[(1,)](x, out, SIZE=2 * SIZE, num_ctas=2)
        return {"out": out}
    if way == "handed-on":
        halves = torch.zeros(square, dtype=torch.int16, device=x.device)
        kernel[(1,)](x, out, halves, 3, SIZE=SIZE, num_ctas=2)
        return {"out": out}
    if way in ("turned-stored", "kept"):
        copy = torch.empty_like(x)
        kernel[(1,)](x, out, copy, SIZE=SIZE, num_ctas=2)
        return {"product" if way == "kept" else "out": out, "kept": copy}
    if way == "stored":
        copy = torch.empty(3 * square // 4, dtype=x.dtype, device=x.device)
        rest, copy_rest = x[square // 4 :], copy[square // 4 :]
        kernel[(1,)](x, rest, out, copy, copy_rest, HALF=SIZE // 2, SIZE=SIZE, num_ctas=2)
        return {"out": out, "kept": copy}
    kernel[(1,)](x, out, SIZE=SIZE, num_ctas=2)
    return {"narrow" if way == "narrow" else "out": out}


def reference(x, way):
    if way == "kept":
        wide = x.double()
        product = wide.view(4 * SIZE, 2 * SIZE) @ wide.view(2 * SIZE, 4 * SIZE)
        return {"product": product.flatten(), "kept": x}
    if way == "turned-stored":
        wide = x.double().view(2 * SIZE, 2 * SIZE)
        return {"out": (wide[:SIZE] @ wide.T).flatten(), "kept": x}
    if way == "square-64":
        wide = x.double().view(2 * SIZE, 2 * SIZE)
        return {"out": (wide @ wide).flatten()}
    tile = x[: SIZE * SIZE].double()
    if way == "narrow":
        wide = tile.view(2 * SIZE, SIZE // 2)
        return {"narrow": (wide @ wide[: SIZE // 2]).flatten()}
    if way == "ranks":
        return {"out": x}
    if way == "handed-on":
        return {"out": 2 * tile}
    if way == "sum":
        return {"out": tile.sum()[None]}
    if way == "while":
        return {"out": 4 * tile[:SIZE]}
    if way == "split":
        return {"out": torch.cat([tile[::2], tile[1::2]])}
    if way == "gathered":
        return {"out": tile[:SIZE].flip(0)}
    if way == "joined":
        return {"out": torch.stack([tile, tile + tile], -1).flatten()}
    tile = tile.view(SIZE, SIZE)
    if way == "turned":
        return {"out": tile.T.flatten()}
    if way == "turned-sum":
        return {"out": tile.sum(0)}
    if way == "square":
        return {"out": (tile @ tile).flatten()}
    if way == "by-turned":
        return {"out": (tile @ tile.T).flatten()}
    if way == "gathered-rows":
        return {"out": tile.flip(0).flatten()}
    half = SIZE // 2
    if way == "product":
        return {"out": (tile[:half, :half] @ tile[:half]).flatten()}
    if way == "stored":
        copied = x[: 3 * half * half].double()
        a, b = copied[: half * half].view(half, half), copied[half * half :].view(half, SIZE)
        return {"out": (a @ b).flatten(), "kept": copied}
    return {"out": (tile @ tile @ tile).flatten()}


def inputs(case, device, generator):
    # sums of the products stay below 2,048, which float16 holds exactly
    most = 4 if case.id == "chained" else 10
    square = SIZE * SIZE
    more = {"square-64": 4 * square, "turned-stored": 4 * square, "kept": 8 * square}
    size = more.get(case.id, SIZE * (SIZE + 1))
    made = torch.randint(1 - most, most, (size,), generator=generator, device=generator.device)
    return {"x": made.to(device, case.torch_dtype), "way": case.id}


LANES, TARGETS = ("compile", "emulate", "device"), ("sm_90",)

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("ranks", "fp32", {}, LANES, TARGETS),
        Case("sum", "fp32", {}, LANES, TARGETS),
        Case("chained", "fp16", {}, LANES, TARGETS),
        Case("joined", "fp32", {}, LANES, TARGETS),
        Case("turned", "fp32", {}, LANES, TARGETS),
        Case("product", "fp16", {}, LANES, TARGETS),
        # and both of its operands
        Case("stored", "fp16", {}, LANES, TARGETS),
        Case("while", "fp32", {}, LANES, TARGETS),
        Case("split", "fp32", {}, LANES, TARGETS),
        Case("turned-sum", "fp32", {}, LANES, TARGETS),
        Case("square", "fp16", {}, LANES, TARGETS),
        Case("square-64", "fp16", {}, LANES, TARGETS),
        Case("by-turned", "fp32", {}, LANES, TARGETS),
        Case("handed-on", "fp32", {}, LANES, TARGETS),
        Case("turned-stored", "fp16", {}, LANES, TARGETS),
        # one of its operands
        Case("kept", "fp16", {}, LANES, TARGETS),
        # each block has eight columns of it
        Case("narrow", "fp16", {}, LANES, TARGETS),
        Case("gathered", "fp32", {}, LANES, TARGETS, requires=("gather",)),
        Case("gathered-rows", "fp32", {}, LANES, TARGETS, requires=("gather",)),
    ),
    # integers, all of them exact
    tolerance={"fp32": 0.0, "fp16": 0.0},
)
