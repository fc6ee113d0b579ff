import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from pate_cli.cli import main
from pate_cli.queries import ask_actively
from pate_cli.queries.half_spaces import ActiveLearner
from pate_cli.types import UNANSWERED, Answer, PublicPoints

M = 300


def _student():
    return LogisticRegression(solver="liblinear")


@pytest.fixture
def halfspace():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, 3))
    return X, (X @ [2.0, -1.0, 0.5] > 0).astype(int)


class _Oracle:
    def __init__(self, y, stop):
        self.y, self.stop, self.asked = y, stop, []

    @property
    def exhausted(self):
        return len(self.asked) >= self.stop

    def answer(self, index):
        self.asked.append(index)
        return Answer(int(self.y[index]))


def _run(X, y, *, budget=M, mellowness=1.0, n_classes=2, stop=M, fill=None, learner=None):
    learner, oracle = learner or ActiveLearner(PublicPoints(X), n_classes, mellowness), _Oracle(y, stop)
    answers = ask_actively(learner, np.arange(X.shape[0]), oracle, budget, fill)
    assert answers.asked.tolist() == oracle.asked
    assert len(set(oracle.asked)) == len(oracle.asked)
    return answers


def _shared(rng, n, d=36, signal=8):
    """Binary columns as in one-hot tables: most records share most of them, a few say a little."""
    y = rng.integers(2, size=n)
    X = rng.random((n, d)) < np.r_[np.full(d - signal, 0.97), np.full(signal, 0.5)]
    X[:, -signal:] = rng.random((n, signal)) < np.where(y, 0.7, 0.3)[:, None]
    return X.astype(float), y


def _text(rng, n, d=2000):
    """Sparse rows of length 1; the classes differ in how often they use some of the words that all use."""
    y = rng.integers(2, size=n)
    words = rng.dirichlet(np.full(d, 0.05), size=2) + 1 / np.arange(1, d + 1) / 8
    words /= words.sum(axis=1, keepdims=True)
    X = np.vstack([rng.multinomial(60, words[label]) for label in y])
    return sp.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def _mixture(rng, n, d, *, offset=0.0):
    y = (rng.random(n) < 0.5).astype(int)
    X = rng.normal(size=(n, d)) + (2 * y[:, None] - 1) * 1.2 / np.sqrt(d) * np.sign(rng.normal(size=d))
    return X + offset, y


TABLES = {
    "2 columns": lambda rng, n: _mixture(rng, n, 2),
    "shared columns": _shared,
    "text": _text,
}


def _against_passive(table, seeds):
    """Mean accuracy of students on 51 labels, asked actively of 170 points and passively; least asked."""
    scores, asked = [], []
    for seed in seeds:
        X, y = TABLES[table](np.random.default_rng(seed), 1000)
        stream, test = X[:170], X[170:]
        answers = _run(stream, y, budget=51, mellowness=0.05)
        asked.append(answers.n_asked)
        filled = _run(stream, y, budget=51, mellowness=0.05, fill=np.random.default_rng(seed))
        chosen = (answers.asked, filled.asked, np.arange(51))
        scores.append([_student().fit(X[rows], y[rows]).score(test, y[170:]) for rows in chosen])
    return np.mean(scores, axis=0), asked


@pytest.mark.parametrize("table", TABLES)
def test_neither_stops_at_once_nor_loses_to_random_points(table):
    """Known bug: 2 to 5 of 51 points asked, without any noise."""
    (active, filled, passive), asked = _against_passive(table, range(4))
    assert min(asked) >= 15
    assert active > passive - 0.05
    assert filled > passive - 0.03


