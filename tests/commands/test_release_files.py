"""A release from a private and a public file: no byte of the private one leaves, and the ledger knows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pate_cli.cli import main
from pate_cli.release import open_ledgers

pytest.importorskip("opendp")

FILES = ["dataset=csv", "dataset.path=data/priv.csv", "dataset.target=outcome", "teacher.size=10", "eps=2"]
PUBLIC = ["dataset.public=data/pub.csv", "dataset.classes=[ill,well]", "delta=1e-5"]
RELEASE = ["release=true", "mechanism=gaussian"]


def people(n, seed, mark):
    rng = np.random.default_rng(seed)
    lab = np.round(rng.normal(6, 2, n), 2)
    return pd.DataFrame(
        {
            "patient_id": [f"{mark}{i % (n // 3):05d}" for i in range(n)],
            "admitted": [f"{1900 + seed}-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(n)],
            "lab": lab,
            "ward": rng.choice([f"{mark}ward-A", "B", "C"], n),
            "outcome": np.where(lab > 6, "ill", "well"),
        }
    )


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    (tmp_path / "data").mkdir()
    people(1500, 21, "SECRET").to_csv("data/priv.csv", index=False)
    people(60, 22, "open").drop(columns=["outcome", "patient_id"]).assign(patient_id="x").to_csv(
        "data/pub.csv", index=False
    )
    return tmp_path


def start(*given):
    assert main(["ledger", "init", *FILES[:3], *given, "--eps", "5", "--delta", "1e-3"]) == 0


def refused(capsys, *given, said):
    capsys.readouterr()
    assert main(["run", *FILES, *RELEASE, *given]) == 2
    shown = capsys.readouterr().err
    assert shown.splitlines()[-1].startswith(f"pate: {said}")


def test_no_byte_of_the_private_file_is_in_any_file_written(place, capsys):
    start("dataset.unit=patient_id")
    given = [*FILES, *PUBLIC, *RELEASE, "dataset.unit=patient_id"]
    assert main(["run", *given, "hydra.run.dir=out"]) == 0
    written = b"".join(path.read_bytes() for path in (place / "out").iterdir())
    for secret in ("SECRET", "1921-", "priv.csv/", str(place)):
        assert secret.encode() not in written
    assert b"one patient_id, all of its records; replaced by any others" in written
    assert b"openward-A" in written  # the public file may be seen
    result = (place / "out" / "result.json").read_text()
    assert '"n_private": 500' in result
    assert '"n_test": 0' in result
    capsys.readouterr()
    assert main(["ledger", "show"]) == 0
    shown = capsys.readouterr().out
    assert "features open: none: the public points of all releases came from files of their own" in shown
    # a second one fits, a third does not
    assert main(["run", *given, "hydra.run.dir=again"]) == 0
    assert main(["run", *given, "hydra.run.dir=more"]) == 2
    assert "left: eps=1" in capsys.readouterr().err
    assert not (place / "more").exists()


def test_a_release_from_one_file_asks_for_the_word_and_then_fixes_rows(place, capsys):
    start("dataset.unit=null")
    one = ["dataset.unit=null", "split.public=40", "delta=1e-5"]
    said = "split.public_from_private: got False; accepted: true, as the features of 40 of the 1,500 records"
    refused(capsys, *one, said=said)
    assert main(["run", *FILES, *RELEASE, *PUBLIC, "dataset.unit=null", "hydra.run.dir=a"]) == 0
    capsys.readouterr()
    assert main(["run", *FILES, *RELEASE, *one, "split.public_from_private=true", "hydra.run.dir=b"]) == 0
    assert "the features of 40 of the 1,500 records of csv become public" in capsys.readouterr().err
    (ledger,) = open_ledgers().ledgers()
    assert (len(ledger.public.rows), len(ledger.entries)) == (40, 5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["dataset.public=data/pub.csv", "dataset.unit=null"],
            "dataset.classes: got None; accepted: the labels",
        ),
        (
            ["dataset.unit=patient_id", "split.public_from_private=true"],
            "dataset.public: got None; accepted: a file of public points, with release=true and dataset.unit",
        ),
        (
            [*PUBLIC, "dataset.unit=null", "dataset.test=data/more.csv"],
            "dataset.test: got 'a file'; accepted: null with release=true: nothing is measured",
        ),
    ],
)
def test_what_a_release_refuses(capsys, given, said):
    people(60, 23, "more").to_csv("data/more.csv", index=False)
    start("dataset.unit=null")
    refused(capsys, *given, said=said)
