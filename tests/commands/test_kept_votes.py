"""`cache=true` through the command line."""

from __future__ import annotations

import csv
import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pate_cli import terminal as writing
from pate_cli.cli import main
from pate_cli.results import read_record

SMALL = ["dataset.n_records=1200", "split.public=40", "teacher.size=20"]


@pytest.fixture(autouse=True)
def votes(tmp_path, monkeypatch) -> Path:
    """Directory of the cache, not there yet; the tests run beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_CACHE", str(tmp_path / "votes"))
    return tmp_path / "votes"


def run(*argv: str, into: str = "out") -> int:
    key = "hydra.sweep.dir" if "-m" in argv else "hydra.run.dir"
    return main(["run", *SMALL, *argv, f"{key}={into}"])


def numbers(where: str | Path) -> list[list[dict[str, str]]]:
    """Every number of every job, but for the seconds."""
    found = []
    for path in sorted(Path(where).rglob("repeats.csv")):
        with path.open(newline="") as file:
            found.append([row | {"seconds": ""} for row in csv.DictReader(file)])
    assert found
    return found


def entries(votes: Path) -> list[Path]:
    return sorted(votes.glob("*.votes"))


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> list[list[dict[str, str]]]:
    """Numbers of three repeats without a cache."""
    where = tmp_path_factory.mktemp("none") / "out"
    assert run("repeats=3", into=str(where)) == 0
    return numbers(where)


@pytest.mark.parametrize("mechanism", ["gaussian", "active"])
def test_cold_warm_and_without_are_one(mechanism, votes, fits, monkeypatch):
    options = [f"mechanism={mechanism}", "repeats=2", "eps=3"]
    assert run(*options, into="none") == 0
    assert not votes.exists()  # without cache=true nothing is on disk
    assert run(*options, "cache=true", into="cold") == 0
    assert (len(entries(votes)), len(fits)) == (2, 4)
    # private features are not even put together
    monkeypatch.setattr("pate_cli.datasets.splitting.DeferredRecords.X", property(lambda _: 1 / 0))
    assert run(*options, "cache=true", into="warm") == 0
    assert numbers("none") == numbers("cold") == numbers("warm")
    first, second = (read_record(f"{where}/result.json").config_hash for where in ("none", "cold"))
    assert first == second  # the cache is no part of a configuration
    # another mechanism and eps find the same votes
    assert run("mechanism=svt", "repeats=2", "eps=2", "cache=true", into="other") == 0
    assert len(fits) == 4


def test_the_jobs_of_a_sweep_share_without_a_disk(votes, fits):
    assert run("-m", "mechanism=gaussian,svt", "eps=1,5", "repeats=2", into="all") == 0
    assert len(fits) == 2
    assert not votes.exists()
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


def test_a_directory_open_to_others_is_refused_before_anything_is_written(votes, capsys):
    votes.mkdir(mode=0o755)
    assert run("cache=true") == 2
    said = r"pate: PATE_CACHE: got '.*'; accepted: a directory of your own .*, not a link\n"
    assert re.fullmatch(said, capsys.readouterr().err)
    assert not Path("out").exists()


def test_a_full_disk_does_not_stop_a_run(votes, three, monkeypatch, capsys):
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if target.suffix == ".votes" and entries(votes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(writing.os, "replace", full)
        assert run("repeats=3", "cache=true", into="full") == 0
    assert capsys.readouterr().err == (
        f"pate: cache: {votes}: No space left on device; going on without\nwritten to full\n"
    )
    assert numbers("full") == three
    assert [path.suffix for path in votes.iterdir()] == [".votes"]


KILLED = """
import os, signal, sys
from pate_cli.cli import main

replace, calls = os.replace, []

def fatal(source, target):
    if str(target).endswith(".votes"):
        calls.append(1)
        if len(calls) == 2:
            os.truncate(source, os.path.getsize(source) // 2)
            os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

os.replace = fatal
sys.exit(main(sys.argv[1:]))
"""


def test_kill_9_in_the_middle_of_an_entry_loses_only_that_one(votes, three, fits):
    options = ["run", *SMALL, "repeats=3", "cache=true", "hydra.run.dir=killed"]
    done = subprocess.run([sys.executable, "-c", KILLED, *options], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(entries(votes)) == 1
    assert run("repeats=3", "cache=true", into="after") == 0
    assert len(fits) == 2
    assert numbers("after") == three


def test_a_spoilt_entry_is_made_again(votes, three, fits, capsys):
    assert run("repeats=3", "cache=true", into="before") == 0
    one, other, third = entries(votes)
    one.write_bytes(one.read_bytes()[:-9])
    other.write_bytes(third.read_bytes())
    capsys.readouterr()
    for into in ("after", "again"):
        assert run("repeats=3", "cache=true", into=into) == 0
        assert len(fits) == 5
        assert numbers(into) == three
    said = [line for line in capsys.readouterr().err.splitlines() if line.endswith("made again")]
    assert sorted(said) == [
        f"pate: cache: {one}: cut short or changed; made again",
        f"pate: cache: {other}: the entry of something else; made again",
    ]
