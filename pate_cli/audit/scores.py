"""What outputs coded as numbers say for one database against its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pate_cli.mechanisms.base import SampledAttack
from pate_cli.types import FloatArray, IntArray

__all__ = ["OutputTrial"]

_CHUNK = 16384
"""Runs asked for at a time."""
_KINDS = 64
"""A number of so few values is a category; others are put into bins, at most as many."""
_ALONE = 8
"""Outputs of so few numbers are also looked at number by number."""


@dataclass(frozen=True, eq=False)
class OutputTrial:
    """An attack on a private learner."""

    attack: SampledAttack

    @property
    def name(self) -> str:
        """Of the attack."""
        return self.attack.name

    def learn(self, runs: int, streams: Sequence[np.random.SeedSequence]) -> _Scores:
        """Learn what the numbers say."""
        sides = [
            np.vstack([outputs for _, outputs in self.outputs(neighbour, runs, stream)])
            for neighbour, stream in zip((False, True), streams, strict=True)
        ]
        return _Scores(self, sides[0], sides[1])

    def outputs(
        self, neighbour: bool, runs: int, stream: np.random.SeedSequence
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Outputs of new runs, a chunk at a time."""
        rng = np.random.default_rng(stream)
        for start in range(0, runs, _CHUNK):
            chunk = slice(start, min(start + _CHUNK, runs))
            yield chunk, self.attack.sample(neighbour, rng, chunk.stop - start)


Score: TypeAlias = Callable[[FloatArray], FloatArray]


class _Scores:
    """The numbers themselves, linear discriminants, and likelihood ratios by category or bin.

    Parameters
    ----------
    trial : OutputTrial
    on_d, on_other : ndarray of float64, shape (R, k)
        Outputs on D and on D', for learning.
    """

    def __init__(self, trial: OutputTrial, on_d: FloatArray, on_other: FloatArray) -> None:
        self._trial = trial
        self._scores = dict(_learnt(on_d, on_other))

    @property
    def names(self) -> list[str]:
        """One a score."""
        return list(self._scores)

    def of(self, neighbour: bool, runs: int, stream: np.random.SeedSequence) -> FloatArray:
        """Scores of new runs, shape (number of scores, runs)."""
        values = np.empty((len(self._scores), runs))
        for chunk, outputs in self._trial.outputs(neighbour, runs, stream):
            for row, score in zip(values, self._scores.values(), strict=True):
                row[chunk] = score(outputs)
        return values


def _learnt(on_d: FloatArray, on_other: FloatArray) -> Iterator[tuple[str, Score]]:
    k = on_d.shape[1]
    both = np.vstack([on_d, on_other])
    gap = on_d.mean(axis=0) - on_other.mean(axis=0)
    spread = np.maximum((on_d.var(axis=0) + on_other.var(axis=0)) / 2, 1e-30)
    sign = np.where(gap < 0, -1.0, 1.0)
    if k <= _ALONE:
        for j in range(k):
            yield f"{'-' if sign[j] < 0 else ''}output {j + 1}", _linear(np.eye(k)[j] * sign[j])
    if k > 1:
        yield "sum of outputs", _linear(np.full(k, 1.0 if gap.sum() >= 0 else -1.0))
        yield "linear discriminant", _linear(gap / spread)
    if 1 < k <= len(on_d) / 10:
        within = (np.cov(on_d.T) + np.cov(on_other.T)) / 2
        ridge = 1e-6 * spread.mean() * np.eye(k)
        yield "discriminant with covariances", _linear(np.linalg.solve(within + ridge, gap))

    values = [np.unique(column) for column in both.T]
    tables = [
        _Categories(known, on_d[:, j], on_other[:, j])
        if len(known) <= _KINDS
        else _Bins(both[:, j], on_d[:, j], on_other[:, j])
        for j, known in enumerate(values)
    ]
    if k <= _ALONE:
        for j, table in enumerate(tables):
            yield f"log-odds of output {j + 1}", _summed({j: table})
    if k > 1:
        yield "log-odds, summed", _summed(dict(enumerate(tables)))
        yield from _pooled(tables, values, on_d, on_other)
    categories = [j for j, table in enumerate(tables) if isinstance(table, _Categories)]
    if len(categories) > 1:
        known = np.unique(both[:, categories], axis=0)
        if len(known) <= _KINDS:
            together = _Rows(categories, known, on_d, on_other)
            rest = _summed({j: table for j, table in enumerate(tables) if j not in categories})
            yield "log-odds of outputs together", lambda outputs: together(outputs) + rest(outputs)


