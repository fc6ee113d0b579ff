"""The likelihood's numbers against brute force; what knowing the noise buys; every shape of input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

from pate_cli.errors import ConfigError
from pate_cli.students import check_student, fit_student
from pate_cli.students.gaussian_process import KERNELS, Landmarks, regress
from pate_cli.students.noise_aware import NoisyCountsClassifier
from pate_cli.students.soft_targets import SoftTargets
from pate_cli.types import UNANSWERED, Answers, PublicPoints

K = 100


def votes(n_classes=2, m=200, d=6, sigma=0.0, seed=0):
    """Points, noisy counts and labels: shares of the votes are a softmax of the first C features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    scores = np.exp(2 * X[:, :n_classes])
    counts = K * scores / scores.sum(axis=1, keepdims=True)
    truth = counts.argmax(axis=1)
    if n_classes == 2:
        ones = counts[:, 1] + sigma * rng.normal(size=m)
        return X, np.column_stack([K - ones, ones]), truth
    return X, counts + sigma * rng.normal(size=counts.shape), truth


def test_regression_is_the_posterior_of_largest_evidence():
    X, counts, _ = votes(m=40, sigma=20.0)
    targets, variance = counts[:, 1:] / K - 0.5, (20 / K) ** 2
    landmarks = Landmarks(X, 0)
    found = regress({"linear": landmarks.span(X, "linear")}, targets, variance)
    gram = X @ X.T / np.mean((X**2).sum(axis=1)) + 1

    def evidence(amplitude, scatter):
        cov = amplitude * gram + (variance + scatter) * np.eye(40)
        return multivariate_normal(np.zeros(40), cov).logpdf(targets[:, 0])

    grid = [(evidence(a, found.scatter), a) for a in np.geomspace(1e-3, 10, 400)]
    best, amplitude = max(grid)
    # the constant is left out of the evidence
    assert found.evidence - 20 * np.log(2 * np.pi) == pytest.approx(best, abs=1e-3)
    assert all(best + 1e-2 > evidence(amplitude, s) for s in np.geomspace(1e-6, 1, 30))
    cov = amplitude * gram + (variance + found.scatter) * np.eye(40)
    mean = amplitude * gram @ np.linalg.solve(cov, targets)
    np.testing.assert_allclose(landmarks.evaluate(X, {"linear": found.coefficients}), mean, atol=5e-3)


@pytest.mark.parametrize("name", KERNELS)
def test_many_points_are_spanned_by_fewer(name, monkeypatch):
    X, counts, _ = votes(m=120, sigma=5.0)
    monkeypatch.setattr("pate_cli.students.gaussian_process._MOST_LANDMARKS", 60)
    landmarks = Landmarks(X, 0)
    assert landmarks.points.shape == (60, 6)
    span = landmarks.span(X, name)
    np.testing.assert_allclose(span.directions.T @ span.directions, np.eye(len(span.variances)), atol=1e-8)
    functions = span.directions * np.sqrt(span.variances)
    np.testing.assert_allclose(landmarks.gram(X, name) @ span.back, functions, atol=1e-6)
    assert regress({name: span}, counts[:, 1:] / K - 0.5, 0.0025).coefficients.shape == (60, 1)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("sigma", [0.0, 10.0])
def test_learns_from_noisy_counts(n_classes, sigma, kind):
    X, counts, _ = votes(n_classes, sigma=sigma)
    student = NoisyCountsClassifier(sigma, K).fit(kind(X), counts)
    fresh, _, truth = votes(n_classes, seed=1)
    assert np.mean(student.predict(kind(fresh)) == truth) > 0.85
    shares = student.predict_proba(kind(fresh))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), student.predict(kind(fresh)))


def test_counts_tell_the_shares_of_the_votes_better_than_labels():
    """Mean squared error over 5 draws, against that of logistic regression on the noisy labels."""
    errors = []
    for seed in range(5):
        X, counts, _ = votes(sigma=40.0, seed=seed)
        fresh, exact, _ = votes(seed=1000 + seed)
        aware = NoisyCountsClassifier(40.0, K, kernel="linear").fit(X, counts)
        labels = NoisyCountsClassifier().fit(X, (counts[:, 1] >= counts[:, 0]).astype(int))
        errors.append([np.mean((s.predict_proba(fresh) - exact / K) ** 2) for s in (aware, labels)])
    aware_error, label_error = np.mean(errors, axis=0)
    assert aware_error < 0.75 * label_error


def test_pure_noise_teaches_nothing():
    X, counts, _ = votes(sigma=1e6)
    shares = NoisyCountsClassifier(1e6, K).fit(X, counts).predict_proba(X)
    assert np.abs(shares - 0.5).max() < 0.4  # labels alone would be followed to the end


def answers(name, *, noisy=True, missing=0, params=None, n_classes=2):
    X, counts, _ = votes(n_classes, sigma=5.0)
    labels = counts.argmax(axis=1)
    labels[:missing] = UNANSWERED
    asked = np.arange(200)
    given = Answers(asked, labels, counts if noisy else None, 5.0 if noisy else None, K)
    return fit_student(
        PublicPoints(X),
        given,
        estimator=name,
        params=params or {},
        unanswered="drop",
        rng=np.random.default_rng(0),
        n_classes=n_classes,
        seed=0,
    )


def test_sigma_and_teachers_come_with_the_answers():
    student = answers("noise_aware")
    assert (student.sigma, student.n_teachers) == (5.0, K)
    assert answers("noise_aware", noisy=False).labels_model_ is not None


@pytest.mark.parametrize("base", ["logistic", "tree"])
def test_soft_targets_give_any_classifier_the_posterior(base):
    student = answers("soft_targets", params={"base": base})
    assert isinstance(student, SoftTargets)
    fresh, _, truth = votes(seed=1)
    assert np.mean(student.predict(fresh) == truth) > 0.8


@pytest.mark.parametrize("name", ["self_training", "label_spreading"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_unlabelled_points_are_used(name, n_classes):
    student = answers(name, noisy=False, missing=150, n_classes=n_classes)
    assert student.transduction_.shape == (200,)  # all points, 50 of them labelled
    fresh, _, truth = votes(n_classes, seed=1)
    assert np.mean(student.predict(fresh) == truth) > 0.6


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("noise_aware", {"C": 1}, r"student\.params\.C: got 1; accepted: parameters kernel"),
        ("noise_aware", {"kernel": "cubic"}, r"student\.params: .*accepted: auto, linear, rbf"),
        ("soft_targets", {"base": "oops"}, r"student\.params\.base: got 'oops'"),
        ("soft_targets", {"base": "sklearn.neighbors.KNeighborsClassifier"}, "a learner with sample weights"),
        ("self_training", {"base": "linear_svm"}, "a learner with probabilities"),
        ("label_spreading", {"kernel": "oops"}, r"student\.params\.kernel: got 'oops'"),
    ],
)
def test_bad_parameters_are_refused_by_name(name, params, said):
    with pytest.raises(ConfigError, match=said):
        check_student(name, params)
