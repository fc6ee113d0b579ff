from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from pate_cli.cli import main
from pate_cli.datasets import load
from pate_cli.learners import make_learner
from pate_cli.students import load_student, save_student


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
    path = tmp_path / "table.skops"
    save_student(
        path, student, classes=dataset.classes, n_features=dataset.n_features, encoder=encoder, meta={}
    )
    return path


def test_a_label_of_two_lines_is_one_line(numbers, tmp_path, capsys):
    X, y = numbers
    student = make_learner("tree", {}, seed=0, n_classes=2).fit(sp.csr_matrix(X), y)
    path = tmp_path / "two.skops"
    save_student(path, student, classes=("of\ntwo", "1"), n_features=4, encoder=None, meta={})
    assert main(["predict", str(path), str(write(tmp_path / "d", X, y))]) == 0
    assert set(capsys.readouterr().out.splitlines()) == {"of two", "1"}


def test_labels_to_stdout_or_a_file_accuracy_to_stderr(model, numbers, tmp_path, capsys):
    X, y = numbers
    wrong = y.copy()
    wrong[:5] = 1 - wrong[:5]
    packed, output = tmp_path / "d.xz", tmp_path / "labels.txt"
    packed.write_bytes(lzma.compress(write(tmp_path / "d", X, np.where(wrong == 1, 1, -1)).read_bytes()))
    assert main(["predict", str(model), str(packed)]) == 0
    said = capsys.readouterr()
    assert said.out.split("\n") == [*np.where(y == 1, "1", "-1"), ""]
    most = max((wrong == 1).mean(), (wrong != 1).mean())
    assert main(["predict", str(tmp_path), str(packed)]) == 0
    assert capsys.readouterr().out == said.out
    assert said.err == f"accuracy 0.9000 (45 of 50 records); the commonest class alone has {most:.4f}\n"
    # labels that are placeholders give no accuracy; features that are left out are 0
    data = write(tmp_path / "d", X[:, :1], np.zeros(50))
    assert main(["predict", str(model), str(data), "--output", str(output)]) == 0
    assert (len(output.read_text().split()), *capsys.readouterr()) == (50, "", "")


@pytest.mark.parametrize("first_index", [0, 1, None])
def test_a_libsvm_file_is_read_as_those_of_training(first_index, numbers, tmp_path, capsys):
    """A new file without index 0 was read one column off by a student of files that have it."""
    X, y = numbers
    X[:, 0] = np.abs(X[:, 0])
    X[:, 1] = np.where(y == 1, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "mine"), zero_based=first_index == 0)
    first = 0 if first_index == 0 else 1
    dataset = load("libsvm", path=tmp_path / "mine", first_index=first)
    assert dataset.first_index == first
    student = make_learner("tree", {}, seed=0, n_classes=2).fit(dataset.X, dataset.y)
    about = {"classes": dataset.classes, "n_features": 4, "encoder": None, "meta": {}}
    if first_index is not None:  # as of students of other files
        about["first_index"] = dataset.first_index
    save_student(tmp_path / "s", student, **about)
    new = tmp_path / "new"
    second = first + 1
    new.write_text(f"0 {second}:1\n0 {second}:-1\n")
    assert main(["predict", str(tmp_path / "s"), str(new)]) == 0
    assert capsys.readouterr().out.split() == ["1", "0"]
    new.write_text("0 1:1\n0 0:2 1:1\n0 0:1\n")
    if first:
        assert f"{new}, line 2: index 0; accepted: indices from 1" in fails(capsys, tmp_path / "s", new)


