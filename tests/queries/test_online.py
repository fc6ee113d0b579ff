"""The online learner asks where a small weight would turn it, and is what `student.estimator=sgd` learns."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.commands.plan import main
from pate_cli.errors import ConfigError
from pate_cli.learners.sgd import SgdLogistic
from pate_cli.queries import ask_actively
from pate_cli.queries.online import OnlineLearner
from pate_cli.types import Answer, PublicPoints

M = 200


@pytest.fixture
def halfspace():
    X = np.random.default_rng(0).normal(size=(M, 3))
    return X, (X @ [2.0, -1.0, 0.5] > 0).astype(int)


def _run(X, y, mellowness, step=1.0, budget=M):
    learner = OnlineLearner(PublicPoints(X), mellowness, step)
    oracle = SimpleNamespace(answer=lambda i: Answer(int(y[i])), exhausted=False)
    answers = ask_actively(learner, np.arange(M), oracle, budget)
    return learner, answers


def test_it_is_one_pass_of_sgd_over_what_it_asked(halfspace):
    X, y = halfspace
    learner, answers = _run(X, y, 0.05)
    assert 10 < answers.n_asked < M
    sgd = SgdLogistic(step=1.0, clip=100.0).fit(X[answers.asked], answers.labels)
    assert sgd.descent_.coef_[0] == pytest.approx(learner._w[:-1], rel=1e-6)
    assert sgd.descent_.intercept_[0] == pytest.approx(learner._w[-1], rel=1e-6)


def test_a_point_is_asked_if_its_weight_is_small(halfspace):
    """Replayed by hand: the weight at which one step of that weight could turn the prediction."""
    X, y = halfspace
    _, answers = _run(X, y, 0.05)
    w, mistakes, wanted = np.zeros(4), 0, []
    for t, (row, label) in enumerate(zip(np.c_[X, np.ones(M)], y, strict=True), start=1):
        slack = 0.05 * t * (np.sqrt(mistakes / t * np.log(t + 1) / t) + np.log(t + 1) / t)
        if abs(w @ row) <= slack * row @ row:
            wanted.append(t - 1)
            sign = 2 * label - 1
            mistakes += sign * (w @ row) <= 0
            w = w + sign * row / (1 + np.exp(sign * (w @ row)))
    assert answers.asked.tolist() == wanted


def test_more_mellowness_asks_more_and_the_budget_holds(halfspace):
    asked = [_run(*halfspace, c)[1].n_asked for c in (0.0, 0.05, 0.2, 9.0)]
    assert asked == sorted(asked)
    assert asked[-1] == M
    assert _run(*halfspace, 9.0, budget=20)[1].n_asked == 20


def test_sparse_points_are_asked_as_dense_ones(halfspace):
    X, y = halfspace
    assert _run(sp.csr_matrix(X), y, 0.05)[1].asked.tolist() == _run(X, y, 0.05)[1].asked.tolist()


def test_it_is_for_two_classes():
    with pytest.raises(
        ConfigError, match=r"mechanism\.test: got 'weighted'; accepted: constrained; weighted"
    ):
        main(["dataset=digits", "mechanism=active", "mechanism.test=weighted"])
