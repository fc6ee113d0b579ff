"""Carry out attacks: learn scores, choose an event, count it on other runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pate_cli.auditing.output_scores import OutputTrial
from pate_cli.auditing.vote_scores import AuditablePlan, VoteTrial
from pate_cli.auditing.votes import Attack
from pate_cli.privacy.audit import best_event, eps_lower_bound
from pate_cli.private_learner import LearnerPlan, SampledAttack
from pate_cli.types import FloatArray

__all__ = ["RUNS", "Finding", "audit"]

RUNS = 200_000
"""Of a mechanism on votes, on each of two sequences."""


class Scores(Protocol):
    """Numbers that say for each run how much it looks like D rather than D'; learnt."""

    @property
    def names(self) -> list[str]:
        """One a score."""

    def of(self, neighbour: bool, runs: int, stream: np.random.SeedSequence) -> FloatArray:
        """Scores of new runs on D or D', shape (number of scores, runs)."""


class Trial(Protocol):
    """One pair of neighbours, to be told apart."""

    @property
    def name(self) -> str:
        """Of the attack."""

    def learn(self, runs: int, streams: Sequence[np.random.SeedSequence]) -> Scores:
        """Learn scores from as many runs on D, with the first stream, and on D', with the second."""


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


def audit(
    plan: AuditablePlan | LearnerPlan,
    pairs: Sequence[Attack] | Sequence[SampledAttack],
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[Finding]:
    """Carry out attacks on a mechanism or a private learner.

    Parameters
    ----------
    plan : LabellingPlan with `runs`, or LearnerPlan
        The claim is its `guarantee`.
    pairs : sequence of Attack, or of SampledAttack
    runs : int, optional
        On each of the two sides of each pair, at least 8: an eighth to learn what the
        outputs say, three to choose the event, half to count it. Default: 200,000 of a mechanism on votes,
        and of a private learner as many as the attack says.
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
    delta = plan.guarantee.delta
    found = []
    streams = np.random.SeedSequence(seed).spawn(len(pairs))
    for trial, default, stream in zip(*_trials(plan, pairs), streams, strict=True):
        found += _audit_one(trial, delta, runs or default, each, stream)
        advance()
    return found


def _trials(
    plan: AuditablePlan | LearnerPlan, pairs: Sequence[Attack] | Sequence[SampledAttack]
) -> tuple[list[Trial], list[int]]:
    """Trials, and how many runs of each by default."""
    trials: list[Trial] = []
    for pair in pairs:
        if isinstance(pair, SampledAttack):
            trials.append(OutputTrial(pair))
        elif isinstance(plan, LearnerPlan):
            raise TypeError("votes against a private learner")
        else:
            trials.append(VoteTrial(plan, pair))
    return trials, [pair.runs if isinstance(pair, SampledAttack) else RUNS for pair in pairs]


def _audit_one(
    trial: Trial, delta: float, runs: int, confidence: float, stream: np.random.SeedSequence
) -> list[Finding]:
    sizes = (runs // 8, runs // 2 - runs // 8, runs - runs // 2)
    learn, choose, count = stream.spawn(3)
    scores = trial.learn(sizes[0], learn.spawn(2))
    chosen, counted = (
        [
            scores.of(neighbour, size, child)
            for neighbour, child in zip((False, True), step.spawn(2), strict=True)
        ]
        for size, step in ((sizes[1], choose), (sizes[2], count))
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
        found.append(Finding(trial.name, direction, event, hits[0], hits[1], sizes[2], bound))
    return found
