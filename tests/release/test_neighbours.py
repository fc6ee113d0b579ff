"""Private files that differ in one record: a release refuses both or neither, and shows no name of one."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from pate_cli import pipeline
from pate_cli.cli import main

pytest.importorskip("opendp")

SPLIT = ["split.public=30", "split.public_from_private=true", "teacher.count=12", "eps=8", "delta=1e-3"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))


def said(*argv):
    """Exit code, and what is printed and said, but for the time."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*argv])
    return code, out.getvalue(), err.getvalue()


def records(n=240):
    """Age, ward, id and label of each."""
    rng = np.random.default_rng(0)
    ages, wards = rng.integers(20, 80, n), rng.integers(3, size=n)
    return [[str(a), "ABC"[w], f"p{i // 2:03}", "yes" if a > 50 else "no"]
            for i, (a, w) in enumerate(zip(ages.tolist(), wards.tolist(), strict=True))]  # fmt: skip


def write(name, rows, columns=("age", "ward", "id", "y")):
    """A CSV file, or one of JSON lines or Parquet."""
    if name.endswith(".csv"):
        Path(name).write_text("\n".join(",".join(row) for row in [columns, *rows]) + "\n")
        return
    cells = [{c: int(t) if t.lstrip("-").isdigit() else t for c, t in zip(columns, row, strict=True)}
             for row in rows]  # fmt: skip
    if name.endswith(".jsonl"):
        Path(name).write_text("\n".join(map(json.dumps, cells)))
    else:
        import pandas as pd

        frame = pd.DataFrame(cells)
        frame.astype({c: str for c in frame if frame[c].dtype == object}).to_parquet(name)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("what", ["a second sentinel", "a word twice", "a name that repeats"])
def test_without_a_schema_no_record_decides_whether_one_table_is_released(ending, what):
    """One more record with 999 or `unknown` made a release stop to ask; one more name of a person, too."""
    rows = [[*row[:2], f"p{i}", row[3]] for i, row in enumerate(records())]
    rows[5][0] = {"a second sentinel": "999", "a word twice": "unknown"}.get(what, "44")
    own = f"own.{ending}"
    data = [f"dataset={ending}", f"dataset.path={own}", "dataset.target=y", "dataset.drop=[id]"]
    if what == "a name that repeats":
        data.pop()
    told = []
    for more in (rows[9], ["44" if "name" in what else rows[5][0], "A", "p7", "no"]):
        write(own, [*rows[:9], more, *rows[10:]])
        if not told:
            said("ledger", "init", *data, "dataset.unit=null", "--eps", "20", "--delta", "0.1")
        told.append(said("run", "release=true", *data, *SPLIT, "hydra.run.dir=out"))
    assert told[0] == told[1]
    code, _, err = told[0]
    assert (code, err.count("\n"), Path("out").exists()) == (2, 1, False)
    command = f"pate data describe {own} --target y"
    assert f"dataset.schema: got None; accepted: dataset=own.schema.yaml, which `{command}` writes" in err
    assert said(*command.split()[1:], "--set", "id.persons=no")[0] in (0, 3)


OTHER_NAMES = ["7.0", "007", "\uff17", "7\u200b", "x"]  # of a person beside 7


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_no_name_of_one_person_decides_whether_there_is_a_release(ending):
    """Without a schema two names that may be one person's were refused."""
    own = f"own.{ending}"
    rows = [[*row[:2], f"{i // 2}", row[3]] for i, row in enumerate(records())]
    write(f"new.{ending}", records(60))
    data = [f"dataset={ending}", f"dataset.path={own}", "dataset.target=y", "dataset.unit=id"]
    data += [f"dataset.public=new.{ending}", "dataset.classes=[no,yes]", "mechanism=gaussian"]
    told = set()
    for i, name in enumerate(OTHER_NAMES):
        write(own, [*rows[:16], [*rows[16][:2], name, "no"], *rows[18:]])
        said("ledger", "init", *data, "--eps", "20", "--delta", "0.1", "--second-ledger")
        code, _, err = said("run", "release=true", *data, "teacher.count=12", "eps=8", f"hydra.run.dir={i}")
        told.add((code, err.replace(f"written to {i}", "")))
    assert len(told) == 1
    assert told.pop()[0] == 0


