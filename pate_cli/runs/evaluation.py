"""A noisy table of how good a student is, on private records that nothing was learned from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit, ndtri

from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import UNPROVED, SampledAttack
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Gdp
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.runs.noisy_counts import DEVIATIONS, WIDEST, NoisyCounts, nearest_counts, set_to
from pate_cli.students.calibrated import CalibratedStudent, log_odds, probabilities
from pate_cli.teachers import judge_each
from pate_cli.types import FloatArray, PrivacyLoss, PrivateRecords, Split

__all__ = ["REPORT", "Evaluation", "check", "check_size", "diagnosed", "evaluated", "figures"]
__all__ += ["stated"]

_EDGES = 11
"""Edges of the bins of scores, quantiles of the public points', beside the one at 0."""

_WIDTHS = np.geomspace(1e-3, 2.0, 23)
"""Deviations of the prior on log slope and intercept, of which the evidence chooses one."""

REPORT = ("n", "n_classes", "sigma", "threshold", "edges", "scores", "table")
"""What a report holds: all other figures follow."""

_ENDS = ("estimate", "low", "high")


@dataclass(frozen=True)
class Evaluation:
    """One noisy table of counts on held-out private records, of a student that others released.

    **Guarantee.** (eps, delta)-DP together with all that the other records release, if that is (eps,
    delta)-DP: the larger of the two, not their sum. The held-out records are the first of a permutation that
    looks at no record (persons whole, one record each), so replacing a record leaves it on its side. If that
    is the training's, the table is a function of what was released, of records that stay, and of noise of its
    own: post-processing. If it is this side, the student is equal in law, and the record moves one count down
    and one up, since each is judged by itself: sqrt(2) in L2 (2 with more than two classes, whose record is
    in two tables). N(0, s^2) on every count is the Gaussian mechanism (parallel composition: McSherry 2009).
    Bins, figures, calibration and threshold are functions of the noisy counts and public points.
    """

    n: int  # held-out records, or persons
    n_classes: int
    eps: float
    delta: float
    exact: bool = False  # noise of integers
    threshold: str | None = None  # as configured

    @classmethod
    def of(cls, config: Any, n_private: int, n_classes: int, delta: float) -> Evaluation | None:
        """That of a configuration, if it asks for one; ConfigError if it holds out nobody, or all."""
        if config.evaluate is None:
            return None
        n = int(config.evaluate * n_private)
        if not 0 < n < n_private:
            raise ConfigError("evaluate", config.evaluate, f"a share of at least one of {n_private} records")
        if config.threshold and n_classes > 2:
            raise ConfigError("threshold", config.threshold, "null with more than two classes")
        return cls(n, n_classes, config.eps, delta, threshold=config.threshold)

    @property
    def most(self) -> int:
        """Most counts of a table."""
        return 2 * (_EDGES + 2) + (self.n_classes**2 if self.n_classes > 2 else 0)

    @property
    def sensitivity(self) -> float:
        """Most that one record moves all counts together, in L2."""
        return math.sqrt(2) if self.n_classes == 2 else 2.0

    @property
    def sigma(self) -> float:
        """Noise on each count, in records."""
        if math.isinf(self.eps):
            return 0.0
        if self.exact:
            mu = gaussian.vector_mu(self.eps, self.delta, self.most)
            return gaussian.vector_sigma(self.sensitivity, mu)
        return self.sensitivity / gaussian.mu_of(self.eps, self.delta)

    @property
    def half_width(self) -> float:
        """Half of the 95% interval of the accuracy, at most: of one half."""
        most, z = (_EDGES + 2) / 2, float(ndtri(0.975))
        cells = most if self.n_classes == 2 else min(self.n_classes - 1, most)  # less their share of the sum
        if self.threshold:
            z = float(ndtri(1 - 0.025 / (_EDGES + 2)))
        return z * math.sqrt(0.25 / self.n + cells * (self.sigma / self.n) ** 2) + 1 / self.n

    def loss(self, spent: Account) -> PrivacyLoss:
        """Privacy loss of the table."""
        if not spent.only(Gdp):
            return UNPROVED
        return PrivacyLoss(Gdp.sum(spent).eps(self.delta), self.delta, "a noisy table")

    @property
    def guarantee(self) -> PrivacyLoss:
        """Loss of the table, at most."""
        mu = None if self.exact or math.isinf(self.eps) else gaussian.mu_of(self.eps, self.delta)
        return PrivacyLoss(self.eps, self.delta, "a noisy table", mu=mu)

    def describe(self) -> dict[str, Any]:
        """Public numbers."""
        return {"n_evaluated": self.n, "evaluation_sigma": self.sigma}

    def attacks(self) -> list[SampledAttack]:
        """Attack by a record that is in another bin."""

        def released(first: int, door: Door, rng: np.random.Generator, runs: int) -> Any:
            parts = 1 if self.n_classes == 2 else 2
            return self.noisy(np.tile(np.eye(2)[first] + 50.0, (runs, parts)), door, runs)

        return [SampledAttack.on("a held-out record in another bin", (0, 1), released, 50_000)]

    def noisy(self, counts: FloatArray, door: Door, runs: int = 1) -> FloatArray:
        """Release counts, of shape (runs, cells)."""
        grain = 1.0 if self.exact else None
        kind = GaussianNoise(sensitivity=self.sensitivity, sigma=self.sigma, grain=grain)
        noisy: FloatArray = door.release(counts, kind, runs)
        return noisy

    def report(self, student: Any, held_out: PrivateRecords, public: Any, door: Door) -> dict[str, Any]:
        """Release the table of a student; its edges are quantiles of the scores of public points."""
        seen = _scores(_each(student, public, self.n_classes))[0]
        edges = np.unique([*np.quantile(seen, np.arange(1, _EDGES + 1) / (_EDGES + 1)), 0.0])
        scores, labels = _scores(_each(student, held_out.X, self.n_classes))
        bins, B, C = np.searchsorted(edges, scores), len(edges) + 1, self.n_classes
        named = held_out.y >= 0  # a label that is none of the classes is one that the student has wrong
        rows = np.where(named, held_out.y, 1 - labels) if C == 2 else (labels == held_out.y).astype(np.int64)
        counts = np.bincount(rows * B + bins, minlength=2 * B)
        if C > 2:
            confused = (held_out.y * C + labels)[named]
            counts = np.concatenate([counts, np.bincount(confused, minlength=C * C)])
        noisy = self.noisy(counts[None].astype(np.float64), door)[0]
        bounds = [-math.inf, *edges.tolist(), math.inf]
        inside = [seen[(low < seen) & (seen <= high)] for low, high in pairwise(bounds)]
        middles = np.clip(np.array(bounds), edges[0] - 1, edges[-1] + 1)
        points = [
            np.quantile(part, [0.1, 0.3, 0.5, 0.7, 0.9]).tolist()
            if len(part)
            else [float(middles[i : i + 2].mean())] * 5
            for i, part in enumerate(inside)
        ]
        table = noisy.tolist() if not self.exact else [int(count) for count in noisy]
        values = (self.n, C, self.sigma, self.threshold, edges.tolist(), points, table)
        return dict(zip(REPORT, values, strict=True))


