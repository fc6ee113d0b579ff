import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pate_cli.queries import ActiveLearner, ask_actively
from pate_cli.types import UNANSWERED, Answer, PublicPoints

M = 300


def _oracle():
    return LogisticRegression(solver="liblinear")


@pytest.fixture
def halfspace():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, 3))
    return X, (X @ [2.0, -1.0, 0.5] > 0).astype(int)


def _run(X, answer, *, budget=M, mellowness=1.0, n_classes=2, oracle=_oracle):
    learner = ActiveLearner(PublicPoints(X), n_classes, mellowness, oracle)
    return ask_actively(learner, np.arange(M), answer, budget, lambda: False)


def test_asks_fewer_points_and_they_lie_near_the_boundary(halfspace):
    X, y = halfspace
    answers = _run(X, lambda j: Answer(int(y[j])))
    assert answers.n_asked < M / 2
    margin = np.abs(X @ [2.0, -1.0, 0.5])
    late = answers.asked[len(answers.asked) // 2 :]
    assert np.median(margin[late]) < 0.7 * np.median(margin)
    student = _oracle().fit(X[answers.asked], answers.labels)
    assert np.mean(student.predict(X) == y) > 0.95


def test_stops_at_the_budget_and_asks_no_point_twice(halfspace):
    X, y = halfspace
    asked = []

    def ask(j):
        asked.append(j)
        return Answer(int(y[j]))

    answers = _run(X, ask, budget=17)
    assert answers.n_asked == len(asked) == len(set(asked)) == 17
    assert answers.asked.tolist() == asked


def test_more_mellowness_asks_more(halfspace):
    X, y = halfspace
    asked = [_run(X, lambda j: Answer(int(y[j])), mellowness=c).n_asked for c in (0.0, 0.5, 3.0)]
    assert asked == sorted(asked)
    assert asked[0] < asked[-1]


def test_asks_everything_while_only_one_class_was_seen(halfspace):
    X, _ = halfspace
    assert _run(X, lambda j: Answer(0)).n_asked == M


def test_unanswered_questions_count_but_teach_nothing(halfspace):
    X, y = halfspace
    answers = _run(X, lambda j: Answer(int(y[j]) if j % 2 else UNANSWERED), budget=20)
    assert answers.n_asked == 20
    assert answers.n_answered < 20


def test_stops_when_the_mechanism_does(halfspace):
    X, y = halfspace
    count = [0]

    def ask(j):
        count[0] += 1
        return Answer(int(y[j]))

    learner = ActiveLearner(PublicPoints(X), 2, 0.1, _oracle)
    answers = ask_actively(learner, np.arange(M), ask, M, lambda: count[0] >= 5)
    assert answers.n_asked == 5


def test_three_classes_and_sparse_points_work():
    rng = np.random.default_rng(1)
    centres = np.array([[4, 0], [-2, 3.4], [-2, -3.4]])
    y = rng.integers(3, size=M)
    X = sp.csr_matrix(centres[y] + rng.normal(size=(M, 2)))
    answers = _run(X, lambda j: Answer(int(y[j])), n_classes=3, oracle=lambda: LogisticRegression())
    assert answers.n_asked < M
    assert np.mean(LogisticRegression().fit(X[answers.asked], answers.labels).predict(X) == y) > 0.95
