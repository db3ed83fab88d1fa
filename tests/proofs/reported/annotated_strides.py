"""Attention of one token to pages of a cache, whose strides are arguments annotated as int64.

On some releases an annotated argument that is 1 is no constant, and no access is known to be in a row.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

PAGE, WIDTH, HEADS, GROUP = 16, 128, 8, 16


@triton.jit
def _paged_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, y_ptr, pages, k_page: tl.int64, k_row: tl.int64, k_head: tl.int64,
    k_column: tl.int64, v_page: tl.int64, v_row: tl.int64, v_head: tl.int64, v_column: tl.int64, scale,
    PAGE: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    token, head = tl.program_id(0), tl.program_id(1)
    columns, rows = tl.arange(0, D), tl.arange(0, PAGE)
    at = ((token * HEADS + head) * GROUP + tl.arange(0, GROUP)[:, None]) * D + columns[None, :]
    q = tl.load(q_ptr + at)
    top = tl.full((GROUP,), -1e30, tl.float32)
    weight = tl.zeros((GROUP,), tl.float32)
    total = tl.zeros((GROUP, D), tl.float32)
    for page in range(0, pages):
        block = tl.load(table_ptr + token * pages + page).to(tl.int64)
        k_at = block * k_page + head * k_head + rows[None, :] * k_row + columns[:, None] * k_column
        v_at = block * v_page + head * v_head + rows[:, None] * v_row + columns[None, :] * v_column
        score = tl.dot(q, tl.load(k_ptr + k_at)) * scale
        higher = tl.maximum(top, tl.max(score, 1))
        part = tl.exp(score - higher[:, None])
        shrunk = tl.exp(top - higher)
        weight = weight * shrunk + tl.sum(part, 1)
        total = total * shrunk[:, None] + tl.dot(part.to(q.dtype), tl.load(v_ptr + v_at))
        top = higher
    tl.store(y_ptr + at, (total / weight[:, None]).to(y_ptr.dtype.element_ty))


def launch(q, k, v, table):
    y = torch.empty_like(q)
    _paged_kernel[(q.shape[0], HEADS)](
        q, k, v, table, y, table.shape[1], *k.stride(), *v.stride(), WIDTH**-0.5, PAGE=PAGE, D=WIDTH, HEADS=HEADS,
        GROUP=GROUP, num_warps=4,
    )  # fmt: skip
    return {"y": y}


def reference(q, k, v, table):
    found = []
    for token in range(q.shape[0]):
        pages = table[token].long()
        keys, values = (one[pages].flatten(0, 1).transpose(0, 1).double() for one in (k, v))
        score = q[token].double() @ keys.transpose(1, 2) * WIDTH**-0.5
        found.append(torch.softmax(score, -1) @ values)
    return {"y": torch.stack(found)}


def inputs(case, device, generator):
    tokens, pages = case.shape["tokens"], case.shape["pages"]

    def draw(*shape):
        return torch.randn(*shape, generator=generator).to(device, case.torch_dtype)

    cache = (2 * pages, PAGE, HEADS, WIDTH)
    return {
        "q": draw(tokens, HEADS, GROUP, WIDTH),
        "k": draw(*cache),
        "v": draw(*cache),
        "table": torch.randint(0, 2 * pages, (tokens, pages), generator=generator, dtype=torch.int32).to(device),
    }  # fmt: skip


KERNEL = Kernel(
    name="annotated_strides",
    cases=(
        Case(
            "bf16", "bf16", {"tokens": 2, "pages": 4}, real={"tokens": 32, "pages": 64},
            targets=("sm_80", "sm_90"),
        ),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"bf16": 2e-2},
    uses=("dot",),
)  # fmt: skip
