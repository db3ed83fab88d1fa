"""The kinds of work, one file a kind: how each is planned, run in a column, judged and named.

A new kind is a class of `running.plan.Work` in a file here, with its cell side in `matrix/cell/kinds/`.
"""
