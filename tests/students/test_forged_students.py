"""Student files with spoilt arrays are refused in one line, or the arrays are of no use to prediction."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from encoders import encoder
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pate_cli.errors import DataError
from pate_cli.learners.hypotheses.points import PointClassifier
from pate_cli.learners.hypotheses.stumps import StumpClassifier
from pate_cli.learners.sgd import SgdLogistic
from pate_cli.students import fit_student, load_student, save_student
from pate_cli.students.voting import Voting
from pate_cli.types import Answers, PublicPoints

SKLEARN = [
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis",
    "sklearn.ensemble.AdaBoostClassifier",
    "sklearn.ensemble.BaggingClassifier",
    "sklearn.ensemble.ExtraTreesClassifier",
    "sklearn.ensemble.RandomForestClassifier",
    "sklearn.linear_model.Perceptron",
    "sklearn.linear_model.RidgeClassifier",
    "sklearn.linear_model.SGDClassifier",
    "sklearn.naive_bayes.BernoulliNB",
    "sklearn.naive_bayes.GaussianNB",
    "sklearn.neighbors.KNeighborsClassifier",
    "sklearn.neighbors.NearestCentroid",
    "sklearn.neural_network.MLPClassifier",
    "sklearn.svm.SVC",
    "sklearn.tree.ExtraTreeClassifier",
]
NAMED = ["libsvm", "linear_svm", "logistic", "tree", "voting"]
OURS = {"sgd": SgdLogistic(random_state=0), "point": PointClassifier(), "stump": StumpClassifier()}

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


def rows(n_classes: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    X.loc[rng.random(60) < 0.5, "a"] = 0.0
    return X, np.arange(60) % n_classes


def save(path: Path, name: str, n_classes: int) -> None:
    table, y = rows(n_classes)
    table.to_csv(path.parent / "rows.csv", index=False)
    encoded = encoder(**dict.fromkeys(table, "numeric")).fit(table)
    X = encoded.transform(table)
    if name in OURS:
        student = OURS[name].fit(X, y)
    else:
        few = name == "voting" or "ensemble" in name
        student = fit_student(
            PublicPoints(X),
            Answers(np.arange(60), y),
            estimator=name,
            params={"n_estimators": 2} if few else {"max_iter": 5} if "MLP" in name else {},
            unanswered="drop",
            rng=np.random.default_rng(0),
            n_classes=n_classes,
            seed=0,
        )
    save_student(path, student, classes=tuple("uvw"[:n_classes]), n_features=4, encoder=encoded, meta={})


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


@pytest.mark.parametrize("name", [*NAMED, *OURS, *SKLEARN])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_spoilt_array_is_refused_or_makes_no_difference(name, predict, tmp_path):
    model, data = tmp_path / "student.skops", tmp_path / "rows.csv"
    save(model, name, 2 if name in ("point", "stump") else 3)
    good = predict(model, data)
    assert good[0] == 0
    assert len(set(good[1].split())) > 1  # it tells rows apart
    n_refused = 0
    for what, content in [*forged(model)]:
        model.write_bytes(content)
        code, out, err = predict(model, data)
        refused = code == 2 and out == "" and err.count("\n") == 1 and err.startswith(f"pate: {model}: ")
        assert refused or [code, out] == good[:2], (what, code, err)
        n_refused += refused
    assert n_refused > 5


def tree_file(path: Path) -> tuple[dict, dict[str, bytes]]:
    """Schema of a file with a decision tree, and its members."""
    save(path, "tree", 3)
    members = members_of(path)
    return json.loads(members["schema.json"]), members


def refused(predict, place: Path, schema: dict, members: dict[str, bytes]) -> str:
    (place / "s").write_bytes(packed(members, **{"schema.json": json.dumps(schema).encode()}))
    code, _, err = predict(place / "s", place / "rows.csv")
    assert (code, err.count("\n")) == (2, 1)
    return err


@pytest.mark.parametrize("count", [10**9, -1, 2.5, None])
def test_a_tree_has_the_nodes_it_says(count, predict, tmp_path):
    schema, members = tree_file(tmp_path / "s")
    tree = schema["content"]["student"]["content"]["content"]["tree_"]
    tree["content"]["content"]["node_count"] |= {"content": json.dumps(count), "__id__": -1}
    assert "tree" in refused(predict, tmp_path, schema, members)


def test_the_parts_of_a_tree_that_are_checked_are_those_it_is_made_of(predict, tmp_path):
    schema, members = tree_file(tmp_path / "s")
    student = schema["content"]["student"]["content"]
    parts = student["content"]["tree_"]["content"]["content"]
    nodes = np.load(io.BytesIO(members[parts["nodes"]["file"]]))
    nodes["left_child"] = 10**6
    # skops gives what it has read first under an id, whatever the file says later
    other = parts["nodes"] | {"file": "other.npy"}
    student["content"] = {"aside": other} | student["content"]
    student["key_types"]["content"].append(student["key_types"]["content"][0])
    said = refused(predict, tmp_path, schema, members | {"other.npy": npy(nodes)})
    assert "stands for two things" in said


def test_a_number_out_of_its_range_is_refused(tmp_path):
    X, y = rows(2)
    for student, name, value in (
        (StumpClassifier(), "feature_", 7),
        (StumpClassifier(), "above_", 5),
        (SgdLogistic(), "clip", -1.0),
        (DecisionTreeClassifier(), "n_features_in_", 3),
        (DecisionTreeClassifier(), "classes_", np.arange(3)),
    ):
        setattr(student.fit(X.to_numpy(), y), name, value)
        save_student(tmp_path / "s", student, classes=("u", "v"), n_features=4, encoder=None, meta={})
        with pytest.raises(DataError, match=r"not a model written by pate: .* (fit the rest|their number)"):
            load_student(tmp_path / "s")


def test_a_vote_that_calls_itself_is_refused_and_no_workers_are_started(tmp_path):
    X, y = rows(2)
    inner = DecisionTreeClassifier().fit(X.to_numpy(), y)
    vote = Voting(DecisionTreeClassifier(max_depth=1), n_estimators=2, random_state=0).fit(X.to_numpy(), y)
    vote.model_.estimators_ = [inner, inner]
    about = {"classes": ("u", "v"), "n_features": 4, "encoder": None, "meta": {}}
    save_student(tmp_path / "s", vote, **about)
    with pytest.raises(DataError, match="stands in two places"):
        load_student(tmp_path / "s")
    forest = RandomForestClassifier(n_estimators=2, n_jobs=50).fit(X.to_numpy(), y)
    save_student(tmp_path / "s", forest, **about)
    assert load_student(tmp_path / "s").student.n_jobs is None
