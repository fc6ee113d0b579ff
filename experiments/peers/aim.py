"""AIM, a synthesiser: the package `mbi` fits a graphical model to marginals measured here; see `Aim`.

R. McKenna, B. Mullins, D. Sheldon, G. Miklau. AIM: an adaptive and iterative mechanism for differentially
private synthetic data. VLDB 2022, Algorithm 2.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pate_cli import students
from pate_cli.checks import Whole, option
from pate_cli.errors import InfeasibleError
from pate_cli.matrices import dense
from pate_cli.mechanisms.base import UNPROVED, Mechanism, no_answers
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Gdp, Pure
from pate_cli.privacy.kinds import ExponentialChoice, GaussianNoise
from pate_cli.types import Answers, FloatArray, PrivacyLoss, Private, PublicPoints, Released, Setting

from .peer import Peer, check

_MEASURING = 0.9  # share of rho for noisy marginals; the rest chooses them
_MEGABYTES = 1.0  # of the graphical model at most
_MOST_COLUMNS = 30  # every round compares all pairs
_STEPS = 250  # of mirror descent, a round
_NOISE = math.sqrt(2 / math.pi)  # mean size of Gaussian noise of deviation 1


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=aim`."""

    bins: int = option(8, Whole(2))
    rounds: int = option(16, Whole(1))


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Find rho; refuse what it does not take."""
    check("aim", "mbi", "mbi", setting)
    if setting.n_features > _MOST_COLUMNS:
        raise InfeasibleError(f"mechanism=aim takes up to {_MOST_COLUMNS} columns; here {setting.n_features}")
    log = math.log(1 / setting.delta)
    rho = (math.sqrt(log + setting.eps) - math.sqrt(log)) ** 2
    return Aim(setting.eps, setting.delta, rho, options.bins, options.rounds, setting)


@dataclass(frozen=True)
class Aim(Peer):
    """Rounds that choose the pair of columns whose marginal the model has most wrong, and measure it.

    Numbers are binned by public quantiles; the label is a column. The workload is all pairs of columns.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record, replaced by another; n
    is public. Every marginal and every choice passes the door. A replaced record leaves one cell of a
    marginal and joins another: sqrt(2) in L2, so noise of deviation sigma makes it 1/sigma^2-zCDP. The L1
    error of a pair moves by at most 2, and a choice by it is eps^2/8-zCDP (Cesar and Rogers 2021). Adaptively
    composed these are rho-zCDP, so (rho + 2 sqrt(rho log(1/delta)), delta)-DP (Bun and Steinke 2016). The
    model, the synthetic records and the student fitted to them are post-processing. Nothing is assumed of
    the records.
    """

    rho: float
    bins: int
    rounds: int
    setting: Setting

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) of all marginals and choices."""
        return PrivacyLoss(self.eps, self.delta, "zCDP of noisy marginals and exponential mechanisms")

    def loss(self, spent: Account) -> PrivacyLoss:
        """Sum of zCDP, converted."""
        if not spent.only(Gdp, Pure):
            return UNPROVED
        rho = Gdp.sum(spent).mu_squared / 2
        rho += math.fsum(event.eps**2 / 8 * count for event, count in spent.of(Pure).items())
        return PrivacyLoss(rho + 2 * math.sqrt(rho * math.log(1 / self.delta)), self.delta, "zCDP")

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Measure, sample as many records, and fit the configured student to them; see `Mechanism`."""
        from mbi import Dataset, Domain
        from mbi.extensions.synthetic_data import synthetic_data

        n, points, X = self.setting.n_private, dense(public.X), dense(private.records.X)
        cuts = [_cuts(column, self.bins) for column in points.T]
        label, sizes = len(cuts), [*(len(cut) + 1 for cut in cuts), self.setting.n_classes]
        codes = {k: np.searchsorted(cut, X[:, k], side="right") for k, cut in enumerate(cuts)}
        data = Dataset(codes | {label: private.records.y}, Domain(range(label + 1), sizes))
        logging.disable(logging.WARNING)  # of compilation
        made = synthetic_data(self.fit(data, door), n, int(rng.integers(2**31))).to_dict()
        logging.disable(logging.NOTSET)
        columns = []
        for k, cut in enumerate(cuts):  # the mean of the public points of a bin
            bins = np.searchsorted(cut, points[:, k], side="right")
            columns.append((np.bincount(bins, points[:, k]) / np.bincount(bins))[made[k]])
        records = PublicPoints(np.column_stack(columns))
        answers = Answers(np.arange(n), made[label].astype(np.int64))
        (name, params), C = self.setting.student, self.setting.n_classes
        model = students.fit_student(
            records, answers, estimator=name, params=params, unanswered="drop", rng=rng, n_classes=C, seed=0
        )
        return Released(model, no_answers())

    def fit(self, data: Any, door: Door) -> Any:
        """Fit the graphical model to noisy marginals of an `mbi.Dataset`."""
        from mbi import LinearMeasurement
        from mbi.estimation import MirrorDescent
        from mbi.junction_tree import hypothetical_model_size

        most = self.rounds * len(data.domain)
        domain, total, left = data.domain, float(self.setting.n_private), self.rho
        held: list[tuple[int, ...]] = [(k,) for k in range(len(domain))]
        sigma = math.sqrt(most / (_MEASURING * left))
        eps = math.sqrt(8 * (1 - _MEASURING) * left / most)
        measured: list[LinearMeasurement] = []
        new = held.copy()
        model: Any = None
        while True:
            for columns in new:
                noisy = door.release(
                    _counts(data, columns), GaussianNoise(sensitivity=math.sqrt(2), sigma=sigma)
                )
                measured.append(LinearMeasurement(noisy, columns, sigma))
                left -= 1 / sigma**2
            before = model
            model = MirrorDescent().estimate(domain, measured, total, iters=_STEPS, warm_start=model)
            if left <= 1e-9 * self.rho:
                return model
            if before is not None:
                moved = np.abs(_counts(model, new[0]) - _counts(before, new[0])).sum()
                if moved <= _NOISE * sigma * domain.size(new[0]):
                    sigma, eps = sigma / 2, 2 * eps
            if left <= 2 * (1 / sigma**2 + eps**2 / 8):  # the last round has all that is left
                sigma, eps = 1 / math.sqrt(_MEASURING * left), math.sqrt(8 * (1 - _MEASURING) * left)
            left -= eps**2 / 8
            room = _MEGABYTES * (1 - left / self.rho)
            every = combinations(range(len(domain)), 2)
            pairs = [p for p in every if p in held or hypothetical_model_size(domain, [*held, p]) <= room]
            gaps = [np.abs(_counts(data, p) - _counts(model, p)).sum() for p in pairs]
            scores = np.array(gaps) - _NOISE * sigma * np.array([domain.size(p) for p in pairs])
            new = [pairs[int(door.release(scores, ExponentialChoice(sensitivity=2.0, eps=eps)))]]
            held += new


def _counts(of: Any, columns: tuple[int, ...]) -> FloatArray:
    """Counts of the codes of some columns, in data (PRIVATE) or expected by a model."""
    return np.asarray(of.project(columns).datavector(), dtype=np.float64)


def _cuts(column: FloatArray, bins: int) -> FloatArray:
    """Values at which bins begin, but the first: each public value where there are few, else quantiles."""
    values = np.unique(column)
    if len(values) > bins:
        values = np.unique(np.quantile(column, np.arange(bins) / bins, method="inverted_cdf"))
    return values[1:]
