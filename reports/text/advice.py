"""Advice about new failures: a kernel of crosswarp's is right, a user's, or a library, may be at fault itself."""

# By `findings.whose`. Short enough for a line of a table.
_SHORT = {
    "library": "correct it in the library, or list it as expected (xfail in its settings)",
    "suite": "correct the kernel, or list it as expected (--xfail)",
    "": "report it upstream and add it to issues.toml",
}


def short(of: str) -> str:
    """Returns the advice for a new cause in a run of `whose`."""
    return _SHORT[of]


def sentence(of: str) -> str:
    return f"{_SHORT[of][0].upper()}{_SHORT[of][1:]}."
