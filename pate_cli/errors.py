"""Errors that are the user's to mend, each said in one line.

The command turns an `InputError` into one line on stderr and exit code 2; any
other exception is our fault and exits with 1.
"""

from __future__ import annotations

__all__ = ["BudgetSpent", "ConfigError", "DataError", "InfeasibleError", "InputError"]


class BudgetSpent(RuntimeError):
    """A query was put to a mechanism that has no budget left."""


class InputError(Exception):
    """What the user gave cannot be used; `str(error)` is the one line to show."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class ConfigError(InputError):
    """A configuration key holds a value that is not accepted.

    Parameters
    ----------
    key : str
        Dotted name of the key, as typed on the command line.
    got : object
        The value found.
    accepted : str
        What would be accepted, in words.
    """

    def __init__(self, key: str, got: object, accepted: str) -> None:
        self.key = key
        super().__init__(f"{key}: got {got!r}; accepted: {accepted}")


class DataError(InputError):
    """A data file is missing, unreadable or malformed; names the file and the line."""


class InfeasibleError(InputError):
    """The mechanism cannot work at these sizes; names what would make it work."""
