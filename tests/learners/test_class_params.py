"""Parameters about classes reach the classes that the user named, on parts that lack some, too."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pate_cli.cli import main
from pate_cli.errors import ConfigError
from pate_cli.learners import by_code, check_learner, limit_to, make_learner, passed_on
from pate_cli.students import fit_student
from pate_cli.teachers import fit_part
from pate_cli.types import Answers, PublicPoints

LABELS = ("red", "green", "blue")
WEIGHT = {"red": 1, "blue": 1000}
LOGISTIC = LogisticRegression(class_weight=WEIGHT)


def _part() -> tuple[Any, Any]:
    """Records of green and blue, hard to tell apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(1, 3, size=60)
    return np.abs(rng.normal(size=(60, 3)) + y[:, None]), y


@pytest.mark.parametrize(
    ("learner", "name", "wanted"),
    [
        (LOGISTIC, "class_weight", {1: 1000}),
        (LogisticRegression(class_weight={2: 1000, 0: 5}), "class_weight", {1: 1000}),  # codes
        (LogisticRegression(class_weight={"red": 7}), "class_weight", {}),
        (make_pipeline(StandardScaler(), LOGISTIC), "logisticregression__class_weight", {1: 1000}),
        (BaggingClassifier(LOGISTIC, 3), "estimator__class_weight", {1: 1000}),
        (CalibratedClassifierCV(LOGISTIC, cv=2), "estimator__class_weight", {1: 1000}),
        (
            VotingClassifier([("a", make_pipeline(LOGISTIC))]),
            "a__logisticregression__class_weight",
            {1: 1000},
        ),
        (GridSearchCV(LogisticRegression(), {"class_weight": [WEIGHT, None]}), "param_grid", None),
        (GaussianNB(priors=[0.2, 0.2, 0.6]), "priors", [0.25, 0.75]),
        (MultinomialNB(class_prior=np.array([0.5, 0.1, 0.4])), "class_prior", [0.2, 0.8]),
        (DummyClassifier(strategy="constant", constant="blue"), "constant", 1),
        (LogisticRegression(class_weight="balanced"), "class_weight", "balanced"),
        # of each class against the rest: its 0 and 1 are no classes of ours
        (
            OneVsRestClassifier(LogisticRegression(class_weight={0: 1, 1: 9})),
            "estimator__class_weight",
            {0: 1, 1: 9},
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_part_without_a_class_has_the_parameters_of_the_others(
    learner: Any, name: str, wanted: Any
) -> None:
    X, y = _part()
    coded, _ = by_code(learner, {}, LABELS, "teacher.params")
    teacher, problem = fit_part(make_learner(coded, {}, seed=None, n_classes=3), X, y, seed=0, n_classes=3)
    assert problem is None
    found = teacher.estimator.get_params()
    found = found[name] if name in found else found[f"estimator__{name}"]  # given dense copies
    if name == "param_grid":
        assert found == {"class_weight": [{1: 1000}, None]}
    elif isinstance(wanted, list):
        np.testing.assert_allclose(found, wanted)
    else:
        assert found == wanted
    if wanted == {1: 1000} and not isinstance(learner, CalibratedClassifierCV):
        assert (teacher.predict(X) == 2).mean() > 0.9  # with the weight on green, none is
    again, _ = by_code(learner, {}, LABELS, "teacher.params")  # the user's own is as it was
    assert make_learner(again, {}, seed=None, n_classes=3).get_params(deep=False).keys()


def test_a_student_whose_labels_lack_a_class() -> None:
    X, y = _part()
    name, params = by_code("logistic", {"class_weight": WEIGHT, "solver": "lbfgs"}, LABELS, "student.params")
    assert params["class_weight"] == {0: 1, 2: 1000}
    more = {"unanswered": "drop", "rng": np.random.default_rng(0), "n_classes": 3, "seed": 0}
    answers = Answers(np.arange(60), y)
    student = fit_student(PublicPoints(X), answers, estimator=name, params=params, **more)
    assert (student.predict(X) == 2).mean() > 0.9
    name, params = by_code("voting", {"base_params": {"class_weight": WEIGHT}}, LABELS, "student.params")
    student = fit_student(PublicPoints(X), answers, estimator=name, params=params, **more)
    assert student.estimator.class_weight == {2: 1000}


@pytest.mark.parametrize(
    ("classes", "named", "codes"),
    [
        (("1", "2", "3"), {1: 5, 3: 6}, {0: 5, 2: 6}),
        (("-1", "+1"), {-1: 5, 1: 6}, {0: 5, 1: 6}),
        (("2.5", "10"), {10.0: 5}, {1: 5}),
        (("false", "true"), {True: 5}, {1: 5}),
        (("01", "02"), {"02": 5}, {1: 5}),
        (("1", "2"), {0: 5, 1: 6}, {0: 5, 1: 6}),  # 0 is no label, so these are codes
        (("1152921504606846977", "1152921504606846979"), {1152921504606846979: 5}, {1: 5}),
    ],
)
def test_classes_are_named_by_their_labels(classes: Any, named: Any, codes: Any) -> None:
    assert by_code("logistic", {"class_weight": named}, classes, "teacher.params")[1]["class_weight"] == codes


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"class_weight": {"pink": 2}},
            r"\.class_weight: got 'pink'; accepted: labels of the data, each once: red",
        ),
        ({"class_weight": {0: 1, "red": 2}}, r"\.class_weight: got 0; accepted: labels"),
        ({"class_weight": {3: 1}}, r"\.class_weight: got 3; accepted: labels"),
        ({"base_params": {"class_weight": {"pink": 2}}}, r"\.class_weight: got 'pink'"),
        ({"scale_pos_weight": 3}, r"\.scale_pos_weight: got 3; accepted: nothing with 3 classes"),
        ({"monotone_constraints": [1, 0]}, r"\.monotone_constraints: got \[1, 0\]; accepted: nothing with 3"),
    ],
)
def test_what_names_no_class_is_refused(params: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=rf"^teacher\.params{said}"):
        by_code("logistic", params, LABELS, "teacher.params")


