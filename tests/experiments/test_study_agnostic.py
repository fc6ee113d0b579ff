"""Agnostic instances by brute force, the learners' arithmetic, soft labels: what the studies rest on."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from pate_cli.experiments.common import agnostic_methods as methods
from pate_cli.experiments.common.agnostic_instances import HYPOTHESES, WORST, Instance, Sigmoid
from pate_cli.experiments.common.agnostic_methods import Sizes

from pate_cli.engine.recipes import find_recipe
from pate_cli.engine.studies import load_study
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES
from pate_cli.types import UNANSWERED

agnostic_thresholds = load_study(find_recipe("agnostic-thresholds"))


@pytest.mark.parametrize("name", HYPOTHESES)
def test_best_hypothesis_has_error_gamma(name):
    # 200,000 points; 5.2 standard errors of a share of 0.3 are 0.0053
    instance, rng = Instance(name, 0.1), np.random.default_rng(0)
    X, y = instance.draw(200_000, rng)
    model = CLASSES[HYPOTHESES[name]].erm(X, y)
    assert instance.error(X, model.predict(X)) == pytest.approx(0.1, abs=0.0053)
    assert instance.best(X) == pytest.approx(0.1, abs=0.0053)
    assert np.mean(model.predict(X) != y) == pytest.approx(0.1, abs=0.0053)


def test_where_good_hypotheses_disagree_is_the_worst_case():
    rng = np.random.default_rng(1)
    coin, features = Instance("coin", 0.1), Instance("features", 0.1)
    X = coin.points(100_000, rng)[:, 0]
    ends = [(t <= X).astype(int) for t in (0.4, 0.5, 0.6 - 1e-9)]
    Z = features.points(100_000, rng)
    for instance, points, labels in (
        (coin, X[:, None], ends),
        (features, Z, [Z[:, i].astype(int) for i in range(3)]),
    ):
        for some in labels:  # each of them is as good as the best
            assert instance.error(points, some) == pytest.approx(0.1, abs=0.006)
        differ = np.any([a != b for a, b in itertools.combinations(labels, 2)], axis=0)
        assert differ.mean() == pytest.approx(WORST[instance.name] * 0.1, abs=0.008)
        left_out = np.where(differ, UNANSWERED, labels[0])
        assert instance.error(points, left_out) == pytest.approx(WORST[instance.name] * 0.1, abs=0.008)


def test_cutoff_by_hand():
    # 0.12 * 60 = 7.2; sqrt(7.2 ln(1200)/2) = 5.052; 3 * 12.252 = 36.76
    assert methods.theorem_cutoff(0.1, 0.02, 60, 0.05) == 37
    assert methods.theorem_cutoff(0.3, 0.02, 60, 0.05) == 60


def test_binclas_leaves_a_split_vote_unanswered_and_answers_one_that_agrees():
    sizes = Sizes(4.0, 1e-5, 20_000, 20, "stumps", 3)
    plan = methods.binclas(sizes, "bassily2018", 20, 0.9, 0.05)
    c = plan.mechanism.calibration
    K = plan.n_teachers
    assert c.p_unstable(math.floor(0.4 * K) - 1) <= 0.05 / 20 * 1.01
    assert c.p_unstable(math.ceil(K / 6) - 1) > 0.9  # a third against
    with pytest.raises(InfeasibleError, match="teachers, 100 records"):
        methods.binclas(Sizes(4.0, 1e-5, 100, 20, "stumps", 3), "bassily2018", 20, 0.9, 0.05)


def test_blow_up_of_binclas_against_relabelled():
    """Three equally good stumps: 3 gamma unanswered; after relabelling, gamma wrong."""
    instance, rng = Instance("features", 0.1), np.random.default_rng(3)
    X, y = instance.draw(100_000, rng)
    points = instance.points(30, rng)
    sizes = Sizes(8.0, 1e-5, 100_000, 30, "stumps", 3)
    few = methods.theorem_cutoff(0.0, 0.02, 30, 0.05)
    found = []
    for plan in (
        methods.binclas(sizes, "bassily2018", 22, 0.9, 0.05),
        methods.with_teachers("agprivcl", sizes, 0.9, 0.05, cutoff=few),
    ):
        answers = methods.run(plan, X, y, points, np.random.SeedSequence(4)).answers
        labels = np.full(30, UNANSWERED)
        labels[answers.asked] = answers.labels
        found.append(labels)
    disputed = (points != points[:, :1]).any(axis=1)
    assert 3 < disputed.sum() < 20
    assert np.mean(found[0][disputed] == UNANSWERED) > 0.7
    assert (found[0][~disputed] == points[~disputed, 0]).all()
    assert (found[1] != UNANSWERED).all()
    assert any((found[1] == points[:, i]).all() for i in range(3))  # one stump throughout


def test_ratio_interval_is_of_paired_values():
    rng = np.random.default_rng(0)
    bottom = rng.exponential(size=400)
    ratio, half = agnostic_thresholds.ratio_ci(3 * bottom, bottom)
    assert ratio == pytest.approx(3)
    assert half == pytest.approx(0, abs=1e-12)
    _, wide = agnostic_thresholds.ratio_ci(3 * rng.permutation(bottom), bottom)
    assert wide > 0.2


def test_m_o_must_be_passed(quick):
    with pytest.raises(ConfigError, match=r"params\.m: .* beyond m_o = 737"):
        quick("universal-answering", m=[20, 30])


def test_probabilities_of_the_soft_study_are_those_of_its_labels():
    data, rng = Sigmoid(2, 4.0), np.random.default_rng(0)
    X, y = data.draw(100_000, rng)
    high = data.p(X) > 0.8
    assert y[high].mean() == pytest.approx(data.p(X[high]).mean(), abs=0.01)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
