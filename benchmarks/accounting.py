"""Accounting and calibration of a run, next to a plain root search on the textbook formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from benchmarks.rows import Row, beside
from benchmarks.timing import alternate
from pate_cli.mechanisms.gaussian import gaussian_labels
from pate_cli.mechanisms.sparse_vector import stable_labels

__all__ = ["measure"]

MOST = 0.02
"""Seconds that are wanted at most."""


def measure(rounds: int) -> Iterator[Row]:
    """Time what a run calibrates before training and reports after it."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    from pate_cli.privacy import gaussian

    delta, ell = 1 / 39073, 977

    def textbook() -> float:
        def excess(sigma: float) -> float:
            mu = math.sqrt(ell) / sigma
            return float(norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)) - delta

        return float(brentq(excess, 10, 1e4))

    def run_of_gaussian() -> None:
        plan = gaussian_labels(1.0, delta, ell, 2)
        gaussian.eps_of_mu(math.sqrt(500) / plan.describe()["sigma"], delta)

    def run_of_svt(n_teachers: int, cutoff: int | None) -> Callable[[], object]:
        return lambda: stable_labels(1.0, delta, ell, n_teachers, rule="tight", cutoff=cutoff)

    for name, ours in (
        ("calibrate gaussian", run_of_gaussian),
        ("calibrate svt, T auto", run_of_svt(390, None)),
        ("calibrate svt, T = 30", run_of_svt(3900, 30)),
    ):
        times = alternate({"ours": ours, "bare": textbook}, rounds)
        yield beside("commands", name, times, "textbook root", seconds=MOST)
