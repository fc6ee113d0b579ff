"""The mechanisms with integer noise: what a release runs on."""

from dataclasses import replace

import numpy as np
import pytest

from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.gaussian import gaussian_labels
from pate_cli.mechanisms.sparse_vector import stable_labels
from pate_cli.privacy.door import Door
from pate_cli.privacy.svt import discrete_calibration
from pate_cli.types import Votes


class _Rounded:
    """Integers; for tests only."""

    def __init__(self, seed=0):
        self._rng = np.random.default_rng(seed)

    def gaussian(self, scale, size):
        return np.round(self._rng.normal(0, scale, size))

    def laplace(self, scale, size):
        return np.round(self._rng.laplace(0, scale, size))

    def exponential(self, scale, size):
        return np.floor(self._rng.exponential(scale, size))

    def spawn(self, count):
        return [_Rounded(seed + 1) for seed in range(count)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gaussian(n_classes):
    continuous = gaussian_labels(1.0, 1e-5, 50, n_classes)
    plan = continuous.with_exact_noise()
    assert continuous.sigma < plan.sigma < 1.02 * continuous.sigma
    assert (plan.guarantee.eps, plan.guarantee.delta) == (1.0, 1e-5)
    assert "integer" in plan.guarantee.how
    assert plan.describe()["integer_noise"] is True
    service = plan.session(Door(_Rounded()))
    counts = np.tile([60, 40, 0][:n_classes], (20, 1))
    answers = service.answer_all(Votes(counts, 100))
    assert all((answer.noisy_counts == answer.noisy_counts.round()).all() for answer in answers)
    spent = service.spent()
    assert spent.data_dependent
    assert 0.4 < spent.eps < 0.7
    service.answer_all(Votes(np.tile(counts, (2, 1)), 100))
    assert service.exhausted
    assert service.spent().eps == pytest.approx(1.0, rel=1e-6)
    assert service.spent().eps <= 1.0


@pytest.mark.parametrize("cutoff", [1, 5])
def test_svt(cutoff):
    continuous = stable_labels(2.0, 1e-5, 50, 1000, rule="tight", cutoff=cutoff)
    plan = continuous.with_exact_noise()
    assert plan.calibration == discrete_calibration(continuous.calibration)
    assert plan.describe()["threshold"] == int(plan.describe()["threshold"])
    assert plan.describe()["integer_noise"] is True
    assert (plan.guarantee.eps, plan.guarantee.delta) == (2.0, 1e-5)
    assert "integer" in plan.guarantee.how
    answers = plan.session(Door(_Rounded())).answer_all(Votes(np.array([[1000, 0]] * 5), 1000))
    assert [answer.label for answer in answers] == [0] * 5


def test_svt_out_of_reach_once_the_threshold_is_an_integer():
    continuous = replace(stable_labels(2.0, 1e-5, 50, 1000, rule="tight", cutoff=1), n_teachers=20)
    with pytest.raises(InfeasibleError, match="cannot answer with 20 teachers"):
        continuous.with_exact_noise()


def test_a_release_is_feasible_by_the_chances_of_its_own_noise():
    """Real noise at the integer threshold would do with 43 teachers, where integers answer less than half."""
    few = stable_labels(1.0, 1e-5, 20, 43, rule="tight", cutoff=1)
    c = discrete_calibration(few.calibration)
    assert replace(c, integers=False).p_unstable(21) <= 0.5 < c.p_unstable(21)
    with pytest.raises(InfeasibleError, match="at least 45 teachers"):
        few.with_exact_noise()
    assert replace(few, n_teachers=45).with_exact_noise().calibration.p_unstable(22) <= 0.5


def test_refused():
    with pytest.raises(ConfigError, match="eps: got inf"):
        gaussian_labels(float("inf"), 1e-5, 10, 2).with_exact_noise()
