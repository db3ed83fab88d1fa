"""Operators with Triton kernels: what a small library consists of."""

from .ops import Scale, scale, softmax, two_stage, use_extension

__all__ = ["Scale", "scale", "softmax", "two_stage", "use_extension"]
