"""A release from three files of one's own: what only the private one holds is in no file that is written."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pate_cli.cli import main
from pate_cli.release import open_ledgers

pytest.importorskip("opendp")

PERSONS = 300


def hospital(n, seed, ids, year, wards):
    rng = np.random.default_rng(seed)
    lab = rng.normal(6, 2, n)
    table = pd.DataFrame({"patient_id": [f"{ids}{i % PERSONS:05d}" for i in range(n)]})
    table["admitted"] = [f"{year}-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(n)]
    table["lab"] = lab
    table["ward"] = rng.choice(wards, n)
    table["outcome"] = np.where(lab > 6, "ill", "well")
    return table


@pytest.fixture
def private(tmp_path, monkeypatch):
    """Three records of each of 300 persons; the public file shares no id, date or number, and fewer wards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    table = hospital(3 * PERSONS, 0, "QX-", 1987, ["A", "B", "burns-unit"])
    table.to_csv("priv.csv", index=False)
    hospital(200, 1, "V-", 2021, ["A", "B"]).drop(columns="outcome").to_csv("pub.csv", index=False)
    return table


GIVEN = ["dataset=csv", "dataset.path=priv.csv", "dataset.public=pub.csv", "dataset.target=outcome"]
GIVEN += ["dataset.unit=patient_id", "dataset.classes=[ill,well]"]


def released(out, *more):
    argv = ["run", *GIVEN, "release=true", "mechanism=best", "eps=4", "delta=1e-5"]
    return main([*argv, f"hydra.run.dir={out}", *more])


def written(place):
    """Bytes of every file below a directory, those within an archive unpacked."""
    found = {}
    for path in Path(place).rglob("*"):
        if path.is_file():
            found[str(path)] = path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(io.BytesIO(found[str(path)])) as archive:
                    found |= {f"{path}/{name}": archive.read(name) for name in archive.namelist()}
    return found


def secrets(table):
    """What only the private file holds: texts as they stand, numbers also as they are stored."""
    texts = {*table["patient_id"], *table["admitted"], "burns-unit", "1987-", "QX-0"}  # hashes hold any 1987
    numbers = [*table["lab"], 1987.0]
    return [text.encode() for text in [*texts, *map(repr, numbers)]] + [
        struct.pack("<d", value) for value in numbers
    ]


