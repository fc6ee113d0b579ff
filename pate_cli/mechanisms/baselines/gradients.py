"""Sums of clipped gradients that are whole numbers: what one record, or one person, adds is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pate_cli.mechanisms.baselines import exact
from pate_cli.mechanisms.baselines.public_features import LONGEST, UNIT
from pate_cli.mechanisms.baselines.public_model import probabilities
from pate_cli.types import FloatArray, IntArray

__all__ = ["PersonGradients", "Persons", "RecordGradients", "grain_for", "whole_features"]

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
    features : array of shape (n, p)
        Whole multiples of `UNIT`, as `PublicFeatures.apply` gives them.
    y : ndarray of int64, shape (n,)
    clip : float
        Norm of a record's gradient at most.
    grain : float
        What gradients are whole multiples of: a power of two, at least 2^-36.
    """

    def __init__(self, features: Any, y: IntArray, *, clip: float, grain: float) -> None:
        self._y = y
        self._features = features.astype(np.float64) if features.size <= _WIDE else features
        squares = [
            np.einsum("ij,ij->i", block, block)
            for block in (features[rows].astype(np.float64) for rows in _blocks(len(y)))
        ]
        # no row is 0: each ends in the constant
        self._longest = _MARGIN * clip / (UNIT * np.sqrt(np.concatenate([*squares, np.zeros(0)])))
        self._unit = grain / UNIT  # of residuals

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Sum of the clipped gradients, shape (runs, p, q), in multiples of `grain`: whole, so exact."""
        runs, p, q = theta.shape
        flat = np.ascontiguousarray(theta.transpose(1, 0, 2).reshape(p, runs * q)) * UNIT
        total = np.zeros((p, runs * q))
        for rows in _blocks(len(self._y)):
            block = self._features[rows].astype(np.float64, copy=False)
            miss = _residuals((block @ flat).reshape(len(block), runs, q), self._y[rows])
            total += block.T @ self._clip(miss, self._longest[rows]).reshape(len(block), runs * q)
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
        self._features, self._y = features[persons.order], y[persons.order]

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Sum of all persons' terms, shape (runs, p, q), in multiples of `grain`: whole, so exact."""
        runs, p, q = theta.shape
        exponents = np.frexp(np.sqrt(np.einsum("rpq,rpq->r", theta, theta)))[1]
        steps = np.ldexp(1.0, np.maximum(exponents, _SMALLEST) - _THETA_BITS)
        whole = np.rint(theta / steps[:, None, None])
        flat = np.ascontiguousarray(whole.transpose(1, 0, 2).reshape(p, runs * q))
        total = np.zeros((runs, q * p))
        # a person's sum over sparse records holds a number for each of theirs, not for each column
        size, add = (p, _dense_terms) if isinstance(self._features, np.ndarray) else (1, _sparse_terms)
        for rows, count in self._persons.blocks(size * runs * q, size + runs * q):
            block = self._features[rows].astype(np.float64, copy=False)
            scores = (block @ flat).reshape(-1, runs, q) * (steps * UNIT)[:, None]
            miss = _residuals(scores, self._y[rows])
            bits = _RESIDUAL_BITS - max(math.ceil(math.log2(count)) - _MANY, 0)
            miss = np.trunc(np.ldexp(miss, bits))
            # as they are, in multiples of the grain, or as short as they may be
            plain = math.ldexp(UNIT / self._grain, -bits)
            total += add(miss.reshape(-1, count, runs, q), block, self._longest, plain)
        return total.reshape(runs, q, p).transpose(0, 2, 1)


def _dense_terms(miss: FloatArray, block: FloatArray, longest: float, plain: float) -> FloatArray:
    """Add up the terms of persons who have `count` records each.

    Parameters
    ----------
    miss : ndarray of shape (persons, count, runs, q)
        Residuals, whole.
    block : ndarray of shape (persons * count, p)
        Their records, whole.
    longest : float
        Norm of a term at most.
    plain : float
        What a term that is no longer is multiplied by.

    Returns
    -------
    ndarray of shape (runs, q * p)
    """
    _, count, runs, q = miss.shape
    p = block.shape[1]
    flat = miss.reshape(-1, count, runs * q).transpose(0, 2, 1)
    terms = np.matmul(flat, block.reshape(-1, count, p)).reshape(-1, q * p)
    terms *= _factor(np.einsum("ij,ij->i", terms, terms), longest, plain)[:, None]
    total: FloatArray = np.trunc(terms, out=terms).reshape(-1, runs, q * p).sum(axis=0)
    return total


def _sparse_terms(miss: FloatArray, block: Any, longest: float, plain: float) -> FloatArray:
    """As `_dense_terms`, of a csr_matrix."""
    import scipy.sparse as sp

    persons, count, runs, q = miss.shape
    p = block.shape[1]
    rows, ends = np.arange(persons * count), count * np.arange(persons + 1)
    total = np.zeros((runs, q, p))
    for run in range(runs):
        weights = np.ascontiguousarray(miss[:, :, run].reshape(-1, q).T)
        terms = [sp.csr_matrix((each, rows, ends), (persons, persons * count)) @ block for each in weights]
        squares = np.sum([np.asarray(each.multiply(each).sum(axis=1)).ravel() for each in terms], axis=0)
        factor = _factor(squares, longest, plain)
        for code, each in enumerate(terms):
            cut = np.trunc(each.data * np.repeat(factor, np.diff(each.indptr)))
            total[run, code] = np.bincount(each.indices, weights=cut, minlength=p)
    return total.reshape(runs, q * p)


def _factor(squares: FloatArray, longest: float, plain: float) -> FloatArray:
    """What terms of such squared norms are multiplied by."""
    found: FloatArray = np.minimum(longest / np.maximum(np.sqrt(squares), 1.0), plain)
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
