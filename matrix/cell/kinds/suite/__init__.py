"""The side that runs inside a column's environment: ``python -m crosswarp.matrix.cell.kinds.suite SPEC.json``.

It talks to the host only by a stream of JSON lines (`cell/protocol.py`). Workers run each item in a forked child, so
that a crash of a kernel or the compiler affects that item only.
"""
