"""What ``torch.compile`` writes for a GPU, generated without one: the kernels of inductor, as files to be replayed.

    programs/      what is compiled: functions, their inputs
    pretending     the one table of what is replaced in torch so that inductor believes in the GPU, by version of torch
    moving         the backend: a graph that was traced on the CPU, moved to the GPU before inductor sees it
    compiling      a program through torch.compile, in a child of its own, and what came out of it
    writing        what came out, as a folder: a kernel's source, signature, constants, configurations, torch's helpers
    replay/        that folder as a suite of `crosswarp run`, under any Triton

Run by `crosswarp inductor` as ``python -m crosswarp.matrix.cell.kinds.inductor SPEC.json`` in a column's environment.
"""