def _linear(weights: FloatArray) -> Score:
    return lambda outputs: outputs @ weights


def _summed(tables: dict[int, Score]) -> Score:
    def score(outputs: FloatArray) -> FloatArray:
        total = np.zeros(len(outputs))
        for j, table in tables.items():
            total += table(outputs[:, j])
        return total

    return score


def _pooled(
    tables: Sequence[Score], values: Sequence[FloatArray], on_d: FloatArray, on_other: FloatArray
) -> Iterator[tuple[str, Score]]:
    """One table for all categories, as of answers to many queries: few runs learn it well."""
    categories = [j for j, table in enumerate(tables) if isinstance(table, _Categories)]
    if len(categories) > 1:
        known = np.unique(np.concatenate([values[j] for j in categories]))
        one = _Categories(known, on_d[:, categories].ravel(), on_other[:, categories].ravel())
        pooled = {j: one if j in categories else table for j, table in enumerate(tables)}
        yield "log-odds by kind of output, summed", _summed(pooled)


def _log_odds(seen: IntArray, other: IntArray) -> FloatArray:
    """Log of the ratio of two frequencies, from counts of both, half a run added to each."""
    p, q = seen + 0.5, other + 0.5
    return np.asarray(np.log(p / p.sum()) - np.log(q / q.sum()), dtype=float)


class _Categories:
    """Log-odds by value; 0 for a value never seen."""

    def __init__(self, known: FloatArray, on_d: FloatArray, on_other: FloatArray) -> None:
        self._known = known
        counts = (
            np.bincount(np.searchsorted(known, side), minlength=len(known)) for side in (on_d, on_other)
        )
        self._odds = _log_odds(*counts)

    def __call__(self, column: FloatArray) -> FloatArray:
        at = np.minimum(np.searchsorted(self._known, column), len(self._known) - 1)
        return np.where(self._known[at] == column, self._odds[at], 0.0)


class _Bins:
    """Log-odds by bin, of equal numbers of runs."""

    def __init__(self, both: FloatArray, on_d: FloatArray, on_other: FloatArray) -> None:
        n_bins = min(_KINDS, 2 + len(on_d) // 50)
        self._edges = np.quantile(both, np.arange(1, n_bins) / n_bins)
        counts = (np.bincount(self._bin(side), minlength=n_bins) for side in (on_d, on_other))
        self._odds = _log_odds(*counts)

    def _bin(self, column: FloatArray) -> IntArray:
        return np.searchsorted(self._edges, column, side="right").astype(np.int64)

    def __call__(self, column: FloatArray) -> FloatArray:
        return self._odds[self._bin(column)]


class _Rows:
    """Log-odds by the values of several categories together; 0 for what was never seen."""

    def __init__(self, columns: list[int], known: FloatArray, on_d: FloatArray, on_other: FloatArray) -> None:
        self._columns = columns
        self._index = {tuple(row): i for i, row in enumerate(known.tolist())}
        counts = (np.bincount(self._row(side), minlength=len(known) + 1) for side in (on_d, on_other))
        self._odds = _log_odds(*counts)
        self._odds[-1] = 0.0

    def _row(self, outputs: FloatArray) -> IntArray:
        found, inverse = np.unique(outputs[:, self._columns], axis=0, return_inverse=True)
        at = [self._index.get(tuple(row), len(self._index)) for row in found.tolist()]
        return np.array(at, dtype=np.int64)[inverse.reshape(-1)]

    def __call__(self, outputs: FloatArray) -> FloatArray:
        return self._odds[self._row(outputs)]
