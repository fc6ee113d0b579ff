"""Carry out attacks: learn scores, choose an event, count it on other runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pate_cli.audit.bounds import best_event, eps_lower_bound, mu_lower_bound
from pate_cli.audit.output_scores import OutputTrial
from pate_cli.audit.vote_scores import VoteTrial
from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.base import Mechanism, SampledAttack, VoteMechanism
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.types import FloatArray, PrivacyLoss

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
        Lower bound on eps, at the claimed delta.
    mu : float or None
        Lower bound on mu that `bound` was turned from, where the claim is mu-GDP.
    """

    attack: str
    direction: str
    event: str
    hits: int
    neighbour_hits: int
    runs: int
    bound: float
    mu: float | None = None


def audit(
    mechanism: Mechanism,
    pairs: Sequence[VoteAttack | SampledAttack],
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[Finding]:
    """Carry out attacks on a mechanism or a private learner.

    Parameters
    ----------
    mechanism : Mechanism
        The claim is its `guarantee`. Where that is mu-GDP the bound is on mu, turned to eps at the
        claimed delta; elsewhere it is on eps, from the two probabilities of one event.
    pairs : sequence of VoteAttack, or of SampledAttack
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

    Raises
    ------
    TypeError
        If an attack is of votes and the mechanism takes none.
    """
    each = 1 - (1 - confidence) / (2 * len(pairs))
    found = []
    for pair, stream in zip(pairs, np.random.SeedSequence(seed).spawn(len(pairs)), strict=True):
        default = pair.runs if isinstance(pair, SampledAttack) else RUNS
        found += _audit_one(_trial(mechanism, pair), mechanism.guarantee, runs or default, each, stream)
        advance()
    return found


def _trial(mechanism: Mechanism, pair: VoteAttack | SampledAttack) -> Trial:
    if isinstance(pair, SampledAttack):
        return OutputTrial(pair)
    if not isinstance(mechanism, VoteMechanism):
        raise TypeError("votes against a private learner")
    return VoteTrial(mechanism, pair)


def _audit_one(
    trial: Trial, claim: PrivacyLoss, runs: int, confidence: float, stream: np.random.SeedSequence
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
    gdp = claim.mu is not None
    for first, direction in ((0, "D over D'"), (1, "D' over D")):
        sign, second = 1 - 2 * first, 1 - first
        options = [
            best_event(sign * p, sign * q, claim.delta, confidence, gdp=gdp)
            for p, q in zip(chosen[first], chosen[second], strict=True)
        ]
        i = max(range(len(options)), key=lambda option: options[option][1])
        t = options[i][0]
        hits = [int(np.count_nonzero(sign * scored[i] >= t)) for scored in counted]
        event = f"{scores.names[i]} {'<=' if first else '>='} {sign * t:.4g}"
        sides = (hits[first], sizes[2], hits[second], sizes[2])
        mu = float(mu_lower_bound(*sides, confidence)) if gdp else None
        if mu is None:
            bound = float(eps_lower_bound(*sides, claim.delta, confidence))
        else:
            bound = eps_of_mu(mu, claim.delta)
        found.append(Finding(trial.name, direction, event, hits[0], hits[1], sizes[2], bound, mu))
    return found