@pytest.mark.parametrize("student", [GaussianNB(), SVC()], ids=repr)
def test_a_student_of_dense_points_labels_a_libsvm_file(student, numbers, tmp_path, capsys):
    X, y = numbers
    student.fit(X, y)
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
    assert said.err.startswith("accuracy 1.0000 (80 of 80 records); the commonest class alone has 0.")
    bare = tmp_path / "bare.csv"
    bare.write_text("job;age\n7;30\n8;50\n")
    assert main(["predict", str(table_model), str(bare), "--sep", ";"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["<=50K", ">50K"]
    assert said.err == f"pate: {bare}: unseen categories: 'job' 2 of 2 (first '7', line 2)\n"
    bare.write_text("age,age,job\n30,50,a\n")  # what was done to the file is said
    assert main(["predict", str(table_model), str(bare)]) == 0
    assert capsys.readouterr().err == f"pate: {bare}: the column 'age' occurs 2 times; called 'age_2'\n"


def fails(capsys, *argv) -> str:
    assert main(["predict", *map(str, argv)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("pate: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("age,job,pay\n30,a,x\n", "--target wage", "age, job, pay"),
        ("age,job\n30,a\nold,b\n", "", "new.csv, line 3: column 'age' has 'old'; accepted: a number"),
        ("1 1:2 2:3\n0 1:1\n", "", "no column 'age', 'job', which the model"),
        ("age,job\n30,a\n", "--id name", "--id: got 'name'; accepted: a column of"),
    ],
)
def test_bad_tables_are_one_line(table_model, tmp_path, capsys, content, options, said):
    (tmp_path / "new.csv").write_text(content)
    assert said in fails(capsys, table_model, tmp_path / "new.csv", *options.split())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"age,job\n30,a,b\n", "line 2: 3 cells, the header has 2 (--sep is ',')"),
        (b"age,job\n30,\xe9\n", "line 2: not UTF-8 text; --encoding says what it is, as cp1252"),
    ],
)
@pytest.mark.parametrize("command", [["predict", "MODEL"], ["data", "describe"]])
def test_a_message_names_the_option_of_this_command(command, content, said, table_model, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_bytes(content)
    assert main([*(str(table_model) if word == "MODEL" else word for word in command), str(path)]) == 2
    assert capsys.readouterr().err == f"pate: {path}, {said}\n"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """A student of a hospital's table, with a schema, missing numbers and public points of their own."""
    place = tmp_path_factory.mktemp("hospital")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patients(2000, 0).to_csv("mine.csv", index=False)
        patients(300, 1).drop(columns="outcome").to_csv("pub.csv", index=False)
        given = ["dataset=csv", "dataset.path=mine.csv", "dataset.public=pub.csv", "dataset.target=outcome"]
        given += ["dataset.missing=['','-9']", "dataset.unit=null", "eps=20", "hydra.run.dir=out"]
        assert main(["run", *given]) == 0
    return place / "out/student.skops"


def patients(n, seed, **changes):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"patient": [f"0{i}" for i in range(n)], "lab": np.round(rng.uniform(0, 12, n), 1)})
    table.loc[:1, "lab"] = [0.0, 12.0]  # the bounds are the same in any file
    table["lab"] = table["lab"].astype(str).mask(table.index % 50 == 7, "-9")
    table["ward"] = rng.choice(["A", "B", "C, D"], n)
    table["outcome"] = np.where(pd.to_numeric(table["lab"]) > 6, "ill, badly", "well")
    return table.assign(**changes)


