"""Errors that are the user's to mend, each said in one line.

The command turns an `InputError` into one line on stderr and exit code 2; any
other exception is our fault and exits with 1.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BudgetSpent", "ConfigError", "DataError", "InfeasibleError", "InputError", "Terminated"]
__all__ += ["one_line", "shortened"]


class BudgetSpent(RuntimeError):
    """A query was put to a mechanism that has no budget left."""


class Terminated(KeyboardInterrupt):
    """A batch system asked us to end (SIGTERM): answered as Ctrl-C is."""


class InputError(Exception):
    """What the user gave cannot be used; `str(error)` is the one line to show."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


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
        super().__init__(f"{key}: got {shortened(repr(got))}; accepted: {accepted}")

    def __reduce__(self) -> Any:  # from a worker process: `args` are not what `__init__` takes
        return _config_error, (type(self), self.key, str(self))


class DataError(InputError):
    """A data file is missing, unreadable or malformed; names the file and the line."""


class InfeasibleError(InputError):
    """The mechanism cannot work at these sizes; names what would make it work."""


def one_line(text: str) -> str:
    r"""Put text on one line that any terminal can show.

    Text from a file may hold what a terminal obeys, as ``ESC [ 2 J``: such signs are spelled out (``\x1b``),
    and so is half of a surrogate pair (a file name that is not UTF-8), which cannot be printed anywhere.
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)


def shortened(text: str, most: int = 200) -> str:
    """Shorten a text for a message: its beginning, and how long it is."""
    return text if len(text) <= most else f"{text[: most // 4]}... ({len(text):,} characters)"


def _config_error(kind: type[ConfigError], key: str, message: str) -> ConfigError:
    error = kind.__new__(kind, message)
    error.key = key
    return error
