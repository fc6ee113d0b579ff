"""Teachers that fit the residuals of a model, and what is known of them from public points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from pate_cli import teachers
from pate_cli.features.classifiers import probabilities
from pate_cli.learners import is_linear
from pate_cli.mechanisms.scores.directions import PublicDirections
from pate_cli.mechanisms.teaching import make_teacher
from pate_cli.types import FloatArray, IntArray, PrivateRecords, Setting

__all__ = ["Classifiers", "Gains", "RidgeTeachers", "posterior_mean", "residual_teachers"]

_AT_ONCE = 256  # teachers fitted at once
_DRAWS, _EACH = 16, 8  # functions of the prior, and teachers on each
_MIXED_DRAWS, _MIXED_EACH = 32, 64  # the same, for a response that is a matrix
_RIDGES = (1e-3, 1e-2, 0.1, 1.0, 10.0)  # of such a matrix, in its mean squares
_MOST_RECORDS = 2000  # of a teacher on them
_FLATTER = 0.75  # power of the prior's variances that they are drawn with, so that small ones are seen
_STEEPNESS = 2.0  # standard deviation of the log-odds of their labels
_LEAST = 1e-6  # of the largest energy, and of a record's weight
_LEAST_GAIN = 0.02  # of the first
_AMPLITUDES = np.exp(np.linspace(-16.0, 8.0, 73))


@dataclass(frozen=True, eq=False)
class RidgeTeachers:
    """Ridge regressions of the residuals in the features, centred; ``lambda`` is a point's mean squared norm.

    A closed form for any number of classes. Values of the directions are scaled to the features' own spread,
    of which the whole is 1.
    """

    spreads: FloatArray  # (r,): standard deviation of the features along each direction

    def coefficients(self, values: FloatArray, residuals: FloatArray) -> FloatArray:
        """Coefficients along the directions of k teachers: (k, s, r) and (k, s, C) to (k, r, C)."""
        x = values * self.spreads
        turned = x.transpose(0, 2, 1)
        of_records = x.shape[1] <= x.shape[2]  # whichever is fewer: one person may have very many records
        inner = x @ turned if of_records else turned @ x
        inner[:, np.arange(inner.shape[1]), np.arange(inner.shape[1])] += 1.0
        if of_records:
            return turned @ np.linalg.solve(inner, residuals) * self.spreads[:, None]
        return np.linalg.solve(inner, turned @ residuals) * self.spreads[:, None]

    def fit(
        self, private: PrivateRecords, values: FloatArray, residuals: FloatArray, parts: list[IntArray]
    ) -> Iterator[FloatArray]:
        """Coefficients of a teacher on each part, some at a time: each by itself, to the bit. PRIVATE.

        Parts of one length come together, so places are public; persons' parts have lengths that one person
        decides, and come alone.
        """
        alone = private.persons is not None
        for _, group in groupby(enumerate(parts), lambda each: each[0] if alone else len(each[1])):
            same = [part for _, part in group]
            for first in range(0, len(same), _AT_ONCE):
                rows = np.stack(same[first : first + _AT_ONCE])
                yield self.coefficients(values[rows], residuals[rows])

    def taught(self, space: PublicDirections, setting: Setting, rng: np.random.Generator) -> Any:
        """Function that fits teachers to public points, given rows (k, s) and their labels."""
        values = space.values * np.sqrt(len(space.values))
        eye = np.eye(setting.n_classes)
        return lambda rows, labels: self.coefficients(values[rows], eye[labels] - 1 / setting.n_classes)


@dataclass(frozen=True, eq=False)
class Classifiers:
    """Any classifiers: a record comes once a class, weighted by its residual less the smallest of them.

    What such a classifier says, less its mean over classes, is in proportion to the expected residuals. Of
    two classes only the record's own has weight.
    """

    learner: Any  # unfitted
    points: Any  # (m, d): those that teachers score, as they see them
    directions: FloatArray  # (m, r), orthonormal
    setting: Setting
    strict: bool

    def fit(
        self, private: PrivateRecords, residuals: FloatArray, n_teachers: int, rng: np.random.Generator
    ) -> Iterator[FloatArray]:
        """Scores along the directions of a teacher on each part, as `RidgeTeachers.fit`. PRIVATE."""
        n, y = private.n_records, private.y
        weights = residuals - residuals.min(axis=1, keepdims=True)
        weights[np.arange(n), y] = np.maximum(weights[np.arange(n), y], _LEAST)
        if residuals.shape[1] == 2:
            weights[np.arange(n), 1 - y] = 0.0
            rows, codes, persons = np.arange(n), y, private.persons
        else:
            rows, codes = np.nonzero(weights)
            persons = (np.arange(n) if private.persons is None else private.persons)[rows]
        records = PrivateRecords(private.X[rows], codes.astype(np.int64), persons)
        return self._scores(records, n_teachers, rng, weights[rows, codes], self.strict)

    def _scores(
        self,
        records: PrivateRecords,
        n_teachers: int,
        rng: np.random.Generator,
        weights: FloatArray | None,
        strict: bool,
    ) -> Iterator[FloatArray]:
        ensemble = teachers.train(
            records,
            n_teachers=n_teachers,
            learner=self.learner,
            rng=rng,
            n_classes=self.setting.n_classes,
            sample_weight=weights,
            strict=strict,
        )
        return teachers.score_matrices(ensemble, self.points, self.directions)

    def taught(self, space: PublicDirections, setting: Setting, rng: np.random.Generator) -> Any:
        """See `RidgeTeachers.taught`."""

        def fitted(rows: IntArray, labels: IntArray) -> FloatArray:
            records = PrivateRecords(self.points[rows.ravel()], labels.ravel())
            with teachers.failures():  # of teachers of public points, which nobody asks for
                return np.concatenate(list(self._scores(records, len(rows), rng, None, False)))

        return fitted


def residual_teachers(space: PublicDirections, points: Any, setting: Setting, strict: bool) -> Any:
    """Teachers as configured; the default one, where it sees the map, is a ridge regression of residuals."""
    if setting.teacher_mapped and setting.teacher == ("logistic", {}):
        return RidgeTeachers(np.sqrt(space.shares))
    return Classifiers(make_teacher(setting), points, space.values, setting, strict)


@dataclass(frozen=True, eq=False)
class Gains:
    """What a teacher's unit vector says, along each direction, of a function of the prior. PUBLIC."""

    weights: FloatArray  # (r,): of the directions, before a vector is scaled to norm 1
    response: FloatArray  # (r, r): coefficients of the class probabilities to the mean unit vector
    energy: FloatArray  # (r,): mean square of a unit vector, of one class

    @classmethod
    def of(cls, space: PublicDirections, learners: Any, setting: Setting, rng: np.random.Generator) -> Gains:
        """Measure them on teachers of public points, with labels drawn from functions of the prior.

        Weights ``e^(-1/4)`` of the energies e have the least noise over the points, in all, for a given norm.
        The response is diagonal, one number for bins of directions, which does not increase along them. What
        linear teachers in their own columns say of a function may lie along other directions than it: their
        response is a matrix, of more teachers, where that is what half of them say of the other half.
        """
        C, (m, r) = setting.n_classes, space.values.shape
        mixes = isinstance(learners, Classifiers) and is_linear(learners.learner)
        draws, each = (_MIXED_DRAWS, _MIXED_EACH) if mixes else (_DRAWS, _EACH)
        taught = learners.taught(space, setting, rng)
        values = space.values * np.sqrt(m)
        size = min(max(setting.n_private // setting.n_teachers, 1), _MOST_RECORDS)
        true, vectors = np.zeros((draws * each, r, C)), np.zeros((draws * each, r, C))
        for draw in range(draws):
            drawn = values @ (rng.normal(size=(r, C)) * space.shares[:, None] ** (_FLATTER / 2))
            p = probabilities(_STEEPNESS * drawn / max(float(drawn.std()), 1e-12))
            rows = rng.integers(0, m, (each, size))
            labels = (p[rows].cumsum(axis=2) > rng.random((each, size, 1))).argmax(axis=2)
            at = slice(draw * each, (draw + 1) * each)
            vectors[at], true[at] = taught(rows, labels), values.T @ (p - 1 / C) / m
        vectors[~np.isfinite(vectors).all(axis=(1, 2))] = 0.0
        energy = (vectors**2).sum(axis=2).mean(axis=0)
        if not energy.max(initial=0.0) > 0:  # a learner that learns nothing here
            return cls(np.ones(r), np.eye(r), np.full(r, 1 / (C * max(r, 1))))
        weights = np.maximum(energy, _LEAST * energy.max()) ** -0.25
        weights /= weights.max()
        vectors *= weights[:, None]
        vectors /= np.maximum(np.sqrt((vectors**2).sum(axis=(1, 2), keepdims=True)), 1e-300)
        gain = np.empty(r)
        for first, end in pairwise([0, *(2**k for k in range(r.bit_length() + 1))]):
            ours, theirs = vectors[:, first:end], true[:, first:end]
            gain[first:end] = (ours * theirs).sum() / max((theirs**2).sum(), 1e-300)
        gain = np.minimum.accumulate(np.maximum(gain, _LEAST_GAIN * max(gain[0], 1e-12)))
        response = _mixing(true, vectors, gain) if mixes else np.diag(gain)
        return cls(weights, response, (vectors**2).sum(axis=2).mean(axis=0) / C)


def _mixing(true: FloatArray, predicted: FloatArray, gain: FloatArray) -> FloatArray:
    """Matrix from true coefficients to what is said, (N, r, C) both; diagonal if that predicts as well."""
    B, U = (each.transpose(0, 2, 1).reshape(-1, each.shape[1]) for each in (true, predicted))
    half = len(true) // 2 * true.shape[2]
    sides = (slice(0, half), slice(half, None))

    def fitted(rows: slice, ridge: float) -> FloatArray:
        inner = B[rows].T @ B[rows]
        size = max(float(np.trace(inner)) / len(inner), 1e-300)
        return np.asarray(np.linalg.solve(inner + ridge * size * np.eye(len(inner)), B[rows].T @ U[rows]).T)

    def error(ridge: float) -> float:
        pairs = (sides, sides[::-1])
        return sum(float(((U[other] - B[other] @ fitted(side, ridge).T) ** 2).sum()) for side, other in pairs)

    ridge = min(_RIDGES, key=error)
    diagonal = float(((U - B * gain) ** 2).sum())
    return fitted(slice(None), ridge) if error(ridge) < diagonal else np.diag(gain)


def posterior_mean(Z: FloatArray, response: FloatArray, prior: FloatArray, noise: FloatArray) -> FloatArray:
    """Posterior mean of coefficients given ``Z_c = response beta_c + N(0, diag(noise))``, shape (r, C).

    ``beta_jc ~ N(0, a prior_j)``, where a maximises the evidence.
    """
    left, sizes, right = np.linalg.svd(response * np.sqrt(prior) / np.sqrt(noise)[:, None])
    z = left.T @ (Z / np.sqrt(noise)[:, None])
    total = _AMPLITUDES[:, None] * sizes**2 + 1
    evidence = -0.5 * ((z**2).sum(axis=1) / total + Z.shape[1] * np.log(total)).sum(axis=1)
    a = _AMPLITUDES[evidence.argmax()]
    mean: FloatArray = np.sqrt(prior)[:, None] * (right.T @ ((a * sizes / (a * sizes**2 + 1))[:, None] * z))
    return mean
