import torch
import triton

from . import kernels


def scale(x, factor):
    if not x.is_cuda:
        raise ValueError("scale wants a tensor on a GPU")
    y = torch.empty_like(x)
    n = x.numel()
    with torch.cuda.device(x.device):
        kernels.scale_kernel[(triton.cdiv(n, 64),)](x, y, factor, n, BLOCK=64)
    return y


def softmax(x):
    y = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[-1])
    kernels.softmax_kernel[(x.shape[0],)](x, y, x.shape[-1], BLOCK=block)
    return y


def two_stage(x):
    """The second launch's size comes from what the first one wrote."""
    first = scale(x, 2.0)
    return scale(first[: max(1, int(first.sum().item()))], 2.0)


def tuned(x):
    y = torch.empty_like(x)
    n = x.numel()
    kernels.tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return scale(x, factor)

    @staticmethod
    def backward(ctx, dy):
        assert dy.is_cuda and dy.device.type == "cuda"
        return scale(dy.contiguous(), ctx.factor), None


def use_extension(x):
    import small_ops_cuda

    return small_ops_cuda.fused_scale(x)
