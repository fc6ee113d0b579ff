"""Sums of clipped gradients that are whole numbers: what one record, or one person, adds is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.mechanisms.baselines import exact
from pate_cli.mechanisms.baselines.public_features import LONGEST, UNIT
from pate_cli.mechanisms.baselines.public_model import probabilities
from pate_cli.types import FloatArray, IntArray

__all__ = ["CLIPS", "PersonGradients", "Persons", "RecordGradients", "grain_for", "whole_features"]

CLIPS = (1e-100, 1e100)
"""Between which a clip is accepted: products with it are not infinite, nor rounded as the smallest floats."""

_RESIDUAL_BITS = 20  # most of a residual
_BITS = 52  # that a sum over all records may use: whole numbers of so many are exact
_MARGIN = 1 - 1e-9  # of the clip: more than all rounding on the way to it
_ROWS = 1024  # records at a time: a constant
_WIDE = 2**25  # numbers kept as 64-bit floats; more take half of the room and a little longer
_MANY = 9  # a person with more than 2^9 records has residuals of fewer bits
_THETA_BITS = 28  # of theta, in the scores: with 2^23 for the longest features whole numbers below 2^53
_SMALLEST = -200  # exponent: weights as small as that are as good as 0
_TOGETHER = 2**16  # numbers in a block: they stay in the processor's cache


class RecordGradients:
    """Private records as the steps see them: features and labels, a block of rows at a time. PRIVATE.

    Parameters
    ----------
    features : ndarray or csr_matrix of shape (n, p)
        Whole multiples of `UNIT`, as `PublicFeatures.apply` and `PublicLines.apply` give them.
    y : ndarray of int64, shape (n,)
    clip : float
        Norm of a record's gradient at most.
    grain : float
        What gradients are whole multiples of: a power of two, at least 2^-36.
    """

    def __init__(self, features: Any, y: IntArray, *, clip: float, grain: float) -> None:
        self._y = y
        self._features = features.astype(np.float64) if features.size <= _WIDE else features
        squares = [_squares(features[rows].astype(np.float64)) for rows in _blocks(len(y))]
        # no row is 0: each ends in the constant
        self._longest = _MARGIN * clip / (UNIT * np.sqrt(np.concatenate([*squares, np.zeros(0)])))
        self._unit = grain / UNIT  # of residuals
        self._most = math.floor(_MARGIN * clip / grain)

    def right(self, theta: FloatArray) -> NDArray[np.bool_]:
        """Which records each run classifies as they are labelled, shape (n, runs). PRIVATE."""
        flat = _flat(theta) * UNIT
        found = np.empty((len(self._y), len(theta)), dtype=bool)
        for rows in _blocks(len(self._y)):
            block = self._features[rows].astype(np.float64, copy=False)
            found[rows] = _right((block @ flat).reshape(block.shape[0], len(theta), -1), self._y[rows])
        return found

    def total(self, shares: IntArray) -> FloatArray:
        """Sum over records of numbers in [-1, 1], shape (n, runs), each worth up to `clip`, as `gradient`."""
        found: FloatArray = shares.sum(axis=0) * float(self._most)
        return found

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Sum of the clipped gradients, shape (runs, p, q), in multiples of `grain`: whole, so exact."""
        runs, p, q = theta.shape
        flat = _flat(theta) * UNIT
        total = np.zeros((p, runs * q))
        for rows in _blocks(len(self._y)):
            block = self._features[rows].astype(np.float64, copy=False)
            miss = _residuals((block @ flat).reshape(block.shape[0], runs, q), self._y[rows])
            total += block.T @ self._clip(miss, self._longest[rows]).reshape(block.shape[0], runs * q)
        return total.reshape(p, runs, q).transpose(1, 0, 2)

    def _clip(self, miss: FloatArray, longest: FloatArray) -> FloatArray:
        """Residuals of shape (rows, runs, q), shrunk to norm `longest`, cut to whole units."""
        size = np.abs(miss[..., 0]) if miss.shape[2] == 1 else np.sqrt(np.einsum("irc,irc->ir", miss, miss))
        factor = np.minimum(longest[:, None] / np.maximum(size, 1e-300), 1.0) / self._unit
        clipped: FloatArray = np.trunc(miss * factor[..., None])
        return clipped


