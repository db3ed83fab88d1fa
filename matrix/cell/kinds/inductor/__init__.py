"""The kernels that ``torch.compile`` (inductor) writes for a GPU, generated without one, as files to be replayed.

    programs/      the compiled functions and their inputs
    pretending     the one table of replacements in torch that make inductor believe in the GPU, by version of torch
    moving         the backend: a graph that was traced on the CPU, moved to the GPU before inductor sees it
    compiling      a program through torch.compile, in a separate child, and its result
    writing        the result, as a folder: a kernel's source, signature, constants, configurations, torch's helpers
    replay/        that folder as a suite of `crosswarp run`, under any Triton

Run by `crosswarp inductor` as ``python -m crosswarp.matrix.cell.kinds.inductor SPEC.json`` in a column's environment.
"""
