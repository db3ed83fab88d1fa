"""Eight-bit numbers: casts with scales, and matmuls of them."""

import torch

from .registry import TEMPLATES, integers, numbers, program

# float8_e4m3fn is a type of Ada's and later.
_BEFORE_ADA = ("sm_7?", "sm_80", "sm_86", "sm_87")


@program(not_on=_BEFORE_ADA)
def fp8_cast():
    """To float8 with one scale a row, and back."""

    def call(x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-6) / 448.0
        small = (x / scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
        return small.to(torch.float32) * scale, scale

    return call, [numbers(8, 200)]


@program(config=TEMPLATES, torch=">=2.6", not_on=_BEFORE_ADA)
def fp8_matmul():
    def call(x, y, scale_x, scale_y):
        return torch._scaled_mm(x, y, scale_x, scale_y, out_dtype=torch.bfloat16)

    x = numbers(32, 64).clamp(-4, 4).to(torch.float8_e4m3fn)
    y = numbers(48, 64).clamp(-4, 4).to(torch.float8_e4m3fn).t()
    return call, [x, y, torch.tensor(0.5), torch.tensor(2.0)]


@program(config=TEMPLATES)
def int8_matmul():
    def call(x, y, scale):
        return torch._int_mm(x, y).float() * scale

    small = [(integers(255, *shape) - 127).to(torch.int8) for shape in ((32, 64), (64, 48))]
    return call, [*small, numbers(48).abs()]


@program()
def int8_quantize():
    """Dynamic quantization of a row, and the matmul's dequantization fused with an addition."""

    def call(x, residual):
        scale = x.abs().amax(-1, keepdim=True) / 127
        whole = torch.round(x / scale).clamp(-128, 127).to(torch.int8)
        return whole, whole.float() * scale + residual

    return call, [numbers(8, 200), numbers(8, 200, seed=1)]


@program()
def int4_unpack():
    """Weights of four bits, two a byte, with a scale for each group of 32."""

    def call(packed, scales):
        low, high = (packed & 0xF).to(torch.int8) - 8, (packed >> 4).to(torch.int8) - 8
        whole = torch.stack((low, high), -1).reshape(packed.shape[0], -1, 32)
        return (whole.to(torch.float16) * scales[..., None]).reshape(packed.shape[0], -1)

    return call, [integers(256, 16, 64, dtype="uint8"), numbers(16, 4, dtype="float16")]
