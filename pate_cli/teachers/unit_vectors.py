"""Real-valued scores of the teachers: one vector of norm 1 a teacher, and their exact sum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pate_cli.teachers.ensemble import Ensemble, Failures, Teacher, failure, isolated, note, quick
from pate_cli.types import FloatArray

__all__ = ["score_matrices", "score_vectors", "sum_of_unit_shares", "sum_of_unit_vectors", "sum_of_units"]
__all__ += ["grain_of"]

_AT_ONCE = 256  # linear teachers scored at once: a constant, and a teacher's place is its number
_BITS = 52  # that a sum over teachers may use: whole numbers of so many are exact
_FINE = 36
_MARGIN = 1 - 1e-9  # of norm 1: more than all rounding on the way to it


def score_vectors(ensemble: Ensemble, points: Any, directions: FloatArray) -> Iterator[FloatArray]:
    """Projections of each teacher's scores of m points, a few teachers at a time. PRIVATE.

    For two classes. A score is the decision function, or else the probability of class 1, or else the vote,
    divided by a teacher's largest; 0 for a teacher that learned nothing, fails on the points, or has a number
    that is not finite. One record changes one teacher, to the bit: a teacher's numbers are computed from its
    own by operations whose shapes and places follow from public numbers.

    `directions`, shape (m, r), are orthogonal to the constant vector. Yields vectors of shape (teachers, r).
    """
    together, slopes = ensemble.teachers, np.asarray(points.T @ directions)  # (d, r)
    with quick(), np.errstate(all="ignore"):
        for first in range(0, ensemble.n_teachers, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, ensemble.n_teachers))
            rows = slice(*np.searchsorted(together.numbers, [numbers.start, numbers.stop]))
            coefficients = np.zeros((_AT_ONCE, len(slopes)))
            coefficients[together.numbers[rows] - first] = together.coefficients[rows, :-1]
            vectors = np.asarray(_over_peak(coefficients) @ slopes)
            for k in numbers:
                if k not in together.alone:
                    continue
                scores = _scores(together.alone[k], points)
                if scores is not None:
                    vectors[k - first] = directions.T @ scores
            yield vectors[: len(numbers)]


def score_matrices(ensemble: Ensemble, points: Any, directions: FloatArray) -> Iterator[FloatArray]:
    """Projections of each teacher's scores of all classes, shape (teachers, r, C); see `score_vectors`.

    For more than two classes a score is a probability, or else a vote, less that at the first point.
    """
    if ensemble.n_classes == 2:
        for vectors in score_vectors(ensemble, points, directions):
            yield np.stack([-vectors, vectors], axis=2)
        return
    with quick(), np.errstate(all="ignore"):
        for teacher in ensemble.teachers:
            shares = _shares(teacher, points, ensemble.n_classes)
            yield (directions.T @ (shares - shares[0]))[None]


def sum_of_unit_vectors(ensemble: Ensemble, points: Any, directions: FloatArray) -> FloatArray:
    """Add up the teachers' projected scores, each scaled to norm 1. PRIVATE.

    See `sum_of_units`. Returns shape (r,).
    """
    return sum_of_units(score_vectors(ensemble, points, directions), ensemble.n_teachers)


def sum_of_units(vectors: Iterable[FloatArray], n_teachers: int) -> FloatArray:
    """Add up vectors, a row a teacher and some rows at a time, each scaled to norm 1. PRIVATE.

    A vector is divided by its L2 norm (0 stays 0, and one with a number that is not finite becomes 0), less
    1e-9 of it, and truncated towards 0 to whole multiples of a power of two: at most of norm 1. Sums of such
    multiples are exact in floating point, in any order. So one replaced teacher moves the sum by at most 2 in
    L2, if its vector does not depend on other teachers.
    """
    grain, total = grain_of(n_teachers), 0.0
    for rows in vectors:
        flat = _over_peak(rows)
        norms = np.sqrt(np.einsum("ki,ki->k", flat, flat))
        flat *= (_MARGIN / grain / np.where(norms > 0, norms, 1.0))[:, None]
        total = total + np.trunc(flat).sum(axis=0)
    return np.asarray(total * grain)


def sum_of_unit_shares(ensemble: Ensemble, points: Any) -> FloatArray:
    """Add up the teachers' probabilities of classes, all of a teacher's scaled to norm 1. PRIVATE.

    A teacher's m times C probabilities, those of a point scaled to add up to 1 (its votes, where they are not
    positive and finite; its majority, where it fails), are divided by their L2 norm, less 1e-9 of it, and
    truncated as in `sum_of_unit_vectors`. They are not negative: two such vectors a and b have
    ``|a - b|^2 = |a|^2 + |b|^2 - 2 a.b <= 2``. So one replaced teacher moves the sum, shape (m, C), by at
    most sqrt(2) in L2.
    """
    grain = grain_of(ensemble.n_teachers)
    total = np.zeros((points.shape[0], ensemble.n_classes))
    with quick(), np.errstate(all="ignore"):
        for teacher in ensemble.teachers:
            shares = _shares(teacher, points, ensemble.n_classes)
            total += np.trunc(shares * (_MARGIN / grain / np.sqrt(np.sum(shares * shares))))
    return np.asarray(total * grain)


def grain_of(n_teachers: int) -> float:
    """Power of two that the numbers summed are whole multiples of, so that sums are exact."""
    return float(2.0 ** -min(_FINE, _BITS - math.ceil(math.log2(n_teachers + 1))))


def _over_peak(rows: FloatArray) -> FloatArray:
    """Rows divided by their largest magnitude; 0 where a number is not finite."""
    peaks = np.abs(rows).max(axis=1, initial=0.0)
    sound = np.isfinite(peaks) & (peaks > 0)
    scaled: FloatArray = np.where(sound[:, None], rows / np.where(sound, peaks, 1.0)[:, None], 0.0)
    return scaled


def _scores(teacher: Teacher, points: Any) -> FloatArray | None:
    """Scores of shape (m,), less that of the first point; None where a teacher has none."""
    if len(teacher.classes) == 1:
        return None
    model = teacher.estimator
    try:
        with isolated(teacher.seed):
            points = points.copy()  # the next teacher gets the same points
            if hasattr(model, "decision_function"):
                raw = np.asarray(model.decision_function(points), dtype=np.float64)
            elif hasattr(model, "predict_proba"):
                raw = np.asarray(model.predict_proba(points), dtype=np.float64)[:, 1]
            else:
                raw = np.asarray(model.predict(points), dtype=np.float64)
    except Exception as error:  # a teacher that cannot predict is a constant one
        note(Failures(0, 1, failure(model, "can predict after learning from its part", error)))
        return None
    if raw.shape != (points.shape[0],):
        return None
    scores: FloatArray = _over_peak(raw[None])[0]
    scores -= scores[0].copy()  # exactly 0 where all are alike
    return scores


def _shares(teacher: Teacher, points: Any, n_classes: int) -> FloatArray:
    """Probabilities of all classes, shape (m, C), not negative: those of a point add up to 1."""
    p = teacher.probabilities(points)
    scaled = None if p is None else _adding_up(p)
    if scaled is None:
        return np.asarray(np.eye(n_classes)[teacher.predict(points)])
    shares = np.zeros((points.shape[0], n_classes))
    shares[:, teacher.classes] = scaled
    return shares


def _adding_up(p: FloatArray) -> FloatArray | None:
    """Rows of probabilities, scaled to add up to 1; None where one has no positive number."""
    peaks = p.max(axis=1, keepdims=True)
    if not (peaks > 0).all():
        return None
    if np.allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-6):  # as nearly as learners compute them
        return p
    shares = p / peaks  # first, or sums overflow and squares are 0
    scaled: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return scaled
