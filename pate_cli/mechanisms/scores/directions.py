"""Orthogonal directions over public points, their weights, and estimates of functions along them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pate_cli import teachers
from pate_cli.features.classifiers import FeatureClassifier
from pate_cli.features.kernel import (
    CONSTANT,
    MOST_DIRECTIONS,
    SHUFFLED,
    GridFeatures,
    KernelFeatures,
    enough_points,
    feature_values,
)
from pate_cli.features.stable_rows import UNIT, to_integers
from pate_cli.matrices import dense
from pate_cli.mechanisms.teaching import make_teacher
from pate_cli.types import FloatArray, PrivateRecords, PublicPoints, Setting

__all__ = ["PublicDirections", "PublicSide", "Response", "map_of", "squares_elsewhere"]

_POWER = 2  # of variances that are half whitened, which makes them those of the kernel itself
_ROWS = 4096  # records at a time
_CUT = 1e-3  # of the largest singular value: directions below it are left out
_FOLDS = 5  # of the points, to see directions at points that did not make them
_ENOUGH = 100  # such points
_FUNCTIONS = 16  # drawn from the prior, to measure how teachers respond
_TEACHERS = 16  # on each
_MOST_RECORDS = 2000  # of a teacher on them
_FLATTER = 0.75  # power of the prior's variances that they are drawn with, so that small ones are seen
_STEEPNESS = 2.0  # standard deviation of the log-odds of their labels
_LEAST = 1e-6  # of the largest energy
_LEAST_GAIN = 0.02  # of the largest
_BINS = 9  # of directions whose gains are one number, beyond the first four
_HOPE = 2.0  # signal against that of the first round on a function of the prior
_UNDONE = 0.25  # share of the attenuation, in logarithms, that is undone
_LEAST_WEIGHT = 1e-3  # of the largest
_SWEEPS = 60
_FINER = 100.0  # unit of means, so that amplitudes of all sizes are distinguished from none
_AMPLITUDES = np.exp(np.linspace(-14.0, 8.0, 60))


@dataclass(frozen=True, eq=False)
class PublicDirections:
    """Functions that public points span, one a direction: orthonormal over the points, each of mean 0."""

    features: Any  # the map they are linear in
    means: FloatArray  # (p - 1,), of the features over the points
    back: FloatArray  # (p - 1, r), from features, less their means, to the functions
    values: FloatArray  # (m, r), of the functions at the points: orthonormal columns, each of mean 0
    variances: FloatArray  # (r,), prior, of coefficients: a function then has mean variance 1

    @classmethod
    def of(cls, points: Any, features: Any) -> PublicDirections:
        """Find them for public points, ndarray or csr_matrix of shape (m, d), in features with a constant."""
        point_features = feature_values(features, points)[:, :-1]
        means = point_features.mean(axis=0)
        values, sizes, turned = np.linalg.svd(point_features - means, full_matrices=False)
        kept = sizes > max(_CUT * sizes.max(initial=0.0), 1e-9)
        values, sizes, turned = values[:, kept], sizes[kept], turned[kept]
        variances = sizes ** (2 * _POWER)
        variances *= len(values) / variances.sum() if kept.any() else 1.0
        return cls(features, means, turned.T / sizes, values, variances)

    @property
    def shares(self) -> FloatArray:
        """Share of the features' variance along each direction, shape (r,)."""
        roots = np.sqrt(self.variances)
        return np.asarray(roots / max(roots.sum(), 1e-300))

    def at(self, X: Any) -> FloatArray:
        """Values of the functions at records, scaled to mean square 1 over the points: shape (n, r).

        A row is a function of that record, to the bit: features are whole numbers, and sums of them exact.
        """
        back = self.back * np.sqrt(len(self.values))
        turned, units = to_integers(back.T)
        values, middle = np.empty((X.shape[0], back.shape[1])), self.means @ back
        for first in range(0, len(values), _ROWS):
            rows = slice(first, first + _ROWS)
            features = dense(self.features.apply(X[rows])).astype(np.float64)[:, :-1]
            values[rows] = (features @ turned.T) * (units * UNIT) - middle
        return values

    def model(self, function: FloatArray) -> FeatureClassifier:
        """Classifier whose scores are a function; see `weights`."""
        return FeatureClassifier(self.features, self.weights(function))

    def weights(self, function: FloatArray) -> FloatArray:
        """Weights on the features and their constant, shape (p, q).

        Of a function with coefficients along the directions and a last row of constants, shape (r + 1, q).
        """
        slopes = self.back @ function[:-1]
        return np.vstack([slopes, (function[-1] - self.means @ slopes) / CONSTANT])


