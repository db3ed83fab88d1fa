"""The kinds of work, one file a kind: how each is planned, run in a column, judged and named.

A new kind is a class of `running.plan.Work` in a file here, its cell side in `matrix/cell/kinds/`, and a line in KINDS.
"""

# By file.
KINDS = ("suite", "library_tests", "library_ops", "check", "inductor")
