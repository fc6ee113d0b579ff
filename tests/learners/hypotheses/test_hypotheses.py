"""Every class against brute force on small samples: ties, duplicates, constant labels, weights, zeros."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.cli import main
from pate_cli.learners import check_learner
from pate_cli.learners.hypotheses import (
    CLASSES,
    PointClassifier,
    StumpClassifier,
    ThresholdClassifier,
)

SHAPES = {"thresholds": 1, "stumps": 3, "points": 2, "rectangles": 2}


def brute(name, X, grid):
    """Labelings of X by every hypothesis of the class with constants in `grid` (per column, ascending)."""
    if name == "thresholds":
        return {tuple((X[:, 0] >= t).astype(int)) for t in [-np.inf, *grid, np.inf]}
    if name == "stumps":
        above = [X[:, j] >= t for j in range(X.shape[1]) for t in [-np.inf, *grid, np.inf]]
        return {tuple(a.astype(int)) for a in above} | {tuple((~a).astype(int)) for a in above}
    if name == "rectangles":
        sides = list(itertools.combinations_with_replacement(grid, 2))
        inside = [[(low <= x) & (x <= high) for low, high in sides] for x in X.T]
        return {tuple(np.all(box, axis=0).astype(int)) for box in itertools.product(*inside)}
    return {tuple((z == X).all(axis=1).astype(int)) for z in [*X, np.full(X.shape[1], 77.0)]}


def sample(rng, name, n):
    X = rng.integers(0, 4, size=(n, SHAPES[name])).astype(float)
    return X if rng.random() < 0.5 else sp.csr_matrix(X)


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


GRID = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]


@pytest.mark.parametrize("name", SHAPES)
def test_dichotomies_are_all_labelings_once(name):
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 5, 7):
        for _ in range(6):
            X = sample(rng, name, n)
            found = CLASSES[name].dichotomies(X)
            listed = [tuple(found.labels(i)) for i in range(len(found))]
            assert len(listed) == len(set(listed))
            assert set(listed) == brute(name, dense(X), GRID)
            for i in range(len(found)):
                assert np.array_equal(found.hypothesis(i).predict(X), found.labels(i))


@pytest.mark.parametrize("name", SHAPES)
def test_mistakes_least_mistakes_and_nearest_against_brute_force(name):
    rng = np.random.default_rng(2)
    for n in (1, 4, 6):
        for _ in range(6):
            X, W = sample(rng, name, n), sample(rng, name, 9)
            y, v, w = rng.integers(0, 2, 9), rng.integers(0, 2, n), rng.random(9)
            found = CLASSES[name].dichotomies(X)
            labels = np.array([found.labels(i) for i in range(len(found))])
            on_w = np.array([found.hypothesis(i).predict(W) for i in range(len(found))])
            assert np.allclose(found.mistakes(W, y, w), (on_w != y) @ w, atol=1e-12)
            assert np.array_equal(found.mistakes(X, v), (labels != v).sum(axis=1))
            if not CLASSES[name].extends:
                continue
            joint = brute(name, np.vstack([dense(X), dense(W)]), GRID)
            fewest = {}
            for labeling in joint:
                key = labeling[:n]
                fewest[key] = min(fewest.get(key, math.inf), int((np.array(labeling[n:]) != y).sum()))
            least = found.least_mistakes(W, y)
            assert [fewest[tuple(row)] for row in labels.tolist()] == least.tolist()
            cost = rng.random(len(found)) * 5
            differ = (labels[:, None] != labels[None]).sum(axis=2)
            expected = (0.7 * differ + cost).min(axis=1)
            assert np.allclose(found.nearest(cost, 0.7), expected, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_erm_has_the_fewest_mistakes(name):
    rng = np.random.default_rng(3)
    for trial in range(40):
        n = int(rng.integers(1, 8))
        X = sample(rng, name, n)
        y = np.full(n, trial % 2) if trial % 5 == 0 else rng.integers(0, 2, n)
        weight = None if trial % 2 else rng.integers(0, 4, n).astype(float)
        w = np.ones(n) if weight is None else weight
        found = CLASSES[name].erm(X, y, weight)
        best = min(float((np.array(labeling) != y) @ w) for labeling in brute(name, dense(X), GRID))
        assert float((found.predict(X) != y) @ w) == best


def test_counts_are_the_known_formulas():
    x = np.random.default_rng(4).permutation(50).astype(float)
    assert len(CLASSES["thresholds"].dichotomies(x[:, None])) == 51
    assert len(CLASSES["stumps"].dichotomies(x[:, None])) == 100
    assert len(CLASSES["points"].dichotomies(x[:, None])) == 51
    X = np.column_stack([x, np.random.default_rng(5).permutation(50)])
    # all cuts differ but the two constants, and singletons that are extreme twice
    assert 2 * 100 - 10 <= len(CLASSES["stumps"].dichotomies(X)) <= 2 * 100 - 2


@pytest.mark.parametrize(
    ("name", "d", "vc"),
    [
        ("thresholds", 1, 1),
        ("stumps", 1, 2),
        ("stumps", 2, 3),
        ("stumps", 3, 4),
        ("points", 2, 1),
        ("rectangles", 1, 2),
        ("rectangles", 2, 4),
    ],
)
def test_vc_dimension_is_attained_and_not_passed(name, d, vc):
    hypotheses = CLASSES[name]
    assert hypotheses.vc_dimension(d) == vc

    def shattered(X):
        return len(hypotheses.dichotomies(X)) == 2 ** len(X)

    rng = np.random.default_rng(6)

    def points(n):
        return np.column_stack([rng.permutation(n) for _ in range(d)]).astype(float)

    assert any(shattered(points(vc)) for _ in range(300))
    assert not any(shattered(points(vc + 1)) for _ in range(300))


def test_sspp_learns_a_rectangle(tmp_path):
    argv = [
        "dataset=thresholds",
        "dataset.n_records=6000",
        "split.public=100",
        "mechanism.hypotheses=rectangles",
    ]
    assert main(["run", "mechanism=sspp", *argv, "eps=4", f"hydra.run.dir={tmp_path}"]) == 0
    assert json.loads((tmp_path / "result.json").read_text())["accuracy"]["mean"] > 0.8


def test_rectangles_are_of_few_points():
    of = CLASSES["rectangles"].refusal
    assert of(44, 2) is of(1413, 1) is of(1, 12) is None
    assert of(45, 2) == "rectangles list 44 points of 2 features at most, not 45"
    assert of(1, 5000) == "rectangles list 0 points of 5000 features at most, not 1"


def test_middles_stay_between_neighbouring_floats():
    low = 1.0
    X = np.array([[low], [np.nextafter(low, 2)], [-1e308], [1e308]])
    for y in ([0, 1, 0, 1], [0, 0, 0, 1], [1, 1, 0, 1]):
        assert np.array_equal(ThresholdClassifier().fit(X, y).predict(X), y)
    fitted = ThresholdClassifier().fit(np.array([[1.0], [3.0]]), [0, 1])
    assert fitted.threshold_ == 2.0


@pytest.mark.parametrize("made", [ThresholdClassifier, StumpClassifier, PointClassifier])
def test_classifiers_are_learners(made):
    path = f"pate_cli.learners.hypotheses.{made.__name__}"
    check_learner(path, {}, sparse=False)
    check_learner(path, {}, sparse=True)
    with pytest.raises(ValueError, match="0 and 1"):
        made().fit(np.array([[0.0], [1.0]]), [1, 2])
