import math

import numpy as np
import pytest

from pate_cli.errors import BudgetSpent
from pate_cli.privacy import gaussian, pure, zcdp
from pate_cli.privacy.budget import Budget, compose
from pate_cli.types import PrivacyLoss


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 20.0])
@pytest.mark.parametrize("delta", [1e-30, 1e-5, 0.3])
def test_zcdp_conversions(rho, delta):
    simple, tight = zcdp.eps_simple(rho, delta), zcdp.eps_tight(rho, delta)
    assert zcdp.rho_of_eps(simple, delta) == pytest.approx(rho, rel=1e-9)
    # between the exact profile of the Gaussian mechanism with this rho and the simple rule
    exact = gaussian.eps_of_mu(math.sqrt(2 * rho), delta)
    assert exact <= tight <= simple
    # a second way: a fine grid of orders
    orders = 1 + np.exp(np.linspace(-12, 18, 20001))
    grid = rho * orders + (math.log(1 / delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    assert tight == pytest.approx(max(0.0, min(grid.min(), simple)), rel=1e-5, abs=1e-9)


def test_nothing_spent_is_eps_0():
    assert zcdp.eps_tight(0.0, 1e-5) == 0


def test_exponential_mechanism():
    scores = np.array([0.0, -1.0, -5.0])
    p = pure.exponential_mechanism_probabilities(scores, eps=2.0)
    np.testing.assert_allclose(p[1:] / p[0], np.exp([-1.0, -5.0]))
    # moving every score by at most the sensitivity moves no log-probability by more than eps
    rng = np.random.default_rng(0)
    for _ in range(200):
        q = pure.exponential_mechanism_probabilities(scores + rng.uniform(-1, 1, 3), eps=2.0)
        assert np.abs(np.log(p / q)).max() <= 2.0 + 1e-12
    assert np.isfinite(pure.exponential_mechanism_probabilities(np.array([-1e9, 0.0]), 50.0)).all()


def test_known_bug_delta_forgotten_in_a_composition():
    total = compose(PrivacyLoss(0.3, 1e-6, "choice of T"), PrivacyLoss(0.7, 2e-6, "labels"))
    assert (total.eps, total.how) == (1.0, "choice of T + labels")
    assert total.delta == pytest.approx(3e-6)  # "delta forgotten in a composition"
    assert not total.data_dependent
    assert compose(PrivacyLoss(1, 0, "a"), PrivacyLoss(1, 0, "b", data_dependent=True)).data_dependent
    assert compose().eps == 0


def test_a_budget_cannot_be_overspent():
    budget = Budget(1.0, 1e-5)
    for _ in range(10):
        budget.spend(PrivacyLoss(0.1, 1e-6, "label"))  # ten tenths make one, in floating point too
    with pytest.raises(BudgetSpent, match="left"):
        budget.spend(PrivacyLoss(1e-9, 0, "more"))
    assert budget.spent.eps == 1.0
    other = Budget(1.0, 1e-5)
    with pytest.raises(BudgetSpent):
        other.spend(PrivacyLoss(0.5, 2e-5, "too much delta"))
    assert other.spent.eps == 0


def test_known_bug_data_dependent_epsilon_as_if_it_were_public():
    with pytest.raises(ValueError, match="data-dependent"):
        Budget(1.0, 1e-5).spend(PrivacyLoss(0.1, 0, "ex post", data_dependent=True))
