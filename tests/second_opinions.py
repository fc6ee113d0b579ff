"""Accounts that share none of our code, for tests."""

from __future__ import annotations

import numpy as np

from pate_cli.privacy.events import Gdp
from pate_cli.testing import require


def eps_of_trials(mu: float, expected: float, delta: float) -> float:
    """Cost of the best of a geometric number of mu-GDP trials."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.dp_event import RepeatAndSelectDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant((1 + np.logspace(-3, 5, 1000)).tolist())
    accountant.compose(RepeatAndSelectDpEvent(GaussianDpEvent(1 / mu), expected, 1))
    return float(accountant.get_epsilon(delta))


def trials(run):
    """A random number of trials is counted for no less than they cost."""
    mu = max(Gdp.sum(one).mu for one in run.door.spent.apart)
    theirs = eps_of_trials(mu, run.mechanism.trials, run.mechanism.guarantee.delta)
    counted = run.mechanism.loss(run.door.spent).eps
    require(counted >= theirs * (1 - 1e-3), "less counted than a random number of trials costs")
