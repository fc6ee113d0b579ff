"""What a release reads a table by: a schema, or the kinds of a public file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pate_cli.datasets import find
from pate_cli.datasets.schema import read_schema
from pate_cli.datasets.three_files import TableOptions
from pate_cli.describe_command import AUTO, describe_command, schema_beside
from pate_cli.errors import ConfigError

__all__ = ["check_settled", "points_of_persons"]


def points_of_persons(unit: str) -> ConfigError:
    """A release of persons, whose columns are not opened, has no public points."""
    accepted = f"a file of public points, with release=true and dataset.unit={unit}"
    return ConfigError("dataset.public", None, accepted)


def check_settled(name: str, options: Mapping[str, Any]) -> None:
    """Refuse to release a table of which nothing public says how it is read, before it is.

    By a schema, or the kinds of a public file, each cell is read by itself. Without them the records decide:
    a word for a missing value in one more record would stop one release of two neighbours. A key of JSON may
    be one record's, so by none is guessed that it names persons.
    """
    schema, unit = options.get("schema"), options.get("unit", AUTO)
    if name == "jsonl" and unit == AUTO and schema:
        unit = read_schema(schema).unit
    if name == "jsonl" and unit == AUTO and (schema or options.get("public")):
        accepted = "the key that names persons, to protect all records of one together, or null, to protect"
        raise ConfigError("dataset.unit", AUTO, f"{accepted} each record by itself")
    path = options.get("path") or options.get("private")
    if not path or path == "???" or schema or options.get("public"):
        return
    if issubclass(find(name).Options, TableOptions):
        if unit not in (None, AUTO):
            raise points_of_persons(str(unit))
        command = shlex.join(describe_command(path, options))
        accepted = f"dataset={shlex.quote(str(schema_beside(Path(path))))}, which `{command}` writes, or"
        accepted += " dataset.public=FILE: no record may decide how a release reads a table"
        raise ConfigError("dataset.schema", None, accepted)
