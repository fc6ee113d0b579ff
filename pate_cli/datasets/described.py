"""The command that describes a table, and the schema that it writes: what a release reads a table by."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pate_cli.datasets import PACKED, find
from pate_cli.datasets.three_files import AUTO, TableOptions
from pate_cli.errors import ConfigError

__all__ = ["check_settled", "describe_command", "points_of_persons", "schema_beside"]

_FORM = {"sep": "--sep", "encoding": "--encoding", "decimal": "--decimal"}


def schema_beside(path: Path) -> Path:
    """Name of the schema of a file: klinik.csv -> klinik.schema.yaml."""
    name = path.name
    for ending in PACKED:
        name = name.removesuffix(ending)
    return path.with_name(f"{name.rpartition('.')[0] or name}.schema.yaml")


def describe_command(path: str, options: Mapping[str, Any]) -> list[str]:
    """The command that describes a file, as the `options` of its data set say how it is written."""
    words = ["pate", "data", "describe", path]
    words += ["--target", str(options["target"])] if options.get("target") else []
    words += ["--unit", str(options["unit"])] if options.get("unit") not in (None, AUTO, "null") else []
    for key, option in _FORM.items():
        words += [option, str(options[key])] if options.get(key) is not None else []
    words += ["--no-header"] if str(options.get("header", True)).casefold() == "false" else []
    return words + [word for text in options.get("missing") or () for word in ("--missing", str(text))]


def points_of_persons(unit: str) -> ConfigError:
    """A release of persons, whose columns are not opened, has no public points."""
    accepted = f"a file of public points, with release=true and dataset.unit={unit}"
    return ConfigError("dataset.public", None, accepted)


def check_settled(name: str, options: Mapping[str, Any]) -> None:
    """Refuse to release a table of which nothing public says how it is read, before it is.

    By a schema, or the kinds of a public file, each cell is read by itself. Without them the records decide:
    a word for a missing value in one more record would stop one release of two neighbours.
    """
    path = options.get("path") or options.get("private")
    if not path or path == "???" or options.get("schema") or options.get("public"):
        return
    if issubclass(find(name).Options, TableOptions):
        if (unit := options.get("unit")) not in (None, AUTO):
            raise points_of_persons(str(unit))
        command = shlex.join(describe_command(path, options))
        accepted = f"dataset={shlex.quote(str(schema_beside(Path(path))))}, which `{command}` writes, or"
        accepted += " dataset.public=FILE: no record may decide how a release reads a table"
        raise ConfigError("dataset.schema", None, accepted)
