"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

# tests run side by side: more threads than cores only wait for each other
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

REPO = Path(__file__).resolve().parent.parent

# a process of the tests keeps what it has imported to its end: it is looked through ten times less often
gc.set_threshold(20_000, 20, 100)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Directory with the real data sets; the test is skipped where they are absent."""
    places = [os.environ.get("PATE_DATA"), REPO / "data", REPO.parent / "shared" / "data"]
    for place in places:
        if place and (Path(place) / "mushrooms").exists() and (Path(place) / "a9a").exists():
            return Path(place).resolve()
    pytest.skip(
        "real data not found: set PATE_DATA to a directory with mushrooms, a9a, a9a.t, adult.data, adult.test"
    )


@pytest.fixture
def fits(monkeypatch) -> list[int]:
    """How many ensembles were trained, in this process."""
    from pate_cli import pipeline

    seen: list[int] = []
    train = pipeline.teachers.train

    def counted(*args: Any, only: range | None = None, **options: Any) -> Any:
        seen.extend([1] * (only is None or 0 in only))  # the first slice of them, where they are trained so
        return train(*args, only=only, **options)

    monkeypatch.setattr(pipeline.teachers, "train", counted)
    return seen