def test_fewer_classes_than_there_are_may_be_tried() -> None:
    """As before a release, whose parts are small."""
    params = {"class_weight": {0: 1, 2: 9}}
    check_learner("logistic", params, n_classes=3, shape=(30, 4))
    learner = limit_to(LogisticRegression(class_weight={0: 1, 2: 9}), {2: 0, 1: 1}, 3)
    assert learner.class_weight == {0: 9}


def test_labels_of_a_file_are_named_on_the_command_line(tmp_path, monkeypatch, capsys):
    """A weight of 1,000 on one class of a file whose rare class most teachers never see."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.choice(3, size=1500, p=[0.01, 0.49, 0.5])]
    X = rng.normal(size=(1500, 2)) + (y == "b")[:, None]
    rows = [f"{one},{other},{label}" for (one, other), label in zip(X, y, strict=True)]
    (tmp_path / "rare.csv").write_text("\n".join(["x,y,label", *rows]) + "\n")
    run = ["run", "dataset=csv", "dataset.path=rare.csv", "dataset.target=label", "eps=inf", "student=tree"]
    run += ["split.public=200", "teacher.size=40", "features=none", "compute.workers=1"]
    for label in ("b", "c"):
        code = main([*run, f"teacher.params.class_weight={{{label}:1000}}", f"hydra.run.dir={label}"])
        assert (code, "got" in capsys.readouterr().err) == (0, False)
        main(["predict", f"{label}/student.skops", "rare.csv", "--output", f"{label}.csv"])
        assert (tmp_path / f"{label}.csv").read_text().count(f"\n{label}") > 1400
    capsys.readouterr()
    assert main([*run, "teacher.params.class_weight={d:1000}"]) == 2
    refused = "pate: teacher.params.class_weight: got 'd'; accepted: labels of the data, each once: a, b, c\n"
    assert capsys.readouterr().err == refused


KWARGS = """\
from sklearn.linear_model import LogisticRegression

class Takes(LogisticRegression):
    def __init__(self, max_depth=3, colsample_bytree=1.0, **kwargs):
        self.max_depth, self.colsample_bytree, self.others = max_depth, colsample_bytree, kwargs
        super().__init__()
"""


def test_a_misspelt_parameter_of_a_class_that_takes_any(tmp_path, monkeypatch):
    (tmp_path / "takes_any.py").write_text(KWARGS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "takes_any", raising=False)
    path = "takes_any.Takes"
    for wrong, meant in (("max_dept", "max_depth"), ("maxdepth", "max_depth"), ("max_itr", "max_iter")):
        with pytest.raises(ConfigError, match=rf"^teacher\.params\.{wrong}: got 2; accepted: {meant} \("):
            make_learner(path, {wrong: 2}, seed=0, n_classes=2)
    others = {"colsample_bynode": 0.5, "linear_tree": True, "max_iter": 7}
    assert make_learner(path, others, seed=0, n_classes=2).others == others
    said = passed_on(path, others | {"max_depth": 2}, "teacher.params")
    assert said == (
        "teacher.params.colsample_bynode: Takes names no such parameter, and takes it unchecked; did you mean"
        " colsample_bytree",
        "teacher.params.linear_tree: Takes names no such parameter, and takes it unchecked",
    )
    with pytest.raises(
        ConfigError, match=r"^teacher\.params\.max_itr: got 2; accepted: max_iter \(there are: "
    ):
        make_learner("logistic", {"max_itr": 2}, seed=0, n_classes=2)
