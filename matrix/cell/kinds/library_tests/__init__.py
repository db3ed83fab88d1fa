"""A library's own tests inside a column: ``python -m crosswarp.matrix.cell.kinds.library_tests SPEC.json``.

Each target and mode of a lane is a pytest of its own, with the plugin `pytest_plugin` and, beside it, `plugin`, which
tells each test as a cell: its kernel is the test function, its case the parameters, its lane the way of its launches.
"""