class PublicSide(NamedTuple):
    """All that a run makes from public points."""

    points: Any  # (m, d): those that teachers score, as they see them
    space: PublicDirections
    weights: FloatArray  # (r,), of the directions
    learner: Any  # unfitted teacher
    response: Response | None = None  # for two classes

    @classmethod
    def of(cls, public: PublicPoints, setting: Setting, noise: float, rng: np.random.Generator) -> PublicSide:
        """Make it, for noise of that standard deviation on each coordinate of a mean over teachers."""
        learner, two = make_teacher(setting), setting.n_classes == 2
        public = replace(public, X=enough_points(public.X, rng)) if two else public
        points = public.seen(setting.teacher_mapped).X
        space = PublicDirections.of(public.X, map_of(public, rng))
        if not two:
            return cls(points, space, np.ones(len(space.variances)), learner)
        response = _response(space, points, learner, setting, rng)
        return cls(points, space, _direction_weights(response, space.variances, noise), learner, response)

    @staticmethod
    def most_points(n_public: int) -> int:
        """Points that teachers score, at most."""
        return max(n_public, SHUFFLED)

    def sum_of(self, ensemble: teachers.Ensemble) -> FloatArray:
        """Add up one vector of norm 1 a teacher. PRIVATE."""
        if self.response is None:
            return teachers.sum_of_unit_shares(ensemble, self.points)
        return teachers.sum_of_unit_vectors(ensemble, self.points, self.space.values * self.weights)

    def functions_of(self, total: FloatArray, sigma: float, n_teachers: int) -> list[FloatArray]:
        """Estimate functions from a noisy sum: of vectors along directions, or of shares at points.

        Of vectors two: one with a part of the teachers' attenuation undone, and a correction, the same
        without that less the first: private records decide how much of it is taken back.
        """
        means, noise, variances = total / n_teachers, sigma / n_teachers, self.space.variances
        if self.response is None:
            coefficients = _shrunk(self.space.values.T @ means, noise, self.weights, variances)
            return [np.vstack([coefficients, _shrunk_constant(means, noise)])]
        energy = self.response.energy
        chance = energy / max(float(self.weights**2 @ energy), 1e-300) / n_teachers
        coefficients = _shrunk(
            means[:, None] * _FINER, noise * _FINER, self.weights, variances, chance * _FINER**2
        )
        restored = coefficients / self.response.attenuation[:, None]
        return [np.vstack([each, np.zeros(1)]) for each in (restored, coefficients - restored)]


def map_of(public: PublicPoints, rng: np.random.Generator, directions: int = MOST_DIRECTIONS) -> Any:
    """Map that the public points made, or else that of the kernel, with a constant as its last feature."""
    features = public.features
    if features is None:
        return KernelFeatures.of(public.X, rng, directions=directions)
    return features if isinstance(features, KernelFeatures) else GridFeatures.of(features, public.X)


