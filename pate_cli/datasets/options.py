"""What options of datasets may be, beside `pate_cli.checks`: paths and names of columns."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pate_cli.checks import Listed, Or, option
from pate_cli.errors import ConfigError

__all__ = ["AUTO", "Cell", "ColumnName", "Encoding", "FileOptions", "FilePath", "Separator", "TableOptions"]

AUTO = "auto"


@dataclass(frozen=True)
class FilePath:
    """The path of a file, as text."""

    def take(self, value: object) -> str:
        """See `Check`."""
        if not isinstance(value, str) or not value:
            raise ValueError
        return value

    def describe(self) -> str:
        """See `Check`."""
        return """a path; in quotes where it looks like something else: 'dataset.path="2024"'"""


@dataclass(frozen=True)
class ColumnName:
    """The name of a column, or a label: text, or a number that is one."""

    what: str = "the name of a column"

    def take(self, value: object) -> str:
        """See `Check`."""
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise ValueError
        return str(value)

    def describe(self) -> str:
        """See `Check`."""
        return self.what


@dataclass(frozen=True)
class Cell:
    """What a cell may hold, as text; it may be empty."""

    def take(self, value: object) -> str:
        """See `Check`."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        return str(value)

    def describe(self) -> str:
        """See `Check`."""
        return "a text or a number, as it stands in the file"


@dataclass(frozen=True)
class Separator:
    """What stands between two cells."""

    def take(self, value: object) -> str:
        """See `Check`."""
        if value == "\\t":
            return "\t"
        if not isinstance(value, str) or len(value) != 1 or value in '"\r\n':
            raise ValueError
        return value

    def describe(self) -> str:
        """See `Check`."""
        return "one character, such as , or ; or \\t"


@dataclass(frozen=True)
class Encoding:
    """An encoding of text that Python knows."""

    def take(self, value: object) -> str:
        """See `Check`."""
        try:
            return codecs.lookup(value).name  # type: ignore[arg-type]
        except (LookupError, TypeError):
            raise ValueError from None

    def describe(self) -> str:
        """See `Check`."""
        return "an encoding such as utf-8, utf-16 or cp1252"


_FILE = Or("null", FilePath())
_COLUMNS = Or("null", Listed(ColumnName()))


@dataclass(frozen=True)
class FileOptions:
    """Options of every dataset that is a file of the user's, or three.

    Attributes
    ----------
    path, private : str or None
        The file with the private records; two names for it.
    public : str or None
        The file with the public points; without one they are a share of the private file.
    test : str or None
        The file that accuracy is measured on; without one it is a share of the private file.
    classes : list of str or None
        Labels there are, in the order of their codes; None to read them from the public file, or the private.
    """

    path: str | None = option(None, _FILE)
    private: str | None = option(None, _FILE)
    public: str | None = option(None, _FILE)
    test: str | None = option(None, _FILE)
    classes: list[str] | None = option(None, Or("null", Listed(ColumnName("a label"), 2)))

    def private_path(self, what: str) -> Path:
        """Path of the private file; ConfigError if it has none, or two."""
        if self.path and self.private:
            raise ConfigError("dataset.private", self.private, "null with dataset.path: they are the same")
        found = self.path or self.private
        if not found:
            raise ConfigError("dataset.path", None, f"the path of {what}")
        return Path(found).expanduser()


@dataclass(frozen=True)
class TableOptions(FileOptions):
    """Options of a table.

    Attributes
    ----------
    target : str
        Column that holds the class.
    unit : str or None
        Column that says whose a record is: all records of one are protected together. None for each record
        by itself; `auto` is that, unless there is a column that looks like it: then the run asks.
    schema : str or None
        YAML file that declares the columns, as `pate data describe` proposes it.
    columns, drop : list of str or None
        Columns to use, and columns not to.
    numeric, categories : list of str or None
        Columns that hold numbers, where a cell that is no number is missing; columns that hold categories,
        whatever they look like.
    missing : list of str or None
        Cells that stand for a missing value; with it, a missing number has a code of its own in each column.
    """

    target: str | None = option(None, Or("null", ColumnName("the name of the column that holds the class")))
    unit: str | None = option(AUTO, Or("null", ColumnName("auto, or the name of a column")))
    schema: str | None = option(None, _FILE)
    columns: list[str] | None = option(None, _COLUMNS)
    drop: list[str] | None = option(None, _COLUMNS)
    numeric: list[str] | None = option(None, _COLUMNS)
    categories: list[str] | None = option(None, _COLUMNS)
    missing: list[str] | None = option(None, Or("null", Listed(Cell(), 1)))

    def lists(self) -> dict[str, list[Any]]:
        """Columns that are named in a list, by the key of the list."""
        keys = ("columns", "drop", "numeric", "categories")
        return {f"dataset.{key}": getattr(self, key) or [] for key in keys}
