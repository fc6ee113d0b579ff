"""Interpreters of libraries that cannot be installed beside us: tests that need one name it here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

PYTHONS = {"diffprivlib": os.environ.get("PATE_DIFFPRIVLIB")}
"""By mechanism; see the `pip` command in the message of `mechanism.python`."""


def needs(mechanism: str) -> pytest.MarkDecorator:
    """Skip where there is no interpreter for a mechanism."""
    variable = f"PATE_{mechanism.upper()}"
    return pytest.mark.skipif(PYTHONS[mechanism] is None, reason=f"{variable} names no interpreter with it")


def with_marks(mechanisms: Iterable[str]) -> list[Any]:
    """Parameters of a test of all mechanisms."""
    return [pytest.param(name, marks=needs(name)) if name in PYTHONS else name for name in mechanisms]