def evaluated(
    evaluation: Evaluation | None, split: Split, student: Any, door: Door, rng: np.random.Generator
) -> tuple[Any, dict[str, Any] | None]:
    """Evaluate a student on the records held out for it, if any: the calibrated one, and the report."""
    if evaluation is None:
        return student, None
    door.chapter("evaluation")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # made from private records
        report = evaluation.report(student, split.held_out.one_each(rng), split.public.X, door)
    estimates = figures(report)
    slope, intercept = estimates["calibration"]
    return CalibratedStudent(student, slope, intercept, estimates["cut"], report["n_classes"]), report


def check(cost: PrivacyLoss, promised: PrivacyLoss) -> None:
    """Compare the cost of what passed the door with what was promised."""
    if not (cost.eps <= promised.eps * (1 + 1e-9) and cost.delta <= promised.delta * (1 + 1e-9)):  # nan too
        raise RuntimeError(
            f"what was released costs eps={cost.eps:g}, delta={cost.delta:g}: above the guarantee"
        )


def diagnosed(released: dict[str, Any] | None) -> dict[str, float]:
    """Figures of a repeat: estimates and the ends of their intervals, where they tell anything."""
    estimates = figures(released)["figures"] if released else {}
    shown = [
        (name, key, estimate[key])
        for name, estimate in estimates.items()
        if estimate["told"]
        for key in _ENDS
    ]
    return {f"evaluated.{name}" + f"_{key}" * (key != "estimate"): value for name, key, value in shown}


