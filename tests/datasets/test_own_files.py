"""One's own data through the command line: three files, schemas, persons, and every refusal."""

from __future__ import annotations

import gzip
import json
import shlex
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from pate_cli.cli import main
from pate_cli.config.hydra_composition import compose
from pate_cli.datasets import load, sizes_of, split, warnings_of
from pate_cli.datasets.schema import read_schema, typed
from pate_cli.errors import ConfigError, DataError

N = 900


def people(n=N, seed=0, **changes):
    """A hospital's table: 300 persons with three records each, an easy class."""
    rng = np.random.default_rng(seed)
    lab = np.round(rng.normal(6, 2, n), 2)
    table = pd.DataFrame(
        {
            "patient_id": [f"P{i % 300:04d}" for i in range(n)],
            "admitted": [f"2021-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(n)],
            "age": rng.integers(18, 95, n),
            "lab": lab.astype(str),
            "ward": rng.choice(list("ABC"), n),
            "outcome": np.where(lab > 6, "ill", "well"),
        }
    )
    for column, values in changes.items():
        table[column] = values
    return table


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Three files in the working directory: priv.csv, pub.csv (no labels) and test.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    table = people()
    table["ward"] = table["ward"].mask(table.index == 17, "secret-ward")
    table.to_csv("priv.csv", index=False)
    people(200, 1, patient_id=[f"V{i:04d}" for i in range(200)]).drop(columns="outcome").to_csv(
        "pub.csv", index=False
    )
    people(150, 2, patient_id=[f"T{i:04d}" for i in range(150)]).to_csv("test.csv", index=False)
    return tmp_path


LINEAR = ["features=none", "student=logistic"]  # no map has to be made
THREE = ["dataset=csv", "dataset.path=priv.csv", "dataset.public=pub.csv", "dataset.test=test.csv"]
THREE += ["dataset.target=outcome", "teacher.size=30", *LINEAR]
ONE = ["dataset=csv", "dataset.path=priv.csv", "dataset.target=outcome", "split.public=60", "teacher.size=30"]
ONE += LINEAR


def run(*argv, out="out"):
    code = main(["run", *argv, f"hydra.run.dir={out}"])
    return code, json.loads(Path(f"{out}/result.json").read_text()) if code == 0 else None


def refused(capsys, *argv, said, command="run"):
    assert main([command, *argv]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("pate: ")
    assert shown.count("\n") == 1
    for text in said:
        assert text in shown
    return shown


def test_three_files(place, capsys):
    code, record = run(*THREE, "dataset.unit=null", "eps=8")
    shown = capsys.readouterr().err
    assert code == 0
    sizes = record["sizes"]
    assert [sizes[f"n_{part}"] for part in ("private", "public", "test")] == [900, 200, 150]
    assert record["accuracy"]["mean"] > 0.9
    assert "schema (inferred from pub.csv): 2 numbers (age 19 to" in shown
    assert "1 date (admitted 2021-01-01 to 2021-12-28)" in shown
    assert "not used patient_id: identifiers" in shown
    assert (record["delta"], record["plan"]["protects"]) == (1 / 900, "one record; replaced by any other")


def test_a_public_file_alone_leaves_a_share_of_the_private_one_for_the_test(place):
    data = load("csv", path="priv.csv", public="pub.csv", target="outcome", unit=None)
    assert vars(sizes_of(data)) == {"n_private": 720, "n_public": 200, "n_test": 180, "budget": 60}
    released = sizes_of(data, release=True)
    assert (released.n_private, released.n_test) == (900, 0)
    with pytest.raises(ConfigError, match=r"^split\.public: got 201; accepted: at most 200, the rows"):
        sizes_of(data, public=201)
    with pytest.raises(ConfigError, match=r"^split\.private: got 900; accepted: at most 899"):
        sizes_of(data, private=900)
    tested = load("csv", path="priv.csv", test="test.csv", target="outcome", unit=None)
    assert (sizes_of(tested).n_private, sizes_of(tested).n_public, sizes_of(tested).n_test) == (882, 18, 150)
    parts = split(data, rng=np.random.default_rng(0), public=20)
    assert (parts.public.X.shape[0], len(parts.public.rows), parts.private.n_records) == (20, 20, 720)
    assert (parts.public_labels.y == -1).all()


def test_categories_and_numbers_of_the_private_file_alone_change_nothing_public(place):
    """The encoder is of the public file: a private category is the code of an unseen one."""
    data = load("csv", path="priv.csv", public="pub.csv", target="outcome", unit=None)
    parts = split(data, rng=np.random.default_rng(0))
    assert "secret-ward" not in repr([vars(t) for _, t, _ in parts.encoder.transformers_])
    other = replace(data, X=data.X.iloc[::-1].assign(age=1e6))
    again = split(other, rng=np.random.default_rng(0)).encoder
    assert again.profile_ == parts.encoder.profile_  # what `pate predict` compares with
    assert "secret-ward" not in repr(again.profile_)
    row = parts.encoder.transform(data.X.iloc[[17]]).toarray()[0]
    assert (row[3:] == 0).all()
    beyond = data.X.iloc[[0]].assign(lab=1e9)
    highest = data.X.iloc[[0]].assign(lab=data.encoder.schema.columns["lab"].high)
    clipped, bound = (parts.encoder.transform(rows).toarray()[0, 2] for rows in (beyond, highest))
    assert clipped == bound


@pytest.mark.parametrize("kind", ["libsvm", "npz", "parquet"])
def test_three_files_of_other_kinds(place, kind):
    rng = np.random.default_rng(0)
    paths = {name: f"{name}.{kind}" for name in ("private", "public", "test")}
    for name, path in paths.items():
        X = np.round(rng.normal(size=(600 if name == "private" else 100, 4)), 3)
        y = (X[:, 0] > 0).astype(int)
        if kind == "npz":
            np.savez(path, X=X, **({} if name == "public" else {"y": y}))
        elif kind == "libsvm":  # with placeholders for labels
            dump_svmlight_file(X, np.full(len(y), 7) if name == "public" else y, path, zero_based=False)
        else:
            pytest.importorskip("pyarrow")
            frame = pd.DataFrame(X, columns=list("abcd")).assign(
                cat=pd.Categorical(["u", "v"] * (len(y) // 2))
            )
            frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(y)), "D")
            (frame if name == "public" else frame.assign(y=y)).to_parquet(path)
    given = [f"dataset={kind}", *(f"dataset.{name}={path}" for name, path in paths.items())]
    given += ["dataset.target=y"] if kind == "parquet" else []
    code, record = run(*given, "teacher.size=20", "eps=20", *LINEAR)
    assert code == 0
    assert [record["sizes"][f"n_{name}"] for name in paths] == [600, 100, 100]
    assert record["accuracy"]["mean"] > 0.85


# -- whose privacy


@pytest.mark.parametrize("mechanism", ["gaussian", "best", "output_perturbation"])
def test_a_unit_counts_persons(place, mechanism):
    more = [f"mechanism={mechanism}", "eps=8", "teacher.size=10", "features=auto"]
    code, record = run(*THREE, "dataset.unit=patient_id", *more)
    assert (code, record["sizes"]["n_private"], record["delta"]) == (0, 300, 1 / 300)
    assert record["n_teachers"] == (30 if mechanism == "gaussian" else 0)
    assert record["plan"]["protects"] == "one patient_id, all of its records; replaced by any others"
    assert record["accuracy"]["mean"] > 0.8


def test_a_split_of_too_many_persons_names_them(place, capsys):
    typed = ["dataset=csv", "dataset.path=priv.csv", "dataset.target=outcome", "dataset.unit=patient_id"]
    typed += ["split.private=0.9", "split.public=80"]
    assert main(["run", *typed]) == 2
    assert "at most 219 of the 300 persons (patient_id) in the private file" in capsys.readouterr().err


def test_all_records_of_a_person_are_on_one_side(place):
    data = load("csv", path="priv.csv", target="outcome", unit="patient_id")
    parts = split(data, rng=np.random.default_rng(1), private=200, public=40)
    names = data.persons
    assert (parts.private.n_persons, parts.private.n_records) == (200, 600)
    rng = np.random.default_rng(1)
    order = rng.permutation(300)
    assert set(names[parts.public.rows]) == set(order[200:240])
    assert len(parts.public.rows) == 40  # one record of each
    assert len(parts.test.y) == 60 * 3
    assert (np.bincount(parts.private.persons) == 3).all()


@pytest.mark.parametrize(
    ("column", "distinct", "asks"),
    [
        ("PatientNo", 5, True),  # few persons with many records each
        ("patient_id", N, False),
        ("key", 20, False),  # a category, whatever its name
        ("key", 100, True),
        ("ward", 300, False),
    ],
)
def test_a_column_named_after_persons_asks_where_it_repeats(tmp_path, column, distinct, asks):
    table = people().drop(columns=["patient_id", "ward"])
    table[column] = [f"P{i % distinct}" for i in range(N)]
    table.to_csv(tmp_path / "t.csv", index=False)
    given = {"path": tmp_path / "t.csv", "target": "outcome"}
    if asks:
        with pytest.raises(ConfigError, match=rf"accepted: {column}, .* \(900 records name {distinct}\)"):
            load("csv", **given)
    else:
        assert load("csv", **given).person_column is None


def test_the_owner_is_told_of_persons_in_two_files_and_of_units_that_are_all_different(place, capsys):
    people(200, 1).drop(columns="outcome").to_csv("pub.csv", index=False)
    people(150, 2, patient_id=[f"P{i:04d} " for i in range(200, 350)]).to_csv("test.csv", index=False)
    assert run(*THREE, "dataset.unit=patient_id", "eps=8")[0] == 0
    shown = capsys.readouterr().err
    assert "pub.csv: 200 patient_id of priv.csv are in it too; what it says of them is public" in shown
    assert "test.csv: 100 patient_id of priv.csv are in it too, so the accuracy is not one for new" in shown
    for first, told in (("Q0", True), ("Q1", False)):
        people(patient_id=[first, *(f"Q{i}" for i in range(1, N))]).to_csv("priv.csv", index=False)
        data = load("csv", path="priv.csv", target="outcome", unit="patient_id")
        assert ("priv.csv: each patient_id has one record" in " ".join(data.warnings)) is told


# -- schemas


def test_describe_proposes_what_a_run_takes(place, capsys):
    given = ["test.csv", "--target", "outcome", "--public", "--output", "s.yaml"]
    assert main(["data", "describe", *given]) == 0
    shown = capsys.readouterr().out
    for text in ("patient_id", "identifiers", "date", "A, B, C", "ill, well", "written to s.yaml"):
        assert text in shown
    text = Path("s.yaml").read_text().replace("high: 94.0", "high: 60.0").replace("[A, B, C]", "[A, B]")
    Path("s.yaml").write_text(text)
    assert run(*ONE, "dataset.unit=null", "dataset.schema=s.yaml", "eps=20")[0] == 0
    said = capsys.readouterr().err
    assert "schema (declared in s.yaml): 2 numbers (age 18 to 60," in said
    assert "'ward' has 'C', the first of" in said
    assert "cells in none of the schema's categories" in said
    data = load("csv", path="priv.csv", target="outcome", unit=None, schema="s.yaml")
    encoder = split(data, rng=np.random.default_rng(0)).encoder
    rows = pd.DataFrame({"admitted": 18_700.0, "age": [60.0, 99.0], "lab": [1.0, 1.0], "ward": ["A", "C"]})
    first, second = encoder.transform(rows).toarray()
    assert first[1] == second[1]  # clipped
    assert (first[3:].sum(), second[3:].sum()) == (1, 0)  # C is unseen


def test_describe_gives_the_reason_for_each_column_that_is_no_plain_number(place, capsys):
    rng = np.random.default_rng(0)
    n = 400
    lab = pd.Series(np.round(rng.normal(6, 2, n), 2).astype(str))
    table = pd.DataFrame(
        {
            "pid": [f"P{i % 200:05d}" for i in range(n)],
            "sample": [f"S-{i % 100:03d}" for i in range(n)],
            "lab": lab.mask(rng.random(n) < 0.25, "<5"),
            "dose": rng.choice(["1", "2", ">2"], n),
            "zip": rng.choice(["01067", "10115", "04109"], n),
            "case": rng.choice(10**6, n, replace=False),
            "serial": 3 * rng.permutation(n),
            "visit_no": 10**6 + 7919 * (rng.permutation(n) * 20 // 21),
            "salary": rng.integers(20_000, 150_000, n),
            "y": rng.choice(["no", "yes"], n),
        }
    )
    table.to_csv("f.csv", index=False, sep=";")
    given = ["f.csv", "--target", "y", "--public", "--output", "s.yaml"]
    assert main(["data", "describe", *given]) == 3  # whether pid names persons
    asked = " ".join(capsys.readouterr().out.split())
    assert "pid: 200 names in 400 records: does each name a person (--unit pid)? If not: --set pid" in asked
    assert main(["data", "describe", *given, "--unit", "pid"]) == 0
    assert "'lab': <5: bounds, read as their number" in capsys.readouterr().out
    columns = read_schema("s.yaml").columns
    found = {name: (c.kind, c.why) for name, c in columns.items()}
    assert found == {
        **dict.fromkeys(["sample", "case", "serial", "visit_no"], ("ignored", "identifiers")),
        **dict.fromkeys(["zip"], ("category", None)),
        **dict.fromkeys(["lab", "dose", "salary"], ("number", None)),
    }
    assert columns["zip"].levels == ["01067", "04109", "10115"]
    # a run takes the same from a public file, and every private cell counts for itself
    table.assign(lab=table["lab"].where(table.index > 0, "trace")).to_csv("mine.csv", index=False, sep=";")
    table.drop(columns="y").to_csv("pub.csv", index=False, sep=";")
    given = {"path": "mine.csv", "public": "pub.csv", "target": "y", "unit": None}
    with pytest.raises(DataError, match=r"mine.csv, line 2: column 'lab' has 'trace'; accepted: a number"):
        load("csv", **given)
    data = load("csv", **given, missing=["trace"])
    assert list(data.X) == ["lab", "dose", "zip", "salary"]
    assert set(data.X["zip"]) == {"01067", "04109", "10115"}
    assert np.isnan(data.X["lab"].iloc[0])


def test_one_cell_that_is_no_number(place, capsys):
    """`5?` among numbers once made a column one of categories, without a word; `<5` is a number."""
    table = people(3000, 3, patient_id="x").drop(columns="patient_id")
    table.loc[17, "lab"] = "<5"
    table.loc[1717, "lab"] = "5?"
    table.to_csv("lt.csv", index=False)
    given = ["dataset=csv", "dataset.path=lt.csv", "dataset.target=outcome", "eps=8"]
    said = ["lt.csv, line 1719: column 'lab' has '5?', no number; accepted: dataset.numeric=[lab]"]
    refused(capsys, *given, said=said)
    code, record = run(*given, *LINEAR, "teacher.size=100", "dataset.numeric=[lab]")
    assert code == 0
    assert record["accuracy"]["mean"] >= 0.96
    assert "line 1719: 'lab' has '5?', the first of 1 cells that are no numbers" in capsys.readouterr().err


@pytest.mark.parametrize("case", ["codes like numbers", "a decimal comma", "codes in a Parquet file"])
def test_a_cell_is_what_it_is_whatever_the_others_hold(tmp_path, monkeypatch, case):
    """All cells of a column said whether it was read as numbers: one record changed those of all others."""
    monkeypatch.chdir(tmp_path)
    given = {"target": "y", "classes": ["no", "yes"]}
    cells, another = ["01", "02", "1.0"] * 20, "x"
    if case == "codes like numbers":
        rows = [f"{i % 7},{cell},?\n" for i, cell in enumerate([*cells, *["x"] * 20])]
        Path("pub.csv").write_text("a,c,y\n" + "".join(rows))
        given["public"] = "pub.csv"
    elif case == "a decimal comma":
        cells, another = ["0,5", "1", "2,25"] * 20, "<5"
        given |= {"decimal": ",", "sep": ";", "numeric": ["c"]}
    else:
        pytest.importorskip("pyarrow")
        cells, another = [0.0, 1.0, 2.0] * 20, 0.5
        Path("s.yaml").write_text('columns: {a: {}, c: {kind: category, values: ["0", "1", "2"]}}')
        given["schema"] = "s.yaml"
    seen = []
    for last in (cells[-1], another):
        table = pd.DataFrame({"a": np.arange(60) % 7, "c": [*cells[:-1], last], "y": ["no", "yes"] * 30})
        if "schema" in given:
            table.to_parquet("p.parquet")
            data = load("parquet", path="p.parquet", **given)
        else:
            table.to_csv("p.csv", index=False, sep=given.get("sep", ","))
            data = load("csv", path="p.csv", **given)
        seen.append(data.X["c"][:-1].tolist())
    expected = {"codes like numbers": cells[:3], "a decimal comma": [0.5, 1.0, 2.25]}.get(case, list("012"))
    assert seen[0] == seen[1] == (expected * 20)[:-1]


def test_no_single_record_decides_between_numbers_and_categories(tmp_path):
    """Of few cells that are not missing one text among numbers once did, and a release said which it was."""

    def kind(n_numbers, n_texts):
        held = [*range(1, n_numbers + 1), *"xyz"[:n_texts], *["NA"] * (40 - n_numbers - n_texts)]
        lines = [f"{i},{cell},{['no', 'yes'][i % 2]}" for i, cell in enumerate(held)]
        (tmp_path / "f.csv").write_text("\n".join(["a,dose,y", *lines]))
        try:
            data = load("csv", path=str(tmp_path / "f.csv"), target="y", missing=["NA"])
        except DataError:
            return "stopped"
        return data.encoder.schema.columns["dose"].kind

    found = {(n, t): kind(n, t) for n in range(4) for t in range(4)}
    assert found[3, 0] in ("number", "stopped")
    for (n, t), one in found.items():
        for step in ((1, 0), (0, 1), (1, -1)):
            other = found.get((n + step[0], t + step[1]), one)
            assert len({one, other} - {"stopped"}) < 2, (n, t, step)


def test_a_missing_number_has_a_code_where_that_is_said(place, capsys):
    table = people()
    table["age"] = table["age"].astype(float).mask(table.index % 50 == 0, -999)
    table["lab"] = table["lab"].mask(table.index % 40 == 0, "")
    table.to_csv("gaps.csv", index=False)
    given = ["dataset=csv", "dataset.path=gaps.csv", "dataset.target=outcome", "dataset.unit=null"]
    said = ["gaps.csv: to decide: 'age': -999 (18 cells) stands apart from all others", "dataset.missing="]
    refused(capsys, *given, said=said)
    data = load("csv", path="gaps.csv", target="outcome", unit=None, missing=["", "-999"])
    assert np.isnan(data.X["age"]).sum() == 18
    parts = split(data, rng=np.random.default_rng(0), public=0.1)
    encoded = parts.encoder.transform(data.X).toarray()
    np.testing.assert_array_equal(encoded[:, 3], data.X["age"].isna())
    np.testing.assert_array_equal(encoded[:, 4], data.X["lab"].isna())
    assert (encoded[data.X["age"].isna().to_numpy(), 1] == 0).all()
    assert np.isfinite(encoded).all()


DRESSED = {
    "a decimal comma": ("{:.2f}", str.maketrans(".", ",")),
    "a unit": ("{:.2f} mg/l", {}),
    "thousands": ("{:,.2f}", {}),
}


@pytest.mark.parametrize("dress", DRESSED)
@pytest.mark.parametrize("public", [False, True])
def test_numbers_that_are_written_otherwise_are_numbers(place, dress, public):
    """Each was a category of its own, or an identifier, without a word: accuracy fell to the majority's."""
    form, changed_to = DRESSED[dress]
    for seed, name in enumerate(("priv.csv", "pub.csv")):
        table = people(200, seed, patient_id=[f"{name}{i}" for i in range(200)])
        lab = [form.format(1000 * float(cell)).translate(changed_to) for cell in table.lab]
        table.assign(lab=lab).to_csv(name, index=False, sep=";")
    data = load("csv", path="priv.csv", public="pub.csv" if public else None, target="outcome", unit=None)
    labs = 1000 * people(200, 0).lab.astype(float)
    np.testing.assert_allclose(data.X["lab"], labs)


def test_a_column_of_which_a_part_are_numbers_asks_in_words_for_the_shell(place, capsys):
    """One cell in five a word made 600 categories; what the message names can be typed as it stands."""
    table = people(600, patient_id=[f"Q{i}" for i in range(600)]).rename(columns={"lab": "CRP (mg/l)"})
    table["CRP (mg/l)"] = table["CRP (mg/l)"].mask(table.index % 5 == 3, "trace")
    table.to_csv("priv.csv", index=False)
    said = ["priv.csv: to decide: 'CRP (mg/l)': 80% of the cells are numbers", "'trace'"]
    shown = refused(capsys, *ONE, said=said)
    accepted = shown.partition("accepted: ")[2].partition(", or pate data")[0]
    words = [word for word in shlex.split(accepted) if "=" in word]
    assert len(words) == 3
    for word in words:
        assert main(["plan", *ONE, word.rstrip(",")]) == 0
    table["CRP (mg/l)"] = [f"{i % 9}-{i % 9 + 1}" for i in range(600)]  # ranges are categories
    table.to_csv("priv.csv", index=False)
    assert main(["plan", *ONE]) == 0


TABLE = people(120, 5, patient_id="x").drop(columns=["patient_id", "admitted"])
PLAIN, CUT = TABLE.to_csv(index=False), TABLE.to_csv(index=False, sep=";")
COMMAS = TABLE.assign(lab=TABLE.lab.str.replace(".", ",")).to_csv(index=False, sep=";")
FORMS = {
    "semicolon": (CUT.encode(), {}),
    "tab": (CUT.replace(";", "\t").encode(), {}),
    "utf-16": (PLAIN.encode("utf-16"), {}),
    "cp1252": (PLAIN.replace("A", "\u20ac").encode("cp1252"), {"encoding": "cp1252"}),
    "zip": (PLAIN.encode(), {}),
    "decimal commas": (COMMAS.encode(), {"decimal": ","}),
    "no header": (PLAIN.partition("\n")[2].encode(), {"header": False, "target": 4}),
    "quoted": (TABLE.to_csv(index=False, quoting=2).encode(), {}),
    "windows": (PLAIN.replace("\n", "\r\n").encode(), {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_csv(tmp_path, form):
    """Every form gives the records of the plain one."""
    content, options = FORMS[form]
    (tmp_path / "plain.csv").write_text(PLAIN)
    path = tmp_path / f"f.csv{'.zip' if form == 'zip' else ''}"
    path.write_bytes(content)
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner.csv", content)
            archive.writestr("__MACOSX/._inner.csv", b"\0")  # which macOS adds
    found = load("csv", path=path, **({"target": "outcome"} | options))
    plain = load("csv", path=tmp_path / "plain.csv", target="outcome")
    np.testing.assert_array_equal(found.y, plain.y)
    for ours, theirs in zip(found.X.columns, plain.X.columns, strict=True):
        if theirs == "ward":
            assert found.X[ours].cat.codes.nunique() == 3
        else:
            np.testing.assert_array_equal(found.X[ours], plain.X[theirs])


# -- bad input, as the issue lists it


BAD = {
    # file and its content (a table, bytes, or None for no file), and words of the one line
    "public file with other columns": (
        ("pub.csv", people(100).drop(columns=["lab", "outcome"])),
        "pub.csv: no column 'lab'; accepted: the columns of priv.csv, or dataset.drop=[...]",
    ),
    "test file of other classes": (
        ("test.csv", people(100, outcome=["well", "dead"] * 50)),
        "test.csv, line 3: the label 'dead' is none of the classes 'ill', 'well'; dataset.classes=[...]",
    ),
    "one unit": (
        ("priv.csv", people(100, patient_id="P1")),
        "priv.csv: 'patient_id' (dataset.unit) is 'P1' in all records; two are needed",
    ),
    "unit with a cell that says missing": (
        ("priv.csv", people(100, patient_id=["P1", "P2", "P3", "NA"] * 25)),
        "priv.csv, line 5: dataset.unit 'patient_id' has 'NA'; accepted: a text or a number in each record",
    ),
    "a private cell that the public column does not take": (
        ("priv.csv", people(100, lab=["1", "2", "3", "trace"] * 25)),
        "priv.csv, line 5: column 'lab' has 'trace'; accepted: a number, or dataset.missing=[trace]",
    ),
    "a spreadsheet": (
        ("priv.csv", b"PK\x03\x04" + bytes(99)),
        "priv.csv: a spreadsheet, to be saved as CSV, or an archive (then its name ends in .zip); accepted",
    ),
    "bounds upside down": (
        ("s.yaml", b"columns: {lab: {kind: numeric, low: 9, high: 1}}"),
        "s.yaml: columns.lab.low, high: got [9.0, 1.0]; accepted: two numbers, the lower one first",
    ),
    "a bound that YAML reads as 10": (
        ("s.yaml", b"columns: {lab: {kind: numeric, low: 1_0, high: 20}}"),
        "s.yaml: columns.lab.low: got '1_0'; accepted: null, or a number",
    ),
    "schema for another file": (
        ("s.yaml", b"columns: {height: {kind: numeric}}"),
        "priv.csv: no column 'height', which the schema has (declared in s.yaml)",
    ),
    "schema that is no YAML": (("s.yaml", b"columns: [1"), "s.yaml, line 1: not YAML"),
}


@pytest.mark.parametrize("word", ["True", "null", "inf", "${x}", "a\\b", "\\", 'a"b', "it's", "\\${x}", "é,"])
def test_a_word_is_an_option_as_typed(word):
    (option,) = shlex.split(typed("missing", word))
    assert compose(["dataset=csv", option])["dataset"]["missing"] == [word]


@pytest.mark.parametrize("name", BAD)
def test_bad_files(place, capsys, name):
    (file, content), said = BAD[name]
    if content is None:
        Path(file).unlink()
    elif isinstance(content, bytes):
        Path(file).write_bytes(content)
    else:
        content.to_csv(file, index=False)
    schema = ["dataset.schema=s.yaml"] if file == "s.yaml" else []
    refused(capsys, *THREE, "dataset.unit=patient_id", *schema, said=[said])


COLUMNS = "columns of priv.csv: admitted, age, lab, ward"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("dataset.public=priv.csv", "dataset.public: got 'priv.csv'; accepted: a file of other records"),
        ("dataset.test=priv.csv", "dataset.test: got 'priv.csv'; accepted: a file of other records"),
        (
            "dataset.unit=auto",
            "accepted: patient_id, to protect all records of one together, or null, to protect each record",
        ),
        ("dataset.unit=patient", "dataset.unit: got 'patient'; accepted: a column of priv.csv: patient_id"),
        ("dataset.numeric=[patient_id]", f"dataset.numeric: got 'patient_id'; accepted: {COLUMNS}"),
        ("dataset.drop=[wart]", f"dataset.drop: got 'wart'; accepted: {COLUMNS}"),
        (
            "dataset.categories=[ward,age] dataset.numeric=[age]",
            "dataset.categories: got 'age'; accepted: columns that are not in dataset.numeric",
        ),
        (
            "split.private=301",
            "split.private: got 301; accepted: at most 300 of the 300 persons (patient_id) in the",
        ),
        ("split.mode=label_private", "split.mode: got 'label_private'; accepted: records with dataset.unit"),
        ("dataset.sep=,", "dataset.sep=,: cannot be read (nothing next to a comma); accepted: 'dataset.sep="),
        ("dataset.decimal=comma", "dataset.decimal: got 'comma'; accepted: null, or ., or a comma: '"),
    ],
)
def test_bad_options(place, capsys, given, said):
    refused(capsys, *THREE, "dataset.unit=patient_id", *given.split(), said=[said])


@pytest.mark.parametrize("label", [None, "unknown", "ill"])
def test_labels_of_a_public_file_are_for_measuring_and_one_on_all_points_is_a_placeholder(
    place, capsys, label
):
    people(200, 1, **({"outcome": label} if label else {})).to_csv("pub.csv", index=False)
    code, record = run(*THREE, "dataset.unit=patient_id", "eps=8", "teacher.size=10")
    assert code == 0
    shown = capsys.readouterr().err
    assert (record["diagnostics"]["label_accuracy"] is None) is (label is not None)
    if label is None:
        assert "pub.csv: its labels (outcome) are for measuring alone" in shown
    else:
        assert "pub.csv: one label (outcome) on all records, taken for a placeholder" in shown
        # the classes are then the private file's
        refused(capsys, *THREE, "dataset.unit=patient_id", "release=true", said=["dataset.classes"])


def test_many_classes_and_rare_ones_are_told(place):
    many, rare = [f"c{i % 60}" for i in range(3600)], ["rare"] * 3 + ["ill", "well", "well"] * 299
    for outcome, n_teachers, said in (
        (many, 150, "60 classes: votes are spread over them"),
        (many, 150, "class 'c0' has 60 of 3,600 records, so most of the 150 teachers never see it"),
        (rare, 0, "class 'rare' has 3 of 900 records: too few to be told from noise"),
    ):
        people(len(outcome), outcome=outcome).to_csv("priv.csv", index=False)
        data = load("csv", path="priv.csv", target="outcome", unit=None)
        assert said in " ".join(warnings_of(data, n_teachers, 100))


@pytest.mark.parametrize("file", [True, False])
def test_few_test_records_are_told(place, capsys, file):
    people(99, 2).to_csv("test.csv", index=False)
    given = THREE if file else [*ONE, "split.private=741"]
    assert run(*given, "dataset.unit=null", "eps=8")[0] == 0
    said = f"99 test records ({'dataset.test' if file else 'split.private, split.public'}): the accuracy"
    assert said in capsys.readouterr().err
    data = load("csv", path="priv.csv", target="outcome", unit=None)
    assert "test records" not in " ".join(warnings_of(data, 0, 100))


ROW_NAMES = ["", "Unnamed: 0", "Unnamed: 0.1", "__index_level_0__", "index", "level_0", "...1", "row.names"]


@pytest.mark.parametrize("name", ROW_NAMES)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "shards"])
def test_row_names_are_not_learned_from(tmp_path, capsys, name, kind):
    """Of a sorted table the number of a row says the class: an accuracy of .98 for .74."""
    pytest.importorskip("pyarrow")
    table = people().drop(columns=["patient_id", "admitted", "ward"]).astype({"lab": float})
    table = table.sort_values("outcome", ignore_index=True)
    table.insert(0, name, table.index)
    (tmp_path / "d").mkdir()
    path = tmp_path / ("d/f.parquet" if kind == "shards" else f"f.{kind}")
    if kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    data = load(kind, path=path.parent if kind == "shards" else path, target="outcome")
    assert data.n_features == 2
    assert f"not used {name or repr(name)}: row names" in " ".join(data.warnings)
    if kind != "shards":
        assert list(data.X) == ["age", "lab"]
        assert main(["data", "describe", str(path), "--target", "outcome"]) == 0
        assert "row names" in capsys.readouterr().out


@pytest.mark.parametrize("index", [None, "place", "age"])
def test_the_index_of_a_parquet_table_is_no_feature(tmp_path, index):
    """Its metadata names it, whatever it is called; a file of another writer may lack it."""
    pytest.importorskip("pyarrow")
    mine, folder, pub = tmp_path / "mine.parquet", tmp_path / "d", tmp_path / "pub.parquet"
    table = people().drop(columns=["patient_id", "admitted", "ward"]).astype({"lab": float})
    table = table.assign(place=table.index % 7 * 2.0).sort_values("outcome")
    table = table.drop(columns="place") if index is None else table.set_index(index)
    folder.mkdir()
    for path in (mine, folder / "f.parquet"):
        table.to_parquet(path)
    features = [name for name in ("age", "lab", "place") if name in table]
    assert list(load("parquet", path=mine, target="outcome").X) == features
    assert load("shards", path=folder, target="outcome").n_features == len(features)
    table.reset_index(drop=True).to_parquet(pub)
    assert list(load("parquet", path=mine, public=pub, target="outcome").X) == features
    if index is not None:
        assert index in load("parquet", path=mine, target="outcome", numeric=[index]).X
    if index == "age":
        assert load("parquet", path=mine, target="outcome", unit="age").person_column == "age"


def test_case_numbers_of_the_one_file_are_told(tmp_path):
    """`pate data describe` leaves them out; a run with one file says so, as no record may decide it."""
    table = (
        people().drop(columns=["patient_id", "admitted"]).assign(case=np.random.default_rng(0).permutation(N))
    )
    table.to_csv(tmp_path / "f.csv", index=False)
    data = load("csv", path=tmp_path / "f.csv", target="outcome")
    assert "not used case: identifiers" in " ".join(data.warnings)  # by name and cells
    table.rename(columns={"case": "serial"}).to_csv(tmp_path / "f.csv", index=False)
    data = load("csv", path=tmp_path / "f.csv", target="outcome")
    assert "'serial': used, though there is hardly anything to learn" in " ".join(data.warnings)
    chosen = load("csv", path=tmp_path / "f.csv", target="outcome", numeric=["serial"])
    assert "hardly" not in " ".join(chosen.warnings)


def test_an_ending_in_capitals_is_one(tmp_path):
    with gzip.open(tmp_path / "F.CSV.GZ", "wt") as file:
        people().to_csv(file, index=False)
    assert load("csv", path=tmp_path / "F.CSV.GZ", target="outcome", unit=None).n_records == N


@pytest.mark.parametrize("odd", [{"hiv": 1}, {"a": 0.5}, {"a": "x"}], ids=repr)
def test_no_key_within_a_cell_of_one_record_is_in_a_schema(tmp_path, odd):
    """The type of a nested column was: it names each key of each record, and its type."""
    pytest.importorskip("pyarrow")
    table, told = people(200, patient_id="x"), []
    for first in ({"a": 1}, odd):
        cells = [first, *[{"a": None}] * 199]
        table.assign(scan=cells, more=[[cell] for cell in cells]).to_parquet(tmp_path / "n.parquet")
        out = tmp_path / f"{len(told)}.yaml"
        argv = [
            "data",
            "describe",
            str(tmp_path / "n.parquet"),
            "--target",
            "outcome",
            "--unit",
            "patient_id",
        ]
        assert main([*argv, "--output", str(out)]) == 0
        told.append(out.read_text())
    assert told[0] == told[1]
    assert "scan: {kind: ignored, why: holds lists or objects}" in told[0]


def test_a_parquet_file_of_nested_columns_is_refused(place, capsys):
    pytest.importorskip("pyarrow")
    table = people(200, patient_id="x").assign(scan=[[1, 2]] * 200)
    table.to_parquet("n.parquet")
    table.drop(columns="outcome").assign(patient_id="y").to_parquet("pub.parquet")
    given = ["dataset=parquet", "dataset.path=n.parquet", "dataset.target=outcome", "teacher.size=20"]
    given += ["dataset.unit=null"]
    said = [
        "n.parquet: column 'scan' holds lists or objects",
        "accepted: numbers, texts, dates",
        "dataset.drop=[scan]",
    ]
    for more in ([], ["dataset.public=pub.parquet"]):
        refused(capsys, *given, *more, said=said)
        assert main(["plan", *given, *more, "dataset.drop=[scan]"]) == 0
        capsys.readouterr()  # it warns of few teachers
    assert main(["data", "describe", "pub.parquet", "--output", "s.yaml"]) == 0
    assert main(["plan", *given, "dataset.schema=s.yaml"]) == 0
    Path("x.parquet").write_bytes(b"PAR1")
    capsys.readouterr()  # the plans warn of few teachers
    refused(capsys, *given, "dataset.path=x.parquet", said=["x.parquet: not a Parquet file"])


def test_texts_of_a_parquet_file_are_its_cells_whatever_counts_them(tmp_path):
    """Each group of rows has a list of texts of its own; a list may be counted in unsigned bytes."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    from pate_cli.datasets.parquet import read

    cells = {"plain": [*"xyxzx", None, *"zzyw"], "listed": [None, *(str(i % 3 + 197) for i in range(9))]}
    at = pa.array([None if cell is None else int(cell) for cell in cells["listed"]], pa.uint8())
    listed = pa.DictionaryArray.from_arrays(at, [str(i) for i in range(200)])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array(cells["plain"]), listed], names=list(cells)), path, row_group_size=3)
    frame = read(path).frame
    for name, expected in cells.items():
        wanted = ["" if cell is None else cell for cell in expected]
        assert frame[name].tolist() == wanted
        assert sorted(frame[name].cat.categories) == sorted(set(wanted))


BOUNDED = """\
columns:
  age: {kind: numeric, low: 18, high: 95}
  lab: {kind: numeric, low: 0, high: 12, missing: true}
  ward: {kind: category, values: [A, B]}
"""
MADE = ["dataset=csv", "dataset.path=priv.csv", "dataset.target=outcome", "dataset.schema=own.yaml"]
MADE += ["dataset.unit=patient_id", "teacher.size=30", "generate.points=60", *LINEAR]


@pytest.mark.parametrize("kind", ["ranges", "marginals"])
def test_points_that_are_made_of_a_schema(kind, place, capsys):
    Path("own.yaml").write_text(BOUNDED)
    argv = [*MADE, f"dataset.public={kind}", "eps=8"]
    assert main(["run", "-m", *argv, "mechanism=gaussian,svt", "hydra.sweep.dir=sweep"]) == 0
    record = json.loads(Path("sweep/0/result.json").read_text())
    assert json.loads(Path("sweep/1/result.json").read_text())["status"] == "ok"
    assert record["sizes"]["n_public"] == 60
    assert record["eps"] == 8
    assert ("marginals_sigma" in record["plan"]) == (kind == "marginals")
    assert main(["plan", *argv, "--explain"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert {"ranges": "made of declared ranges", "marginals": "noise of marginals"}[kind] in shown


def test_points_that_are_made_need_declared_columns(place, capsys):
    made, noisy = [*MADE, "dataset.public=ranges"], [*MADE, "dataset.public=marginals"]
    Path("own.yaml").write_text(BOUNDED.replace("low: 18, high: 95", "low: null, high: null"))
    refused(capsys, *made, said=["dataset.schema: got 'none for age'", "low and high"])
    Path("own.yaml").write_text(BOUNDED.replace(", values: [A, B]", ""))
    refused(capsys, *noisy, said=["dataset.schema: got 'none for ward'"])
    Path("own.yaml").write_text(BOUNDED)
    argv = [text for text in noisy if "schema" not in text]
    refused(capsys, *argv, said=["dataset.schema: got None; accepted: a file that declares the columns"])
    refused(capsys, *made, "split.public=0.1", said=["split.public: got 0.1", "generate.points"])
    refused(capsys, *noisy, "generate.share=1", said=["generate.share: got 1"])
    arrays = ["dataset=npz", "dataset.path=x.npz", "dataset.public=ranges"]
    refused(capsys, *arrays, said=["dataset.public: got 'ranges'", "dataset=csv, jsonl or parquet"])


def test_a_target_that_is_a_number_is_described_in_few_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # its name may have any number in it
    lines = [f"{i % 7},{i / 8}" for i in range(600)]
    Path("prices.csv").write_text("\n".join(["a,price", *lines]))
    assert main(["data", "describe", "prices.csv", "--target", "price"]) == 2
    said = capsys.readouterr()
    assert "600 different labels on 600 records, at most 50 are accepted" in said.err
    assert "599" not in said.out + said.err
