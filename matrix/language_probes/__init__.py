"""What `triton.language` holds in a column: which names and options exist, compile, and are right in the interpreter.

Each probe is a kernel of a few lines about one name or option. `python -m crosswarp.matrix.language_probes SPEC.json`
runs them in a column's environment; `crosswarp language` starts that and keeps the table.
"""