def stated(released: dict[str, Any], classes: Sequence[str]) -> dict[str, Any]:
    """The table with all that it tells, as a release certifies it."""
    estimates = figures(released)
    slope, intercept = estimates["calibration"]
    named = {}
    for name, estimate in estimates["figures"].items():
        measure, _, code = name.partition(".")
        values = {
            key: round(value, 6) if isinstance(value, float) else value for key, value in estimate.items()
        }
        named[measure + (f" of {classes[int(code)]}" if code else "")] = values
    at = {
        "probability": round(float(expit(slope * estimates["cut"] + intercept)), 9),
        "reached": estimates["reached"],
    }
    return (
        released
        | {"figures": named, "slope": slope, "intercept": intercept}
        | (at if released["n_classes"] == 2 else {})
    )


def check_size(released: dict[str, Any], n_classes: int) -> None:
    """Raise ValueError unless a report, which may be anybody's, has the size of one for so many classes."""
    edges, points, table = (
        np.array(released[name], dtype=np.float64) for name in ("edges", "scores", "table")
    )
    C, B = n_classes, len(edges) + 1
    sizes = released["n_classes"], edges.shape, points.shape, table.shape
    cells = 2 * B + (C * C if C > 2 else 0)
    if C < 2 or B > _EDGES + 2 or sizes != (C, (B - 1,), (B, 5), (cells,)):
        raise ValueError("a report of another size than that of its classes")


def _each(student: Any, X: Any, n_classes: int) -> FloatArray:
    """Probabilities of records, each judged by itself; even where the student fails on one."""
    p = np.full((X.shape[0], n_classes), 1 / n_classes)
    judge_each(student, X, lambda rows: probabilities(student, rows, n_classes), p)
    return p


def _scores(p: FloatArray) -> tuple[FloatArray, Any]:
    """Log-odds of class 1 of two, or of the likeliest class; and the likeliest class."""
    two = p.shape[1] == 2
    return log_odds(p[:, 1] if two else p.max(axis=1)), p.argmax(axis=1)


def figures(released: dict[str, Any]) -> dict[str, Any]:
    """All that a released table tells: a function of public numbers.

    `figures` has for each its estimate, the ends of its 95% interval, which includes the noise, and whether
    it tells anything; `calibration` slope and intercept; `cut` the log-odds above which class 1 is predicted.
    Shares are of counts from 0 that add up to n, so none contradicts another.
    """
    C, n, sigma = released["n_classes"], released["n"], released["sigma"]
    edges, points = np.array(released["edges"]), np.array(released["scores"])
    B = len(points)
    noisy = np.array(released["table"], dtype=np.float64)
    parts = [
        NoisyCounts(part + (n - part.sum()) / part.size, n, sigma)
        for part in np.split(noisy, [2 * B])[: 1 + (C > 2)]
    ]
    bins = parts[0]
    at, reached, z = int(np.searchsorted(edges, 0.0)) + 1, True, float(ndtri(0.975))
    if C == 2 and released["threshold"]:
        at, reached = _chosen(bins, released["threshold"])
        z = float(ndtri(1 - 0.025 / B))  # whichever is chosen
    shown = _of_two(bins, at, z) if C == 2 else _of_many(parts, z)
    platt = _platt(bins, points)
    shown |= {
        "calibration_error_before": _calibration_error(bins, points, 1.0, 0.0),
        "calibration_error": _calibration_error(bins, points, *platt),
    }
    cut = [-math.inf, *edges.tolist(), math.inf][at] if C == 2 else 0.0
    return {"figures": shown, "calibration": platt, "cut": cut, "reached": reached}


