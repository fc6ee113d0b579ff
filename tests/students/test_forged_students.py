"""Student files with spoilt arrays neither crash `pate predict` nor keep it busy for ever."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from encoders import encoder
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from pate_cli import features
from pate_cli.cli import main
from pate_cli.errors import DataError
from pate_cli.students import fit_student, load_student, save_student
from pate_cli.students.voting import Voting
from pate_cli.types import Answers, PublicPoints

# classifiers that hand their arrays to compiled code, alone and as parts of others; of the encoder too;
# and one that maps records by itself
COMPILED = {
    "kernel": {},
    "libsvm": {},
    "logistic": {},
    "tree": {},
    "voting": {"base": "tree", "n_estimators": 1},
    "sklearn.ensemble.BaggingClassifier": {"n_estimators": 1},
    "sklearn.ensemble.RandomForestClassifier": {"n_estimators": 1},
    "sklearn.neighbors.KNeighborsClassifier": {},
    "sklearn.svm.SVC": {},
    "sklearn.tree.ExtraTreeClassifier": {},
}

# one line for each file; what does not end is ended
PREDICT = """
import contextlib, io, json, signal, sys
from pate_cli.cli import main
for line in sys.stdin:
    signal.alarm(60)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["predict", *line.split()])
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


class Predictor:
    """`pate predict` in another process, which a file may end."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PREDICT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, model: Path, data: Path) -> list:
        """Exit code, stdout, stderr; the signal alone if it ended the process."""
        self.process.stdin.write(f"{model} {data}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        if said:
            return json.loads(said)
        signal = self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.__init__()
        return [signal, "", ""]


@pytest.fixture(scope="module")
def predict():
    predictor = Predictor()
    yield predictor
    predictor.process.communicate()


def save(path: Path, name: str, *, sparse: bool = False) -> None:
    """Save a student of three classes, of a table or of numbered features; and the rows it learned from."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    rows.loc[rng.random(60) < 0.5, "a"] = 0.0
    rows.to_csv(path.parent / "rows.csv", index=False)
    encoded = encoder(**dict.fromkeys(rows, "number")).fit(rows)
    points = PublicPoints(sp.csr_matrix(rows) if sparse else encoded.transform(rows))
    mapped = name == "kernel"
    if mapped:
        points = points.with_features(features.fit("kernel", points.X, rng, 20))
    student = fit_student(
        points,
        Answers(np.arange(60), np.arange(60) % 3),
        estimator=name,
        params=COMPILED.get(name, {}),
        unanswered="drop",
        rng=np.random.default_rng(0),
        n_classes=3,
        seed=0,
        mapped=mapped,
    )
    save_student(
        path, student, classes=tuple("uvw"), n_features=4, encoder=None if sparse else encoded, meta={}
    )


def packed(members: dict[str, bytes], **changes: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in (members | changes).items():
            archive.writestr(name, content)
    return data.getvalue()


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(array: np.ndarray) -> bytes:
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def spoilt(array: np.ndarray) -> dict[str, np.ndarray]:
    """What may be wrong with an array."""

    def put(value, field=None):
        copy = array.copy()
        place = copy if field is None else copy[field]
        place[(slice(None) if field else (0,) * array.ndim)] = value
        return copy

    if array.dtype.names and "left_child" in array.dtype.names:
        found = {
            f"{side} {value}": put(value, side) for side in array.dtype.names[:2] for value in (10**6, -9, 0)
        }
        found |= {f"feature {value}": put(value, "feature") for value in (10**6, -9)}
        return found | {"threshold nan": put(np.nan, "threshold"), "short": array[:-1]}
    if array.dtype.names or not array.ndim or not array.size:
        return {}
    found = {"short": array[:-1], "long": np.concatenate([array, array[:1]]), "flat": array[..., None]}
    if array.dtype.kind == "f":
        found |= {"nan": put(np.nan), "inf": put(np.inf)}
    if array.dtype.kind == "i":
        found |= {"beyond": put(10**6), "negative": put(-3)}
    return found


def forged(path: Path):
    """Each array of a file spoilt in each way: what was done, and the file."""
    members = members_of(path)
    for name, content in members.items():
        if name.endswith(".npy"):
            for what, array in spoilt(np.load(io.BytesIO(content))).items():
                yield f"{name} {what}", packed(members, **{name: npy(array)})
        elif name.endswith(".npz"):
            matrix = sp.load_npz(io.BytesIO(content))
            parts = {part: getattr(matrix, part) for part in ("data", "indices", "indptr")}
            for part, array in parts.items():
                for what, changed in spoilt(array).items():
                    data = io.BytesIO()
                    np.savez(data, **parts | {part: changed}, shape=matrix.shape, format=b"csr")
                    yield f"{name} {part} {what}", packed(members, **{name: data.getvalue()})


@pytest.mark.parametrize("name", COMPILED)
def test_a_spoilt_array_is_refused_in_one_line_or_labels_are_printed(name, predict, tmp_path):
    model, data = tmp_path / "student.skops", tmp_path / "rows.csv"
    save(model, name)
    code, out, _ = predict(model, data)
    assert (code, set(out.split())) == (0, set("uvw"))
    n_refused = 0
    for what, content in [*forged(model)]:
        model.write_bytes(content)
        code, out, err = predict(model, data)
        refused = code == 2 and out == "" and err.count("\n") == 1 and err.startswith(f"pate: {model}: ")
        assert refused or (code, len(out.split())) == (0, 60), (what, code, err)
        n_refused += refused
    assert n_refused > 5


@pytest.mark.parametrize("count", [10**9, -1, 2.5, None])
def test_a_tree_with_another_number_of_nodes_than_it_says(count, predict, tmp_path):
    save(tmp_path / "s", "tree")
    members = members_of(tmp_path / "s")
    schema = json.loads(members["schema.json"])
    tree = schema["content"]["student"]["content"]["content"]["tree_"]
    tree["content"]["content"]["node_count"] |= {"content": json.dumps(count), "__id__": -1}
    (tmp_path / "s").write_bytes(packed(members, **{"schema.json": json.dumps(schema).encode()}))
    code, _, err = predict(tmp_path / "s", tmp_path / "rows.csv")
    assert (code, err.count("\n")) == ((0, 0) if count == 10**9 else (2, 1))  # no more than there are


WHOLE = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "is_json": True,
    "__id__": -1,
}
SPOILT = "{path}: not a model written by pate: "
USELESS = "{path}: cannot label the records of {data} "


