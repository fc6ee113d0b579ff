"""Orthogonal directions over public points, and how much of the noise each of them gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli import learners, teachers
from pate_cli.mechanisms.baselines.public_features import CONSTANT, UNIT, PublicFeatures
from pate_cli.types import FloatArray, PrivateRecords, Setting

__all__ = ["PublicDirections", "direction_weights", "enough_points"]

_POWER = 2  # of variances that are half whitened, which makes them those of the kernel itself
_CUT = 1e-3  # of the largest singular value: directions below it are left out
_FEW = 60  # public points below which columns are shuffled for more
_SHUFFLED = 300
_DENSE = 2**25  # most numbers of shuffled points
_FUNCTIONS = 8  # drawn from the prior, to see what teachers make of them
_TEACHERS = 4  # on each
_MOST_RECORDS = 2000  # of a teacher on them
_STEEPNESS = 2.0  # standard deviation of the log-odds of their labels
_LEAST = 1e-6  # of the largest energy


@dataclass(frozen=True, eq=False)
class PublicDirections:
    """Functions that public points span, one a direction: orthonormal over the points, each of mean 0.

    Attributes
    ----------
    features : PublicFeatures
        The map they are linear in.
    means : ndarray of shape (p - 1,)
        Of the features over the points.
    back : ndarray of shape (p - 1, r)
        From features, less their means, to the functions.
    values : ndarray of shape (m, r)
        Of the functions at the points: orthonormal columns, orthogonal to the constant.
    variances : ndarray of shape (r,)
        Prior variance of a function's coefficient along each: a function then has variance 1 on average
        over the points.
    """

    features: PublicFeatures
    means: FloatArray
    back: FloatArray
    values: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, points: Any, rng: np.random.Generator) -> PublicDirections:
        """Find them for public points, ndarray or csr_matrix of shape (m, d)."""
        features = PublicFeatures.of(points, rng)
        known = features.apply(points)[:, :-1].astype(np.float64) * UNIT
        means = known.mean(axis=0)
        values, sizes, turned = np.linalg.svd(known - means, full_matrices=False)
        kept = sizes > max(_CUT * sizes.max(initial=0.0), 1e-9)
        values, sizes, turned = values[:, kept], sizes[kept], turned[kept]
        variances = sizes ** (2 * _POWER)
        variances *= len(values) / variances.sum() if kept.any() else 1.0
        return cls(features, means, turned.T / sizes, values, variances)

    def weights(self, coefficients: FloatArray, intercepts: FloatArray) -> FloatArray:
        """Weights on the features and their constant, shape (p, q), of functions plus intercepts.

        Parameters
        ----------
        coefficients : ndarray of shape (r, q)
        intercepts : ndarray of shape (q,)
        """
        slopes = self.back @ coefficients
        return np.vstack([slopes, (intercepts - self.means @ slopes) / CONSTANT])


def enough_points(points: Any, rng: np.random.Generator) -> Any:
    """Add points that have each column of a public point of its own, where there are fewer than 60."""
    import scipy.sparse as sp

    m, d = points.shape
    if not 1 < m < _FEW or _SHUFFLED * d > _DENSE:
        return points
    dense = points.toarray() if sp.issparse(points) else points
    more = np.vstack([dense, dense[rng.integers(0, m, (_SHUFFLED - m, d)), np.arange(d)]])
    return sp.csr_matrix(more) if sp.issparse(points) else more


def direction_weights(
    directions: PublicDirections, points: Any, setting: Setting, rng: np.random.Generator
) -> FloatArray:
    """Weigh directions by what teachers say along them and by what is there to be said. PUBLIC.

    Weight ``(e_j v_j)^(-1/4)``: v_j is the prior variance along direction j, and e_j the mean share, along
    it, of what teachers say that were trained on as many public points as a real one has records, with
    labels drawn from the prior. Nothing private is looked at. For two classes.

    Parameters
    ----------
    directions : PublicDirections
    points : ndarray or csr_matrix of shape (m, d)
        Those that the directions are of.
    setting : Setting
    rng : Generator

    Returns
    -------
    ndarray of shape (r,), positive
    """
    s = setting
    size = min(s.n_private // s.n_teachers, _MOST_RECORDS)
    m, r = directions.values.shape
    learner = learners.make_learner(*s.teacher, seed=None, n_classes=s.n_classes)
    energy = np.zeros(r)
    for _ in range(_FUNCTIONS):
        drawn = directions.values @ (np.sqrt(directions.variances)[:, None] * rng.normal(size=(r, 1)))
        drawn *= _STEEPNESS / max(float(drawn.std()), 1e-12)
        rows = rng.integers(0, m, size * _TEACHERS)
        labels = (drawn[rows, 0] + rng.logistic(size=len(rows)) > 0).astype(np.int64)
        ensemble = teachers.train(
            PrivateRecords(points[rows], labels),
            n_teachers=_TEACHERS,
            learner=learner,
            rng=rng,
            n_classes=s.n_classes,
            strict=False,
        )
        for _, vectors in teachers.score_vectors(ensemble, points, directions.values):
            squares = vectors**2
            totals = squares.sum(axis=1, keepdims=True)
            energy += (squares / np.where(totals > 0, totals, 1.0)).sum(axis=0)
    if not (np.isfinite(energy).all() and energy.max(initial=0.0) > 0):  # a learner that learns nothing here
        energy = directions.variances
    energy = np.maximum(energy / max(energy.max(initial=0.0), 1e-300), _LEAST)
    weights: FloatArray = (energy * directions.variances) ** -0.25
    return weights
