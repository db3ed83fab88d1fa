"""The part of ``crosswarp check`` in a column: compile any file's kernels with the signatures that the host read.

SPEC.json is that of a suite (suite/plan.py), with `check` in place of a suite's folder:

    file, module, root    the file, its dotted name if it is in a package, and the folder put on the path for it
    kernels               by name: the parameters, and by id of a case its arguments and launch options
    configurations        how many of an autotuned kernel are compiled; 0: all
    kernel_limit          seconds for a case on one target, in all its modes and with all that is assumed for it
"""

# The reason of a `not-run` that is due to an assumption.
ASSUMED = "assumed"
# In the resources of a cell: which assumption it was, from 0, where there are several.
PLACE = "assumption"
# The reason of a `not-run` of a kernel that uses missing modules; and, in the resources of every cell, the modules that
# the file imports and the environment lacks.
LACKING = "missing package"
# The reason of a `not-run` whose case had no verdict within its time.
LATE = "kernel limit"
# The reason of a `not-run` of a kernel that the file does not have where it is imported.
NO_KERNEL = "no kernel"
# The reason of a `not-run` whose decorators ask for tensors of a real shape.
UNREAL = "no real shapes"