def _of_two(bins: NoisyCounts, at: int, z: float) -> dict[str, Any]:
    """Figures of two classes, the second predicted in the bins from `at` on."""
    B = bins.noisy.size // 2
    cells = np.arange(2 * B).reshape(2, B)
    true, claimed = cells, (cells[:, :at].ravel(), cells[:, at:].ravel())
    hits = (cells[0, :at], cells[1, at:])
    shown = {"accuracy": bins.share(np.concatenate(hits), None, z)}

    def area(x: FloatArray) -> float:
        first, second = x.reshape(2, -1)
        below = np.cumsum(first) - first / 2
        return float(second @ below / (first.sum() * second.sum()))

    for code, hit in enumerate(hits):
        shown[f"share.{code}"] = bins.share(true[code], None, float(ndtri(0.975)))
        shown[f"recall.{code}"] = bins.share(hit, true[code], z)
        shown[f"precision.{code}"] = bins.share(hit, claimed[code], z)
    table = _confusion(bins, at)
    shown = _consistent(shown, table.diagonal(), table.sum(axis=1), table.sum(axis=0))
    auc, (q, r) = bins.figure(area, float(ndtri(0.975)), *true), table.diagonal() / table.sum(axis=1).clip(1)
    if auc["estimate"] is not None:  # a curve through that point has no other area
        auc = set_to(auc, float(np.clip(auc["estimate"], q * r, 1 - (1 - q) * (1 - r))), 1.0)
    return shown | {"roc_auc": auc}


def _confusion(bins: NoisyCounts, at: int) -> FloatArray:
    """Counts of two classes by true and by predicted class, the second from the bin `at` on."""
    parts = np.tile([at, bins.table.shape[1] - at], 2)
    sums = [part.sum() for row in bins.table for part in (row[:at], row[at:])]
    return nearest_counts(sums, parts, bins.n).reshape(2, 2)


def _consistent(shown: dict[str, Any], hits: Any, true: Any, claimed: Any) -> dict[str, Any]:
    """Figures as shares of counts of each class: hits, records of it, and records named so."""
    n, consistent = float(true.sum()), dict(shown)
    consistent["accuracy"] = set_to(shown["accuracy"], float(hits.sum()), n)
    for code, hit in enumerate(hits.tolist()):
        for name, whole in (("recall", true[code]), ("precision", claimed[code])):
            consistent[f"{name}.{code}"] = set_to(shown[f"{name}.{code}"], hit, float(whole))
        consistent[f"share.{code}"] = set_to(shown[f"share.{code}"], float(true[code]), n)
    return consistent


def _of_many(parts: list[NoisyCounts], z: float) -> dict[str, Any]:
    """Figures of several classes: of the confusion table; accuracy of the table with less noise."""
    bins, confused = parts
    C, B = math.isqrt(confused.noisy.size), bins.noisy.size // 2
    shown = {"accuracy": bins.share(np.arange(B, 2 * B), None, z)}
    cells = np.arange(C * C).reshape(C, C)
    if 2 * (C - 1) < B:
        shown = {"accuracy": confused.share(cells.diagonal(), None, z)}
    for code in range(C):
        hit, row, column = cells[code, [code]], cells[code], cells[:, code]
        shown[f"share.{code}"] = confused.share(row, None, z)
        shown[f"recall.{code}"] = confused.share(hit, row, z)
        shown[f"precision.{code}"] = confused.share(hit, column, z)
    n, table = bins.n, confused.noisy.reshape(C, C)
    right = n * shown["accuracy"]["estimate"]
    hits = nearest_counts(table.diagonal(), np.ones(C), right)
    others = [
        nearest_counts(table.sum(axis=axis) - table.diagonal(), np.full(C, C - 1), n - right)
        for axis in (1, 0)
    ]
    return _consistent(shown, hits, hits + others[0], hits + others[1])


