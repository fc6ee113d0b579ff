"""A label is the text in the file: two are never taken for one. Two names that may be one person are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pate_cli import PateClassifier
from pate_cli.cli import main
from pate_cli.datasets import frames, load
from pate_cli.datasets.labels import number_in
from pate_cli.errors import ConfigError, DataError

pytest.importorskip("pyarrow")

KINDS = ("csv", "jsonl", "parquet", "npz", "libsvm", "shards of parquet", "shards of libsvm")
BIG = [str(2**60 + 1), str(2**60 + 3)]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(kind, name, labels, n=40):
    """Write `n` records whose labels take turns, in one column of x; returns the options that read them."""
    labels = [labels[i % len(labels)] for i in range(n)]
    if kind.startswith("shards"):
        kind = kind.removeprefix("shards of ")
        Path(name).mkdir()
        for k in range(2):
            one(kind, f"{name}/{k}.{kind}", labels[k * n // 2 : (k + 1) * n // 2])
        more = {"target": "y"} if kind == "parquet" else {"n_features": 1}
        return "shards", {"path": name, **more}
    one(kind, name, labels)
    return kind, {"path": name, **({"target": "y"} if kind in ("csv", "jsonl", "parquet") else {})}


def one(kind, path, labels):
    table = pd.DataFrame({"x": np.arange(len(labels)) % 7 + 0.5, "y": labels})
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        table.to_parquet(path)
    elif kind == "npz":
        with Path(path).open("wb") as file:
            np.savez(file, X=table[["x"]], y=np.array(labels))
    else:
        Path(path).write_text("".join(f"{y} 1:{x}\n" for x, y in zip(table.x, labels, strict=True)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", [True, False])
def test_whole_numbers_of_many_digits_are_different_classes(kind, numbers):
    """They were read as floats, in which 2^60 + 1 and 2^60 + 3 are one number."""
    labels = [int(text) for text in BIG] if numbers else BIG
    name, given = write(kind, "f", labels)
    data = load(name, **given)
    assert data.classes == tuple(BIG)
    assert data.y.tolist() == [0, 1] * 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", [("2.1", "2.10"), ("1", "1.0"), ("+1", "1"), ("01", "1"), ("1e1", "10")])
def test_two_texts_of_one_number_are_refused_with_both(kind, pair):
    name, given = write(kind, "f", [pair[0]] * 30 + [pair[1]] * 5 + ["7"] * 5)
    with pytest.raises(DataError) as caught:
        load(name, **given)
    said = str(caught.value)
    assert f"is {pair[1]!r}, and {pair[0]!r} in f" in said
    assert said.count(", line ") + said.count(", row ") + said.count(", record ") == 2
    assert "accepted: one way of writing it" in said


ALIKE = [
    ("yes", "yes ", "yes "),
    ("caf\u00e9", "cafe\u0301", r"cafe\u0301"),
    ("7", "\uff17", "\uff17"),
    ("7", "\u0667", "\u0667"),
    ("A 1", "A\u00a01", r"A\xa01"),
    ("A 1", "A  1", r"A \x201"),
    ("A1", "A\u200b1", r"A\u200b1"),
    ("A1", "A1\x07", r"A1\x07"),
    ("Co-op", "Co\u2011op", r"Co\u2011op"),
    ("Coop", "Co\xadop", r"Co\xadop"),
    ("\u00e9t\u00e9", "e\u200d\u0301t\u00e9", r"e\u200d\u0301té"),
    ("O'Neil", "O\u2019Neil", r"O\u2019Neil"),
    ("A1", "A1\ufe0f", r"A1\ufe0f"),
    ("A1", "A1\u3164", r"A1\u3164"),
    ("A1", "A\U000e01001", r"A\U000e01001"),
]
"""Two texts that read alike, and how the message shows the second."""


@pytest.mark.parametrize(
    ("kind", "case"),
    [("csv", case) for case in ALIKE]
    + [(kind, ALIKE[5]) for kind in ("jsonl", "parquet", "npz", "shards of parquet")],
    ids=ascii,
)
def test_two_texts_that_read_alike_are_refused_with_both(kind, case):
    name, given = write(kind, "f", [*case[:2], "no"])
    with pytest.raises(DataError, match="accepted: one way of writing it") as caught:
        load(name, **given)
    assert f"{case[2]}'" in str(caught.value) or f'{case[2]}"' in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz", "shards of parquet"])
def test_where_classes_are_known_each_label_is_judged_by_itself(kind):
    """One label with a blank behind it was accepted, if all others had it too, and else refused."""
    for number, labels in enumerate((["no", "yes "], ["no", "yes ", "no", "yes"], ["no", "yes"])):
        name, given = write(kind, f"f{number}", labels)
        assert load(name, **given, classes=["no", "yes"]).y.tolist() == [0, 1] * 20
    for number, labels in enumerate((["no", "A\xa01"], ["no", "A\xa01", "no", "A 1"])):
        name, given = write(kind, f"g{number}", labels)
        with pytest.raises(DataError, match=r"is none of the classes 'no', 'A 1'"):
            load(name, **given, classes=["no", "A 1"])


def test_declared_classes_that_differ_in_capitals_are_two():
    """All records of the first one had the second."""
    Path("s.yaml").write_text(
        "version: 2\ntarget: y\nclasses: ['yes', 'Yes']\nunit: null\ncolumns: {x: {kind: number}}"
    )
    name, given = write("csv", "f", ["yes", "Yes", "YES"])
    assert load(name, **given, schema="s.yaml").y.tolist()[:3] == [0, 1, 1]


@pytest.mark.parametrize("case", ALIKE, ids=ascii)
def test_one_person_or_label_in_two_characters_that_nobody_sees(case):
    """In Python: 400 persons were counted as 800."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(40, 2)), [*map(str, range(20, 38)), *case[:2]] * 2
    assert frames.persons(groups, warn=False).max() == 18  # of 19 persons
    with pytest.warns(UserWarning, match=r"^groups: .* are one person"):
        frames.persons(groups)
    with pytest.raises(ValueError, match=r"^y, row .* accepted: one way of writing it"):
        PateClassifier(public_share=0.5).fit(X, np.array(["no", *case[:2], "no"] * 10))


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("Yes", "yes"), "'Yes' and 'yes' differ in capitals alone"),
        (("PETROV", "\u0420ETROV"), r"'PETROV' and '\u0420ETROV' differ in alphabet alone"),
        (("Tau", "\u03a4au"), r"'Tau' and '\u03a4au' differ in alphabet alone"),
    ],
)
def test_labels_and_persons_that_look_alike_are_two_and_said(pair, said):
    labels, who = ["no", *pair, "no"] * 10, [*map(str, range(18)), *pair] * 2
    for kind in KINDS[:4]:
        name, given = write(kind, kind, labels)
        data = load(name, **given)
        assert set(data.classes) == {"no", *pair}
        assert f"the labels {said}; if they are one class, write them in one way" in data.warnings
        assert data.public_warnings == data.warnings[:-1]  # of private labels: not in a release
        assert load(name, **given, classes=["no", *pair]).public_warnings[-1] == data.warnings[-1]
    pd.DataFrame({"who": who, "x": np.arange(40), "y": ["a", "b"] * 20}).to_csv("f", index=False)
    data = load("csv", path="f", target="y", unit="who")
    assert data.n_persons == 20
    assert any(f"who {said}; if they are one person" in warning for warning in data.warnings)
    assert not any(said in warning for warning in data.public_warnings)


