"""Attack a labelling mechanism: run it on neighbouring votes, and see what tells them apart.

A black-box audit. The mechanism is run many times on each of two sequences of votes that
differ in one vote a query, the most that one record can do; what it releases is put
into scores; the event {score >= t} that tells the two apart best is chosen on one half of
the runs, and counted on the other. The counts give a lower bound on eps
(`pate_cli.privacy.audit`).

**Statement.** All bounds of one audit hold together with probability at least
`confidence`: the events are chosen on runs that are not counted, and the miss probability
is shared equally (Bonferroni) by all pairs in both directions. A bound above the claim
therefore refutes the claim at that confidence. A bound below it proves nothing: it says
that these attacks, with so many runs, found no violation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from pate_cli.mechanisms import GaussianPlan, GnmaxPlan, SvtPlan
from pate_cli.mechanisms.plan import max_distance
from pate_cli.privacy.audit import best_event, eps_lower_bound
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import UNANSWERED, FloatArray, IntArray, MechanismRuns, PrivacyLoss, Released

__all__ = ["Attack", "Finding", "attacks", "audit", "teachers_for"]

_CHUNK = 16384
"""Runs side by side: as many as stay in the processor's cache."""


class AuditablePlan(Protocol):
    """A calibrated mechanism that can be run many times side by side."""

    @property
    def guarantee(self) -> PrivacyLoss:
        """The claim."""

    def runs(self, noise: Noise, count: int) -> MechanismRuns:
        """Independent runs."""


@dataclass(frozen=True, eq=False)
class Attack:
    """Two sequences of votes that differ in at most one vote a query.

    Attributes
    ----------
    name : str
    counts, neighbour : ndarray of int64, shape (m, C)
        Votes on D and on D', a query a row.
    """

    name: str
    counts: IntArray
    neighbour: IntArray

    def __post_init__(self) -> None:
        moved = self.neighbour - self.counts
        one_vote = not moved.sum(axis=1).any() and np.abs(moved).sum(axis=1).max() <= 2
        if not one_vote or min(self.counts.min(), self.neighbour.min()) < 0:
            raise ValueError(f"{self.name}: not neighbours")


@dataclass(frozen=True)
class Finding:
    """What one attack found in one direction.

    Attributes
    ----------
    attack : str
    direction : {"D over D'", "D' over D"}
        Which of the two makes the event more likely.
    event : str
        In words: what was looked at, and a limit on the log-odds of D against D' it gives.
    hits, neighbour_hits : int
        Runs on D and on D' in the event.
    runs : int
        Of as many on each.
    bound : float
        Lower bound on eps.
    """

    attack: str
    direction: str
    event: str
    hits: int
    neighbour_hits: int
    runs: int
    bound: float


def attacks(plan: GaussianPlan | GnmaxPlan | SvtPlan, n_teachers: int, n_classes: int) -> list[Attack]:
    """Worst-case sequences of votes for a mechanism.

    Parameters
    ----------
    plan : GaussianPlan, GnmaxPlan or SvtPlan
    n_teachers : int
        K, at least 4.
    n_classes : int
        C, at least 2; the votes are on the first two.
    """
    build = _Builder(n_teachers)
    if isinstance(plan, SvtPlan):
        made = _svt(plan.calibration, build)
    else:
        made = _gaussian(plan.ell, build)
        if isinstance(plan, GnmaxPlan) and plan.threshold is not None:
            made = itertools.chain(made, _checks(plan.ell, math.floor(plan.threshold), n_teachers))
    return [Attack(name, *_votes(steps, n_teachers, n_classes)) for name, steps in made]


Step: TypeAlias = tuple[int, int]
"""One query: votes for class 1, of K, on D and on D'."""


