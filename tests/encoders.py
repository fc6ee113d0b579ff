"""Encoders that tests declare without a schema file."""

from __future__ import annotations

from pate_cli.datasets.encoding import TableEncoder
from pate_cli.datasets.schema import ColumnSchema, Schema


def encoder(**kinds: str) -> TableEncoder:
    """Unfitted encoder of columns by name, each ``numeric`` or ``category``."""
    return TableEncoder(Schema({name: ColumnSchema(kind) for name, kind in kinds.items()}, "the test"))
