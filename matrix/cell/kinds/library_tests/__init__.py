"""A library's own tests inside a column: ``python -m crosswarp.matrix.cell.kinds.library_tests SPEC.json``.

Each target and mode of a lane is a separate pytest, with the plugins `pytest_plugin` and `plugin`. The latter reports
each test as a cell: its kernel is the test function, its case the parameters, its lane the lane of its launches.
"""
