from __future__ import annotations

import bz2
import lzma

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.naive_bayes import GaussianNB

from pate_cli.cli import main
from pate_cli.datasets import load
from pate_cli.learners import make_learner
from pate_cli.students import save_student


@pytest.fixture
def numbers():
    X = np.random.default_rng(0).normal(size=(50, 4))
    return X, (X[:, 0] > 0).astype(np.int64)


@pytest.fixture
def model(tmp_path, numbers):
    X, y = numbers
    student = make_learner("tree", {}, seed=0, n_classes=2).fit(sp.csr_matrix(X), y)
    path = tmp_path / "student.skops"
    save_student(path, student, classes=("-1", "1"), n_features=4, encoder=None, meta={})
    return path


def write(path, X, labels):
    dump_svmlight_file(X, labels, str(path), zero_based=False)
    return path


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 80), "job": rng.choice(["a", "b", "[c]"], 80)})
    frame["pay"] = np.where((frame.age > 40) | (frame.job == "[c]"), ">50K", "<=50K")
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path, frame


@pytest.fixture
def table_model(tmp_path, table):
    dataset = load("csv", path=str(table[0]), target="pay")
    encoder = dataset.encoder.fit(dataset.X)
    student = make_learner("tree", {}, seed=0, n_classes=2).fit(encoder.transform(dataset.X), dataset.y)
    path = tmp_path / "student.skops"
    save_student(
        path, student, classes=dataset.classes, n_features=dataset.n_features, encoder=encoder, meta={}
    )
    return path


def test_labels_to_stdout_accuracy_to_stderr(model, numbers, tmp_path, capsys):
    X, y = numbers
    wrong = y.copy()
    wrong[:5] = 1 - wrong[:5]
    assert main(["predict", str(model), str(write(tmp_path / "d", X, np.where(wrong == 1, 1, -1)))]) == 0
    said = capsys.readouterr()
    assert said.out.split("\n") == [*np.where(y == 1, "1", "-1"), ""]
    assert said.err == "accuracy 0.9000 (45 of 50 records)\n"


@pytest.mark.parametrize(("suffix", "pack"), [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_compressed_data_and_a_file_for_the_labels(suffix, pack, model, numbers, tmp_path, capsys):
    X, y = numbers
    plain = write(tmp_path / "d", X, np.where(y == 1, 1, -1))
    packed = tmp_path / f"d{suffix}"
    packed.write_bytes(pack(plain.read_bytes()))
    output = tmp_path / "labels.txt"
    assert main(["predict", str(model), str(packed), "--output", str(output)]) == 0
    assert output.read_text().splitlines() == [str(2 * code - 1) for code in y]
    assert capsys.readouterr().out == ""


def test_placeholder_labels_give_no_accuracy(model, numbers, tmp_path, capsys):
    X, _ = numbers
    assert main(["predict", str(model), str(write(tmp_path / "d", X, np.zeros(50)))]) == 0
    assert capsys.readouterr().err == ""


def test_fewer_features_are_zeros(model, numbers, tmp_path, capsys):
    X, y = numbers
    write(tmp_path / "d", X[:, :1], y)
    assert main(["predict", str(model), str(tmp_path / "d")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 50


def test_a_student_that_takes_no_sparse_rows(numbers, tmp_path, capsys):
    X, y = numbers
    student = GaussianNB().fit(X, y)
    save_student(tmp_path / "s", student, classes=("0", "1"), n_features=4, encoder=None, meta={})
    assert main(["predict", str(tmp_path / "s"), str(write(tmp_path / "d", X, y))]) == 0
    assert capsys.readouterr().out.splitlines() == student.predict(X).astype(str).tolist()


def test_a_table(table, table_model, tmp_path, capsys):
    _, frame = table
    # columns in another order, the label column among them or not, an unseen job, digits where text was
    shuffled = tmp_path / "new.csv"
    frame[["pay", "job", "age"]].to_csv(shuffled, index=False)
    assert main(["predict", str(table_model), str(shuffled), "--target", "pay"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == frame.pay.tolist()
    assert said.err == "accuracy 1.0000 (80 of 80 records)\n"
    bare = tmp_path / "bare.csv"
    bare.write_text("job;age\n7;30\n8;50\n")
    assert main(["predict", str(table_model), str(bare), "--sep", ";"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["<=50K", ">50K"]
    assert said.err == ""


def fails(capsys, *argv) -> str:
    assert main(["predict", *map(str, argv)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("pate: ")
    assert said.err.count("\n") == 1
    return said.err


def test_bad_data_is_one_line(model, numbers, tmp_path, capsys):
    data = tmp_path / "d"
    assert "no such file" in fails(capsys, model, data)
    data.write_text("")
    assert "empty" in fails(capsys, model, data)
    data.write_text("1 1:2 2:3\n1 1:2 2:x\n")
    assert "d, line 2: " in fails(capsys, model, data)
    data.write_text("1 1:2\n1 1:nan\n")
    assert "d, line 2: " in fails(capsys, model, data)
    data.write_text("1 1:2\n1 9:1\n")
    message = fails(capsys, model, data)
    assert "9" in message
    assert "4 features" in message
    assert "a LIBSVM file" in fails(capsys, model, tmp_path / "d.csv")
    data.write_text("1 1:2\n")
    assert "--target" in fails(capsys, model, data, "--target", "x")


def test_bad_tables_are_one_line(table, table_model, tmp_path, capsys):
    path, _ = table
    new = tmp_path / "new.csv"
    assert "no such file" in fails(capsys, table_model, new)
    assert "a .csv file" in fails(capsys, table_model, tmp_path / "new.libsvm")
    assert "age, job, pay" in fails(capsys, table_model, path, "--target", "wage")
    new.write_text("job,pay\na,>50K\n")
    assert "no column 'age'" in fails(capsys, table_model, new)
    new.write_text("age,job\n30,a\nold,b\n")
    assert "new.csv, line 3: numeric column 'age' has 'old'" in fails(capsys, table_model, new)


def test_bad_models_and_outputs_are_one_line(model, numbers, tmp_path, capsys):
    data = write(tmp_path / "d", *numbers)
    assert "cannot be read" in fails(capsys, tmp_path / "none.skops", data)
    assert "not a model written by pate" in fails(capsys, data, data)
    assert "--output" in fails(capsys, model, data, "--output", tmp_path)
    before = sorted(tmp_path.iterdir())
    assert "--output" in fails(capsys, model, data, "--output", model / "labels.txt")
    assert sorted(tmp_path.iterdir()) == before


def test_missing_arguments_exit_2(capsys):
    assert main(["predict"]) == 2
    assert "usage: pate predict" in capsys.readouterr().err
