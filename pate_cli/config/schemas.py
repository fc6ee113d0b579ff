"""Schemas of tables on the command line, which stand for the data that they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pate_cli.config.hydra_composition import quoted
from pate_cli.datasets import kind_of
from pate_cli.datasets.schema import read_schema
from pate_cli.errors import ConfigError

__all__ = ["with_schemas"]


def with_schemas(argv: Sequence[str]) -> list[str]:
    """Write `dataset=FILE.schema.yaml`, which names its data, as the dataset that reads it and its schema."""
    path = next((text.partition("=")[2] for text in argv if text.startswith("dataset.path=")), None)
    out: list[str] = []
    for text in argv:
        key, _, file = text.partition("=")
        if key != "dataset" or not file.endswith((".yaml", ".yml")):
            out.append(text)
            continue
        data = path or read_schema(file).data
        if data is None:
            raise ConfigError("dataset", file, "a schema with data: FILE, as `pate data describe` writes it")
        kind = kind_of(Path(data.strip("'\"")))
        kind = "csv" if kind == "libsvm" else kind  # by its ending none of a table
        out += [f"dataset={kind}", f"dataset.schema={quoted(file)}"]
    return out
