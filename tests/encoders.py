"""Encoders that tests declare without a schema file."""

from __future__ import annotations

from pate_cli.datasets.column import Column
from pate_cli.datasets.encoding import TableEncoder
from pate_cli.datasets.schema import Schema


def encoder(**kinds: str) -> TableEncoder:
    """Unfitted encoder of columns by name, each ``number`` or ``category``."""
    return TableEncoder(Schema({name: Column(kind) for name, kind in kinds.items()}, "the test"))
