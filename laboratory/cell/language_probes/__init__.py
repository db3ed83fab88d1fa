"""Test `triton.language` in a column: which names and options exist, compile, and are right in the interpreter.

Each probe is a kernel of a few lines about one name or option. They run in a column's environment by
`python -m crosswarp.laboratory.cell.language_probes SPEC.json`; `crosswarp language` starts that and keeps the
table.
"""
