"""Every failure that a user is expected to meet. Each message ends with what to do.

The command line prints these on stderr without a traceback and exits with the class's `exit_code`. Anything else that
escapes is a bug in crosswarp and keeps its traceback.
"""

from __future__ import annotations


class CrosswarpError(Exception):
    exit_code = 1


class UsageError(CrosswarpError):
    """Something asked for does not exist, or contradicts something else that was asked for."""

    exit_code = 2


class ConfigError(CrosswarpError):
    """A data file (columns, targets, issues) cannot be read or says something it must not."""

    exit_code = 2


class EnvironmentFailed(CrosswarpError):
    """A column's environment could not be built. The other columns go on."""

    exit_code = 3


class StoreError(CrosswarpError):
    """The store cannot be opened or written."""

    exit_code = 4


class Cancelled(CrosswarpError):
    """Ctrl-C or SIGTERM. What had finished is in the store."""

    exit_code = 130
