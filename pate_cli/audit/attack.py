"""Carries out attacks: learn scores, choose an event, count it on other runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

import numpy as np

from pate_cli.audit.bounds import best_event, eps_lower_bound, mu_lower_bound
from pate_cli.audit.event_scores import of_outputs, of_votes
from pate_cli.errors import BudgetSpent
from pate_cli.mechanisms.base import Mechanism, SampledAttack, Session, VoteMechanism
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.types import Answer, Votes

__all__ = ["RUNS", "Finding", "audit", "differing_paths"]

RUNS = 200_000
"""Of a mechanism on votes, on each of two sequences."""


@dataclass(frozen=True)
class Finding:
    """Result of one attack in one direction."""

    attack: str
    direction: str  # "D over D'" or "D' over D": which of the two makes the event more likely
    event: str  # in words: a score, and a limit on the log-odds of D against D' that it estimates
    hits: int  # runs on D in the event
    neighbour_hits: int  # runs on D'
    runs: int  # of as many on each
    bound: float  # lower bound on eps, at the claimed delta
    mu: float | None = None  # lower bound on mu that `bound` was computed from, where the claim is mu-GDP


def audit(
    mechanism: Mechanism,
    pairs: Sequence[VoteAttack | SampledAttack],
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[Finding]:
    """Carry out attacks on a mechanism or a private learner: two findings a pair, one for each direction.

    Parameters
    ----------
    mechanism : Mechanism
        The claim is its `guarantee`. Where that is mu-GDP the bound is on mu, converted to eps at the
        claimed delta; elsewhere it is on eps, from the two probabilities of one event.
    pairs : sequence of VoteAttack, or of SampledAttack
        At least one. TypeError if they are of votes and the mechanism takes none.
    runs : int, optional
        On each of the two sides of each pair, at least 8. Default: 200,000 of a mechanism on votes, and of a
        private learner as many as the attack says.
    confidence : float
        Of all bounds together, in (0, 1).
    advance : callable
        Called after each pair.
    """
    each = 1 - (1 - confidence) / (2 * len(pairs))
    findings = []
    for pair, stream in zip(pairs, np.random.SeedSequence(seed).spawn(len(pairs)), strict=True):
        default = pair.runs if isinstance(pair, SampledAttack) else RUNS
        findings += _audit_one(mechanism, pair, runs or default, each, stream)
        advance()
    return findings


def _audit_one(
    mechanism: Mechanism,
    pair: VoteAttack | SampledAttack,
    runs: int,
    confidence: float,
    stream: np.random.SeedSequence,
) -> list[Finding]:
    """Learn scores on an eighth of the runs, choose an event on three eighths, count it on the rest."""
    claim = mechanism.guarantee
    sizes = (runs // 8, runs // 2 - runs // 8, runs - runs // 2)
    learn, choose, count = stream.spawn(3)
    if isinstance(pair, SampledAttack):
        scores = of_outputs(pair, sizes[0], learn.spawn(2))
    elif isinstance(mechanism, VoteMechanism):
        scores = of_votes(mechanism, pair, sizes[0], learn.spawn(2))
    else:
        raise TypeError("votes against a private learner")
    chosen, counted = (
        [scores.of(neighbour, size, child) for neighbour, child in enumerate(step.spawn(2))]
        for size, step in ((sizes[1], choose), (sizes[2], count))
    )
    findings = []
    for first, direction in ((0, "D over D'"), (1, "D' over D")):
        sign, second = 1 - 2 * first, 1 - first  # an event {score <= t} is {-score >= -t}
        options = [
            best_event(sign * p, sign * q, claim.delta, confidence, gdp=claim.mu is not None)
            for p, q in zip(chosen[first], chosen[second], strict=True)
        ]
        i = max(range(len(options)), key=lambda option: options[option][1])
        t = options[i][0]
        hits = [int(np.count_nonzero(sign * scored[i] >= t)) for scored in counted]
        event = f"{scores.names[i]} {'<=' if first else '>='} {sign * t:.4g}"
        counts, mu = (hits[first], sizes[2], hits[second], sizes[2]), None
        if claim.mu is None:
            bound = float(eps_lower_bound(*counts, claim.delta, confidence))
        else:
            mu = float(mu_lower_bound(*counts, confidence))
            bound = eps_of_mu(mu, claim.delta)
        findings.append(Finding(pair.name, direction, event, hits[0], hits[1], sizes[2], bound, mu))
    return findings


def differing_paths(mechanism: VoteMechanism, pairs: Sequence[VoteAttack | SampledAttack]) -> list[str]:
    """Names of methods whose answers differ from those of `ask`, which attacks use, at equal noise.

    A separate path to one run's answers, for speed or by mistake, would escape an audit of many runs. So one
    run answers the votes of every attack through `answer` and by `answer_all` as well, and must return equal
    answers to the last bit.
    """
    differing = set()
    on_votes = (pair for pair in pairs if isinstance(pair, VoteAttack))
    sides = [side for pair in on_votes for side in (pair.counts, pair.neighbour)]
    for counts, stream in product(sides, (0, 1)):
        votes = Votes(counts, int(counts[0].sum()))
        attacked, one_by_one, together = (
            mechanism.session(Door.seeded(np.random.SeedSequence([0, stream]))) for _ in range(3)
        )
        expected: list[Answer] = []
        while len(expected) < votes.n_queries and not attacked.exhausted:
            block = Session.answer_all(
                attacked, votes.at(len(expected))
            )  # of the base class: reads off `ask`
            if not block:
                break
            expected += block
        with suppress(BudgetSpent):  # more than it takes, refused as a whole
            if _values(together.answer_all(votes)) != _values(expected):
                differing.add("answer_all")
        answers: list[Answer] = []
        while len(answers) < votes.n_queries and not one_by_one.exhausted:
            answers.append(one_by_one.answer(votes.at(len(answers))))
        if _values(answers) != _values(expected):
            differing.add("answer")
    return sorted(differing)


def _values(answers: Sequence[Answer]) -> list[tuple[int, list[float] | None]]:
    """Labels and noisy counts, for comparison."""
    return [
        (answer.label, None if answer.noisy_counts is None else answer.noisy_counts.tolist())
        for answer in answers
    ]
