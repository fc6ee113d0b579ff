"""Whatever is printed as a thing to type runs as printed, on the data it was printed for."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest

from pate_cli import cli

OWN = ["dataset=csv", "dataset.path=my own.csv", "dataset.target=y", "split.public=60"]


@pytest.fixture
def own(outside, monkeypatch):
    """A file of one's own, with a name that a shell has to quote; and where ledgers are."""
    X = np.random.default_rng(0).normal(size=(900, 3)).round(2)
    lines = [f"{a},{b},{c},{'yes' if a + b > 0.3 else 'no'}" for a, b, c in X.tolist()]
    (outside / "my own.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    monkeypatch.setenv("PATE_LEDGER", str(outside / "ledger"))
    monkeypatch.setenv("COLUMNS", "80")
    return outside


def printed(capsys, *argv):
    """Run a command; the commands that it prints, as a shell reads them."""
    capsys.readouterr()
    assert cli.main(list(argv)) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if len(line) > 80] == []
    joined = re.sub(r" \\\n +", " ", out)
    return [shlex.split(line)[1:] for line in re.findall(r"^  (pate .*)$", joined, re.MULTILINE)]


def test_from_a_plan_to_a_release(own, capsys):
    (run,) = printed(capsys, "plan", *OWN, "mechanism=best", "eps=2")
    assert run == ["run", *OWN, "mechanism=best", "eps=2"]
    said = [cli.main(run) or capsys.readouterr().err for _ in range(2)]
    assert ["schema (" in text for text in said] == [True, False]  # of a file what it is said once
    (frontier,) = printed(capsys, *run)
    assert frontier[:1] == ["frontier"]
    assert set(OWN) < set(frontier)
    # as printed, but for the number of repeats and methods, which only take time
    few = ["3" if word == "10" else word for word in frontier] + ["--methods", "best,gaussian"]
    describe, init, release = printed(capsys, *few)
    assert cli.main(describe) == 0  # a release reads the table by a schema
    assert init[:2] == ["ledger", "init"]
    assert cli.main([*release, "hydra.run.dir=early"]) == 2
    (begin,) = re.findall(r"start one with: pate (.*)", capsys.readouterr().err)
    assert shlex.split(begin) == [*init[:-4], "--eps", "2", *init[-2:]]
    (show,) = printed(capsys, *init)
    assert printed(capsys, *show) == []
    verify, page = printed(capsys, *release, "hydra.run.dir=released")
    assert (own / "released" / "student.skops").is_file()
    assert printed(capsys, *verify) == [page]
    assert cli.main(page) == 0
    assert "pate</span> <span>verify</span> <span>released" in (own / "released.html").read_text()
    assert cli.main([*release, "hydra.run.dir=again"]) == 0  # there is room for one more
    assert "Left in the ledger: eps 0 of 2." in " ".join(capsys.readouterr().out.split())


def test_of_a_run_on_plain_columns(own, capsys):
    argv = ["run", *OWN, "mechanism=gaussian", "features=none", "teacher.size=40", "eps=4"]
    (frontier,) = printed(capsys, *argv)
    assert printed(capsys, *["1" if word == "10" else word for word in frontier], "--no-limit")


def test_of_a_method_that_a_frontier_has_not_by_itself(own, capsys):
    """It was compared with others without being among them."""
    argv = ["run", *OWN, "mechanism=lnmax", "features=none", "teacher.size=40", "eps=4"]
    (frontier,) = printed(capsys, *argv)
    words = ["1" if word == "10" else "4" if word == "2,4,8" else word for word in frontier]
    assert "4" in words
    assert cli.main([*words, "--no-limit"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{method} " in out for method in ("lnmax", "gaussian"))


def test_a_plan_of_tune_is_run_with_its_candidates(own, capsys):
    (tune,) = printed(capsys, "plan", "tune", *OWN, "teacher.size=40", "student=logistic,tree", "eps=4")
    assert tune == ["tune", *OWN, "teacher.size=40", "student=logistic,tree", "eps=4"]


def test_of_a_sweep_and_of_two_of_its_jobs(own, capsys):
    sweep = ["run", "-m", *OWN, "mechanism=gaussian,svt", "eps=0.5", "repeats=2", "hydra.sweep.dir=s"]
    for words in printed(capsys, *sweep):
        assert cli.main([*words, *(["hydra.run.dir=r"] if "release=true" in words else [])]) == 0
    (plan_m,) = printed(capsys, "plan", "-m", *OWN, "mechanism=gaussian,svt", "eps=0.5,1")
    assert plan_m == ["run", "-m", *OWN, "mechanism=gaussian,svt", "eps=0.5,1"]
    for words in printed(capsys, "compare", "s/0", "s/1"):
        assert "repeats=" in words[-1]
        assert cli.main([*words[:-1], "repeats=2"]) == 0
