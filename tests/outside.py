"""Interpreters of libraries that cannot be installed beside us: tests that need one name it here."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PYTHONS = {name: os.environ.get(f"PATE_{name.upper()}") for name in ("diffprivlib", "mst")}
"""By mechanism; see the `pip` command in the message of `mechanism.python`."""


def needs(mechanism: str) -> pytest.MarkDecorator:
    """Skip where there is no interpreter for a mechanism."""
    variable = f"PATE_{mechanism.upper()}"
    return pytest.mark.skipif(PYTHONS[mechanism] is None, reason=f"{variable} names no interpreter with it")


def with_marks(mechanisms: Iterable[str]) -> list[Any]:
    """Parameters of a test of all mechanisms."""
    return [pytest.param(name, marks=needs(name)) if name in PYTHONS else name for name in mechanisms]


def sent(tmp_path: Path, run: int = 1) -> dict[str, Any]:
    """What the stand-in for an interpreter was sent: in its trial, 0, and after that."""
    with np.load(io.BytesIO((tmp_path / f"sent{run}").read_bytes()), allow_pickle=False) as job:
        return dict(job)
