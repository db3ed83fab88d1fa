"""The part of `crosswarp fuzz` that runs in a column: programs come through a pipe, each in a forked child with limits.

The process imports torch and Triton once, compiles something trivial, and is then warm. `data` is what both sides agree
on: the numbers that a program gets, and how its answers are compared.
"""