def _chosen(bins: NoisyCounts, rule: str) -> tuple[int, bool]:
    """First bin in which the second class is predicted, by a rule; and whether the rule is met."""
    B, (kind, _, goal) = bins.table.shape[1], rule.partition(":")
    tables = np.array([_confusion(bins, at) for at in range(B + 1)])
    (_, false), (_, recall) = np.moveaxis(tables / tables.sum(axis=2, keepdims=True).clip(1), 0, 2)
    if kind == "youden":
        return int(np.argmax(recall - false)), True
    if kind == "recall":
        return int(np.flatnonzero(recall >= min(float(goal), recall[0])).max()), True
    claimed = tables[:, :, 1].sum(axis=1)
    precise = (tables[:, 1, 1] >= float(goal) * claimed) & (claimed > DEVIATIONS * bins.sigma)
    return (int(np.argmax(precise)), True) if precise.any() else (B, False)


def _gaps(
    bins: NoisyCounts, points: FloatArray, slope: float, intercept: float
) -> tuple[FloatArray, FloatArray]:
    """Records of class 1 beyond what the probabilities say, by bin; and the variance of that."""
    (first, second), p = bins.table, expit(slope * points + intercept).mean(axis=1)
    total = (first + second).clip(0)
    return second - (first + second) * p, bins.sigma**2 * (p**2 + (1 - p) ** 2) + total * p * (1 - p) + 1e-3


def _platt(bins: NoisyCounts, points: FloatArray) -> tuple[float, float]:
    """Slope and intercept of the log-odds, from noisy counts and a prior at 1 and 0, as wide as they tell."""

    def distances(at: Any, weights: FloatArray, width: float) -> Any:
        gaps, _ = _gaps(bins, points, math.exp(at[0]), at[1])
        return np.concatenate([gaps / np.sqrt(weights), at / width])

    at, (gaps, weights) = np.zeros(2), _gaps(bins, points, 1.0, 0.0)
    steps = [_gaps(bins, points, *ends)[0] for ends in ((math.exp(1e-4), 0.0), (1.0, 1e-4))]
    slopes = (np.array(steps).T - gaps[:, None]) / 1e-4

    def evidence(width: float) -> float:
        law = np.diag(weights) + width**2 * slopes @ slopes.T
        return float(gaps @ np.linalg.solve(law, gaps) + np.linalg.slogdet(law)[1])

    width = min(_WIDTHS, key=evidence)
    for _ in range(2):
        at = least_squares(distances, at, args=(weights, width), bounds=(-3, 3)).x
        weights = _gaps(bins, points, math.exp(at[0]), at[1])[1]
    return round(math.exp(at[0]), 9), round(float(at[1]), 9)


def _calibration_error(
    bins: NoisyCounts, points: FloatArray, slope: float, intercept: float
) -> dict[str, Any]:
    """Root mean square distance of probabilities from shares, by bin, less what noise and sampling add."""
    gaps, variance = _gaps(bins, points, slope, intercept)
    weights = 1 / (bins.n * bins.table.sum(axis=0).clip(bins.n / (4 * len(gaps))))
    square = float(weights @ (gaps**2 - variance))
    spread = math.sqrt(float(weights**2 @ (2 * variance**2 + 4 * variance * (gaps**2 - variance).clip(0))))
    low, at, high = (math.sqrt(min(max(square + k * spread, 0.0), 1.0)) for k in (-1.96, 0.0, 1.96))
    return {"estimate": at, "low": low, "high": high, "told": high - low <= WIDEST}
