"""`crosswarp fuzz`: programs that nobody wrote, on every Triton, and what one of them does otherwise than the others.

`generator` makes a program out of choices: a kernel and, from the same walk, what it means in numpy. `meaning` executes
that and holds every value to what the walk claimed of it, so that a program that is run is well defined. `worker` hands
programs to a process inside a column, `judging` compares what the columns say, `shrinking` makes a finding small.
"""
