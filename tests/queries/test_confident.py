import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pate_cli.queries import ask_confident_first
from pate_cli.types import UNANSWERED, Answer, PublicPoints

M = 200


def _points(seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(M, 2))
    return PublicPoints(X), (X[:, 0] > 0).astype(int)


def _ask(points, truth, unstable=lambda x: False, most=M):
    asked = []

    def ask(index):
        assert len(asked) < most
        asked.append(index)
        return Answer(UNANSWERED if unstable(points.X[index]) else int(truth[index]))

    answers = ask_confident_first(
        points,
        np.random.default_rng(1).permutation(M),
        ask,
        lambda: len(asked) >= most,
        lambda: LogisticRegression(C=10),
    )
    assert asked == answers.asked.tolist()
    return answers


def test_everything_is_asked_once_and_the_unsure_last():
    points, truth = _points()
    answers = _ask(points, truth)
    assert sorted(answers.asked.tolist()) == list(range(M))
    margin = np.abs(points.X[answers.asked, 0])
    first, last = margin[M // 10 : M // 2], margin[-M // 5 :]
    assert first.min() > last.max()  # the first tenth is random


def test_it_stops_when_the_mechanism_does():
    points, truth = _points()
    answers = _ask(points, truth, most=37)
    assert answers.n_asked == 37


@pytest.mark.parametrize("label", [0, UNANSWERED])
def test_without_two_classes_the_order_is_the_random_one(label):
    points, _ = _points()
    order = np.random.default_rng(1).permutation(M)
    answers = ask_confident_first(points, order, lambda _: Answer(label), lambda: False, LogisticRegression)
    np.testing.assert_array_equal(answers.asked, order)


def test_more_is_asked_before_the_same_number_of_unstable_answers():
    """What the experiment is about: near the boundary teachers disagree."""
    points, truth = _points()

    def asked_before_the_fifth_unstable(order):
        return int(np.flatnonzero(np.abs(points.X[order, 0]) < 0.1)[4])

    answers = _ask(points, truth, unstable=lambda x: abs(x[0]) < 0.1)
    at_random = np.random.default_rng(1).permutation(M)
    assert asked_before_the_fifth_unstable(answers.asked) > 2 * asked_before_the_fifth_unstable(at_random)


def test_several_classes():
    rng = np.random.default_rng(0)
    centres = np.array([[2, 0], [-2, 0], [0, 2]])
    truth = rng.integers(3, size=M)
    points = PublicPoints(centres[truth] + 0.3 * rng.standard_normal((M, 2)))
    answers = _ask(points, truth)
    assert sorted(answers.asked.tolist()) == list(range(M))