@pytest.mark.parametrize(
    ("name", "claims", "said"),
    [
        ("logistic", {"n_features": 10**12}, f"{SPOILT}n_features is of another kind"),
        ("logistic", {"n_features": 10**9}, f"{SPOILT}a student of 4 features, not 1000000000"),
        ("logistic", {"n_features": 10**9, "n_features_in_": 10**9}, f"{USELESS}(matmul: "),
        (
            "sklearn.naive_bayes.GaussianNB",
            {"n_features": 10**9, "n_features_in_": 10**9},
            f"{USELESS}(GaussianNB takes no sparse ",
        ),
        ("kernel", {"n_features": 10**12}, f"{SPOILT}n_features is of another kind"),
        (
            "sklearn.ensemble.BaggingClassifier",
            {"n_classes_": 10**9},
            f"{SPOILT}a BaggingClassifier whose n_classes_ is more than 3",
        ),
        (
            "sklearn.neighbors.KNeighborsClassifier",
            {"n_neighbors": 10**9, "n_samples_fit_": 10**9},
            f"{SPOILT}more neighbours than records",
        ),
    ],
)
def test_a_number_of_the_file_sizes_no_array(name, claims, said, tmp_path, capsys):
    model, data = tmp_path / "s", tmp_path / "rows.libsvm"
    save(model, name, sparse=True)
    data.write_text("1 1:1 3:2\n" * 4)

    def claimed(node):
        return node | {name: WHOLE | {"content": json.dumps(claims[name])} for name in node.keys() & claims}

    members = members_of(model)
    schema = json.loads(members["schema.json"], object_hook=claimed)
    model.write_bytes(packed(members, **{"schema.json": json.dumps(schema).encode()}))
    tracemalloc.start()
    code, (_, most) = main(["predict", str(model), str(data)]), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n"), most < 2**28) == (2, "", 1, True)
    assert err.startswith("pate: " + said.format(path=model, data=data))


def test_no_class_is_called_with_arguments_from_the_file(tmp_path):
    save(tmp_path / "s", "tree")
    members = members_of(tmp_path / "s")
    schema = json.loads(members["schema.json"])
    schema["content"]["student"]["__loader__"] = "LossNode"
    (tmp_path / "s").write_bytes(packed(members, **{"schema.json": json.dumps(schema).encode()}))
    with pytest.raises(DataError, match=r"the type sklearn\.tree\._classes\.DecisionTreeClassifier"):
        load_student(tmp_path / "s")


X, Y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2


def reopened(path: Path, student: object) -> object:
    save_student(path, student, classes=("u", "v"), n_features=4, encoder=None, meta={})
    return load_student(path).student


@pytest.mark.parametrize(
    ("student", "name", "value"),
    [
        (DecisionTreeClassifier(), "n_features_in_", 3),
        (DecisionTreeClassifier(), "tree_", Tree(4, np.array([2]), 1)),
        (KNeighborsClassifier(), "_y", Y + 1),
        (KNeighborsClassifier(), "_fit_X", X[:30]),
        (SVC(), "kernel", "precomputed"),
        (SVC(), "_n_support", np.array([70, -10], dtype=np.int32)),
        (SVC(), "_probA", np.zeros(1)),
    ],
    ids=["features", "no tree", "labels", "records", "kernel", "counts", "probabilities"],
)
def test_parts_that_do_not_fit_each_other_are_refused(student, name, value, tmp_path):
    setattr(student.fit(X, Y), name, value)
    with pytest.raises(DataError, match="not a model written by pate: "):
        reopened(tmp_path / "s", student)


def test_a_vote_that_calls_itself_is_refused_and_no_workers_are_started(tmp_path):
    inner = DecisionTreeClassifier().fit(X, Y)
    vote = Voting(DecisionTreeClassifier(max_depth=1), n_estimators=2, random_state=0).fit(X, Y)
    vote.model_.estimators_ = [inner, inner]
    with pytest.raises(DataError, match="stands in two places"):
        reopened(tmp_path / "s", vote)
    forest = RandomForestClassifier(n_estimators=2, n_jobs=50).fit(X, Y)
    assert reopened(tmp_path / "s", forest).n_jobs is None
