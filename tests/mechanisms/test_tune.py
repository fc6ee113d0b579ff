"""`pate tune`: the law of the choice, its budget, what it reports, what it refuses."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm
from second_opinions import eps_of_trials

from pate_cli import mechanisms
from pate_cli.cli import main
from pate_cli.privacy import selection
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

SMALL = ["dataset.n_records=3000", "split.private=2500", "split.public=60", "teacher.size=50"]
N, EPS, DELTA = 6499, 1.0, 1 / 6499
FOUR = [{"label": name, "student": {"estimator": name}} for name in ("logistic", "tree", "stump", "voting")]


def tuned(candidates=FOUR, eps=EPS, **changed):
    learner = ("logistic", {})
    setting = Setting(eps, DELTA, N, 200, 60, 4, 2, 64, False, learner, learner, "drop")
    return mechanisms.calibrate("tune", {"candidates": candidates}, replace(setting, **changed))


def test_the_check_value_of_students_alone():
    plan = tuned()
    assert plan.n_holdout == 649
    assert plan.sigma(4) == pytest.approx(math.sqrt(4) / 0.3250, rel=1e-3)  # 6.15 records
    assert [labelling.setting.eps for labelling in plan.labellings] == [EPS]  # the larger side, not the sum
    assert plan.labellings[0].setting.n_private == N - 649


def test_the_law_of_the_choice():
    """Of two candidates by the normal law, to a false alarm of 1e-6; its odds within mu of each other."""
    plan, runs = tuned(FOUR[:2]), 200_000
    sigma, mu = plan.sigma(2), mu_of(EPS, DELTA)
    shares = []
    for seed, lead in ((0, 1.0), (1, -1.0)):  # one record moved both counts, in opposite directions
        counts = np.tile([300 + lead / 2, 300 - lead / 2], (runs, 1))
        first = int((plan.noisy(counts, Door.seeded(seed)).argmax(axis=1) == 0).sum())
        expected = norm.cdf(lead / (sigma * math.sqrt(2)))
        assert min(binom.cdf(first, runs, expected), binom.sf(first - 1, runs, expected)) > 2.5e-7
        shares.append(expected)
    assert norm.ppf(shares[0]) - norm.ppf(shares[1]) <= mu * (1 + 1e-9)  # the trade-off of mu-GDP


@pytest.mark.parametrize(("count", "by_trials"), [(2, False), (3, False), (12, True)])
def test_labellings_get_the_larger_of_two_shares(count, by_trials):
    teachers = [{"estimator": "logistic", "params": {"C": 0.5 + i}} for i in range(count)]
    plan = tuned([{"label": str(i), "teacher": teacher} for i, teacher in enumerate(teachers)])
    ((eps, delta),) = {(labelling.setting.eps, labelling.setting.delta) for labelling in plan.labellings}
    composed, tried = mu_of(EPS, DELTA) / math.sqrt(count), selection.trials_mu(EPS, DELTA, 4 * count)
    assert delta == DELTA
    assert mu_of(eps, DELTA) == pytest.approx(max(composed, tried), rel=1e-6)
    assert (plan.trials, tried > composed) == (4 * count * by_trials, by_trials)


GAUSSIAN = {"label": "gaussian"}
BESIDE = {
    "gaussian": {"label": "more", "teacher": {"estimator": "tree", "count": 30}},
    "noisy_gd": {"label": "noisy_gd", "mechanism": {"name": "noisy_gd", "steps": 5}},
    "best": {"label": "best", "mechanism": {"name": "best", "steps": 5}},
    "score_boosting": {"label": "score_boosting", "mechanism": {"name": "score_boosting", "rounds": 1}},
}


@pytest.mark.parametrize(
    ("beside", "eps", "delta", "m", "n_classes"),
    [
        ("gaussian", 1e-6, 1e-6, 5000, 2),
        ("gaussian", 1e-6, 1e-9, 5000, 3),
        ("gaussian", 1e-6, 0.02, 500, 2),
        ("gaussian", 0.01, 0.1, 300, 3),
        ("gaussian", 0.01, 0.5, 300, 2),
        ("gaussian", 20.0, 0.01, 300, 2),  # a random number of trials
        ("noisy_gd", 0.01, 0.02, 300, 2),
        ("noisy_gd", 0.01, 0.1, 300, 2),
        ("best", 1e-6, 1e-6, 300, 2),
        ("best", 0.01, 0.1, 300, 2),
        ("score_boosting", 0.01, 0.1, 300, 2),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_the_door_counts_no_more_than_is_promised_and_not_much_less(beside, eps, delta, m, n_classes, exact):
    """Where delta is of the order of eps, and where noise has many numbers at a tiny eps, too."""
    if exact and beside == "noisy_gd":
        return
    learner, rng, n = ("tree", {}), np.random.default_rng(0), 2000
    setting = Setting(eps, delta, n, m, 60, 2, n_classes, 20, False, learner, learner, "drop")
    plan = mechanisms.calibrate("tune", {"candidates": [GAUSSIAN, BESIDE[beside]]}, setting)
    plan = plan.with_exact_noise() if exact else plan
    records = PrivateRecords(rng.normal(size=(n, 2)), np.arange(n) % n_classes)
    door = Door.seeded(0)
    public = PublicPoints(rng.normal(size=(m, 2)))
    plan.release(Private(records), public, door, np.random.default_rng(1))
    spent, promised = plan.loss(door.spent), plan.guarantee
    assert (promised.eps, promised.delta) == (eps, delta)
    assert spent.eps <= eps * (1 + 1e-9)
    assert spent.delta <= delta * (1 + 1e-9)
    assert spent.eps >= eps * (0.8 if exact and eps < 1e-3 else 0.99)


@pytest.mark.parametrize(("mu", "expected"), [(0.1, 2.0), (0.5, 20.0)])
def test_trials_cost_no_less_than_their_exact_profile(mu, expected):
    """The best of K draws of N(0, 1) against that of N(mu, 1), K geometric: delta on a grid."""
    q = 1 - 1 / expected

    def density(y, at):
        return (1 - q) * norm.pdf(y - at) / (1 - q * norm.cdf(y - at)) ** 2

    for delta in (1e-3, 1e-5):
        eps = selection.trials_eps(mu, expected, delta)
        assert selection.trials_mu(eps, delta, expected) == pytest.approx(mu, rel=1e-6)
        grid = np.linspace(-9.0, 9.0, 200_001)
        for one, other in ((0.0, mu), (mu, 0.0)):
            excess = density(grid, one) - math.exp(eps) * density(grid, other)
            assert np.trapezoid(np.maximum(excess, 0), grid) <= delta


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("expected", [2.0, 8.0, 48.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_trials_cost_what_dp_accounting_says(mu, expected, delta):
    theirs = eps_of_trials(mu, expected, delta)
    assert selection.trials_eps(mu, expected, delta) == pytest.approx(theirs, rel=1e-3)


def test_a_record_is_held_out_or_taught():
    """Persons whole; the held-out side has one record of each."""
    rng, units = np.random.default_rng(0), np.repeat(np.arange(500), 3)
    records = PrivateRecords(np.arange(1500.0)[:, None], rng.integers(0, 2, 1500), units)
    held, kept = mechanisms.find("tune")._held_out(records, 50, rng)
    persons = {int(row) // 3 for row in held.X[:, 0]}
    assert len(persons) == held.n_records == 50
    assert kept.n_persons == 450
    assert not persons & {int(row) // 3 for row in kept.X[:, 0]}


def run(*argv):
    code = main(["tune", *SMALL, *argv, "hydra.run.dir=out"])
    return code, json.loads(Path("out/result.json").read_text())


def test_candidates_are_chosen_between_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, record = run("student=logistic,tree", "mechanism=gaussian,best", "eps=2", "repeats=2")
    assert (code, record["mechanism"], record["eps"]) == (0, "tune", 2)
    assert record["plan"]["candidates"] == ["logistic gaussian", "tree gaussian", "logistic best"]
    found = record["diagnostics"]  # means over the repeats
    assert sum(share for name, share in found.items() if name.startswith("chosen ")) == pytest.approx(1)
    assert 0 < found["held-out accuracy tree gaussian"] < 1
    shown = capsys.readouterr()
    assert "tree best: left out: as logistic best" in shown.err
    assert main(["plan", "tune", *SMALL, "student=logistic,tree", "eps=2", "--explain"]) == 0
    assert "share a labelling" in " ".join(capsys.readouterr().out.split())


def test_without_privacy_it_chooses_by_exact_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, record = run("student=logistic,tree", "eps=inf")
    assert (code, record["eps"], record["plan"]["choice_sigma"]) == (0, "inf", 0.0)


def test_what_cannot_be_fitted_counts_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    knn = "sklearn.neighbors.KNeighborsClassifier"
    code, record = run(f"student.estimator=logistic,{knn}", "split.public=4", "eps=8")  # 5 of 4 neighbours
    assert code == 0
    assert record["diagnostics"]["chosen student.estimator=logistic"] == 1
    assert record["diagnostics"][f"held-out accuracy student.estimator={knn}"] == 0


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["eps=1,2"], "eps: has several values; candidates share data, public points and eps"),
        (["eps=1"], "pate tune: one candidate, so no choice"),
        (["student.params.C=interval(0,1)"], "student.params.C=interval(0,1): an interval needs a sweeper"),
        (["student=logistic,tree", "tune.holdout=0"], "mechanism.holdout: got 0"),
        (["student=logistic,tree", "teacher.count=auto"], "teacher.count: got 'auto'"),
        (["mechanism=tune,gaussian"], "mechanism.candidates: got 'tune'"),
        (["mechanism=svt,gaussian", "eps=0.01"], "tune: fewer than two candidates can work; svt: left out"),
    ],
)
def test_bad_input_is_one_line(argv, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["tune", *SMALL, *argv]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith(f"pate: {said}")
    assert list(tmp_path.iterdir()) == []


def test_too_few_records_to_tell_candidates_apart_are_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = ["dataset.n_records=600", "split.private=400", "split.public=60", "teacher.size=20", "eps=0.5"]
    assert main(["plan", "tune", *few, "student=logistic,tree,stump"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "chosen on 40 of 400 records; the noise is worth" in said
    assert "too many candidates to tell apart" in said