def test_no_byte_of_the_private_file_is_written_and_the_second_release_is_refused(
    private, capsys, fixed_draws
):
    assert main(["ledger", "init", *GIVEN, "--eps", "5", "--delta", "1e-4"]) == 0
    assert released("out") == 0
    files = written("out") | written("ledger")
    names = {"answers.csv", "student.skops", "result.json", "schema.json"}
    assert {Path(name).name for name in files} >= names
    assert b"2021" not in files["out/answers.csv"]  # public points go by their numbers
    kept = secrets(private)
    assert not [(name, secret) for secret in kept for name, data in files.items() if secret in data]
    record = json.loads(files["out/result.json"])
    assert (record["mechanism"], record["sizes"]["n_private"]) == ("best", PERSONS)
    assert record["sizes"]["n_records"] is None
    card = files["out/model_card.md"].decode()
    assert "- Protects: one patient\\_id, all of its records (replaced by any others; of k" in card
    assert f"- Made from: {PERSONS} persons" in card
    held = json.loads(files["out/certificate.json"])["data"]["schema"]
    assert held["ward"] == {"kind": "category", "levels": ["A", "B"], "from": "pub.csv"}
    bounds = f"number from {held['lab']['low']:.6g} to {held['lab']['high']:.6g}"
    assert f"| `lab` | {bounds}; values beyond are moved to the end | pub.csv |\n" in card
    assert "| `ward` | one of “A”, “B” | pub.csv |\n" in card
    assert main(["verify", "out"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show"]) == 0
    said = "No record's columns are public: no release took public points from these records."
    assert said in capsys.readouterr().out.replace("\n", " ")
    assert main(["list", ".", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["tables"]["table"]
    assert (listed["kind"], listed["datasets"], listed["repeats_done"]) == ("release", "priv.csv", 1)
    assert main(["page", "out", "--output", "card.html"]) == 0
    assert not [secret for secret in kept if secret in Path("card.html").read_bytes()]
    before = written(".")
    capsys.readouterr()
    assert released("second") == 2
    said = capsys.readouterr().err
    assert said.startswith("pate: ledger of priv.csv: this release costs eps=4")
    assert said.count("\n") == 1
    assert written(".") == before
    # the student labels new records, and tells those that are unlike the public points
    private.to_csv("new.csv", index=False)
    argv = ["predict", "out/student.skops", "new.csv", "--id", "patient_id", "--output", "labels.csv"]
    assert main(argv) == 0
    said = capsys.readouterr().err
    unseen = int((private["ward"] == "burns-unit").sum())
    assert f"new.csv: unseen categories: 'ward' {unseen} of 900 (first 'burns-unit', line " in said
    assert float(said.partition("accuracy ")[2].split()[0]) > 0.6


def test_the_search_finds_what_a_careless_release_would_write(private, tmp_path):
    """Each kind of secret, planted as a file would hold it."""
    (tmp_path / "leak").mkdir()
    np.savez_compressed("leak/numbers.npz", a=private["lab"].to_numpy()[:1])
    Path("leak/text.json").write_text('{"unit": "QX-00007", "since": "1987-01-01"}')
    files = written("leak")
    found = [secret for secret in secrets(private) for data in files.values() if secret in data]
    assert {b"QX-00007", b"1987-01-01", struct.pack("<d", private["lab"][0])} <= set(found)


ONE = [*GIVEN[:2], "dataset.target=outcome", "dataset.unit=null"]
TWO = ["dataset.public=pub.csv", "dataset.classes=[ill,well]"]
VOTES = ["run", *ONE, "release=true", "mechanism=gaussian", "teacher.size=10", "eps=2", "delta=1e-5"]


def test_a_release_from_one_file_asks_for_the_word_and_then_fixes_rows(private, capsys):
    assert main(["ledger", "init", *ONE, "--eps", "5", "--delta", "1e-3"]) == 0
    assert main(["data", "describe", "priv.csv", "--target", "outcome", "--set", "patient_id.kind=ignored",
                 "--set", "patient_id.persons=no"]) == 0  # fmt: skip
    given = [*VOTES, "split.public=40", "dataset.schema=priv.schema.yaml"]
    assert main(given) == 2
    said = (
        "split.public_from_private=true, which publishes the columns of 40 of your 900 records (eps protects"
    )
    assert said in capsys.readouterr().err.splitlines()[-1]
    assert main([*VOTES, *TWO, "hydra.run.dir=a"]) == 0
    capsys.readouterr()
    assert main([*given, "split.public_from_private=true", "hydra.run.dir=b"]) == 0
    assert "The columns of 40 records are public now" in capsys.readouterr().out
    (ledger,) = open_ledgers().ledgers()
    assert (len(ledger.public.rows), len(ledger.entries)) == (40, 5)
    for out, read in (("a", False), ("b", True)):  # classes, from the private file
        said = json.loads(Path(out, "certificate.json").read_text())["not_covered"]
        assert any("a label which no other has" in text for text in said) is read


AS_RECORDS = ["dataset.unit=null", "dataset.drop=[patient_id]", "mechanism=gaussian", "teacher.size=10"]


def test_losses_of_persons_and_of_records_are_not_added(private, capsys):
    """Of a person with 3 records, a release of records takes three times its eps."""
    total = ["--eps", "9", "--delta", "1e-3"]
    assert main(["ledger", "init", *GIVEN, *total, "--most-records", "2"]) == 2
    said = "pate: --most-records: got 2; accepted: at least 3, the records of one patient_id\n"
    assert capsys.readouterr().err == said
    assert main(["ledger", "init", *ONE, "dataset.drop=[patient_id]", *total, "--most-records", "2"]) == 2
    assert "nothing without dataset.unit" in capsys.readouterr().err
    assert not Path("ledger").exists()
    assert main(["ledger", "init", *GIVEN, *total, "--most-records", "3"]) == 0
    protects = "It protects one patient_id, all of its records (at most 3)."
    assert protects in capsys.readouterr().out.replace("\n", " ")
    assert released("out", "eps=1") == 0
    before = written(".")
    capsys.readouterr()
    assert released("other", "eps=1", *AS_RECORDS) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(
        "pate: ledger of priv.csv: its losses are of one patient_id, all of its records, not of one record: a"
        " patient_id with 3 records, the most there may be, would lose eps=3, delta=0.000111"
    )
    assert said.endswith("; accepted: dataset.unit=patient_id\n")
    assert written(".") == before
    assert main(["ledger", "show"]) == 0
    assert protects in capsys.readouterr().out.replace("\n", " ")
    assert main(["ledger", "show", "--json"]) == 0
    (ledger,) = json.loads(capsys.readouterr().out)["ledgers"]
    person = {"unit": "patient_id", "neighbours": "replace"}
    assert (ledger["protects"], ledger["most_records"]) == (person, 3)
    kinds = {entry["kind"]: entry["protects"] for entry in ledger["entries"]}
    assert kinds == {"open": person, "release": person, "certificate": None}
    certified = json.loads(Path("out/certificate.json").read_text())
    assert certified["guarantee"]["protects"] == person
    assert main(["verify", "out"]) == 0


def test_losses_of_records_and_of_persons_are_not_added(private, capsys):
    given = [*ONE, "dataset.drop=[patient_id]"]
    assert main(["ledger", "init", *given, "--eps", "9", "--delta", "1e-3"]) == 0
    assert "It protects one record." in capsys.readouterr().out.replace("\n", " ")
    assert released("out", "eps=1") == 2
    assert capsys.readouterr().err.endswith(
        "its losses are of one record, not of one patient_id, all of its records: nothing proved makes one of"
        " the other; accepted: dataset.unit=null\n"
    )
    assert not Path("out").exists()
    assert released("out", "eps=1", *AS_RECORDS) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["dataset.public=pub.csv"], "dataset.classes: got None; accepted: the labels"),
        (
            ["dataset.unit=patient_id", "split.public_from_private=true"],
            "dataset.public: got None; accepted: a file of public points, with release=true and dataset.unit",
        ),
        (
            [*TWO, "dataset.test=more.csv"],
            "dataset.test: got 'a file'; accepted: null with release=true: nothing is measured",
        ),
    ],
)
def test_what_a_release_refuses(private, capsys, given, said):
    private.head(300).to_csv("more.csv", index=False)
    assert main(["ledger", "init", *ONE, "--eps", "5", "--delta", "1e-3"]) == 0
    capsys.readouterr()
    assert main([*VOTES, *given]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"pate: {said}")
