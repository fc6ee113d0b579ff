"""Files built by hand to run code: refused by name, with nothing imported and no trace left."""

from __future__ import annotations

import json
import shlex
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from pate_cli.cli import main
from pate_cli.learners import TWO_CLASSES
from pate_cli.students import STUDENTS, fit_student, load_student, save_student
from pate_cli.students.store import skops_io
from pate_cli.students.trusted import Refused, foreign_types
from pate_cli.types import Answers, PublicPoints

CONF = Path(__file__).resolve().parents[2] / "conf"


def plain(value) -> dict:
    content = json.dumps(value)
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content}


def many(*nodes, kind: str = "tuple") -> dict:
    loader = {"tuple": "TupleNode", "list": "ListNode"}[kind]
    return {"__class__": kind, "__module__": "builtins", "__loader__": loader, "content": list(nodes)}


def mapping(**nodes) -> dict:
    word = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    key_types = many(*[word] * len(nodes), kind="list")
    place = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode"}
    return place | {"content": nodes, "key_types": key_types}


def called(name: str, *arguments, loader: str = "ConstructorFromReduceNode") -> dict:
    module, _, cls = name.rpartition(".")
    return {
        "__class__": cls,
        "__module__": module,
        "__loader__": loader,
        "content": many(*(one if isinstance(one, dict) else plain(one) for one in arguments)),
    }


