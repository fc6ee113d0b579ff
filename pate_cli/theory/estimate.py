"""The parameters of the theorems' assumptions, estimated on one's own records. NOT DIFFERENTIALLY PRIVATE.

One split, as of the first repeat of `pate run`. h* stands for the best hypothesis: the teachers' learner on
all private records, as LZCW21's Appendix E has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pate_cli import learners, pipeline, teachers
from pate_cli.errors import InputError
from pate_cli.pipeline import Prepared
from pate_cli.streams import Streams
from pate_cli.theory.quantity import Quantity

__all__ = ["Estimates", "estimate", "fit_tau", "here"]

_SIZES = 4
"""Sizes of parts that tau is fitted over, each twice the last."""


@dataclass(frozen=True)
class Estimates:
    """What one split shows. Not differentially private: for experiments alone.

    Attributes
    ----------
    parameters : dict of str to float
        nu, gamma, and tau where it can be told: of `TheoryProblem`.
    measured : dict of str to float
        n, m and K; error of the student, the vote, a teacher and h*; how often the vote and a teacher differ
        from h*: rates in [0, 1], nan where public points have no known labels.
    notes : list of str
        How each parameter was told, or why it was not.
    """

    parameters: dict[str, float]
    measured: dict[str, float]
    notes: list[str]


def estimate(run: Prepared, xi: float) -> Estimates:
    """Estimate nu, gamma and tau, and measure what the theorems bound. NOT DIFFERENTIALLY PRIVATE.

    Parameters
    ----------
    run : Prepared
        Of two classes, with teachers.
    xi : float
        The margin that nu is the share of points below; in (0, 1/2].

    Raises
    ------
    InputError
        If the run has no teachers or more than two classes, or cannot be run.
    """
    if not run.plan.asks_votes or run.n_teachers < 2 or run.dataset.n_classes != 2:
        raise InputError("--estimate: needs two classes and teachers that vote, which this run has not")
    config, streams = run.config, Streams.of(run.config.seed, 0)
    trained = pipeline.train(run, 0)
    outcome = pipeline.run_repeat(run, 0, trained)
    split, K = trained.split, run.n_teachers
    best = learners.make_learner(config.teacher.estimator, config.teacher.params, seed=0, n_classes=2)
    best.fit(split.private.X, split.private.y)
    ones = trained.votes.counts[:, 1] / K
    vote, truth = (ones >= 0.5).astype(int), split.public_labels.y
    best_public, best_test = (np.asarray(best.predict(X)) for X in (split.public.X, split.test.X))
    nu = float(np.mean(np.abs(ones - 0.5) < xi))
    gamma = float(np.mean(best_test != split.test.y))
    excess, differing = [], []
    for each in [max(2, K >> j) for j in range(_SIZES)]:
        learner = learners.make_learner(
            config.teacher.estimator, config.teacher.params, seed=None, n_classes=2
        )
        dealt = {"learner": learner, "rng": streams.teachers, "n_classes": 2}
        counts = teachers.train(split.private, n_teachers=each, **dealt).votes(split.test.X).counts / each
        rows = np.arange(len(counts))
        excess.append(float(1 - counts[rows, split.test.y].mean()) - gamma)
        differing.append(float(1 - counts[rows, best_test].mean()))
    tau = fit_tau(excess, differing)
    notes = [
        f"nu: share of the {len(ones):,} public points where the vote has a margin under xi = {xi:g}",
        f"gamma: error on held-out records of their learner on all {len(split.private.y):,} private ones, h*",
        "tau: how often teachers differ from h* is as the power tau of their excess error, over parts of "
        f"{_SIZES} sizes"
        if tau is not None
        else "tau: not told, as larger parts have no smaller excess error here; left as it is",
    ]
    least = 1 / (2 * len(ones))  # none below the margin: a share under one point
    parameters = {"nu": min(max(nu, least), 1 - least), "gamma": min(gamma, 1 - 1e-9)}
    return Estimates(
        parameters | ({} if tau is None else {"tau": tau}),
        {
            "n": float(len(split.private.y)),
            "m": float(len(ones)),
            "K": float(K),
            "student": 1 - outcome.result.accuracy,
            "vote": float(np.mean(vote != truth)) if (truth >= 0).all() else math.nan,
            "teacher": 1 - trained.teacher_accuracy,
            "h*": gamma,
            "vote differs from h*": float(np.mean(vote != best_public)),
            "teacher differs from h*": float(np.mean(np.where(best_public == 1, 1 - ones, ones))),
        },
        notes,
    )


def fit_tau(excess: Sequence[float], differing: Sequence[float]) -> float | None:
    """Fit ``P(h != h*) = C (Err(h) - Err(h*))^tau``, the Tsybakov noise condition with equality.

    Parameters
    ----------
    excess, differing : sequence of float
        Of learners of several sizes.

    Returns
    -------
    float or None
        In (0, 1]; None where an excess is not positive or the slope is not.
    """
    if min(excess) <= 0 or min(differing) <= 0 or max(excess) == min(excess):
        return None
    slope = float(np.polyfit(np.log(excess), np.log(differing), 1)[0])
    return min(slope, 1.0) if slope > 0 else None


def here(quantity: Quantity, measured: dict[str, float]) -> float | None:
    """Give what is beside a quantity of a statement here; None where nothing of the kind is measured."""
    name = quantity.name
    starts = {"n, ": "n", "m, ": "m", "k, ": "K", "K, ": "K"}
    for start, key in starts.items():
        if quantity.kind == "size" and name.startswith(start):
            return measured[key]
    if quantity.kind == "size":
        return None
    if "student" in name or "h_priv" in name:
        return measured["student"]
    if "misclassification rate" in name:
        return measured["vote"]
    if "excess risk" in name:
        return max(0.0, measured["student"] - measured["h*"])
    if "excess over the vote" in name:
        return max(0.0, measured["student"] - measured["vote"])
    return None
