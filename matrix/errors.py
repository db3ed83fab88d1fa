"""Every failure that a user is expected to meet. Each message ends with what to do.

The command line prints these on stderr without a traceback and exits with the class's `exit_code`. Anything else that
escapes is a bug in crosswarp: one line, a file with the traceback, and a separate exit status.

Every exit status is defined here, each number with one meaning. Both sides read it: Python 3.9, nothing imported.
"""

from __future__ import annotations

# Exit statuses of the command line.
EXIT_EXPECTED = 0
EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_ENVIRONMENT = 3
EXIT_STORE = 4
# A bug of ours: never 1, which says that something regressed.
EXIT_INTERNAL = 70
EXIT_CANCELLED = 130

# Exit statuses of a process inside a column. Python, pytest and shells use 1 to 5 and 126 upwards.
SUITE_DONE = 0
SUITE_SPEC = 40
SUITE_WRONG_VERSIONS = 41
SUITE_FAILED = 42
SUITE_STATUSES = {
    SUITE_DONE: "it came to its end",
    SUITE_SPEC: "its specification cannot be read",
    SUITE_WRONG_VERSIONS: "these are not the versions that were planned",
    SUITE_FAILED: "pytest, or a process that forks workers, failed",
}


class CrosswarpError(Exception):
    exit_code = EXIT_UNEXPECTED


class UsageError(CrosswarpError):
    """Something asked for does not exist, or contradicts something else that was asked for."""

    exit_code = EXIT_USAGE


class BrokenSource(UsageError):
    """The user's file of kernels is no Python: a failure of its author, like any other."""

    exit_code = EXIT_UNEXPECTED


class ConfigError(CrosswarpError):
    """A data file (columns, targets, issues) cannot be read or says something it must not."""

    exit_code = EXIT_USAGE


class EnvironmentFailed(CrosswarpError):
    """A column's environment could not be built. The other columns go on."""

    exit_code = EXIT_ENVIRONMENT


class StoreError(CrosswarpError):
    """The store cannot be opened, read or written."""

    exit_code = EXIT_STORE


class WorkError(StoreError):
    """The work folder, where a run's records begin, cannot be written. The store is sound."""


class Cancelled(CrosswarpError):
    """Ctrl-C or SIGTERM. Finished cells are in the store."""

    exit_code = EXIT_CANCELLED
