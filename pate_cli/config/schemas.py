"""Schemas of tables on the command line, which stand for the data that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pate_cli.config.hydra_composition import quoted
from pate_cli.datasets import kind_of
from pate_cli.datasets.schema import read_schema
from pate_cli.errors import ConfigError

__all__ = ["with_schemas"]

_PART = re.compile(r"""'[^']*'|"[^"]*"|[^,]+""")
"""One of the values of a sweep, in quotes or not."""


def with_schemas(argv: Sequence[str]) -> list[str]:
    """Write `dataset=FILE.schema.yaml`, which names its data, as the dataset that reads it and its schema.

    Several of a sweep, separated by commas, are of one kind of file.
    """
    path = next((text.partition("=")[2] for text in argv if text.startswith("dataset.path=")), None)
    out: list[str] = []
    for text in argv:
        key, _, file = text.partition("=")
        if key != "dataset" or not file.rstrip("'\"").endswith((".yaml", ".yml")):
            out.append(text)
            continue
        parts = [file] if Path(file).is_file() else _PART.findall(file)
        files = [part[1:-1] if part[0] in "'\"" else part for part in parts]
        kinds = {_kind(path or read_schema(each).data, each) for each in files}
        if len(kinds) > 1:
            accepted = "schemas of one kind of file; pate frontier --tables takes any"
            raise ConfigError("dataset", file, accepted)
        out += [f"dataset={kinds.pop()}", f"dataset.schema={','.join(map(quoted, files))}"]
    return out


def _kind(data: str | None, file: str) -> str:
    """Dataset that reads the data of a schema."""
    if data is None:
        raise ConfigError("dataset", file, "a schema with data: FILE, as `pate data describe` writes it")
    kind = kind_of(Path(data.strip("'\"")))
    return "csv" if kind == "libsvm" else kind  # by its ending none of a table
