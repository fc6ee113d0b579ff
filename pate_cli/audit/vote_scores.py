"""What the outputs of a mechanism on votes say for one database against its neighbour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.privacy.door import Door
from pate_cli.types import UNANSWERED, FloatArray, IntArray, ReleasedLabels, Votes

__all__ = ["VoteTrial"]

_CHUNK = 16384
"""Runs side by side: as many as stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class VoteTrial:
    """An attack on a mechanism on votes, put to the very session that a run puts to work."""

    plan: VoteMechanism
    attack: VoteAttack

    @property
    def name(self) -> str:
        """Of the attack."""
        return self.attack.name

    def learn(self, runs: int, streams: Sequence[np.random.SeedSequence]) -> _Scores:
        """Learn what each outcome and noisy count says."""
        sides = []
        for neighbour, stream in zip((False, True), streams, strict=True):
            learnt = _Learnt(*self.attack.counts.shape)
            for query, _, released in self.released(neighbour, runs, stream):
                learnt.see(query, released)
            sides.append(learnt)
        return _Scores(self, sides)

    def released(
        self, neighbour: bool, runs: int, stream: np.random.SeedSequence
    ) -> Iterator[tuple[int, slice, ReleasedLabels]]:
        """What is released, a query and a chunk of runs at a time, until none takes any more."""
        starts = range(0, runs, _CHUNK)
        for start, child in zip(starts, stream.spawn(len(starts)), strict=True):
            chunk = slice(start, min(start + _CHUNK, runs))
            session = self.plan.session(Door.seeded(child), chunk.stop - start)
            for query, counts in enumerate(self.attack.neighbour if neighbour else self.attack.counts):
                released = session.ask(Votes(counts[None], int(counts.sum())))
                if not released.reached.any():
                    break
                yield query, chunk, released


def _outcome(released: ReleasedLabels) -> IntArray:
    """0 where unanswered, 1 + label where answered, -1 where the run took no more queries."""
    return np.where(released.reached[0], released.labels[0] - UNANSWERED, -1)


class _Learnt:
    """How often each outcome came, and the moments of the noisy counts, query by query."""

    def __init__(self, queries: int, n_classes: int) -> None:
        self.outcomes = np.zeros((queries, n_classes + 1))
        self.moments = np.zeros((queries, 3, n_classes))  # number, sum, sum of squares

    def see(self, query: int, released: ReleasedLabels) -> None:
        outcomes = np.bincount(_outcome(released) + 1, minlength=self.outcomes.shape[1] + 1)
        self.outcomes[query] += outcomes[1:]
        if released.noisy_counts is not None:
            noisy = released.noisy_counts[0, released.reached[0]]
            number = np.full(noisy.shape[1], len(noisy))
            self.moments[query] += np.stack([number, noisy.sum(axis=0), np.einsum("rc,rc->c", noisy, noisy)])


class _Scores:
    """What the outputs of a run say for D against D', added up over its queries.

    Naive Bayes on the outcomes, a linear discriminant on the noisy counts; each learnt
    query by query, and learnt once for each kind of query.
    """

    def __init__(self, trial: VoteTrial, learnt: Sequence[_Learnt]) -> None:
        self._trial, attack = trial, trial.attack
        _, kinds = np.unique(np.hstack([attack.counts, attack.neighbour]), axis=0, return_inverse=True)
        groupings = (("query", np.arange(len(kinds))), ("kind", kinds.reshape(-1)))
        noisy = all(side.moments.any() for side in learnt)
        of = ["outcomes", "noisy counts"] if noisy else ["outcomes"]
        self.names = [f"{what} by {group}" for what in of for group, _ in groupings]
        self._tables = np.stack([_naive_bayes(learnt, group) for _, group in groupings])
        linear = [_discriminant(learnt, group) for _, group in groupings] if noisy else []
        self._slopes = np.stack([slope for slope, _ in linear], axis=2) if noisy else None
        self._means = np.stack([mean for _, mean in linear], axis=1) if noisy else None

    def of(self, neighbour: bool, runs: int, stream: np.random.SeedSequence) -> FloatArray:
        """Scores of new runs, shape (number of scores, runs)."""
        values = np.zeros((len(self.names), runs))
        for query, chunk, released in self._trial.released(neighbour, runs, stream):
            self._add(query, released, values[:, chunk])
        return values

    def _add(self, query: int, released: ReleasedLabels, values: FloatArray) -> None:
        """Add what one query's outputs say to `values`, shape (number of scores, R)."""
        outcome = _outcome(released)
        for row, table in zip(values, self._tables[:, query], strict=False):
            row += table[outcome]
        if self._slopes is not None and self._means is not None and released.noisy_counts is not None:
            said = released.noisy_counts[0] @ self._slopes[query] - self._means[query]
            values[len(self._tables) :] += np.where(released.reached[0][:, None], said, 0.0).T


def _pooled(values: FloatArray, group: IntArray) -> FloatArray:
    """Sum over the queries of each group, given to each query of it."""
    total = np.zeros((int(group.max()) + 1, *values.shape[1:]))
    np.add.at(total, group, values)
    return total[group]


def _naive_bayes(learnt: Sequence[_Learnt], group: IntArray) -> FloatArray:
    """Weight of each outcome of a query that was reached, and 0 for one that was not; shape (m, C + 2)."""
    seen = [_pooled(side.outcomes, group) + 0.5 for side in learnt]
    on_d, on_other = (np.log(side / side.sum(axis=1, keepdims=True)) for side in seen)
    return np.pad(on_d - on_other, ((0, 0), (0, 1)))


def _discriminant(learnt: Sequence[_Learnt], group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Weights of the noisy counts, shape (m, C), and what they give halfway between D and D', shape (m,)."""
    number, total, squares = np.moveaxis(np.stack([_pooled(side.moments, group) for side in learnt]), 2, 0)
    number = np.maximum(number, 1)  # of queries that no run reached
    mean = total / number
    variance = np.maximum(squares / number - mean**2, 1e-9).mean(axis=0)
    slope = (mean[0] - mean[1]) / variance
    return slope, (slope * mean.mean(axis=0)).sum(axis=1)
