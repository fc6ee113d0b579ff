"""User errors, each a one-line message.

The command prints an `InputError` on one line of stderr and exits with 2; any other exception is an internal
error, with exit code 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["BudgetSpent", "ConfigError", "DataError", "InfeasibleError", "InputError", "Terminated"]
__all__ += ["count_of", "did_you_mean", "one_line", "shortened", "typed_own", "with_part"]


class BudgetSpent(RuntimeError):
    """A query to a mechanism that has no budget left."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, as of a batch system, or SIGHUP, of a terminal that closes: treated as Ctrl-C."""

    def __init__(self, number: int = 15) -> None:
        super().__init__()
        self.number = number


class InputError(Exception):
    """Input that cannot be used; `str(error)` is the one line to show."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class ConfigError(InputError):
    """A configuration key (dotted, as typed) holds a value that is not accepted.

    `accepted` is in words, or lists all that there are; then the nearest is named, or `own` says how one of
    the user's own is typed.
    """

    def __init__(self, key: str, got: object, accepted: str | list[str], own_hint: str = "") -> None:
        self.key, hint = key, ""
        if isinstance(accepted, list):
            hint, accepted = did_you_mean(str(got), accepted), ", ".join(accepted) or "none"
        own_hint = f"; your own: {own_hint}" if own_hint and not hint else ""
        super().__init__(f"{key}: got {shortened(repr(got))}{hint}; accepted: {accepted}{own_hint}")

    def __reduce__(self) -> Any:  # from a worker process: `args` are not what `__init__` takes
        return _config_error, (type(self), self.key, str(self))


class DataError(InputError):
    """A data file is missing, unreadable or malformed; names the file and the line."""


class InfeasibleError(InputError):
    """The mechanism cannot work at these sizes; names a remedy."""


@contextmanager
def with_part(part: float, eps: float) -> Iterator[None]:
    """Say in an InfeasibleError that the eps of its sentences is a part of the one that was typed."""
    try:
        yield
    except InfeasibleError as error:
        if part == eps:
            raise
        raise InfeasibleError(f"{error} (eps={part:.4g} is the part of eps={eps:g} that it gets)") from error


def one_line(text: str) -> str:
    r"""Put text on one line that any terminal can show.

    Control characters of a terminal, as ``ESC [ 2 J``, are spelled out (``\x1b``), and so is half of a
    surrogate pair (a file name that is not UTF-8), which cannot be printed anywhere.
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)


def count_of(n: float, noun: str) -> str:
    """Write a count, or a mean of counts, with its noun: "1 label", "1,200 labels"."""
    number = f"{n:,}" if isinstance(n, int) else f"{n:,.4g}" if n < 1e4 else f"{n:,.0f}"
    return f"{number} {noun}{'s' * (number != '1')}"


def did_you_mean(word: str, there: Collection[str], before: str = "") -> str:
    """Hint at the nearest of some words, each with the same beginning; empty if none is near."""
    from difflib import get_close_matches

    near = [] if word in there else get_close_matches(word, there, n=1)
    return f"; did you mean {before}{near[0]}" if near else ""


def typed_own(group: str, name: str, config_dir: str | None = None) -> str:
    """What to type for a part of one's own that has a name; empty where it cannot be one."""
    name = name.rpartition(".")[2]
    if not name.replace("-", "_").isidentifier():
        return ""
    if group in ("teacher", "student", "features"):
        key = "name" if group == "features" else "estimator"
        return f"PYTHONPATH=. pate run {group}.{key}=MODULE.CLASS (docs/extending.md)"
    conf = (config_dir or "conf").rstrip("/")
    typed = f"PYTHONPATH=. pate run --config-dir {conf} {group}={name}"
    return f"{typed}, with name: MODULE and its keys in {conf}/{group}/{name}.yaml (docs/extending.md)"


def shortened(text: str, most: int = 200) -> str:
    """Shorten a text for a message: its beginning, and how long it is."""
    return text if len(text) <= most else f"{text[: most // 4]}... ({len(text):,} characters)"


def _config_error(kind: type[ConfigError], key: str, message: str) -> ConfigError:
    error = kind.__new__(kind, message)
    error.key = key
    return error