def test_a_cell_that_reads_as_a_declared_category_is_that_category():
    cells = ["red", "red\u200b", "Red", "red  1", "1.0", "1", "\u200b"]
    schema = "columns:\n  c: {kind: category, values: [red, '1'], missing: true}\n"
    Path("s.yaml").write_text(schema)
    pd.DataFrame({"c": cells * 6, "y": ["a", "b"] * 21}).to_csv("f", index=False)
    read = load("csv", path="f", target="y", schema="s.yaml").X["c"].astype(str).tolist()[:7]
    assert read == ["red", "red", "red", "red 1", "1", "1", ""]


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_written_otherwise_in_another_file_is_refused(kind):
    name, given = write(kind, "f", ["1", "2"])
    _, test = write(kind.removeprefix("shards of "), "t", ["1", "2.0"])
    with pytest.raises(DataError, match=r"the label '2\.0' is none of the classes '1', '2'.* is not '2'"):
        load(name, **given, test=test["path"])


@pytest.mark.parametrize("kind", KINDS)
def test_declared_classes_are_labels_as_they_stand(kind):
    """01 and 02 were taken for 1 and 2, which are in no file, so such data could not be released."""
    classes = ["02", "01", "03" if "libsvm" in kind else "X"]
    name, given = write(kind, "f", classes)
    data = load(name, **given, classes=classes)
    assert data.classes == tuple(classes)
    assert data.y.tolist() == [i % 3 for i in range(40)]
    with pytest.raises(DataError, match=r"the label '02' is none of the classes '1', '2', '3'; .*in quotes"):
        load(name, **given, classes=["1", "2", "3"])
    with pytest.raises(ConfigError, match=r"^dataset\.classes: got .* all different, as numbers too"):
        load(name, **given, classes=["2.1", "2.10"])