def model_file(path: Path, student: dict, packed: int = zipfile.ZIP_STORED, **more: bytes) -> Path:
    schema = mapping(
        format=plain("pate student 1"),
        student=student,
        classes=many(plain("0"), plain("1"), kind="list"),
        n_features=plain(2),
        encoder=plain(None),
        meta=mapping(),
    )
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, content in more.items():
            archive.writestr(name, content)
        archive.writestr("schema.json", json.dumps(schema | {"protocol": 2}))
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with data to predict, and a ledger that somebody would rather keep."""
    monkeypatch.chdir(tmp_path)
    Path("data").write_text("1 1:2\n")
    Path("ledger.json").write_text("spent: all of it")
    return tmp_path


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
    inside = {
        "__class__": "LogisticRegression",
        "__module__": "sklearn.linear_model._logistic",
        "__loader__": "ObjectNode",
        "content": mapping(coef_=node),
    }
    model_file(place / "evil.skops", node if where == "student" else inside)
    name = f"{node['__module__']}.{node['__class__']}"
    said = refused(capsys, place)
    assert f"holds the type {name}, which pate does not write" in said
    assert said.rstrip().endswith(f"pass --trust {name}")


def test_no_module_is_imported_to_look_at_it(place, capsys, monkeypatch):
    (place / "evil_on_import.py").write_text("open('ledger.json', 'w').write('gone')\nclass Model: pass\n")
    monkeypatch.setattr(sklearn, "__path__", [*sklearn.__path__, str(place)])
    monkeypatch.syspath_prepend(str(place))
    for name in ("sklearn.evil_on_import.Model", "evil_on_import.Model"):
        model_file(place / "evil.skops", called(name, loader="ObjectNode"))
        assert f"holds the type {name}," in refused(capsys, place)


@pytest.mark.parametrize(
    ("node", "name"),
    [
        # a class that is fine where it is made without arguments, called with some
        (called("sklearn.linear_model._logistic.LogisticRegression", "l2"), "LogisticRegression"),
        (called("numpy.memmap", "ledger.json", loader="ListNode"), "numpy.memmap"),
        (called("numpy.memmap", loader="TypeNode"), "numpy.memmap"),
        (called("subprocess.getoutput", loader="FunctionNode"), "subprocess.getoutput"),
        (called("functools.partial", loader="PartialNode"), "functools.partial"),
        (called("operator.methodcaller", "tofile", "x", loader="OperatorFuncNode"), "operator.methodcaller"),
        (called("collections.defaultdict", loader="DefaultDictNode"), "collections.defaultdict"),
        (
            called("numpy.ndarray", loader="MethodNode") | {"content": {"func": "tofile", "obj": plain(1)}},
            "numpy.ndarray.tofile",
        ),
        (  # how skops wrote functions before protocol 1
            called("numpy.ndarray", loader="FunctionNode")
            | {"content": {"module_path": "posix", "function": "system"}},
            "posix.system",
        ),
        # hidden where no node is expected
        (called("builtins.slice", loader="SliceNode") | {"aside": [{"x": called("os.system")}]}, "os.system"),
        (called("numpy.Thing", loader="NoSuchNode"), "numpy.Thing"),
    ],
)
def test_every_way_to_bring_something_back_is_looked_at(node, name, place, capsys):
    model_file(place / "evil.skops", node)
    assert name in refused(capsys, place)


def test_a_name_cannot_be_cut_elsewhere(place, capsys):
    node = called("sklearn.tree._classes.DecisionTreeClassifier", loader="ObjectNode")
    model_file(place / "evil.skops", node | {"__module__": "sklearn.tree", "__class__": "_classes.Decision"})
    assert "not a model written by pate" in refused(capsys, place)
    model_file(place / "evil.skops", node | {"__module__": None})
    assert "not a model written by pate" in refused(capsys, place)


def test_what_a_file_says_cannot_steer_the_terminal(place, capsys):
    model_file(place / "evil.skops", called("sklearn.\x1b[2J\x9b31m.Model", loader="ObjectNode"))
    said = refused(capsys, place)
    assert said.rstrip("\n").isprintable()
    assert r"\x1b[2J\x9b31m" in said


def test_archives_that_grow_are_refused(place, capsys):
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    one = array | {"file": "a.npy", "__id__": 1}
    evil, zeros = place / "evil.skops", bytes(10**6)
    model_file(evil, one, packed=zipfile.ZIP_DEFLATED, **{"a.npy": zeros})
    assert "a compressed member" in refused(capsys, place)
    model_file(evil, many(one, one | {"__id__": 2}), **{"a.npy": zeros})
    assert "a member that belongs to two objects" in refused(capsys, place)
    with pytest.warns(UserWarning, match="Duplicate name"):
        model_file(evil, one, **{"schema.json": b"{}"})
    assert "a member occurs twice" in refused(capsys, place)
    head, _, tail = json.dumps(many("HERE")).partition('"HERE"')
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("schema.json", head * 10**4 + tail * 10**4)
    assert "maximum recursion depth" in refused(capsys, place)


def test_a_sparse_matrix_that_grows_is_refused(monkeypatch):
    data = skops_io().dumps(sp.csr_matrix((10**4, 10**4)))
    assert foreign_types(data)[1] == []
    monkeypatch.setattr("pate_cli.students.trusted._MOST_BYTES", 1000)
    with pytest.raises(Refused, match="a matrix of more than 1000 bytes"):
        foreign_types(data)


SCALER = called("sklearn.preprocessing._data.StandardScaler", loader="ObjectNode") | {"content": mapping()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"student": plain(3)}, "student is not a classifier"),
        ({"student": SCALER}, "student is not a classifier"),
        ({"classes": plain("no")}, "classes is not a list of labels"),
        ({"classes": many(plain(1), kind="list")}, "classes is not a list of labels"),
        ({"n_features": plain(True)}, "n_features is not a whole number"),
        ({"encoder": plain({})}, "encoder is not null or a fitted ColumnTransformer"),
        ({"meta": plain([])}, "meta is not a mapping"),
    ],
)
def test_a_whole_file_without_a_classifier_is_one_line(change, said, place, capsys):
    with zipfile.ZipFile(model_file(place / "good.skops", plain(0))) as archive:
        schema = json.loads(archive.read("schema.json"))
    save_student("x", LogisticRegression(), classes=("0",), n_features=2, encoder=None, meta={})
    with zipfile.ZipFile("x") as archive:
        schema["content"]["student"] = json.loads(archive.read("schema.json"))["content"]["student"]
    schema["content"] |= change
    with zipfile.ZipFile("evil.skops", "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    assert f"not a model written by pate: {said}" in refused(capsys, place)


def test_a_classifier_that_cannot_label_is_one_line(place, capsys):
    facts = {"classes": ("0", "1"), "n_features": 2, "encoder": None, "meta": {}}
    save_student("evil.skops", LogisticRegression(), **facts)  # not fitted
    assert "cannot label the records of data" in refused(capsys, place)
    save_student("evil.skops", LogisticRegression().fit(np.eye(2), [7, 0]), **facts)
    assert "gives a code that is not one of its 2 classes" in refused(capsys, place)
    save_student("evil.skops", LogisticRegression().fit(np.eye(3), [0, 1, 0]), **facts)
    assert "cannot label the records of data" in refused(capsys, place)


def test_the_line_says_all_that_has_to_be_trusted(place, capsys):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    student = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)
    save_student("evil.skops", student, classes=("0", "1"), n_features=2, encoder=None, meta={})
    trust = shlex.split(refused(capsys, place).partition(", pass ")[2])
    assert trust[::2] == ["--trust"] * (len(trust) // 2)
    assert main(["predict", "evil.skops", "data", *trust]) == 0
    assert capsys.readouterr().out in ("0\n", "1\n")
    assert "--trust" in refused(capsys, place, *trust[2:])  # all of them


# fewer rounds and trees: what is written is of the same types
FEW = {"n_estimators": 3}
SMALL = {f"sklearn.ensemble.{name}": FEW for name in ("AdaBoostClassifier", "ExtraTreesClassifier")}
SMALL |= {"voting": FEW, "sklearn.ensemble.RandomForestClassifier": FEW}


def fitted(name: str, kind, n_classes: int, *, counts: bool):
    rng = np.random.default_rng(0)
    X = kind(np.where(rng.random((60, 12)) < 0.3, 0.0, rng.normal(size=(60, 12))))
    labels = np.arange(40) % n_classes
    noisy = np.eye(n_classes)[labels] * 20 + rng.normal(size=(40, n_classes)) if counts else None
    answers = Answers(np.arange(40), labels, noisy_counts=noisy, n_teachers=30)
    how = {"params": SMALL.get(name, {}), "unanswered": "drop", "rng": rng, "n_classes": n_classes, "seed": 0}
    return fit_student(PublicPoints(X), answers, estimator=name, **how), X


def opens_as_it_was(path: Path, student, X) -> None:
    save_student(path, student, classes=("a", "b", "c"), n_features=12, encoder=None, meta={"eps": 1.0})
    assert foreign_types(path.read_bytes())[1] == []
    np.testing.assert_array_equal(load_student(path).student.predict(X), student.predict(X))


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "student").glob("*.yaml")))
def test_every_student_option_opens(name, tmp_path):
    assert name in STUDENTS
    for kind in (np.asarray, sp.csr_matrix):
        for n_classes in (2,) if name in TWO_CLASSES else (2, 3):
            for counts in (True, False):
                opens_as_it_was(tmp_path / "s", *fitted(name, kind, n_classes, counts=counts))
