"""Scores of a mechanism's outputs: log-odds of D against its neighbour D', learnt from runs on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pate_cli.matrices import deviations
from pate_cli.mechanisms.base import SampledAttack, VoteMechanism
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.privacy.door import Door
from pate_cli.types import UNANSWERED, FloatArray, IntArray, ReleasedLabels, Votes

__all__ = ["EventScores", "of_outputs", "of_votes"]

_CHUNK = 16384
"""Runs at a time: as many as stay in the processor's cache."""
_KINDS = 64
"""A number of so few values is a category; others are put into bins, at most as many."""
_ALONE = 8
"""Outputs of so few numbers are also scored number by number."""

Stream: TypeAlias = np.random.SeedSequence


class EventScores(NamedTuple):
    """Numbers that are larger the more a run looks like one on D."""

    names: list[str]
    of: Callable[[bool | int, int, Stream], FloatArray]
    """``of(neighbour, runs, stream)``: scores of new runs on D or D', shape (number of scores, runs)."""


def _log_odds(seen: NDArray[Any], other: NDArray[Any]) -> FloatArray:
    """Log of the ratio of two frequencies, from counts of both in the last axis, half a run added to each."""
    p, q = seen + 0.5, other + 0.5
    odds = np.log(p / p.sum(axis=-1, keepdims=True)) - np.log(q / q.sum(axis=-1, keepdims=True))
    return np.asarray(odds, dtype=float)


# -- private learners: outputs coded as numbers -----------------------------------------------

Score: TypeAlias = Callable[[FloatArray], FloatArray]
"""Of outputs, shape (R, k), or of one column of them."""


def of_outputs(attack: SampledAttack, runs: int, streams: Sequence[Stream]) -> EventScores:
    """Learn scores from as many runs on D, with the first stream, and on D', with the second."""

    def outputs(neighbour: bool | int, runs: int, stream: Stream) -> Iterator[tuple[slice, FloatArray]]:
        rng = np.random.default_rng(stream)
        for start in range(0, runs, _CHUNK):
            chunk = slice(start, min(start + _CHUNK, runs))
            yield chunk, attack.sample(bool(neighbour), rng, chunk.stop - start)

    on_d, on_other = (
        np.vstack([some for _, some in outputs(neighbour, runs, stream)])
        for neighbour, stream in enumerate(streams)
    )
    learnt = dict(_learnt(on_d, on_other))

    def of(neighbour: bool | int, runs: int, stream: Stream) -> FloatArray:
        values = np.empty((len(learnt), runs))
        for chunk, some in outputs(neighbour, runs, stream):
            for row, score in zip(values, learnt.values(), strict=True):
                row[chunk] = score(some)
        return values

    return EventScores(list(learnt), of)


def _learnt(on_d: FloatArray, on_other: FloatArray) -> Iterator[tuple[str, Score]]:
    """The numbers themselves, linear discriminants, and log-odds by category or bin."""
    k = on_d.shape[1]
    both = np.vstack([on_d, on_other])
    gap = np.where(deviations(both) > 0, on_d.mean(axis=0) - on_other.mean(axis=0), 0.0)
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
    categories = [j for j, distinct in enumerate(values) if len(distinct) <= _KINDS]
    tables = [
        _by_value(values[j], on_d[:, j], on_other[:, j])
        if j in categories
        else _by_bin(both[:, j], on_d[:, j], on_other[:, j])
        for j in range(k)
    ]
    if k <= _ALONE:
        for j, table in enumerate(tables):
            yield f"log-odds of output {j + 1}", _summed({j: table})
    if k > 1:
        yield "log-odds, summed", _summed(dict(enumerate(tables)))
    if len(categories) > 1:
        # one table for all, as of answers to many queries: few runs learn it well
        distinct = np.unique(np.concatenate([values[j] for j in categories]))
        pooled = _by_value(distinct, on_d[:, categories].ravel(), on_other[:, categories].ravel())
        each = {j: pooled if j in categories else table for j, table in enumerate(tables)}
        yield "log-odds by kind of output, summed", _summed(each)
        distinct = np.unique(both[:, categories], axis=0)
        if len(distinct) <= _KINDS:
            together = _by_value(distinct, on_d[:, categories], on_other[:, categories])
            others = _summed({j: table for j, table in enumerate(tables) if j not in categories})
            yield (
                "log-odds of outputs together",
                lambda outputs: together(outputs[:, categories]) + others(outputs),
            )


def _linear(weights: FloatArray) -> Score:
    return lambda outputs: outputs @ weights


def _summed(tables: dict[int, Score]) -> Score:
    def score(outputs: FloatArray) -> FloatArray:
        total = np.zeros(len(outputs))
        for j, table in tables.items():
            total += table(outputs[:, j])
        return total

    return score


def _by_value(known: FloatArray, on_d: FloatArray, on_other: FloatArray) -> Score:
    """Log-odds by value, or by the values of several outputs together; 0 for those never seen."""

    def keys(values: FloatArray) -> pd.Index:
        return pd.Index(values) if values.ndim == 1 else pd.MultiIndex.from_arrays(list(values.T))

    index = keys(known)
    return _table(lambda values: index.get_indexer(keys(values)), len(index), on_d, on_other)


