"""A suite whose kernels are those of published libraries: one file a family of ops.

Run by `crosswarp libraries` in the columns' environments; `_library.py` says how an op gets there.
"""