def test_names_and_probabilities_are_a_table(hospital, tmp_path, monkeypatch, capsys):
    table = patients(200, 2)
    for new, write in (("new.csv", table.to_csv), ("new.parquet", table.to_parquet)):
        if new.endswith(".parquet"):
            pytest.importorskip("pyarrow")
        write(tmp_path / new, index=False)
        argv = ["predict", str(hospital), str(tmp_path / new), "--id", "patient", "--proba"]
        assert main([*argv, "--output", str(tmp_path / "out.csv")]) == 0
        # the target of the training is found; the missing ones have a code, and are counted
        word, first = ("line", 9) if new.endswith("csv") else ("row", 8)
        said = capsys.readouterr()
        assert said.err.splitlines()[0] == (
            f"pate: {tmp_path / new}: missing: 'lab' 4 of 200 (first, {word} {first})"
        )
        assert said.err.splitlines()[1].startswith("accuracy 0.9")
        assert (len(said.err.splitlines()), said.out) == (2, "")
        found = pd.read_csv(tmp_path / "out.csv", dtype={"patient": str})
        assert list(found) == ["patient", "label", "probability.ill, badly", "probability.well"]
        assert found["patient"].tolist() == table["patient"].tolist()  # 007 stays 007
        shares = found.iloc[:, 2:].to_numpy()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
        likely = np.array(["ill, badly", "well"])[shares.argmax(axis=1)]
        assert (likely == found["label"]).mean() > 0.99  # but for ties
    assert main(["predict", str(hospital), str(tmp_path / "new.csv"), "--id", "patient"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["patient,label", f"00,{csv_cell(found['label'][0])}"]
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal: what was done is said
    assert main([*argv, "--output", str(tmp_path / "out.csv")]) == 0
    answer = " ".join(capsys.readouterr().out.partition("\n\n")[0].split())
    assert answer == f"Labels of 200 records of {tmp_path / new} are in {tmp_path / 'out.csv'}."


def csv_cell(text):
    return f'"{text}"' if "," in text else text


def test_what_differs_from_the_training_is_counted(hospital, tmp_path, capsys):
    table = patients(200, 3).drop(columns="outcome")
    table.loc[[4, 9], "lab"] = ["99", "-1"]
    table["ward"] = np.where(table.index < 120, "E", table["ward"])
    table.to_csv(tmp_path / "new.csv", index=False, sep=";")
    assert main(["predict", str(hospital), str(tmp_path / "new.csv")]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 200
    lines = [line.removeprefix(f"pate: {tmp_path / 'new.csv'}: ") for line in said.err.splitlines()]
    assert lines[0] == "missing: 'lab' 4 of 200 (first, line 9)"
    assert lines[1].startswith("numbers out of range: 'lab' 2 of 200 outside 0")
    assert lines[1].endswith("(first 99, line 6)")
    assert lines[2] == "unseen categories: 'ward' 120 of 200 (first 'E', line 2)"
    assert len(lines) == 3


def test_a_column_of_another_type_is_refused(hospital, tmp_path, capsys):
    new, output = tmp_path / "new.csv", tmp_path / "labels"
    patients(100, 4, lab=["high", "low"] * 50).to_csv(new, index=False)
    said = fails(capsys, hospital, new, "--output", output)
    assert "new.csv, line 2: column 'lab' has 'high'; accepted: a number (100 of 100 cells are none)" in said
    patients(100, 4, lab=["1,5", "2,5"] * 50).to_csv(new, index=False, sep=";")
    assert "--decimal , where a comma stands before decimals" in fails(capsys, hospital, new)
    assert main(["predict", str(hospital), str(new), "--decimal", ",", "--output", str(output)]) == 0
    output.unlink()
    capsys.readouterr()
    patients(100, 4).drop(columns="lab").to_csv(new, index=False)
    assert "no column 'lab', which the model was trained on" in fails(
        capsys, hospital, new, "--output", output
    )
    assert not output.exists()


@pytest.mark.parametrize("public", [True, False])
def test_what_the_training_took_for_missing_is_missing(public, tmp_path, monkeypatch, capsys):
    """Cells below the limit of detection, declared `missing: true`: one in three private records has one."""
    monkeypatch.chdir(tmp_path)

    def labs(n, seed, share):
        table = patients(900, seed).drop(columns="patient").head(n)
        below = np.random.default_rng(seed).random(n) < share
        return table.assign(lab=table["lab"].replace("-9", "").mask(below, "trace"))

    labs(900, 0, 0.35).to_csv("mine.csv", index=False)
    labs(200, 1, 0.2 if public else 0.0).to_csv("pub.csv", index=False)
    Path("s.yaml").write_text("columns: {lab: {low: 0, high: 12, missing: true}, ward: {kind: category}}")
    given = ["dataset=csv", "dataset.path=mine.csv", "dataset.public=pub.csv", "dataset.target=outcome"]
    given += ["dataset.schema=s.yaml", "eps=20", "teacher.size=20", "hydra.run.dir=out"]
    assert main(["run", *given]) == 0
    capsys.readouterr()
    argv = ["predict", "out/student.skops", "new.csv"]
    for n, share in ((900, 0.35), (900, 0.8), (1, 1.0), (5, 1.0)):
        new = labs(n, 0, share)
        new.to_csv("new.csv", index=False)
        n_text, empty = int((new["lab"] == "trace").sum()), int((new["lab"] == "").sum())
        assert main(argv) == 0
        said = capsys.readouterr()
        assert len(said.out.splitlines()) == n
        missing = f"'lab' {n_text + empty} of {n}, {n_text} of them text as 'trace' (first, line "
        assert said.err.startswith(f"pate: new.csv: missing: {missing}")
        # as an empty cell is read
        new.assign(lab=new["lab"].replace("trace", "")).to_csv("new.csv", index=False)
        assert main(argv) == 0
        assert capsys.readouterr().out == said.out


def test_a_threshold_decides_between_two_classes(numbers, tmp_path, capsys):
    X, _ = numbers
    y = np.digitize(X[:, 0], [0, 1])
    data, paths = write(tmp_path / "d", X, y), {}
    for n in (2, 3):
        student = GaussianNB().fit(X, np.minimum(y, n - 1))
        paths[n] = tmp_path / f"{n}.skops"
        names = ("no", "yes", "perhaps")[:n]
        save_student(paths[n], student, classes=names, n_features=4, encoder=None, meta={})
    student = load_student(paths[2]).student
    p = student.predict_proba(X)[:, 1]
    for threshold in (0.0, 0.1, p[7], 1.0):
        assert main(["predict", str(paths[2]), str(data), "--threshold", repr(float(threshold))]) == 0
        labels, said = capsys.readouterr()
        assert labels.split() == np.where(p >= threshold, "yes", "no").tolist()
        assert f"'yes' where its probability is at least {threshold:g}, else 'no'" in said
    assert main(["predict", str(paths[2]), str(data), "--threshold", "0.1", "--proba"]) == 0
    assert capsys.readouterr().out.startswith("label,probability.no,probability.yes\n")
    for threshold in ("1.5", "-0.1", "nan"):
        said = fails(capsys, paths[2], data, f"--threshold={threshold}")
        assert "accepted: a number in [0, 1]" in said
    assert "--threshold: got 0.5; accepted: nothing for the 3 classes" in fails(
        capsys, paths[3], data, "--threshold", "0.5"
    )
    svm = make_learner("linear_svm", {}, seed=0, n_classes=2).fit(X, np.minimum(y, 1))
    save_student(tmp_path / "s", svm, classes=("0", "1"), n_features=4, encoder=None, meta={})
    for option in ("--proba", "--threshold=0.5"):
        said = fails(capsys, tmp_path / "s", data, option)
        assert said.startswith(f"pate: {option.partition('=')[0]}: the student of ")
        assert "gives no probabilities; accepted: one that" in said


def test_bad_models_options_and_outputs_are_one_line(model, table_model, numbers, tmp_path, capsys):
    data = write(tmp_path / "d", *numbers)
    assert "no such file or directory, and no name or id of" in fails(capsys, tmp_path / "none.skops", data)
    assert "not a model written by pate" in fails(capsys, data, data)
    assert "a LIBSVM file" in fails(capsys, model, tmp_path / "d.csv")
    assert "no such file" in fails(capsys, model, tmp_path / "none")
    for content, said in (("1 1:2\n1 1:nan\n", "bad, line 2: "), ("1 1:2\n1 9:1\n", "4 features")):
        (tmp_path / "bad").write_text(content)
        assert said in fails(capsys, model, tmp_path / "bad")
    for option in ("--target", "--id"):
        assert f"{option}: got 'x'; accepted: nothing for a LIBSVM" in fails(capsys, model, data, option, "x")
    pickled = tmp_path / "new.parquet"
    pickled.write_bytes(b"PAR1")
    assert "not a Parquet file" in fails(capsys, table_model, pickled)
    before = sorted(tmp_path.iterdir())
    for output in (tmp_path, model / "labels.txt"):
        assert "--output" in fails(capsys, model, data, "--output", output)
    assert sorted(tmp_path.iterdir()) == before


def test_an_encoder_that_was_tampered_with_is_one_line(table, table_model, capsys):
    saved = load_student(table_model)
    saved.encoder.profile_["columns"]["age"]["low"] = "many"
    about = {"classes": saved.classes, "n_features": 2, "encoder": saved.encoder, "meta": {}}
    save_student(table_model, saved.student, **about)
    assert "its encoder is not one that pate writes" in fails(capsys, table_model, table[0])