class _Builder:
    """Queries by their distance to instability, of K teachers."""

    def __init__(self, n_teachers: int) -> None:
        self._half = n_teachers // 2
        self._most = max_distance(n_teachers) - 1
        self.unanimous = (n_teachers, n_teachers - 1)
        self.critical = ((n_teachers + 1) // 2, (n_teachers + 1) // 2 - 1)  # the majority differs

    def up(self, distance: float) -> Step:
        """At `distance` on D', and one vote further from instability on D."""
        d = min(max(0, math.floor(distance)), self._most)
        return self._half + d + 2, self._half + d + 1

    def down(self, distance: float) -> Step:
        """At `distance` on D, and one vote further from instability on D'."""
        d, further = self.up(distance)[::-1]
        return d, further


def _votes(steps: Sequence[Step], n_teachers: int, n_classes: int) -> tuple[IntArray, IntArray]:
    sides = np.zeros((2, len(steps), n_classes), dtype=np.int64)
    sides[:, :, 1] = np.array(steps).T
    sides[:, :, 0] = n_teachers - sides[:, :, 1]
    return sides[0], sides[1]


def _gaussian(m: int, build: _Builder) -> Iterator[tuple[str, list[Step]]]:
    up, down = build.up(0), build.down(0)
    yield "one vote more on every query", [up] * m
    yield "one vote more, one less, in turn", [(up, down)[j % 2] for j in range(m)]
    yield "unanimous but for one vote", [build.unanimous] * m
    yield "twice the queries it was made for", [up] * (2 * m)


def _checks(m: int, threshold: int, n_teachers: int) -> Iterator[tuple[str, list[Step]]]:
    """The largest count at the threshold of a check."""
    at = min(max(threshold, n_teachers // 2 + 1), n_teachers - 1)
    yield "at the threshold of the check, a vote more", [(at + 1, at)] * m


def _svt(c: SvtCalibration, build: _Builder) -> Iterator[tuple[str, list[Step]]]:
    m, cutoff, w = c.ell, c.cutoff, c.threshold
    up, down, critical = build.up, build.down, build.critical
    last = min(cutoff, m - 1)
    yield "every query critical", [critical] * m
    yield "low thresholds survive, then critical", [up(0.7 * w)] * (m - last) + [critical] * last
    for share, where in ((0.5, "half the threshold"), (1.0, "the threshold")):
        yield f"all at {where}, a vote more", [up(share * w)] * m
        yield f"at {where}, more and less in turn", [(up, down)[j % 2](share * w) for j in range(m)]
    for share in (1.0, 4.0):
        d = c.margin(min(0.5, share * cutoff / m))
        yield f"{share:g} T expected unstable, a vote more", [up(d)] * m
    # all of the first queries answered means that the threshold is low; then a vote less
    for below, which in ((0.0, "the"), (2.0, "a lower")):
        first = max(w, _pinning(c) - below * c.query_scale)
        yield f"answers pin {which} threshold, then a vote less", [up(first)] * (m - last) + [down(w)] * last
    yield "of everything", [(up(w), critical, down(w), up(_pinning(c)))[j % 4] for j in range(m)]


def _pinning(c: SvtCalibration) -> float:
    """Distance at which about one of `ell` queries in `cutoff` falls below a threshold without noise."""
    return c.threshold + c.query_scale * math.log(max(c.ell / c.cutoff, 1.0))


def teachers_for(plan: GaussianPlan | GnmaxPlan | SvtPlan) -> int:
    """Fewest teachers whose votes reach every distance the attacks want."""
    if not isinstance(plan, SvtPlan):
        return 4
    c = plan.calibration
    return 2 * (math.ceil(max(_pinning(c), c.margin(min(0.5, c.cutoff / c.ell)))) + 3)


def audit(
    plan: AuditablePlan,
    pairs: Sequence[Attack],
    *,
    runs: int,
    confidence: float = 0.95,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[Finding]:
    """Carry out attacks on a mechanism.

    Parameters
    ----------
    plan : LabellingPlan with `runs`
        The claim is its `guarantee`.
    pairs : sequence of Attack
    runs : int
        On each of the two sequences of each pair, at least 8: an eighth to learn what the
        outputs say, three to choose the event, half to count it.
    confidence : float
        Of all bounds together, in (0, 1).
    seed : int
    advance : callable
        Called after each pair.

    Returns
    -------
    list of Finding
        Two a pair, one for each direction.
    """
    each = 1 - (1 - confidence) / (2 * len(pairs))
    found = []
    for attack, stream in zip(pairs, np.random.SeedSequence(seed).spawn(len(pairs)), strict=True):
        found += _audit_one(plan, attack, runs, each, stream)
        advance()
    return found


def _audit_one(
    plan: AuditablePlan, attack: Attack, runs: int, confidence: float, stream: np.random.SeedSequence
) -> list[Finding]:
    delta = plan.guarantee.delta
    sides = (attack.counts, attack.neighbour)
    sizes = (runs // 8, runs // 2 - runs // 8, runs - runs // 2)
    learn, choose, count = (
        [_Work(plan, n, child) for child in step.spawn(2)]
        for n, step in zip(sizes, stream.spawn(3), strict=True)
    )

    scores = _Scores(attack, [work.learn(votes) for work, votes in zip(learn, sides, strict=True)])
    chosen, counted = (
        [work.score(votes, scores) for work, votes in zip(both, sides, strict=True)]
        for both in (choose, count)
    )
    found = []
    for first, direction in ((0, "D over D'"), (1, "D' over D")):
        sign, second = 1 - 2 * first, 1 - first
        options = [
            best_event(sign * p, sign * q, delta, confidence)
            for p, q in zip(chosen[first], chosen[second], strict=True)
        ]
        i = max(range(len(options)), key=lambda option: options[option][1])
        t = options[i][0]
        hits = [int(np.count_nonzero(sign * scored[i] >= t)) for scored in counted]
        bound = float(eps_lower_bound(hits[first], sizes[2], hits[second], sizes[2], delta, confidence))
        event = f"{scores.names[i]} {'<=' if first else '>='} {sign * t:.4g}"
        found.append(Finding(attack.name, direction, event, hits[0], hits[1], sizes[2], bound))
    return found


@dataclass(frozen=True, eq=False)
class _Work:
    """Some runs of the mechanism, with noise of their own."""

    plan: AuditablePlan
    runs: int
    noise: np.random.SeedSequence

    def learn(self, counts: IntArray) -> _Learnt:
        learnt = _Learnt(*counts.shape)
        for query, _, released in self._released(counts):
            learnt.see(query, released)
        return learnt

    def score(self, counts: IntArray, scores: _Scores) -> FloatArray:
        """Shape (number of scores, runs)."""
        values = np.zeros((len(scores.names), self.runs))
        for query, chunk, released in self._released(counts):
            scores.add(query, released, values[:, chunk])
        return values

    def _released(self, counts: IntArray) -> Iterator[tuple[int, slice, Released]]:
        """What is released, a query and a chunk of runs at a time, until none takes any more."""
        starts = range(0, self.runs, _CHUNK)
        for start, child in zip(starts, self.noise.spawn(len(starts)), strict=True):
            chunk = slice(start, min(start + _CHUNK, self.runs))
            mechanism = self.plan.runs(SeededNoise(child), chunk.stop - start)
            for query, votes in enumerate(counts):
                released = mechanism.ask(votes)
                yield query, chunk, released
                if not released.reached.any():
                    break


def _outcome(released: Released) -> IntArray:
    """0 where unanswered, 1 + label where answered, -1 where the run took no more queries."""
    return np.where(released.reached, released.labels - UNANSWERED, -1)


class _Learnt:
    """How often each outcome came, and the moments of the noisy counts, query by query."""

    def __init__(self, queries: int, n_classes: int) -> None:
        self.outcomes = np.zeros((queries, n_classes + 1))
        self.moments = np.zeros((queries, 3, n_classes))  # number, sum, sum of squares

    def see(self, query: int, released: Released) -> None:
        outcomes = np.bincount(_outcome(released) + 1, minlength=self.outcomes.shape[1] + 1)
        self.outcomes[query] += outcomes[1:]
        if released.noisy_counts is not None:
            noisy = released.noisy_counts[released.reached]
            number = np.full(noisy.shape[1], len(noisy))
            self.moments[query] += np.stack([number, noisy.sum(axis=0), np.einsum("rc,rc->c", noisy, noisy)])


class _Scores:
    """What the outputs of a run say for D against D', added up over its queries.

    Naive Bayes on the outcomes, a linear discriminant on the noisy counts; each learnt
    query by query, and learnt once for each kind of query.
    """

    def __init__(self, attack: Attack, learnt: Sequence[_Learnt]) -> None:
        _, kinds = np.unique(np.hstack([attack.counts, attack.neighbour]), axis=0, return_inverse=True)
        groupings = (("query", np.arange(len(kinds))), ("kind", kinds.reshape(-1)))
        noisy = all(side.moments.any() for side in learnt)
        of = ["outcomes", "noisy counts"] if noisy else ["outcomes"]
        self.names = [f"{what} by {group}" for what in of for group, _ in groupings]
        self._tables = np.stack([_naive_bayes(learnt, group) for _, group in groupings])
        linear = [_discriminant(learnt, group) for _, group in groupings] if noisy else []
        self._slopes = np.stack([slope for slope, _ in linear], axis=2) if noisy else None
        self._means = np.stack([mean for _, mean in linear], axis=1) if noisy else None

    def add(self, query: int, released: Released, values: FloatArray) -> None:
        """Add what one query's outputs say to `values`, shape (number of scores, R)."""
        outcome = _outcome(released)
        for row, table in zip(values, self._tables[:, query], strict=False):
            row += table[outcome]
        if self._slopes is not None and self._means is not None and released.noisy_counts is not None:
            said = released.noisy_counts @ self._slopes[query] - self._means[query]
            values[len(self._tables) :] += np.where(released.reached[:, None], said, 0.0).T


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
