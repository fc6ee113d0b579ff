"""`student=kernel`: the posterior mean given noisy votes, against one by brute force."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.students.fit import fit_student
from pate_cli.students.kernel import KernelStudent
from pate_cli.types import Answers, PublicPoints


def data(m=90, p=6, C=2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    P, theta = rng.normal(size=(m, p)), rng.normal(size=(p, C)) / 6
    theta -= theta.mean(axis=1, keepdims=True)
    shares = 1 / C + P @ theta
    noisy = shares + rng.normal(0, noise, shares.shape)
    if C == 2:
        noisy[:, 0] = 1 - noisy[:, 1]
    return P, shares, noisy


@pytest.mark.parametrize("C", [2, 4])
def test_weights_are_the_posterior_mean_at_the_evidence_found_by_brute_force(C):
    P, _, noisy = data(C=C)
    student = KernelStudent().fit_shares(P, noisy, noise=0.1)
    Z = 2 * noisy[:, 1:] - 1 if C == 2 else 2 * noisy - 1
    Q, Z = P - P.mean(axis=0), Z - Z.mean(axis=0)

    def evidence(a, s):
        covariance = a**2 * Q @ Q.T + s**2 * np.eye(len(Q))
        # the mean is taken out: its direction has no density
        U = np.linalg.svd(np.ones((len(Q), 1)))[0][:, 1:]
        small = U.T @ covariance @ U
        _, log = np.linalg.slogdet(small)
        return sum(-0.5 * z @ np.linalg.solve(small, z) - 0.5 * log for z in (U.T @ Z).T)

    tried = [
        (evidence(a, s), a, s)
        for a in np.exp(np.linspace(-5, 2, 60))
        for s in 0.2 * np.array([1, 1.1, 1.3, 2])
    ]
    _, a, s = max(tried)
    expected = np.linalg.solve(Q.T @ Q + (s / a) ** 2 * np.eye(Q.shape[1]), Q.T @ Z)
    assert student.coef_ == pytest.approx(expected, rel=0.03, abs=0.003)


def test_known_noise_is_shrunk_away_and_none_is_taken_as_it_is():
    rng = np.random.default_rng(1)
    P, shares, _ = data()
    loud = shares + rng.normal(0, 20.0, shares.shape)
    least_squares = np.linalg.lstsq(P - P.mean(axis=0), 2 * loud[:, 1], rcond=None)[0]
    found = KernelStudent().fit_shares(P, loud, noise=20.0).coef_
    assert np.linalg.norm(found) < np.linalg.norm(least_squares) / 5
    exact = KernelStudent().fit_shares(P, shares, noise=0.0)
    assert exact.decision_function(P) == pytest.approx(2 * shares[:, 1] - 1, abs=1e-3)


@pytest.mark.parametrize("shape", [(40, 60), (90, 20)])
def test_sparse_points_give_the_same_as_dense_ones(shape):
    rng = np.random.default_rng(0)
    P = np.where(rng.random(shape) < 0.2, rng.normal(size=shape), 0.0)
    y, w = (P[:, 0] + P[:, 1] > 0).astype(int), rng.random(len(P))
    dense, sparse = (KernelStudent().fit(form(P), y, sample_weight=w) for form in (np.asarray, sp.csr_matrix))
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-8)
    assert sparse.decision_function(sp.csr_matrix(P)) == pytest.approx(dense.decision_function(P), abs=1e-8)


def test_of_many_texts_it_learns_from_some(monkeypatch):
    monkeypatch.setattr("pate_cli.students.kernel._MOST", 30)
    P = sp.random(100, 40, 0.2, format="csr", random_state=0)
    y = np.where(P[:, 0].toarray().ravel() > 0, 1, 0)
    some = np.arange(30) * 100 // 30
    few = KernelStudent().fit(P[some], y[some])
    assert KernelStudent().fit(P, y).coef_ == pytest.approx(few.coef_, abs=1e-12)


def test_labels_and_weights():
    P, _, _ = data(m=200)
    y = np.where(P[:, 0] > 0, 7, 3)
    student = KernelStudent(part_size=20).fit(P, y)
    assert np.mean(student.predict(P) == y) > 0.9
    twice = KernelStudent().fit(np.vstack([P, P[:50]]), np.append(y, y[:50]))
    weighted = KernelStudent().fit(P, y, np.where(np.arange(200) < 50, 2.0, 1.0))
    assert weighted.coef_ == pytest.approx(twice.coef_, rel=0.1, abs=0.02)
    with pytest.raises(ValueError, match="labels of 1 class"):
        KernelStudent().fit(P, np.ones(200))


def test_probabilities_are_never_below_the_rule_of_succession():
    P, shares, _ = data()
    far = KernelStudent(part_size=20).fit_shares(P, shares).predict_proba(100 * P)
    assert far.min() == pytest.approx(1 / 22)
    assert far.sum(axis=1) == pytest.approx(1)


def test_it_learns_from_noisy_counts_where_there_are_some():
    P, shares, _ = data(m=300, noise=0)
    noisy = 50 * shares[:, 1] + np.random.default_rng(0).normal(0, 60, 300)
    counts = np.column_stack([50 - noisy, noisy])
    how = {"estimator": "kernel", "params": {}, "unanswered": "drop", "rng": None, "n_classes": 2, "seed": 0}
    answers = Answers(
        np.arange(300), (noisy > 25).astype(int), counts, n_teachers=50, noise=60.0, part_size=30
    )
    blind = Answers(answers.asked, answers.labels, n_teachers=50)
    truth = shares[:, 1] > 0.5
    right = [
        np.mean(fit_student(PublicPoints(P), given, **how).predict(P) == truth) for given in (answers, blind)
    ]
    assert right[0] > 0.85
    assert right[0] >= right[1] - 0.02
