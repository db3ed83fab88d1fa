"""The static check: what a library takes from Triton, held against what each release has. Nothing is imported.

A file is walked once for each release, as Python would run it there: what a test of the version or of a name decides is
decided, and of what is not known both ways are walked.

    sources     files, as text and as trees; what cannot be read, and what is to be left out
    api         what a release has under a full name
    values      what an expression is on a release, as far as that is known
    walking     statements, in order, and what is reached
    rules       what is found wrong, with an id for each kind
    lint        all of it together
"""
