"""`pate ledger`: start, raise, show."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.commands import ledger
from pate_cli.errors import InputError
from pate_cli.release import open_ledgers
from pate_cli.types import PrivacyLoss

SMALL = ["dataset=synthetic", "dataset.n_records=50"]


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    return tmp_path / "ledger"


def _init(*arguments):
    return ledger.main(["init", *SMALL, *arguments])


def test_init_and_show(capsys, directory):
    assert ledger.main(["show"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, "pate ledger init" in shown.err, directory.exists()) == ("", True, False)
    assert _init("--eps", "2", "--delta", "1e-4") == 0
    assert "eps 2 of 2 and delta 0.0001 of 0.0001 are" in capsys.readouterr().out
    ledgers = open_ledgers()
    (there,) = ledgers.ledgers()
    ledgers.charge(there.fingerprint, PrivacyLoss(0.5, 2.5e-5, ""), "svt, 40 queries")
    assert ledger.main(["show"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    left = "eps 1.5 of 2 and delta 7.5e-05 of 0.0001"
    for text in (left, "charge", "svt, 40 queries;", there.fingerprint[:12]):
        assert text in shown


def test_the_dataset_decides_and_not_how_it_is_used():
    """Another split or mechanism of the same records is the same ledger; other records are not."""
    _init("--eps", "2", "--delta", "1e-4")
    with pytest.raises(InputError, match="has a ledger"):
        _init("mechanism=svt", "split.private=0.5", "teacher.size=3", "--eps", "2", "--delta", "1e-4")
    _init("dataset.seed=1", "--eps", "3", "--delta", "1e-4")
    _init("--eps", "4", "--delta", "1e-4", "--raise")
    assert sorted(there.total[0] for there in open_ledgers().ledgers()) == [3, 4]


def test_a_directory_named_on_the_line_goes_first(directory, tmp_path, capsys):
    other = tmp_path / "other"
    _init("--eps", "2", "--delta", "0", "--ledger", str(other))
    assert not directory.exists()
    assert ledger.main(["show", "--ledger", str(other)]) == 0
    assert "eps 2 of 2" in capsys.readouterr().out


FORMS = {
    "packed": lambda lines: gzip.compress("\n".join(lines).encode()),
    "sorted": lambda lines: "\n".join([lines[0], *sorted(lines[1:])]).encode(),
    "other line ends": lambda lines: "\r\n".join(lines).encode(),
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [
        f"{a:.3f},{b}" for a, b in zip(rng.normal(size=300), rng.choice(["no", "yes"], 300), strict=True)
    ]
    Path("people.csv").write_text("\n".join(["x,class", *lines]))
    assert ledger.main(["init", *_of("people.csv"), *TOTAL]) == 0
    return ["x,class", *lines]


TOTAL = ["--eps", "2", "--delta", "1e-3"]


def _of(path):
    return ["dataset=csv", f"dataset.path={path}", "dataset.target=class"]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_records_in_another_file_have_one_ledger(table, capsys, form):
    path = "copy.csv.gz" if form == "packed" else "copy.csv"
    Path(path).write_bytes(FORMS[form](table))
    (first,) = open_ledgers().ledgers()
    before = {file: file.read_bytes() for file in open_ledgers().path.iterdir()}
    named = f"the ledger of people.csv ({first.fingerprint[:12]}; left: eps=2, delta=0.001)"
    capsys.readouterr()
    assert cli.main(["ledger", "init", *_of(path), *TOTAL]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pate: {path} holds the same records as {named}: ")
    assert said.endswith("; accepted: that file, or --second-ledger, to begin another\n")
    assert said.count("\n") == 1
    assert cli.main(["ledger", "init", *_of(path), *TOTAL, "--raise"]) == 2
    assert f"its records are those of {named}" in capsys.readouterr().err
    Path("s.yaml").write_text("columns: {x: {kind: number}}")
    release = ["release=true", "split.public=20", "split.public_from_private=true", "teacher.size=20"]
    release += ["dataset.schema=s.yaml"]
    assert cli.main(["run", *_of(path), *release, "hydra.run.dir=out"]) == 2
    assert f"{named} is for the same records; accepted: that file\n" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in open_ledgers().path.iterdir()} == before
    assert not Path("out").exists()
    assert cli.main(["ledger", "init", *_of(path), *TOTAL, "--second-ledger"]) == 0
    (second,) = set(open_ledgers().ledgers()) - {first}
    assert second.entries[0].note == f"besides {named}, for the same records"
    assert second.records != first.records  # each under a salt of its own
    assert cli.main(["ledger", "show"]) == 0


def test_other_records_have_a_ledger_of_their_own(table, capsys):
    Path("copy.csv").write_text("\n".join([*table[:-1], "0.5,yes"]))
    assert cli.main(["ledger", "init", *_of("copy.csv"), *TOTAL]) == 0
    assert len(open_ledgers().ledgers()) == 2


def test_a_ledger_of_an_earlier_pate_learns_its_records(table, capsys):
    ledgers = open_ledgers()
    (first,) = ledgers.ledgers()
    ledgers._write(replace(first, entries=(replace(first.entries[0], records=None),)))
    Path("copy.csv.gz").write_bytes(FORMS["packed"](table))
    capsys.readouterr()
    assert cli.main(["ledger", "init", *SMALL, *TOTAL]) == 0
    said = (
        "pate: an earlier pate began the ledger of people.csv: whether these are its records shows only after"
    )
    assert capsys.readouterr().err.startswith(said)
    assert cli.main(["ledger", "init", *_of("people.csv"), *TOTAL, "--raise"]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main(["ledger", "init", *_of("copy.csv.gz"), *TOTAL]) == 2
    assert "holds the same records as the ledger of people.csv" in capsys.readouterr().err


def test_an_override_that_cannot_be_read_is_refused_as_of_a_run(directory):
    with pytest.raises(InputError, match=r"dataset.path=ü.csv: cannot be read .* accepted: KEY=VALUE, or"):
        _init("dataset.path=ü.csv", "--eps", "2", "--delta", "1e-4")
    assert not directory.exists()