class Persons:
    """Order of the records in which persons with as many records stand together, and blocks of them. PRIVATE.

    Parameters
    ----------
    units : ndarray of int64, shape (n,)
        Whose each record is, ascending from 0 without gaps, as in `PrivateRecords`.

    Attributes
    ----------
    starts : ndarray of int64, shape (persons + 1,)
        First record of each person, and one past the last record.
    order : ndarray of int64, shape (n,)
        Records by their person's number of records, those of one person next to each other, in their order.
    """

    def __init__(self, units: IntArray) -> None:
        self.starts: IntArray = np.searchsorted(units, np.arange(int(units[-1]) + 2))
        counts = np.diff(self.starts)
        self.order: IntArray = np.argsort(counts[units], kind="stable")
        self._groups = [each.tolist() for each in np.unique(counts, return_counts=True)]

    def blocks(self, of_person: int, of_record: int) -> Iterator[tuple[slice, int]]:
        """Give rows of `order` that hold whole persons, and the number of records of each person in them.

        Parameters
        ----------
        of_person, of_record : int
            Numbers in one person's sum and of one record: what is worked on at a time stays small.
        """
        first = 0
        for count, persons in zip(*self._groups, strict=True):
            most = max(_TOGETHER // max(of_person, of_record * count), 1)
            for done in range(0, persons, most):
                last = first + count * min(most, persons - done)
                yield slice(first, last), count
                first = last


class PersonGradients:
    """Private records as the steps see them where several are one person's. PRIVATE.

    A person's term is the sum of the gradients of that person's records, shrunk to norm `clip` and
    truncated towards 0 to whole multiples of `grain`. **It is a function of that person's records, of theta
    and of public numbers, to the bit:** what the others are, how many records they have and in which order
    persons come is nowhere in it. Scores and sums are whole numbers below 2^53, so exact in whatever order
    they are added: theta is rounded for the scores, to 2^-28 of its norm, and residuals are cut to 2^-20,
    or as many bits less as a person has records more than 2^9. What is left, exp of a number and the norm
    of a vector, is computed of each by itself.

    Parameters
    ----------
    features : ndarray or csr_matrix of shape (n, p)
        Whole multiples of `UNIT`, of norm below 2^23 + 2^16; each row a function of its record alone, to the
        bit, as `whole_features` and, with `anywhere`, `PublicFeatures.apply` give them.
    y : ndarray of int64, shape (n,)
    persons : Persons
    clip, grain : float
        See `RecordGradients`; the clip is of a person's term.
    """

    def __init__(self, features: Any, y: IntArray, persons: Persons, *, clip: float, grain: float) -> None:
        self._persons, self._longest, self._grain = persons, _MARGIN * clip / grain, grain
        self._sparse = None if isinstance(features, np.ndarray) else _SparseSums(features, persons)
        self._order = persons.order if self._sparse is None else np.arange(len(y))
        self._features, self._y = features[self._order], y[self._order]

    def right(self, theta: FloatArray) -> NDArray[np.bool_]:
        """As `RecordGradients.right`, of each record by itself, to the bit."""
        flat, steps = _rounded(theta)
        found = np.empty((len(self._y), len(theta)), dtype=bool)
        for rows in _blocks(len(self._y)):
            scores = self._features[rows].astype(np.float64) @ flat
            right = _right(scores.reshape(-1, *theta.shape[::2]) * steps[:, None], self._y[rows])
            found[self._order[rows]] = right
        return found

    def total(self, shares: IntArray) -> FloatArray:
        """Sum over persons of the mean over a person's records: as `RecordGradients.total`, of `right`."""
        most, runs = math.floor(self._longest), shares.shape[1]
        total = np.zeros(runs)
        for rows, count in self._persons.blocks(runs, runs):
            each = shares[self._persons.order[rows]].reshape(-1, count, runs).sum(axis=1)
            total += np.trunc(each * (most / count)).sum(axis=0)
        return total

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Sum of all persons' terms, shape (runs, p, q), in multiples of `grain`: whole, so exact."""
        runs, p, q = theta.shape
        flat, steps = _rounded(theta)

        def residuals(block: Any, y: IntArray, bits: Any) -> FloatArray:
            scores = (block @ flat).reshape(-1, runs, q) * (steps * UNIT)[:, None]
            miss: FloatArray = np.trunc(np.ldexp(_residuals(scores, y), bits))
            return miss

        if self._sparse is not None:
            miss = residuals(self._features, self._y, self._sparse.bits[:, None, None])
            return self._sparse.add(miss, self._longest, UNIT / self._grain)
        total = np.zeros((runs, q * p))
        for rows, count in self._persons.blocks(p * runs * q, p + runs * q):
            block, bits = self._features[rows].astype(np.float64), int(_bits(count))
            miss = residuals(block, self._y[rows], bits).reshape(-1, count, runs * q)
            terms = np.matmul(miss.transpose(0, 2, 1), block.reshape(-1, count, p)).reshape(-1, q * p)
            plain = math.ldexp(UNIT / self._grain, -bits)
            sizes = np.sqrt(np.einsum("ij,ij->i", terms, terms))
            terms *= _factor(sizes, self._longest, plain)[:, None]
            total += np.trunc(terms, out=terms).reshape(-1, runs, q * p).sum(axis=0)
        return total.reshape(runs, q, p).transpose(0, 2, 1)


class _SparseSums:
    """Sums over the records of each person, of a csr_matrix: a number for each column that a person has.

    Attributes
    ----------
    bits : ndarray of int64, shape (n,)
        Of the residual of each record.
    """

    def __init__(self, features: Any, persons: Persons) -> None:
        counts = np.diff(persons.starts)
        self._p = features.shape[1]
        self.bits: IntArray = np.repeat(_bits(counts), counts)
        self._scale = np.ldexp(1.0, -_bits(counts))
        self._data, self._held = features.data.astype(np.float64), np.diff(features.indptr)
        owners = np.repeat(np.repeat(np.arange(len(counts)), counts), self._held)
        cells, self._cell = np.unique(owners * self._p + features.indices, return_inverse=True)
        self._owner, self._column = np.divmod(cells, self._p)
        # persons at a time, with about as many numbers as stay in the processor's cache
        firsts = features.indptr[persons.starts]
        person = np.unique(np.searchsorted(firsts, np.arange(0, firsts[-1], _TOGETHER)))
        person = np.append(person[person < len(counts)], len(counts))
        firsts = (person, persons.starts[person], firsts[person], np.searchsorted(self._owner, person))
        self._parts = [tuple(map(slice, *pair)) for pair in pairwise(np.transpose(firsts).tolist())]

    def add(self, miss: FloatArray, longest: float, plain: float) -> FloatArray:
        """Add up all terms, as `PersonGradients.gradient`, from residuals of shape (n, runs, q)."""
        _, runs, q = miss.shape
        total = np.zeros((runs, self._p, q))
        for persons, rows, numbers, cells in self._parts:
            cell, owner = self._cell[numbers] - cells.start, self._owner[cells] - persons.start
            held, data, column = self._held[rows], self._data[numbers], self._column[cells]
            for run in range(runs):
                weights = [np.repeat(miss[rows, run, code], held) * data for code in range(q)]
                terms = [np.bincount(cell, each, len(owner)) for each in weights]
                squares = np.bincount(owner, np.sum(np.square(terms), axis=0), len(self._scale[persons]))
                factor = _factor(np.sqrt(squares), longest, plain * self._scale[persons])[owner]
                for code, term in enumerate(terms):
                    total[run, :, code] += np.bincount(column, np.trunc(term * factor), self._p)
        return total


def _bits(count: Any) -> Any:
    """Bits of a residual of a person who has so many records: their sum is below 2^29."""
    return _RESIDUAL_BITS - np.maximum(np.frexp(np.asarray(count) - 1.0)[1] - _MANY, 0)


def _factor(sizes: FloatArray, longest: float, plain: Any) -> FloatArray:
    """What terms of such norms are multiplied by: `plain`, or less, to be as short as they have to be."""
    found: FloatArray = np.minimum(longest / np.maximum(sizes, 1.0), plain)
    return found


def grain_for(largest: float) -> float:
    """Unit of sums as large as this, a power of two: they are whole numbers of at most 52 bits in it."""
    return UNIT * float(2.0 ** -min(_RESIDUAL_BITS, _BITS - 16 - math.ceil(math.log2(largest + 1))))


def whole_features(Z: Any) -> Any:
    """Shorten rows to norm `LONGEST` and round them to whole multiples of `UNIT`, for `PersonGradients`.

    Parameters
    ----------
    Z : ndarray or csr_matrix of shape (n, p)
        Finite numbers.

    Returns
    -------
    ndarray or csr_matrix of shape (n, p)
        Each row a function of that row alone, to the bit.
    """
    import scipy.sparse as sp

    factor = LONGEST / UNIT / np.maximum(exact.norms(Z), LONGEST)
    if not sp.issparse(Z):
        return np.rint(Z * factor[:, None])
    data = np.rint(Z.data * np.repeat(factor, np.diff(Z.indptr)))
    return sp.csr_matrix((data, Z.indices, Z.indptr), Z.shape)


def _flat(theta: FloatArray) -> FloatArray:
    """Weights of shape (runs, p, q) side by side: (p, runs q)."""
    runs, p, q = theta.shape
    return np.ascontiguousarray(theta.transpose(1, 0, 2).reshape(p, runs * q))


def _rounded(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights as whole numbers, side by side, whose scores are exact; and the unit of each run."""
    exponents = np.frexp(np.sqrt(np.einsum("rpq,rpq->r", theta, theta)))[1]
    steps = np.ldexp(1.0, np.maximum(exponents, _SMALLEST) - _THETA_BITS)
    return _flat(np.rint(theta / steps[:, None, None])), steps


def _squares(block: Any) -> FloatArray:
    """Squared norm of each row."""
    plain = isinstance(block, np.ndarray)
    found: FloatArray = np.einsum("ij,ij->i", block, block) if plain else block.multiply(block).sum(axis=1)
    return np.asarray(found).ravel()


def _right(scores: FloatArray, y: IntArray) -> NDArray[np.bool_]:
    """Whether the class of the largest score is the label, of scores of shape (rows, runs, q)."""
    found = scores[..., 0] >= 0 if scores.shape[2] == 1 else scores.argmax(axis=2)
    return np.asarray(found == y[:, None])


def _residuals(scores: FloatArray, y: IntArray) -> FloatArray:
    """Probabilities less the label, of scores of shape (rows, runs, q)."""
    miss = probabilities(scores)
    if scores.shape[2] == 1:
        miss -= y[:, None, None]
    else:
        miss[np.arange(len(y)), :, y] -= 1
    return miss


def _blocks(n: int) -> Iterator[slice]:
    """Rows at a time, as many in each whatever the records are."""
    return (slice(first, first + _ROWS) for first in range(0, n, _ROWS))
