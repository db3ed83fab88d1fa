"""What to do about what is new: a kernel of crosswarp's is right, a user's, or a library, may be at fault itself."""

# By `findings.whose`. Short enough for a line of a table.
_SHORT = {
    "library": "mend it in the library, or report it upstream and add it to its issues.toml",
    "suite": "mend the kernel, or report it upstream and keep a record (--issues-file)",
    "": "report it upstream and add it to issues.toml",
}


def short(of: str) -> str:
    """What to do about a new cause in a run of `whose`."""
    return _SHORT[of]


def sentence(of: str) -> str:
    return f"{_SHORT[of][0].upper()}{_SHORT[of][1:]}."
