"""Evaluations on held-out private records: one noisy table, and what follows from it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from generated_points import Beside, summed
from sklearn.linear_model import LogisticRegression

from pate_cli import audit, pipeline
from pate_cli.cli import main
from pate_cli.runs.evaluation import Evaluation, figures


def too_sure():
    """Log-odds three times those of the labels."""
    model = LogisticRegression()
    model.classes_, model.coef_, model.intercept_ = np.arange(2), np.array([[3.0]]), np.zeros(1)
    return model


class Held:
    def __init__(self, n, rate, seed):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(rate, 1.5, size=(n, 1))
        self.y = (rng.random(n) < 1 / (1 + np.exp(-self.X[:, 0]))).astype(np.int64)


def reported(n, rate=0.0, seed=0, threshold=None, eps=1.0):
    from pate_cli.privacy.door import Door

    made = Evaluation(n, 2, eps, 1e-5, threshold=threshold)
    public = np.random.default_rng(99).normal(rate, 1.5, size=(400, 1))
    return figures(made.report(too_sure(), Held(n, rate, seed), public, Door.seeded(seed)))


@pytest.mark.parametrize(
    "form",
    [
        Beside(name, exact, options=("evaluate=0.2",))
        for name in ("gaussian", "best", "svt")
        for exact in (False, True)
    ],
    ids=str,
)
def test_a_table_costs_no_more_than_the_whole(form):
    summed(form)


@pytest.mark.parametrize(("rate", "n"), [(0.0, 1500), (-5.5, 1500)])
def test_intervals_cover_what_is_true(rate, n):
    """Or say that they cannot tell. At least 85 of 100: a false alarm is below 1e-6 if 97% do."""
    many = Held(400_000, rate, 1)
    right = (many.X[:, 0] > 0) == many.y
    order = np.argsort(many.X[:, 0])
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order)) + 1
    n1 = many.y.sum()
    area = (ranks[many.y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(ranks) - n1))
    truth = {"accuracy": right.mean(), "roc_auc": area, "share.1": many.y.mean()}
    truth["recall.1"] = (many.X[:, 0] > 0)[many.y == 1].mean()
    covered = dict.fromkeys(truth, 0)
    told = 0
    for seed in range(100):
        shown = reported(n, rate, seed)["figures"]
        for name, value in truth.items():
            covered[name] += shown[name]["low"] <= value <= shown[name]["high"] or not shown[name]["told"]
        told += shown["roc_auc"]["told"]
    assert min(covered.values()) >= 85, covered
    assert told > 75 if rate == 0 else told < 25


def shares_of(n, n_classes, accuracy, seed):
    """Figures of noisy counts, at random, of a student that is nearly always right."""
    rng, bins = np.random.default_rng(seed), 13
    sigma = Evaluation(n, n_classes, 1.0, 1e-4).sigma
    y = rng.choice(n_classes, size=n, p=[0.7, *[0.3 / (n_classes - 1)] * (n_classes - 1)])
    label = np.where(rng.random(n) < accuracy, y, (y + 1) % n_classes)
    two = n_classes == 2
    where = rng.integers(6, size=n) + 7 * (label == 1) if two else rng.integers(bins, size=n)
    counts = np.bincount((y if two else label == y) * bins + where, minlength=2 * bins)
    if not two:
        counts = np.concatenate([counts, np.bincount(y * n_classes + label, minlength=n_classes**2)])
    report = {"n": n, "n_classes": n_classes, "sigma": sigma, "threshold": None}
    report |= {"edges": np.linspace(-3, 3, bins - 1), "scores": np.zeros((bins, 5))}
    return figures(report | {"table": counts + rng.normal(0, sigma, counts.size)})["figures"]


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_no_figure_contradicts_another(n_classes):
    """Each noisy sum was clipped by itself: an accuracy of 100 stood beside a precision of 97."""
    perfect = 0
    for seed in range(30):
        told = shares_of(1500, n_classes, 0.999, seed)
        at = {name: each["estimate"] for name, each in told.items()}
        assert all(v["low"] <= v["estimate"] <= v["high"] for v in told.values() if v["estimate"] is not None)
        share, recall, precision = (
            [at[f"{name}.{code}"] for code in range(n_classes)] for name in ("share", "recall", "precision")
        )
        assert sum(share) == pytest.approx(1)
        if None in recall or None in precision:
            continue
        hits = [s * r for s, r in zip(share, recall, strict=True)]
        assert sum(hits) == pytest.approx(at["accuracy"])
        assert sum(h / p for h, p in zip(hits, precision, strict=True)) == pytest.approx(1)
        if at["accuracy"] == 1:
            perfect += 1
            assert min(*recall, *precision, at.get("roc_auc", 1)) == 1
    assert perfect or n_classes == 12


def test_a_student_that_is_too_sure_is_set_right_and_a_threshold_meets_its_rule():
    at = reported(20_000, eps=4.0)
    slope, _ = at["calibration"]
    assert slope == pytest.approx(1 / 3, rel=0.2)
    shown = at["figures"]
    assert shown["calibration_error"]["estimate"] < shown["calibration_error_before"]["estimate"] / 2
    for rule, name in (("recall:0.9", "recall.1"), ("precision:0.9", "precision.1")):
        chosen = reported(20_000, eps=4.0, threshold=rule)
        assert chosen["reached"]
        assert chosen["figures"][name]["estimate"] >= 0.9
    assert reported(20_000, eps=4.0, threshold="youden")["cut"] == pytest.approx(0, abs=2)


def test_an_audit_finds_half_of_the_noise(monkeypatch):
    made = Evaluation(1000, 3, 1.0, 1e-5)
    assert max(one.bound for one in audit.audit(made, made.attacks(), confidence=1 - 1e-6)) <= 1.0
    monkeypatch.setattr(Evaluation, "sigma", property(lambda self: 0.25))
    assert max(one.bound for one in audit.audit(made, made.attacks(), confidence=1 - 1e-6)) > 1.0


def test_an_experiment_says_what_its_release_would(tmp_path, monkeypatch, capsys):
    run = Beside("best", options=("evaluate=0.1", "release=false")).prepared("ranges", n=8000)
    outcome = pipeline.run_repeat(run, 0)
    found = outcome.result.diagnostics
    assert found["evaluated.accuracy_low"] <= outcome.result.accuracy <= found["evaluated.accuracy_high"]
    monkeypatch.chdir(tmp_path)
    for argv, said in (
        (["evaluate=0"], "evaluate: got 0"),
        (["threshold=youden"], "threshold: got 'youden'; accepted: null without evaluate"),
        (
            ["evaluate=0.1", "threshold=recall"],
            "threshold: got 'recall'; accepted: null, or youden, recall:SHARE",
        ),
        (["evaluate=0.00001"], "evaluate: got 1e-05; accepted: a share of at least one"),
    ):
        assert main(["run", *argv]) == 2
        assert said in capsys.readouterr().err


def test_a_certificate_with_another_figure_is_found(tmp_path, monkeypatch, capsys, fixed_draws):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    rows = "".join(
        f"{a:.3f},{b}\n" for a, b in zip(rng.normal(2 * y, 1), np.array(["no", "yes"])[y], strict=True)
    )
    Path("mine.csv").write_text("x,label\n" + rows)
    Path("schema.yaml").write_text(
        "target: label\nclasses: [no, yes]\ncolumns:\n  x: {kind: numeric, low: -5, high: 7}\n"
    )
    data = ["dataset=csv", "dataset.path=mine.csv", "dataset.target=label", "dataset.schema=schema.yaml"]
    data += ["dataset.public=marginals"]
    assert main(["ledger", "init", *data, "--eps", "4", "--delta", "1e-3"]) == 0
    argv = [
        *data,
        "mechanism=best",
        "eps=2",
        "delta=1e-4",
        "release=true",
        "evaluate=0.1",
        "threshold=youden",
    ]
    assert main(["run", *argv, "hydra.run.dir=out"]) == 0
    said = capsys.readouterr().out
    assert "\nPublished in out: finds " in said
    assert "\naccuracy " in said
    assert main(["verify", "out"]) == 0
    assert "## How good it is" in Path("out/model_card.md").read_text()
    capsys.readouterr()
    assert main(["predict", "out/student.skops", "mine.csv", "--threshold", "0.3", "--output", "labels"]) == 0
    assert "; 'yes': recall 1" in capsys.readouterr().err
    text = Path("out/certificate.json").read_text()
    Path("out/certificate.json").write_text(text.replace('"schema_version": 4', '"schema_version": 3'))
    assert main(["verify", "out"]) == 1  # the certificate is another one
    said = " ".join(capsys.readouterr().out.split())
    assert "not checked what it says of its quality" in said  # of an earlier version: by another rule
    facts = json.loads(text)
    assert facts["evaluation"]["figures"]["accuracy"]["told"]
    facts["evaluation"]["figures"]["accuracy"]["estimate"] = 0.999
    Path("out/certificate.json").write_text(json.dumps(facts))
    assert main(["verify", "out"]) == 1
    assert "follows from its noisy table: it has another figures" in " ".join(capsys.readouterr().out.split())
