"""The number of tokens in a block for each expert: a histogram of the result of a reduction along the last axis."""

import inspect

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK, EXPERTS = 64, 16


@triton.jit
def _routed_kernel(
    scores_ptr, counts_ptr, tokens, PADDED: tl.constexpr, BLOCK: tl.constexpr, EXPERTS: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, EXPERTS)
    at = rows[:, None] * EXPERTS + columns[None, :]
    scores = tl.load(scores_ptr + at, mask=rows[:, None] < tokens, other=0.0)
    expert = tl.argmax(scores, 1)
    if PADDED:
        # rows that are no tokens go to the last one
        expert = tl.where(rows < tokens, (expert + 1) % EXPERTS, EXPERTS - 1)
    counts = tl.histogram(expert, EXPERTS)
    tl.store(counts_ptr + tl.program_id(0) * EXPERTS + columns, counts)


@triton.jit
def _smallest_kernel(x_ptr, counts_ptr, BLOCK: tl.constexpr, EXPERTS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, EXPERTS)
    x = tl.load(x_ptr + rows[:, None] * EXPERTS + columns[None, :]).to(tl.int32)
    counts = tl.histogram(tl.min(x, 1), EXPERTS)
    tl.store(counts_ptr + tl.program_id(0) * EXPERTS + columns, counts)


@triton.jit
def _masked_kernel(scores_ptr, counts_ptr, tokens, BLOCK: tl.constexpr, EXPERTS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, EXPERTS)
    at = rows[:, None] * EXPERTS + columns[None, :]
    scores = tl.load(scores_ptr + at, mask=rows[:, None] < tokens, other=0.0)
    counts = tl.histogram(tl.argmax(scores, 1), EXPERTS, mask=rows < tokens)
    tl.store(counts_ptr + tl.program_id(0) * EXPERTS + columns, counts)


def launch(x, way, warps):
    tokens, blocks = len(x), triton.cdiv(len(x), BLOCK)
    counts = torch.empty(blocks, EXPERTS, dtype=torch.int32, device=x.device)
    options = {"BLOCK": BLOCK, "EXPERTS": EXPERTS, "num_warps": warps}
    if way == "smallest":
        _smallest_kernel[(blocks,)](x, counts, **options)
    elif way == "masked":
        _masked_kernel[(blocks,)](x, counts, tokens, **options)
    else:
        _routed_kernel[(blocks,)](x, counts, tokens, PADDED=way == "padded", **options)
    return {"counts": counts}


def reference(x, way, warps):
    experts = x.min(1).values if way == "smallest" else x.argmax(1)
    if way == "padded":
        experts = (experts + 1) % EXPERTS
        experts = torch.nn.functional.pad(experts, (0, -len(x) % BLOCK), value=EXPERTS - 1)
    blocks = experts.long().split(BLOCK)
    return {"counts": torch.stack([block.bincount(minlength=EXPERTS) for block in blocks])}


def inputs(case, device, generator):
    shape = (case.shape["TOKENS"], EXPERTS)
    way = case.id.split("-")[0]
    x = torch.rand(shape, generator=generator, device=generator.device)
    if way == "smallest":
        x = (x * EXPERTS).floor()
    return {"x": x.to(device, case.torch_dtype), "way": way, "warps": case.shape["warps"]}


def _no_mask():
    histogram = getattr(tl, "histogram", None)
    parameters = inspect.signature(histogram).parameters if histogram else ()
    return None if "mask" in parameters else "this Triton's tl.histogram takes no mask"


TARGETS = ("sm_80", "sm_90", "gfx942")

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("routed-1-warp", "fp32", {"TOKENS": 192, "warps": 1}, targets=TARGETS),
        Case("routed", "fp32", {"TOKENS": 192, "warps": 4}, targets=TARGETS),
        Case("padded", "fp32", {"TOKENS": 150, "warps": 4}, targets=TARGETS),
        Case("smallest", "fp32", {"TOKENS": 64, "warps": 4}, targets=TARGETS),
        Case(
            "masked",
            "fp32",
            {"TOKENS": 150, "warps": 4},
            targets=TARGETS,
            requires=("histogram-mask",),
        ),
    ),
    uses=("histogram",),
    # counts
    tolerance={"fp32": 0.0},
    probes={"histogram-mask": _no_mask},
)
