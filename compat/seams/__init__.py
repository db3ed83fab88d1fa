"""The places at which fixes meet Triton: each attribute that several of them need is replaced once, here.

A seam's wrapper looks like the original and asks the fixes in their order. A fix that raises is left out, and the
kernel goes on exactly as Triton makes it.
"""
