"""The command that describes a table, and the name of the schema that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["AUTO", "PACKED", "describe_command", "schema_beside"]

AUTO = "auto"
"""Value of `dataset.unit` where the column of persons is looked for."""

PACKED = (".bz2", ".gz", ".xz", ".zip")
"""Endings of compressed files, before which another one may stand."""

_FORM = {"sep": "--sep", "encoding": "--encoding", "decimal": "--decimal"}


def schema_beside(path: Path) -> Path:
    """Name of the schema of a file: klinik.csv -> klinik.schema.yaml."""
    name = path.name
    for ending in PACKED:
        name = name.removesuffix(ending)
    return path.parent / f"{name.rpartition('.')[0] or name}.schema.yaml"


def describe_command(path: str, options: Mapping[str, Any]) -> list[str]:
    """The command that describes a file, as the `options` of its data set say how it is written."""
    words = ["pate", "data", "describe", path]
    words += ["--target", str(options["target"])] if options.get("target") else []
    words += ["--unit", str(options["unit"])] if options.get("unit") not in (None, AUTO, "null") else []
    for key, option in _FORM.items():
        words += [option, str(options[key])] if options.get(key) is not None else []
    words += ["--no-header"] if str(options.get("header", True)).casefold() == "false" else []
    return words + [word for text in options.get("missing") or () for word in ("--missing", str(text))]
