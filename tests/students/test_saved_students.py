"""Saved students: what is written is read again; files built by hand to run code are refused by name."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from encoders import encoder
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import FunctionTransformer

from pate_cli.cli import main
from pate_cli.errors import ConfigError, DataError
from pate_cli.learners import TWO_CLASSES, make_learner
from pate_cli.students import STUDENTS, fit_student, load_student, save_student
from pate_cli.students.saved import dump_student
from pate_cli.students.trusted import foreign_types
from pate_cli.teachers import train
from pate_cli.types import Answers, PrivateRecords, PublicPoints

CONF = Path(__file__).resolve().parents[2] / "conf"
X, Y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2


def save(path, student, **changes):
    save_student(
        path, student, **{"classes": ("0", "1"), "n_features": 2, "encoder": None, "meta": {}} | changes
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with data to predict, and a ledger that somebody would rather keep."""
    monkeypatch.chdir(tmp_path)
    Path("data").write_text("1 1:2\n")
    Path("ledger.json").write_text("spent: all of it")
    return tmp_path


# -- what is written


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "student").glob("*.yaml")))
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_every_student_option_opens_as_it_was(name, kind, tmp_path):
    assert name in STUDENTS
    for n_classes in (1, 2) if name in TWO_CLASSES else (1, 2, 3):
        rng = np.random.default_rng(0)
        points = PublicPoints(kind(np.where(rng.random((60, 12)) < 0.3, 0.0, rng.normal(size=(60, 12)))))
        labels = np.arange(40) % n_classes
        noisy = np.eye(n_classes)[labels] * 20 + rng.normal(size=(40, n_classes))
        how = {"params": {"n_estimators": 3} if name == "voting" else {}, "unanswered": "drop"}
        how |= {"rng": rng, "n_classes": n_classes, "seed": 0}
        answers = Answers(np.arange(40), labels, noisy, n_teachers=30)
        student = fit_student(points, answers, estimator=name, **how)
        meta = {"eps": float("inf"), "note": None}
        save(tmp_path / "s", student, classes=("a", "b", "c"), n_features=12, meta=meta)
        assert foreign_types((tmp_path / "s").read_bytes()) == []
        back = load_student(tmp_path / "s")
        np.testing.assert_array_equal(back.student.predict(points.X), student.predict(points.X))
        assert (back.classes, back.n_features, back.meta) == (("a", "b", "c"), 12, meta)
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_a_file_depends_on_its_content_alone(tmp_path):
    """skops names objects by memory address, which may tell what else the process held; files have times."""
    # columns that are called as parts of a skops file
    table = pd.DataFrame({"file": [1.0, 2.0], "__id__": ["a", "b"]})
    made = []
    for _ in range(2):
        held = [LogisticRegression().fit(X, Y) for _ in range(3)]
        encoded = encoder(file="number", __id__="category").fit(table)
        save(tmp_path / "s", held[-1], encoder=encoded, meta={"file": "a", "__id__": 3})
        made.append((tmp_path / "s").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "s") as archive:
        assert {item.date_time for item in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert all(len(item.filename) < 12 for item in archive.infolist())
    back = load_student(tmp_path / "s")
    assert back.meta == {"file": "a", "__id__": 3}
    np.testing.assert_array_equal(back.student.predict(X), held[0].predict(X))
    assert (back.encoder.transform(table) != encoded.transform(table)).nnz == 0


def test_teachers_are_not_saved_and_nothing_is_left_where_it_cannot_be_written(tmp_path):
    learner = make_learner("tree", {}, seed=None, n_classes=2)
    private, rng = PrivateRecords(X, Y), np.random.default_rng(0)
    teachers = train(private, n_teachers=3, learner=learner, rng=rng, n_classes=2)
    for secret in (teachers, teachers.teachers[0]):
        with pytest.raises(TypeError, match="is private"):
            save(tmp_path / "t", secret)
    with pytest.raises(ConfigError, match=r"absent/s.*No such file or directory"):
        save(tmp_path / "absent" / "s", LogisticRegression())
    assert list(tmp_path.iterdir()) == []


def test_a_file_names_types_as_later_versions_of_scikit_learn_do(monkeypatch):
    about = {"classes": ["0", "1"], "n_features": 2, "encoder": None, "meta": {}}
    student = SGDClassifier(loss="log_loss").fit(X, Y)
    usual, dumps = dump_student(student, **about), skops.io.dumps

    def of_version_1_8(parts):
        with zipfile.ZipFile(io.BytesIO(dumps(parts))) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        members["schema.json"] = members["schema.json"].replace(b'"sklearn._loss._loss"', b'"_loss"')
        with zipfile.ZipFile(data := io.BytesIO(), "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return data.getvalue()

    monkeypatch.setattr(skops.io, "dumps", of_version_1_8)
    assert dump_student(student, **about) == usual


# -- what is not of pate


@pytest.mark.parametrize("keep", [0, 500, -30])
def test_a_truncated_file_is_bad_data(keep, tmp_path):
    save(tmp_path / "s", LogisticRegression().fit(X, Y))
    (tmp_path / "s").write_bytes((tmp_path / "s").read_bytes()[:keep])
    with pytest.raises(DataError, match="s: not a model written by pate, or cut short"):
        load_student(tmp_path / "s")


def test_foreign_files_are_bad_data(tmp_path):
    path = tmp_path / "s"
    with pytest.raises(DataError, match="No such file"):
        load_student(path)
    for content in (LogisticRegression(), {"format": "pate student 99"}):
        skops.io.dump(content, path)
        with pytest.raises(DataError, match=r"not a model written by pate \(accepted: pate student 1\)"):
            load_student(path)


class Foreign(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(X.shape[0], dtype=np.int64)


def test_foreign_types_are_named_refused_and_trusted_by_name(tmp_path):
    path = tmp_path / "s"
    # functions too, also those of packages whose classes are welcome
    for function, name in ((os.system, "posix.system"), (np.save, r"numpy\.save")):
        save(path, LogisticRegression().fit(X, Y), encoder=FunctionTransformer(function))
        with pytest.raises(DataError, match=f"holds the type.*{name}"):
            load_student(path)
    save(path, Foreign().fit(X, Y))
    kind = f"{Foreign.__module__}.Foreign"
    with pytest.raises(DataError, match=f"holds the type {kind}, .*--trust {kind}"):
        load_student(path)
    assert isinstance(load_student(path, trust=[kind]).student, Foreign)


def plain(value) -> dict:
    content = json.dumps(value)
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content}


def many(*nodes, kind: str = "tuple") -> dict:
    loader = {"tuple": "TupleNode", "list": "ListNode"}[kind]
    return {"__class__": kind, "__module__": "builtins", "__loader__": loader, "content": list(nodes)}


def mapping(**nodes) -> dict:
    word = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    key_types = many(*[word] * len(nodes), kind="list")
    node = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode"}
    return node | {"content": nodes, "key_types": key_types}


def called(name: str, *arguments, loader: str = "ConstructorFromReduceNode") -> dict:
    module, _, cls = name.rpartition(".")
    content = many(*(one if isinstance(one, dict) else plain(one) for one in arguments))
    return {"__class__": cls, "__module__": module, "__loader__": loader, "content": content}


PARTS = {
    "format": plain("pate student 1"),
    "student": plain(0),
    "classes": many(plain("0"), plain("1"), kind="list"),
    "n_features": plain(2),
    "encoder": plain(None),
    "meta": mapping(),
}


def evil_file(student: dict, packed: int = zipfile.ZIP_STORED, **more: bytes) -> None:
    with zipfile.ZipFile("evil.skops", "w", packed) as archive:
        for name, content in more.items():
            archive.writestr(name, content)
        archive.writestr("schema.json", json.dumps(mapping(**PARTS | {"student": student}) | {"protocol": 2}))


def refused(capsys, place: Path, *argv: str) -> str:
    """The one line said, after making sure that nothing has changed."""
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    modules = set(sys.modules)
    assert main(["predict", "evil.skops", "data", *argv]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("pate: evil.skops: ")
    assert said.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()} == before
    assert {name for name in set(sys.modules) - modules if "evil" in name or "distutils" in name} == set()
    return said.err


EXPLOITS = {
    "a command": called("numpy.distutils.fcompiler.gnu.Popen", many(plain("touch"), plain("ran"))),
    "a file written over": called("sklearn.datasets._covtype.GzipFile", "ledger.json", "wb"),
    "a ledger destroyed": called("numpy.memmap", "ledger.json", "uint8", "w+", 0, many(plain(4))),
}


@pytest.mark.parametrize("what", EXPLOITS)
@pytest.mark.parametrize("where", ["student", "inside"])
def test_the_exploits_are_refused_and_leave_no_trace(what, where, place, capsys):
    node = EXPLOITS[what]
    inside = called("sklearn.linear_model._logistic.LogisticRegression", loader="ObjectNode")
    evil_file(node if where == "student" else inside | {"content": mapping(coef_=node)})
    name = f"{node['__module__']}.{node['__class__']}"
    said = refused(capsys, place)
    assert f"holds the type {name}, which pate does not write" in said
    assert said.rstrip().endswith(f"pass --trust {name}")


def test_no_module_is_imported_to_look_at_it(place, capsys, monkeypatch):
    (place / "evil_on_import.py").write_text("open('ledger.json', 'w').write('gone')\nclass Model: pass\n")
    monkeypatch.setattr(sklearn, "__path__", [*sklearn.__path__, str(place)])
    monkeypatch.syspath_prepend(str(place))
    for name in ("sklearn.evil_on_import.Model", "evil_on_import.Model"):
        evil_file(called(name, loader="ObjectNode"))
        assert f"holds the type {name}," in refused(capsys, place)


METHOD = called("numpy.ndarray", loader="MethodNode") | {"content": {"func": "tofile", "obj": plain(1)}}
OLD = {"content": {"module_path": "posix", "function": "system"}}  # of functions, before protocol 1
TREE = called("sklearn.tree._classes.DecisionTreeClassifier", loader="ObjectNode")


@pytest.mark.parametrize(
    ("node", "said"),
    [
        # a class that is fine where it is made without arguments, called with some
        (called("sklearn.linear_model._logistic.LogisticRegression", "l2"), "LogisticRegression"),
        (called("numpy.memmap", "ledger.json", loader="ListNode"), "numpy.memmap"),
        (called("numpy.memmap", loader="TypeNode"), "numpy.memmap"),
        (called("subprocess.getoutput", loader="FunctionNode"), "subprocess.getoutput"),
        (called("functools.partial", loader="PartialNode"), "functools.partial"),
        (called("operator.methodcaller", "tofile", "x", loader="OperatorFuncNode"), "operator.methodcaller"),
        (called("collections.defaultdict", loader="DefaultDictNode"), "collections.defaultdict"),
        (METHOD, "holds the type numpy.ndarray,"),
        (called("numpy.ndarray", loader="FunctionNode") | OLD, "holds the type numpy.ndarray,"),
        # hidden where no node is expected
        (called("builtins.slice", loader="SliceNode") | {"aside": [{"x": called("os.system")}]}, "os.system"),
        (called("numpy.Thing", loader="NoSuchNode"), "numpy.Thing"),
        # a name that is cut elsewhere, or that steers the terminal
        (TREE | {"__module__": "sklearn", "__class__": "tree._classes.DecisionTreeClassifier"}, "be read as"),
        (TREE | {"__module__": None}, "holds the type None.DecisionTreeClassifier,"),
        (called("sklearn.\x1b[2J\x9b31m.Model", loader="ObjectNode"), r"\x1b[2J\x9b31m"),
        # whole, but no classifier
        (plain(3), "not a model written by pate: student is of another kind"),
    ],
)
def test_every_way_to_bring_something_back_is_looked_at(node, said, place, capsys):
    evil_file(node)
    line = refused(capsys, place)
    assert said in line
    assert line.rstrip("\n").isprintable()


def test_archives_that_grow_are_refused(place, capsys, monkeypatch):
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    one, zeros = array | {"file": "a.npy", "__id__": 1}, bytes(10**6)
    evil_file(one, packed=zipfile.ZIP_DEFLATED, **{"a.npy": zeros})
    assert "a compressed member" in refused(capsys, place)
    evil_file(many(one, one | {"__id__": 2}), **{"a.npy": zeros})
    assert "a member that belongs to two objects" in refused(capsys, place)
    with pytest.warns(UserWarning, match="Duplicate name"):
        evil_file(one, **{"schema.json": b"{}"})
    assert "a member occurs twice" in refused(capsys, place)
    head, _, tail = json.dumps(many("HERE")).partition('"HERE"')
    with zipfile.ZipFile("evil.skops", "w") as archive:
        archive.writestr("schema.json", head * 10**4 + tail * 10**4)
    assert "maximum recursion depth" in refused(capsys, place)
    with monkeypatch.context() as patch:
        patch.setattr("pate_cli.students.trusted._MOST_SCHEMA", 100)
        evil_file(one)
        assert "a schema of more than 100 bytes" in refused(capsys, place)
    # none is too large, all of them together are
    monkeypatch.setattr("pate_cli.students.trusted._MOST_BYTES", 10**5)
    matrices = [sp.csr_matrix((10**4, number)) for number in range(1, 4)]
    assert foreign_types(skops.io.dumps(matrices[:1])) == []
    with pytest.raises(ValueError, match="members that unpack to more than 100,000 bytes"):
        foreign_types(skops.io.dumps(matrices))


@pytest.mark.parametrize(
    "change",
    [
        {"classes": many(plain(1), kind="list")},
        {"n_features": plain(True)},
        {"encoder": plain({})},
        {"meta": plain([])},
        {"first_index": plain(2)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_part_of_another_kind_is_named(change, place, capsys):
    save("evil.skops", LogisticRegression(), first_index=1)
    with zipfile.ZipFile("evil.skops") as archive:
        schema = json.loads(archive.read("schema.json"))
    schema["content"] |= change
    with zipfile.ZipFile("evil.skops", "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    assert f"not a model written by pate: {next(iter(change))} is of another kind" in refused(capsys, place)


def test_a_classifier_that_cannot_label_is_one_line(place, capsys):
    save("evil.skops", LogisticRegression())  # not fitted
    assert "cannot label the records of data" in refused(capsys, place)
    save("evil.skops", LogisticRegression().fit(np.eye(2), [7, 0]))
    assert "gives a code that is not one of its 2 classes" in refused(capsys, place)


def test_the_line_says_all_that_has_to_be_trusted(place, capsys):
    save("evil.skops", GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, Y))
    trust = shlex.split(refused(capsys, place).partition(", pass ")[2])
    assert trust[::2] == ["--trust"] * (len(trust) // 2)
    assert main(["predict", "evil.skops", "data", *trust]) == 0
    assert capsys.readouterr().out in ("0\n", "1\n")
    assert "--trust" in refused(capsys, place, *trust[2:])  # all of them
