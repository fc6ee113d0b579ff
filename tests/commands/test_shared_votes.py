"""Rows of one command share the votes of a repeat where their teachers see the same."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pate_cli.cli import main

SMALL = ["dataset.n_records=1200", "split.public=40", "teacher.size=20", "student=logistic"]


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*argv: str, into: str = "out") -> int:
    key = "hydra.sweep.dir" if "-m" in argv else "hydra.run.dir"
    return main(["run", *SMALL, *argv, f"{key}={into}"])


def numbers(where: str | Path) -> list[list[dict[str, str]]]:
    """Every number of every job, but for the seconds; and not how it was typed."""
    found = []
    for path in sorted(Path(where).rglob("repeats.csv")):
        with path.open(newline="") as file:
            found.append([row | {"seconds": "", "overrides": ""} for row in csv.DictReader(file)])
    assert found
    return found


def test_the_jobs_of_a_sweep_share_without_a_disk(fits):
    assert run("-m", "mechanism=gaussian,svt", "eps=1,5", "repeats=2", into="all") == 0
    assert len(fits) == 2
    assert run("mechanism=svt", "eps=5", "repeats=2", into="alone") == 0
    assert len(fits) == 4  # nothing is left of an earlier command
    assert numbers("all/3") == numbers("alone")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("features", ["none", "kernel"]),
        ("teacher.features", ["false", "true"]),
        ("features.directions", ["2", "4"]),
        ("teacher.features=false features.directions", ["2", "4"]),
        ("teacher.params.C", ["0.001", "10"]),
        ("teacher.size", ["20", "40"]),
        ("split.mode", ["records", "label_private"]),
    ],
)
def test_rows_share_votes_only_where_teachers_see_the_same(key, values):
    """A sweep over what teachers see once gave all of them the votes of the first."""
    *more, key = key.split()
    given = ["dataset.n_features=8", "dataset.gap=0", "mechanism=gaussian", "eps=inf", *more]
    free = "++" * ("params" in key)
    assert run("-m", *given, f"{free}{key}={','.join(values)}", into="all") == 0
    for job, value in enumerate(values):
        assert run(*given, f"{free}{key}={value}", into=f"alone{job}") == 0
        together, alone = (numbers(where) for where in (f"all/{job}", f"alone{job}"))
        assert together == alone
