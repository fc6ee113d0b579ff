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
from types import ModuleType

import pytest
from sklearn.tree import DecisionTreeClassifier

from pate_cli import terminal as writing
from pate_cli.cli import main
from pate_cli.report import read_record

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
            rows = [
                {key: cell for key, cell in row.items() if key != "seconds"} for row in csv.DictReader(file)
            ]
        found.append(rows)
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
def test_cold_warm_and_without_are_one(mechanism, votes, fits):
    options = [f"mechanism={mechanism}", "repeats=2", "eps=3"]
    assert run(*options, into="none") == 0
    assert not votes.exists()  # without cache=true nothing is on disk
    assert len(fits) == 2
    assert run(*options, "cache=true", into="cold") == 0
    assert len(entries(votes)) == 2
    assert len(fits) == 4
    assert run(*options, "cache=true", into="warm") == 0
    assert len(fits) == 4
    assert numbers("none") == numbers("cold") == numbers("warm")
    first, second = (read_record(f"{where}/result.json").config_hash for where in ("none", "cold"))
    assert first == second  # the cache is no part of a configuration
    # another mechanism and eps find the same votes
    assert run("mechanism=svt", "repeats=2", "eps=2", "cache=true", into="other") == 0
    assert len(fits) == 4


def test_mixed_data_with_an_encoder(votes, fits):
    text = "".join(f"{i * 7 % 50},{'red' if i % 3 else 'blue'},{'ab'[i * 7 % 50 > 25]}\n" for i in range(600))
    Path("mine.csv").write_text("height,colour,kind\n" + text)
    options = ["run", "dataset=csv", "dataset.path=mine.csv", "dataset.target=kind", "split.public=50"]
    for n, cache in enumerate(("false", "true", "true")):
        assert main([*options, "eps=5", f"cache={cache}", f"hydra.run.dir=out{n}"]) == 0
    assert numbers("out0") == numbers("out1") == numbers("out2")
    assert len(fits) == 2
    Path("same.csv").write_text(Path("mine.csv").read_text())  # the content counts, not the name
    options[2] = "dataset.path=same.csv"
    assert main([*options, "eps=5", "cache=true", "hydra.run.dir=out3"]) == 0
    assert len(fits) == 2
    Path("same.csv").write_text(Path("mine.csv").read_text().replace("7,red,a", "8,red,a", 1))
    assert main([*options, "eps=5", "cache=true", "hydra.run.dir=out4"]) == 0
    assert len(fits) == 3


def test_the_jobs_of_a_sweep_share_without_a_disk(votes, fits):
    assert run("-m", "mechanism=gaussian,svt", "eps=1,5", "repeats=2", into="all") == 0
    assert len(fits) == 2
    assert not votes.exists()
    assert run("mechanism=svt", "eps=5", "repeats=2", into="alone") == 0
    assert len(fits) == 4  # nothing is left of an earlier command
    assert numbers("all/3") == numbers("alone")


def test_workers_share_too(votes, three, fits):
    assert run("-m", "eps=1.0,5", "repeats=3", "compute.workers=2", "cache=true", into="two") == 0
    assert fits == []  # not in this process
    assert numbers("two/0") == three
    assert len(entries(votes)) == 3
    assert run("-m", "eps=1.0,5", "repeats=3", "cache=true", into="one") == 0
    assert fits == []
    assert numbers("two") == numbers("one")


def test_a_learner_without_a_source_is_not_kept_on_disk(votes, fits, monkeypatch, capsys):
    lately = ModuleType("lately")
    lately.Mine = type("Mine", (DecisionTreeClassifier,), {"__module__": "lately"})
    monkeypatch.setitem(sys.modules, "lately", lately)
    assert run("-m", "teacher.estimator=lately.Mine", "eps=1,5", "cache=true") == 0
    assert not votes.exists()
    assert len(fits) == 1
    said = "pate: cache: lately.Mine: its source cannot be told: votes are not kept\n"
    assert capsys.readouterr().err.count(said) == 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda votes, env: votes.mkdir(mode=0o755),
            r"PATE_CACHE: got '.*'; accepted: a directory of your own",
        ),
        (lambda votes, env: votes.symlink_to("elsewhere"), r"PATE_CACHE: got .*, not a link"),
    ],
)
def test_refused_before_anything_is_written(votes, spoil, said, capsys, monkeypatch):
    spoil(votes, monkeypatch.setenv)
    assert run("cache=true") == 2
    assert re.fullmatch(rf"pate: {said}.*\n", capsys.readouterr().err)
    assert not Path("out").exists()
    assert not votes.exists() or not any(votes.iterdir())


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

half, replace, calls = sys.argv[1] == "half", os.replace, []

def fatal(source, target):
    if str(target).endswith(".votes"):
        calls.append(1)
        if len(calls) == 2:
            if half:
                os.truncate(source, os.path.getsize(source) // 2)
            os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

os.replace = fatal
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("written", ["half", "whole"])
def test_kill_9_while_writing(written, votes, three, fits):
    """In the middle of the second entry, or before it is put in place: the next run goes on from there."""
    options = ["run", *SMALL, "repeats=3", "cache=true", "hydra.run.dir=killed"]
    done = subprocess.run([sys.executable, "-c", KILLED, written, *options], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(entries(votes)) == 1
    assert run("repeats=3", "cache=true", into="after") == 0
    assert len(fits) == 2
    assert numbers("after") == three


@pytest.mark.parametrize("how", ["truncated", "flipped", "renamed"])
def test_a_spoilt_entry_is_made_again(how, votes, fits, capsys):
    assert run("repeats=2", "cache=true", into="before") == 0
    one, other = entries(votes)
    content = one.read_bytes()
    if how == "renamed":
        other.replace(one)
    else:
        middle = bytes([content[len(content) // 2] ^ 1])
        half = len(content) // 2
        one.write_bytes(
            content[:half] if how == "truncated" else content[:half] + middle + content[half + 1 :]
        )
    capsys.readouterr()
    assert run("repeats=2", "cache=true", into="after") == 0
    assert re.search(rf"pate: cache: {re.escape(str(one))}: .*; made again\n", capsys.readouterr().err)
    assert len(fits) == (4 if how == "renamed" else 3)
    assert numbers("after") == numbers("before")
    assert run("repeats=2", "cache=true", into="again") == 0
    assert len(fits) == (4 if how == "renamed" else 3)
