"""Two writers of one key in Triton's cache, interleaved as two processes can be: a load has to give one writer's files.

The kernel beside it is launched for the lane's sake; files and words stand for binaries and metadata.
"""

import json
import uuid
from pathlib import Path

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < N) * 2, mask=at < N)


def interleave(manager):
    """The result of a third process's load after two writers, the second between the first's binary and metadata."""
    key = uuid.uuid4().hex
    first, second = manager(key), manager(key)
    groups = {}

    def binary(writer, name):
        groups[name] = {"k.cubin": writer.put(name.encode(), "k.cubin")}

    def metadata(writer, name):
        groups[name]["k.json"] = writer.put(json.dumps(name), "k.json", binary=False)
        writer.put_group("k.json", groups[name])

    binary(first, "first")
    binary(second, "second")
    metadata(second, "second")
    metadata(first, "first")
    paths = manager(key).get_group("k.json")
    return Path(paths["k.cubin"]).read_bytes().decode(), json.loads(
        Path(paths["k.json"]).read_text()
    )


def launch(x):
    from triton.runtime.cache import FileCacheManager

    y = torch.empty_like(x)
    _double_kernel[(1,)](x, y, x.numel(), BLOCK=64)
    binary, metadata = interleave(FileCacheManager)
    if binary != metadata:
        msg = f"the cache has the {binary} writer's binary with the {metadata} writer's metadata"
        raise RuntimeError(msg)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("interleaved", "fp32", {"N": 50}, ("compile", "device"), ("sm_80",)),),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
