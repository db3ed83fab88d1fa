"""The side that runs inside a column's environment: ``python -m crosswarp.matrix.cell.kinds.suite SPEC.json``.

It meets the host only in a stream of JSON lines (`cell/protocol.py`). Cells are pytest items under pytest-xdist; each
item runs in a forked child, so that whatever a kernel or the compiler does is an outcome of that item alone.
"""
