"""The static check: a library's uses of Triton, compared with the contents of each release. Nothing is imported.

A file is walked once for each release, as Python would run it there. Tests of the version or of a name are decided;
where a test is unknown, both branches are walked.

    sources     files, as text and as trees; those that cannot be read, and those to leave out
    api         the contents of a release, by full name
    values      values of an expression on a release, as far as known
    expressions values of expressions, and the findings in them
    calls       results of calls and imports
    statements  the branches that are taken, and the names after them
    walking     functions and classes, and the parts of a file that are reached
    rules       the findings, with an id for each kind
    lint        all of it together
    guards      tests for a version or the hardware, followed through flags and functions
"""