def test_numbers_of_several_types_are_the_same_classes_in_shards():
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    Path("f").mkdir()
    for k, kind in enumerate([pa.int64(), pa.float64(), pa.float32(), pa.uint8(), pa.decimal128(10, 2)]):
        y = pa.array([10, 0] * 10).cast(pa.decimal128(21, 0) if k == 4 else kind).cast(kind)
        pq.write_table(pa.table({"x": np.arange(20.0) % 7, "y": y}), f"f/{k}.parquet")
    data = load("shards", path="f", target="y")
    assert data.classes == ("0", "10")
    assert data.y.tolist() == [1, 0] * 50
    one("parquet", "f/9.parquet", ["0.0", "10"])  # texts, in which 0.0 is not 0
    with pytest.raises(
        DataError, match=r"9\.parquet, record 1: the label is '0\.0', and '0' in f/0\.parquet, record 2"
    ):
        load("shards", path="f", target="y")


@pytest.mark.parametrize(
    ("kind", "labels"), [("csv", ["01", "+2"]), ("parquet", BIG), ("libsvm", ["+1", BIG[1]])]
)
def test_predict_writes_labels_as_they_stand(kind, labels, capsys):
    name, given = write(kind, "f.parquet" if kind == "parquet" else "f", labels, 400)
    given = [f"dataset.{key}={value}" for key, value in given.items()]
    argv = ["run", f"dataset={name}", *given, "split.private=200", "split.public=100", "eps=inf"]
    assert main([*argv, "features=none", "student=logistic", "hydra.run.dir=out"]) == 0
    capsys.readouterr()
    new = given[0].partition("=")[2]
    assert main(["predict", "out/student.skops", new]) == 0
    out, err = capsys.readouterr()
    assert set(out.split()) <= set(labels)
    assert err.startswith("accuracy ")
    # another way of writing a label is no label of another class
    other = "1" if kind == "csv" else "1.0"
    write(kind, new, [other if label == labels[0] and kind != "parquet" else label for label in labels])
    assert main(["predict", "out/student.skops", new]) == 0
    err = capsys.readouterr().err
    said = f"no accuracy: the label {other!r} is {labels[0]!r} in the training"
    assert said in err if kind != "parquet" else err.startswith("accuracy ")


def test_predict_counts_no_label_as_wrong_that_differs_in_capitals_alone(capsys):
    write("csv", "f", ["no", "yes"], 400)
    given = ["dataset=csv", "dataset.path=f", "dataset.target=y", "split.private=200", "split.public=100"]
    assert main(["run", *given, "eps=inf", "features=none", "student=logistic", "hydra.run.dir=out"]) == 0
    write("csv", "f", ["NO", "yes"], 400)
    capsys.readouterr()
    assert main(["predict", "out/student.skops", "f"]) == 0
    assert "no accuracy: the label 'NO' is 'no' in the training" in capsys.readouterr().err


def test_records_without_a_label_do_not_count_as_wrong(capsys):
    _, given = write("csv", "f", ["a", "b"], 400)
    given = [f"dataset.{key}={value}" for key, value in given.items()]
    given += ["split.public=100", "split.private=200", "features=none", "student=logistic"]
    assert main(["run", "dataset=csv", *given, "eps=inf", "hydra.run.dir=out"]) == 0
    capsys.readouterr()
    assert main(["predict", "out/student.skops", "f"]) == 0
    labels = capsys.readouterr().out.split()
    one("csv", "new", ["a", "b"] * 20)
    table = pd.read_csv("new")
    table["y"] = labels[:30] + [None] * 10
    table.to_csv("new", index=False)
    assert main(["predict", "out/student.skops", "new"]) == 0
    assert "(30 of 30 records)" in capsys.readouterr().err


