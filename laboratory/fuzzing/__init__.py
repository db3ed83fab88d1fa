"""`crosswarp fuzz`: generated programs, run on every Triton, and the differences between the results.

`generator` makes a program from choices: a kernel and, from the same walk, its meaning in numpy. `meaning` executes
that and checks every value against the walk's claims, so that a program that runs is well defined. `worker` hands
programs to a process inside a column, `judging` compares the columns' results, `shrinking` makes a finding small.
"""
