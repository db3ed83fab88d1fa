"""The laboratory finds new facts about Triton, for crosswarp's developers. A checkout has it, and a wheel has not.

Import nothing here: a part of it runs inside columns, on Python 3.9.
"""
