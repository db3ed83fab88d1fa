"""The matrix: plan, environment, run, record, compare.

Import nothing here. The cell side comes through this package on Python 3.9, in environments that lack every library
of the host side.
"""