def _by_bin(both: FloatArray, on_d: FloatArray, on_other: FloatArray) -> Score:
    """Log-odds by bin, of equal numbers of runs."""
    n_bins = min(_KINDS, 2 + len(on_d) // 50)
    edges = np.quantile(both, np.arange(1, n_bins) / n_bins)
    return _table(lambda values: np.searchsorted(edges, values, side="right"), n_bins, on_d, on_other)


def _table(
    number: Callable[[FloatArray], IntArray], kinds: int, on_d: FloatArray, on_other: FloatArray
) -> Score:
    """Log-odds by the number of a kind; 0 for number -1."""
    seen, other = (np.bincount(number(side), minlength=kinds) for side in (on_d, on_other))
    odds = np.append(_log_odds(seen, other), 0.0)
    return lambda values: odds[number(values)]


# -- mechanisms on votes ----------------------------------------------------------------------


def of_votes(
    mechanism: VoteMechanism, attack: VoteAttack, runs: int, streams: Sequence[Stream]
) -> EventScores:
    """Learn scores of the labels and noisy counts of the session that a run uses.

    Naive Bayes on the outcomes, a linear discriminant on the noisy counts; each learnt query by query, and
    learnt once for each kind of query. A score is a sum over the queries of a run.
    """

    def released(
        neighbour: bool | int, runs: int, stream: Stream
    ) -> Iterator[tuple[int, slice, ReleasedLabels]]:
        """Outputs, a query and a chunk of runs at a time, until no run takes a further query."""
        starts = range(0, runs, _CHUNK)
        for start, child in zip(starts, stream.spawn(len(starts)), strict=True):
            chunk = slice(start, min(start + _CHUNK, runs))
            session = mechanism.session(Door.seeded(child), chunk.stop - start)
            for query, counts in enumerate(attack.neighbour if neighbour else attack.counts):
                if session.exhausted:
                    break
                labels = session.ask(Votes(counts[None], int(counts.sum())))
                if not labels.reached.any():
                    break
                yield query, chunk, labels

    queries, n_classes = attack.counts.shape
    outcomes = np.zeros((2, queries, n_classes + 1))
    moments = np.zeros((2, queries, 3, n_classes))  # number, sum, sum of squares of the noisy counts
    for side, stream in enumerate(streams):
        for query, _, labels in released(side, runs, stream):
            outcomes[side, query] += np.bincount(_outcome(labels) + 1, minlength=n_classes + 2)[1:]
            if labels.noisy_counts is not None:
                noisy = labels.noisy_counts[0, labels.reached[0]]
                number = np.full(n_classes, len(noisy))
                squares = np.einsum("rc,rc->c", noisy, noisy)
                moments[side, query] += np.stack([number, noisy.sum(axis=0), squares])

    _, kinds = np.unique(np.hstack([attack.counts, attack.neighbour]), axis=0, return_inverse=True)
    groupings = {"query": np.arange(queries), "kind": kinds.reshape(-1)}
    tables = [_naive_bayes(outcomes, group) for group in groupings.values()]
    names = [f"outcomes by {group}" for group in groupings]
    if noisy_counts := bool(moments.any(axis=(1, 2, 3)).all()):
        linear = [_discriminant(moments, group) for group in groupings.values()]
        slopes = np.stack([slope for slope, _ in linear], axis=2)
        middles = np.stack([middle for _, middle in linear], axis=1)
        names += [f"noisy counts by {group}" for group in groupings]

    def of(neighbour: bool | int, runs: int, stream: Stream) -> FloatArray:
        values = np.zeros((len(names), runs))
        for query, chunk, labels in released(neighbour, runs, stream):
            outcome = _outcome(labels)
            for row, table in zip(values, tables, strict=False):
                row[chunk] += table[query, outcome]
            if noisy_counts and labels.noisy_counts is not None:
                discriminants = labels.noisy_counts[0] @ slopes[query] - middles[query]
                values[len(tables) :, chunk] += np.where(labels.reached[0][:, None], discriminants, 0.0).T
        return values

    return EventScores(names, of)


def _outcome(released: ReleasedLabels) -> IntArray:
    """0 where unanswered, 1 + label where answered, -1 where the run took no more queries."""
    return np.where(released.reached[0], released.labels[0] - UNANSWERED, -1)


def _pooled(values: FloatArray, group: IntArray) -> FloatArray:
    """Sum over the queries of each group, repeated for each query of it."""
    total = np.zeros((int(group.max()) + 1, *values.shape[1:]))
    np.add.at(total, group, values)
    return total[group]


def _naive_bayes(outcomes: FloatArray, group: IntArray) -> FloatArray:
    """Weight of each outcome of a query that was reached, and 0 for one that was not; shape (m, C + 2)."""
    odds = _log_odds(*(_pooled(side, group) for side in outcomes))
    return np.pad(odds, ((0, 0), (0, 1)))


def _discriminant(moments: FloatArray, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Weights of the noisy counts, shape (m, C), and their sum halfway between D and D', shape (m,)."""
    number, total, squares = np.moveaxis(np.stack([_pooled(side, group) for side in moments]), 2, 0)
    number = np.maximum(number, 1)  # of queries that no run reached
    mean = total / number
    variance = np.maximum(squares / number - mean**2, 1e-9).mean(axis=0)
    slope = (mean[0] - mean[1]) / variance
    return slope, (slope * mean.mean(axis=0)).sum(axis=1)