def test_asks_fewer_points_and_they_lie_near_the_boundary(halfspace):
    X, y = halfspace
    answers = _run(X, y, mellowness=0.1)
    assert answers.n_asked < M / 2
    margin = np.abs(X @ [2.0, -1.0, 0.5])
    late = answers.asked[len(answers.asked) // 2 :]
    assert np.median(margin[late]) < 0.7 * np.median(margin)
    student = _student().fit(X[answers.asked], answers.labels)
    assert np.mean(student.predict(X) == y) > 0.95


def test_more_mellowness_asks_more_until_the_budget_or_the_mechanism_is_spent(halfspace):
    X, y = halfspace
    asked = [_run(X, y, mellowness=c).n_asked for c in (0.0, 0.1, 3.0)]
    assert asked[0] < asked[1] < asked[2]
    assert _run(X, 0 * y).n_asked == M  # as long as only one class was seen
    short, stopped = _run(X, y, budget=17), _run(X, y, stop=5, fill=np.random.default_rng(0))
    assert (short.n_asked, short.n_chosen) == (17, None)
    assert (stopped.n_asked, stopped.n_chosen) == (5, None)


def test_unanswered_questions_count_but_teach_nothing(halfspace):
    X, y = halfspace
    learner = ActiveLearner(PublicPoints(X), 2, 1.0)
    answers = _run(X, np.where(np.arange(M) % 2, y, UNANSWERED), budget=20, learner=learner)
    assert answers.n_asked == 20
    assert len(learner._asked) == answers.n_answered < 20


def test_what_is_left_of_the_budget_is_asked_of_points_passed_over(halfspace):
    X, y = halfspace
    alone = _run(X, y, mellowness=0.05, budget=100)
    filled = _run(X, y, mellowness=0.05, budget=100, fill=np.random.default_rng(0))
    assert alone.n_chosen == filled.n_chosen == alone.n_asked < 60
    assert filled.n_asked == 100
    np.testing.assert_array_equal(filled.asked[: alone.n_asked], alone.asked)
    other = _run(X, y, mellowness=0.05, budget=100, fill=np.random.default_rng(1))
    assert set(filled.asked) != set(other.asked)
    late = _run(X, y, mellowness=0.05, budget=100, stop=alone.n_asked + 3, fill=np.random.default_rng(0))
    np.testing.assert_array_equal(late.asked, filled.asked[: alone.n_asked + 3])


def _loss(w, X, y):
    return w @ w / 2 + np.logaddexp(0, -(2 * y - 1) * (X @ w)).sum()


def _with_constant(X):
    return np.column_stack([(X - X.mean(axis=0)) / np.maximum(1, X.std(axis=0)), np.ones(len(X))])


@pytest.mark.parametrize("kept", [np.asarray, sp.csr_matrix], ids=["in the features", "in the points"])
def test_the_cost_is_that_of_the_paper_s_oracle_on_the_surrogate(monkeypatch, kept):
    """L(w_x) - L(w_hat), w_x the best half-space with w.x = 0 found by another optimiser."""
    monkeypatch.setattr("pate_cli.queries.half_spaces._DENSE", 0)
    monkeypatch.setattr("pate_cli.queries.half_spaces._CLOSE", 1e-9)
    rng = np.random.default_rng(3)
    X, y = _mixture(rng, 140, 4, offset=2.0)
    learner = ActiveLearner(PublicPoints(kept(X)), 2, 0.1)
    for index in range(100):
        learner.learn(index, int(y[index]))
    learner.next_wanted(np.array([100]))
    Z = _with_constant(X)
    found = minimize(_loss, np.zeros(5), (Z[:100], y[:100]), tol=1e-12)
    cost = learner._cost(np.arange(100, 140))
    curve = 1 / (2 + 2 * np.cosh(Z[:100] @ found.x))
    inverse = np.linalg.inv(np.eye(5) + (Z[:100].T * curve) @ Z[:100])
    np.testing.assert_allclose(
        cost, [(x @ found.x) ** 2 / (2 * x @ inverse @ x) for x in Z[100:]], rtol=1e-3, atol=1e-6
    )
    assert learner._mistakes == np.count_nonzero((Z[:100] @ found.x > 0) != y[:100])
    exact = []
    for x in Z[100:]:
        allowed = np.linalg.svd(x[None])[2][1:].T  # w.x = 0
        forced = minimize(lambda v, A=allowed: _loss(A @ v, Z[:100], y[:100]), np.zeros(4), tol=1e-6)
        exact.append(forced.fun - found.fun)

    near = cost < 1
    assert 5 < near.sum() < 35
    np.testing.assert_allclose(cost[near], np.array(exact)[near], rtol=0.25)
    # far from the boundary the second order says too little, but still "far"
    assert np.all(cost[~near] > 0.3 * np.array(exact)[~near])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_choices_depend_neither_on_where_zero_is_nor_on_how_points_are_kept(monkeypatch, n_classes):
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(M, 12)), 1) * (rng.random((M, 12)) < 0.4)
    y = np.digitize(X @ rng.normal(size=12), [0.0] if n_classes == 2 else [-0.7, 0.7])
    monkeypatch.setattr("pate_cli.queries.half_spaces._DENSE", 0)
    asked = [
        _run(points, y, mellowness=0.1, n_classes=n_classes).asked
        for points in (X, X + 1000, sp.csr_matrix(X))
    ]
    assert len(asked[0]) < M
    np.testing.assert_array_equal(asked[0], asked[1])
    np.testing.assert_array_equal(asked[0], asked[2])


@pytest.mark.parametrize("value", [1e9, 1e307])
def test_enormous_features_are_finite_to_the_learner(value):
    rng = np.random.default_rng(2)
    X, y = _mixture(rng, 120, 5)
    X[::3] *= value
    answers = _run(X, y, budget=60, mellowness=0.05)
    assert 2 < answers.n_asked <= 60


SMALL = ["dataset.n_records=1000", "split.public=60", "teacher.size=40", "mechanism=active", "eps=4"]


def _command(tmp_path, capsys, *overrides):
    directory = tmp_path / str(len(list(tmp_path.iterdir())))
    assert main(["run", *SMALL, *overrides, f"hydra.run.dir={directory}"]) == 0
    return json.loads((directory / "result.json").read_text()), " ".join(capsys.readouterr().out.split())


def test_a_run_says_that_its_learner_stopped_early(tmp_path, capsys):
    full, said = _command(tmp_path, capsys, "mechanism.mellowness=9")
    assert full["n_asked"] == full["diagnostics"]["queries_wanted"] == full["sizes"]["budget"] == 18
    assert "warning" not in said
    filled, said = _command(tmp_path, capsys, "mechanism.mellowness=0")
    wanted = filled["diagnostics"]["queries_wanted"]
    assert 2 <= wanted < 18 / 4
    assert filled["n_asked"] == 18
    stopped = f"the active learner asked {wanted:g} of 18 points: "
    assert stopped + "the rest of the budget was asked of random points" in said
    short, said = _command(tmp_path, capsys, "mechanism.mellowness=0", "mechanism.fill=false")
    assert short["n_asked"] == wanted
    assert stopped + "mechanism.fill=true asks the rest" in said
    # the guarantee and the noise are those of the whole budget, whoever chooses
    assert full["plan"] == filled["plan"] == short["plan"]
    assert full["eps"] == filled["eps"] == short["eps"] == 4
    assert short["eps_ex_post"] < filled["eps_ex_post"]
    assert main(["table", str(tmp_path), "--format", "markdown"]) == 0
    assert "mechanism.fill=true asks the rest" in capsys.readouterr().out