# -- persons


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "pair",
    [("7", "7.0"), ("07", "7"), ("Q1", "Q1 "), ("Q1", "Q1\u200b"), ("true", "1"), ("0", "FALSE")],
)
def test_one_person_under_two_names_is_one_and_said(kind, pair):
    """A merge makes 7.0 of 7: two persons were counted, so eps covered half a person."""
    persons = ["8", "9", pair[0], "10", pair[1]] * 4
    table = pd.DataFrame({"who": persons, "x": np.arange(20), "y": ["a", "b"] * 10})
    table.to_csv("f", index=False) if kind == "csv" else table.to_parquet("f")
    data = load(kind, path="f", target="y", unit="who")
    assert data.n_persons == 4
    said = "f: who {!r} and {!r} are one person, as they are equal or read alike"
    shown = {text.replace("\\\\", "\\") for text in data.warnings}
    assert {said.format(*pair), said.format(*pair[::-1])} & shown
    assert not any("differ in" in text for text in shown)
    assert not any("one person" in text for text in data.public_warnings)


def test_persons_of_many_digits_are_different():
    table = pd.DataFrame({"who": [2**60 + i for i in range(20)], "x": np.arange(20), "y": ["a", "b"] * 10})
    table.to_csv("f", index=False)
    table.to_parquet("g")
    for kind, path in (("csv", "f"), ("parquet", "g")):
        assert load(kind, path=path, target="y", unit="who").n_persons == 20


# -- numbers


def test_a_number_is_a_decimal_number():
    for text, number in {"1": 1, "+1.5": 1.5, "-.5e3": -500, "5.": 5, "1E-2": 0.01, "007": 7}.items():
        assert number_in(text) == number
    for text in [
        "1_0",
        "inf",
        "nan",
        "Infinity",
        "\u0661",
        "\uff11",
        " 1",
        "1 ",
        "0x1",
        "1e",
        ".",
        "",
        "1,5",
        "--1",
    ]:
        assert number_in(text) is None


@pytest.mark.parametrize("cell", ["1_0.5", "inf", "0x1", "1e"])
def test_a_cell_that_only_python_takes_for_a_number_is_a_text(cell):
    rows = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(40))
    for more in ("", "trace,a\n"):  # whatever the others hold
        Path("f").write_text(f"x,y\n{rows}{more}{cell},a\n")
        values = load("csv", path="f", target="y", numeric=["x"]).X["x"]
        assert values.isna().sum() == 1 + bool(more)
        assert values.iloc[:40].tolist() == [i % 7 for i in range(40)]


def test_more_classes_than_the_root_of_the_records_are_refused():
    """A price as the target ran for minutes, with a class for each, and was killed for memory."""
    for kind in KINDS:
        name, given = write(kind, kind[-9:], list(range(60)), 3_600)
        assert len(load(name, **given).classes) == 60
        name, given = write(kind, kind[-9:] + "2", list(range(61)), 3_600)
        with pytest.raises(
            DataError, match=r"61 different labels on 3,600 records, at most 60 are"
        ) as caught:
            load(name, **given)
        assert ("(dataset.target)" in str(caught.value)) is ("target" in given)
        with pytest.raises(ConfigError, match=r"dataset\.classes: got '61 labels'; accepted: at most 60"):
            load(name, **given, classes=list(range(61)))


def test_names_in_hexadecimal_digits_are_no_numbers():
    table = pd.DataFrame({"who": ["0e12", "0e34", "12e99999999999999999999"] * 4, "x": range(12)})
    table.assign(y=["a", "b"] * 6).to_csv("f", index=False)
    assert load("csv", path="f", target="y", unit="who").n_persons == 3
    assert load("csv", path="f", target="who", unit="y").classes == (
        "0e12",
        "0e34",
        "12e99999999999999999999",
    )


def test_each_group_needs_a_name():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="'nan'"):
        PateClassifier().fit(X, X[:, 0] > 0, X, groups=[1.0, np.nan] * 20)