def squares_elsewhere(public: PublicPoints, directions: int, rng: np.random.Generator) -> FloatArray:
    """Mean square of each direction at points that did not make it, at least 1, as it is at those that did.

    Cross-validation: directions are made of four fifths of the points, as many times as shows them at 100
    others or at all. That of the last ones is large where there are hardly more points than directions: they
    follow what is peculiar to these points. It does not decrease along the directions, of which there are at
    most `directions`: ndarray of that shape.
    """
    from sklearn.isotonic import isotonic_regression

    m, features, squares, seen = public.n_points, public.features, np.zeros(directions), 0
    if m < 2 * _FOLDS or not directions:
        return np.ones(directions)
    again = features is None or isinstance(features, KernelFeatures)  # other maps are not made of few points
    most = features.back.shape[1] if isinstance(features, KernelFeatures) else directions
    for others in np.array_split(rng.permutation(m), _FOLDS):
        if seen < _ENOUGH:
            kept = public.X[np.sort(np.setdiff1d(np.arange(m), others))]
            points = PublicPoints(kept, features=None if again else features)
            space = PublicDirections.of(kept, map_of(points, rng, most))
            of_each = (space.at(public.X[others]) ** 2).sum(axis=0)[: directions * (m - len(others)) // m]
            squares += np.pad(of_each, (0, directions), "edge" if of_each.size else "constant")[:directions]
            seen += len(others)
    if not (seen and np.isfinite(squares).all()):
        return np.ones(directions)
    rising: FloatArray = np.maximum(isotonic_regression(squares / seen), 1.0)
    return rising


class Response(NamedTuple):
    """How teachers respond, along each direction, to functions of the prior. PUBLIC."""

    gain: FloatArray  # (r,): a function's coefficient, as a share, in the mean of their unit vectors
    energy: FloatArray  # (r,): mean square of such a vector

    @property
    def attenuation(self) -> FloatArray:
        """Divisor of the mean along each direction, 1 for the first: the gain to the power 1/4.

        To undo all of it would amplify chance along directions that public points hardly know.
        """
        attenuation: FloatArray = (
            (self.gain / self.gain.max(initial=0.0)) ** _UNDONE if self.gain.size else self.gain
        )
        return attenuation


def _response(
    directions: PublicDirections, points: Any, learner: Any, setting: Setting, rng: np.random.Generator
) -> Response:
    """Measure how teachers respond to functions of the prior. PUBLIC: it reads no private record.

    For two classes. Teachers are trained on as many public points as a real one has records, with labels
    drawn from functions of the prior, and their vectors compared with the functions. Gains are one number
    for directions of like variances, and do not increase along them: single ones would be mostly chance.
    """
    s = setting
    size = min(s.n_private // s.n_teachers, _MOST_RECORDS)
    m, r = directions.values.shape
    deviations = directions.variances ** (_FLATTER / 2)
    products, squares, energy = np.zeros(r), np.zeros(r), np.zeros(r)
    for _ in range(_FUNCTIONS):
        coefficients = deviations * rng.normal(size=r)
        drawn = directions.values @ coefficients
        steepness = _STEEPNESS / max(float(drawn.std()), 1e-12)
        rows = rng.integers(0, m, size * _TEACHERS)
        labels = (steepness * drawn[rows] + rng.logistic(size=len(rows)) > 0).astype(np.int64)
        with teachers.failures():  # of teachers of public points, which nobody asks for
            ensemble = teachers.train(
                PrivateRecords(points[rows], labels),
                n_teachers=_TEACHERS,
                learner=learner,
                rng=rng,
                n_classes=s.n_classes,
                strict=False,
            )
        for vectors in teachers.score_vectors(ensemble, points, directions.values):
            norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
            units = vectors / np.where(norms > 0, norms, 1.0)
            products += units.mean(axis=0) * coefficients * steepness
            squares += (coefficients * steepness) ** 2
            energy += (units**2).mean(axis=0)
    if not (np.isfinite(energy).all() and energy.max(initial=0.0) > 0):  # a learner that learns nothing here
        energy = directions.variances / max(directions.variances.sum(), 1e-300)
    energy = np.maximum(energy / _FUNCTIONS, _LEAST * energy.max(initial=0.0))
    return Response(_gains(products, squares), energy)


def _gains(products: FloatArray, squares: FloatArray) -> FloatArray:
    """Ratios by bins of directions, made not to increase; all alike where teachers learned nothing."""
    from sklearn.isotonic import isotonic_regression

    r = len(products)
    if not r:
        return products
    edges = np.unique(np.minimum(np.r_[:4, np.geomspace(4, max(r, 5), _BINS).astype(int), r], r))
    ratios = np.empty(r)
    for first, end in pairwise(edges):
        ratios[first:end] = products[first:end].sum() / max(squares[first:end].sum(), 1e-300)
    gains = isotonic_regression(ratios, sample_weight=squares + 1e-300, increasing=False)
    if not (np.isfinite(gains).all() and gains[0] > 0):
        return np.ones(r)
    bounded: FloatArray = np.maximum(gains, _LEAST_GAIN * gains[0])
    return bounded


def _direction_weights(response: Response, variances: FloatArray, noise: float) -> FloatArray:
    r"""Weigh directions so that the posterior mean given the noisy mean has the least error. PUBLIC.

    Of vectors that are weighted and scaled to norm 1, the mean along direction j has noise of variance
    ``n_j = noise^2 sum_i w_i^2 e_i / w_j^2`` in units of the vectors unweighted, e the energies. Where
    the signal has variance S_j, in proportion to the prior's, ``S_j n_j / (S_j + n_j)`` is the error that
    is left; divided by the square of `Response.attenuation`, the sum of these is least where
    ``w_j^4`` is in proportion to ``(S_j / (S_j + n_j) / attenuation_j)^2 / e_j``. So directions that drown in
    any case get next to nothing, and the norm of a teacher's vector is left to the others. `noise` is the
    standard deviation on each coordinate of the mean; weights are in (0, 1].
    """
    gain, energy = response
    if not gain.size:
        return energy
    total = _HOPE * _STEEPNESS**2 * float(gain**2 @ variances) / float(variances.sum())
    signal = total * variances * len(variances) / float(variances.sum())
    noise = max(noise, 1e-5)
    weights: FloatArray = energy**-0.25
    for _ in range(_SWEEPS):
        left = noise**2 * float(weights**2 @ energy) / weights**2
        fourth_powers = (signal / (signal + left) / response.attenuation) ** 2 / energy
        weights = np.sqrt(weights) * np.maximum(fourth_powers, 1e-300) ** 0.125
        weights = np.maximum(weights / weights.max(), _LEAST_WEIGHT)
    return weights


def _shrunk(
    means: FloatArray,
    noise: float,
    weights: FloatArray,
    variances: FloatArray,
    chance: FloatArray | float = 0.0,
) -> FloatArray:
    """Coefficients from noisy means of unit vectors, shape (r, q): the posterior mean of a Gaussian process.

    A coefficient of the function is a mean divided by its direction's weight, with noise of a variance
    that is known, and `chance` more since teachers differ; its prior variance is `variances` times an
    amplitude, which maximises the evidence. For several classes the means' mean over classes is taken out:
    exact ones have none.
    """
    q = means.shape[1]
    if q > 1:
        means = means - means.mean(axis=1, keepdims=True)
    seen = means / weights[:, None]
    noise_variance = ((noise / weights) ** 2 * (1.0 if q == 1 else 1 - 1 / q) + chance)[:, None]
    prior = variances[:, None]
    total = _AMPLITUDES[:, None, None] * prior + noise_variance
    evidence = -0.5 * (seen**2 / total + np.log(total)).sum(axis=(1, 2))
    prior = prior * _AMPLITUDES[evidence.argmax()]
    posterior_mean: FloatArray = seen * prior / (prior + noise_variance)
    return posterior_mean


def _shrunk_constant(means: FloatArray, noise: float) -> FloatArray:
    """Shrink the mean over points of noisy shares, less that over classes, by its signal-to-noise ratio."""
    n_points, q = means.shape
    constant = means.mean(axis=0) - means.mean()
    chance = noise**2 * (1 - 1 / q) / n_points
    shrunk: FloatArray = constant * max(0.0, 1 - chance / max(float((constant**2).mean()), 1e-300))
    return shrunk