@pytest.mark.parametrize("key", [{}, {"of one": 1}, {"of one": [1]}, {"of one": None}], ids=json.dumps)
def test_a_key_of_one_record_stops_no_release(key):
    """It was named as a column that the public file lacks."""
    names = ("age", "ward", "id", "y")
    cells = [dict(zip(names, [int(row[0]), *row[1:]], strict=True)) for row in records()]
    Path("own.jsonl").write_text("\n".join(map(json.dumps, [cells[0] | key, *cells[1:]])))
    write("new.jsonl", records(60))
    data = ["dataset=jsonl", "dataset.path=own.jsonl", "dataset.target=y", "dataset.unit=null"]
    data += ["dataset.public=new.jsonl", "dataset.classes=[no,yes]", "mechanism=gaussian"]
    data += ["dataset.drop=[id,of one]"] * bool(key)
    assert said("ledger", "init", *data, "--eps", "20", "--delta", "0.1")[0] == 0
    given = [*data[:-1], "dataset.drop=[id]"] if key else [*data, "dataset.drop=[id]"]
    told = [said("run", "release=true", *words, "teacher.count=12", "eps=8", f"hydra.run.dir={i}")
            for i, words in enumerate((data if key else given, given))]  # fmt: skip
    assert [(code, "of one" in out + err) for code, out, err in told] == [(0, False)] * 2
    for path in Path().glob("[01]/*"):
        assert b"of one" not in path.read_bytes() or path.name in ("result.json", "certificate.json")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_spelling_that_most_labels_have_decides_nothing_where_classes_are_public(ending):
    """Where the public file has the classes, one more `Yes` beside `yes` had all of them refused."""
    rows = records(60)
    write(f"new.{ending}", rows)
    Path("s.yaml").write_text("unit: null\ncolumns: {age: {kind: number}, ward: {kind: category}}\n")
    yes = [i for i, row in enumerate(rows) if row[3] == "yes"]
    data = [f"dataset={ending}", f"dataset.path=own.{ending}", "dataset.schema=s.yaml", "dataset.target=y"]
    codes = []
    for more in (0, 1):
        capitals = yes[: len(yes) // 2 + more]
        write(f"own.{ending}", [[*row[:3], "Yes" if i in capitals else row[3]] for i, row in enumerate(rows)])
        codes.append(said("plan", *data, f"dataset.public=new.{ending}", "teacher.count=12", "eps=8")[0])
    assert codes == [0, 0]


@pytest.mark.parametrize("given", ["dataset.public=new.jsonl", "dataset.schema=s.yaml"])
def test_no_key_of_one_record_is_taken_for_a_name_of_persons(given):
    """A release stopped to ask where a single record had a key of such a name."""
    told = []
    Path("s.yaml").write_text("columns: {age: {kind: number}, ward: {kind: category}}\n")
    for key in ({}, {"patient_id": 7}):
        rows = [{"age": int(a), "ward": ward, "y": y} | (key if i == 9 else {})
                for i, (a, ward, _, y) in enumerate(records())]  # fmt: skip
        Path("own.jsonl").write_text("\n".join(map(json.dumps, rows)))
        Path("new.jsonl").write_text("\n".join(json.dumps({"age": i, "ward": "A"}) for i in range(60)))
        data = ["dataset=jsonl", "dataset.path=own.jsonl", "dataset.target=y", "dataset.classes=[no,yes]"]
        run = [*data, given, *(SPLIT if "schema" in given else []), "mechanism=gaussian"]
        told.append(said("run", "release=true", *run, "hydra.run.dir=out"))
    assert told[0] == told[1]
    assert told[0][2].startswith("pate: dataset.unit: got 'auto'; accepted: the key that names persons")


@pytest.mark.parametrize("unit", [None, "id"])
def test_a_release_says_that_it_is_not_protected_whether_a_record_has_a_label(unit):
    """Its number of records shows that, and it promised a record replaced by any other."""
    sizes, given = [], ["dataset=own.schema.yaml", "dataset.public=new.csv", "mechanism=gaussian"]
    rows = records()
    write("new.csv", records(60))
    for label in ("no", ""):
        write("own.csv", [[*row[:3], label if i < 9 else row[3]] for i, row in enumerate(rows)])
        describe = ["data", "describe", "own.csv", "--target", "y", "--rows", "new.csv"]
        describe += [
            "--set",
            "y.missing=dropped",
            *(["--unit", unit] if unit else ["--set", "id.kind=ignored"]),
        ]
        assert said(*describe, *([] if unit else ["--set", "id.persons=no"]))[0] == 0
        more = [] if unit else ["dataset.unit=null"]
        said("ledger", "init", *given, *more, "--eps", "20", "--delta", "0.1")
        out = f"out{label}"
        code, card, err = said("run", "release=true", *given, *more, "teacher.count=12", "eps=8",
                               f"hydra.run.dir={out}")  # fmt: skip
        assert code == 0, err
        certified = json.loads(Path(out, "certificate.json").read_text())
        sizes.append(certified["sizes"]["n_private"])
        promise = "among records that have a label (whether one has is not protected)"
        shown = card + Path(out, "model_card.md").read_text()
        assert promise in certified["guarantee"]["neighbours"]
        assert certified["guarantee"]["protects"]["neighbours"].startswith("replace, among records that have")
        kept = " ".join(said("ledger", "show")[1].split())
        assert (
            f"It protects one {unit + ', all of its records' if unit else 'record'}, among those that" in kept
        )
        assert "whether one has" in shown
    assert sizes[1] < sizes[0] == (120 if unit else 240)


def test_with_another_target_the_same_records_are_open(monkeypatch):
    """They were numbered among those that have a label, so another target opened the columns of others."""
    monkeypatch.setattr(pipeline.Streams, "fresh", lambda: pipeline.Streams.of(5, 0))
    rng, told = np.random.default_rng(0), []
    rows = [[f"{x:.3f}", *np.where(rng.random(3) < x, "no", "yes")] for x in rng.random(300)]
    for column, first in enumerate(
        (0, 5, 50), 1
    ):  # nine records have no label of each; some of these are open
        for row in rows[first : first + 9]:
            row[column] = ""
    write("own.csv", rows, ("x", *"abc"))
    for target in "abc":
        others = "".join(f", {name}: {{kind: ignored}}" for name in "abc".replace(target, ""))
        columns = f"columns: {{x: {{kind: number, low: 0, high: 1}}{others}}}"
        Path("s.yaml").write_text(f"target: {target}\ntarget_missing: dropped\n{columns}\n")
        data = ["dataset=csv", "dataset.path=own.csv", "dataset.schema=s.yaml", "dataset.unit=null"]
        said("ledger", "init", *data, "dataset.classes=[no,yes]", "--eps", "20", "--delta", "0.1")
        run = ["run", "release=true", *data, "dataset.classes=[no,yes]", *SPLIT, f"hydra.run.dir={target}"]
        told.append(said(*run))
    opened = json.loads(said("ledger", "show", "--json")[1])["ledgers"][0]["public"]
    assert [code for code, *_ in told] == [0, 0, 2]
    assert opened["n_records"] == 300
    for target in "ab":
        lines = Path(target, "answers.csv").read_text().split()[1:]
        assert sorted(int(line.partition(",")[0]) for line in lines) == opened["rows"]
    assert re.search(
        r"ledger of own.csv: \d of the records whose features the first release opened", told[2][2]
    )
