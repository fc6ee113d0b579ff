"""Figures beside accuracy: against scikit-learn's own, with classes that are absent, and in the table."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.svm import LinearSVC

from pate_cli import cli
from pate_cli.results.means import MeasuredRow
from pate_cli.results.overview import METRICS, warnings
from pate_cli.students.metrics import measure

NAMES = ("a", "b", "c")


def _data(n_classes, n=300):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    return rng.normal(size=(n, 3)) + 0.7 * np.eye(3)[y], y


def test_measures_agree_with_scikit_learn():
    X, y = _data(2)
    model = LogisticRegression().fit(X[:100], y[:100])
    accuracy, found = measure(model, X[100:], y[100:], ("no", "yes"))
    p, said, y = model.predict_proba(X[100:]), model.predict(X[100:]), y[100:]
    assert accuracy == np.mean(said == y)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, said))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y, p[:, 1]))
    assert found["log_loss"] == pytest.approx(log_loss(y, p))
    assert found["brier"] == pytest.approx(brier_score_loss(y, p[:, 1]))
    for name, score in (("recall", recall_score), ("precision", precision_score)):
        assert [found[f"{name}.{one}"] for one in ("no", "yes")] == pytest.approx(
            score(y, said, average=None)
        )
    assert set(METRICS) == {name for name in found if not name.startswith(("recall.", "precision."))}
    X, y = _data(3)
    model = LogisticRegression().fit(X[:100], y[:100])
    _, found = measure(model, X[100:], y[100:], NAMES)
    p = model.predict_proba(X[100:])
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y[100:], p, multi_class="ovr"))
    assert found["log_loss"] == pytest.approx(log_loss(y[100:], p))


def test_equal_scores_share_a_rank_and_a_probability_that_is_none_is_refused():
    y = np.array([0, 1, 1, 0, 1, 0])

    class Fixed:
        p = np.array([0.5, 0.5, 0.5, 0.2, 0.8, 0.2])

        def predict(self, X):
            return (self.p > 0.4).astype(int)

        def predict_proba(self, X):
            return np.column_stack([1 - self.p, self.p])

    _, found = measure(Fixed(), y, y, ("no", "yes"))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y, Fixed.p), abs=1e-15)
    Fixed.p[2] = np.nan
    with pytest.raises(ValueError, match="predict_proba of Fixed gives NaN"):
        measure(Fixed(), y, y, ("no", "yes"))


def test_without_probabilities_or_with_a_class_that_is_not_seen_or_not_tested():
    X, y = _data(3)
    svm = LinearSVC().fit(X, y == 1)
    _, found = measure(svm, X, (y == 1).astype(int), ("no", "yes"))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y == 1, svm.decision_function(X)))
    assert "log_loss" not in found
    seen = LogisticRegression().fit(X[y > 0], y[y > 0])
    _, found = measure(seen, X, y, NAMES)
    assert found["recall.a"] == 0
    assert "precision.a" not in found  # never predicted
    assert 5 < found["log_loss"] < 35 * np.mean(y == 0) + 5
    of_a = (0.5 + sum(roc_auc_score(y == k, seen.predict_proba(X)[:, k - 1]) for k in (1, 2))) / 3
    assert found["roc_auc"] == pytest.approx(of_a)
    model = LogisticRegression().fit(X, y)
    _, found = measure(model, X[y > 0], y[y > 0], NAMES)
    assert ("recall.a" in found, "roc_auc" in found) == (False, True)
    assert "roc_auc" not in measure(model, X[y == 1], y[y == 1], NAMES)[1]


def test_the_table_shows_them_and_the_share_of_the_commonest_class(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'ill' if rng.random() < 0.1 else 'well'}" for x in rng.normal(size=900)]
    (tmp_path / "people.csv").write_text("x,class\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    data = ["dataset=csv", "dataset.path=people.csv", "dataset.target=class", "teacher.size=20"]
    assert cli.main(["run", *data, "eps=1", "hydra.run.dir=out"]) == 0
    said = capsys.readouterr().out
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    share = record["diagnostics"]["majority_class"]
    assert record["accuracy"]["mean"] <= share
    assert "the student was right no more often than one that always says the commonest class" in " ".join(
        said.split()
    )
    assert "but it ranks" not in said
    assert cli.main(["table", "out", "--metrics", "--format", "csv"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert set(METRICS) | {"recall.ill", "recall.well", "precision.well", "majority"} <= set(row)
    assert float(row["balanced_accuracy"]) < 0.6


def test_a_student_that_ranks_rare_cases_but_labels_none_is_told_of(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=3000)
    ill = rng.random(3000) < 0.15 / (1 + np.exp(-X))
    rows = [f"{x:.3f},{'ill' if y else 'well'}" for x, y in zip(X, ill, strict=True)]
    (tmp_path / "people.csv").write_text("x,class\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    data = ["dataset=csv", "dataset.path=people.csv", "dataset.target=class"]
    assert cli.main(["run", *data, "mechanism=best", "eps=8", "hydra.run.dir=out"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no more often than one that always says the commonest class" in said
    assert "but it ranks (ROC AUC 0.6" in said
    assert "pate predict --threshold" in said


def test_a_student_that_is_the_limit_is_told_of(tmp_path, monkeypatch, capsys):
    """One column cannot say what the teachers' votes say; noise costs next to nothing."""
    monkeypatch.chdir(tmp_path)
    small = ["dataset.n_records=6000", "split.public=200", "eps=8"]
    said = []
    for student in ("stump", "kernel"):
        assert cli.main(["run", *small, f"student={student}", f"hydra.run.dir={student}"]) == 0
        said.append("the student, not privacy, is the limit" in " ".join(capsys.readouterr().out.split()))
    assert said == [True, False]


@pytest.mark.parametrize(
    ("n_public", "n_test", "n", "told"), [(8, 72, 1, False), (8, 72, 40, True), (400, 4000, 1, True)]
)
def test_points_and_records_too_few_to_tell_blame_no_student(n_public, n_test, n, told):
    """7 of 8 points, and 55 of 72 records, are no difference."""
    repeats = pd.DataFrame({"accuracy": [0.75] * n, "vote_accuracy": [0.875] * n, "ceiling": [0.76] * n})
    row = MeasuredRow({"n_public": n_public, "n_test": n_test}, repeats, "ok", "")
    said = [text for text in warnings(row) if "it is right on 76.0% after exact votes" in text]
    assert bool(said) is told
