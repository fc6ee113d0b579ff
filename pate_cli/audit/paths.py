"""Whether the answers that a pipeline reads are those of the code that is attacked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.privacy.door import Door
from pate_cli.types import Answer, Votes

__all__ = ["differing_paths"]

_STREAMS = 2
"""Of noise, for each side of each attack."""


def differing_paths(plan: VoteMechanism, pairs: Sequence[VoteAttack], seed: int = 0) -> list[str]:
    """Name the ways to ask one run that differ from `ask`, which attacks go through, at equal noise.

    A way of its own to one run's answers, for speed or by mistake, would escape an audit of many runs. So
    one run is asked the votes of every attack by `answer` and by `answer_all` as well, and must
    give equal answers to the last bit.

    Parameters
    ----------
    plan : VoteMechanism
    pairs : sequence of VoteAttack
    seed : int

    Returns
    -------
    list of str
        Names of methods; empty where all is well.
    """
    differing = set()
    for pair in pairs:
        for counts in (pair.counts, pair.neighbour):
            votes = Votes(counts, int(counts[0].sum()))
            for stream in range(_STREAMS):
                expected = _asked(plan, votes, _noise(seed, stream))
                together = plan.session(_noise(seed, stream)).answer_all(votes)
                if not _equal(together, expected):
                    differing.add("answer_all")
                if not _equal(_one_by_one(plan, votes, _noise(seed, stream)), expected):
                    differing.add("answer")
    return sorted(differing)


def _noise(seed: int, stream: int) -> Door:
    return Door.seeded(np.random.SeedSequence([seed, stream]))


def _asked(plan: VoteMechanism, votes: Votes, noise: Door) -> list[Answer]:
    """Answers of one run, asked as attacks ask many: query by query."""
    session = plan.session(noise, 1)
    answers: list[Answer] = []
    for query in range(votes.n_queries):
        released = session.ask(votes.at(query))
        if not released.reached.any():
            break
        noisy = None if released.noisy_counts is None else released.noisy_counts[0, 0]
        answers.append(Answer(int(released.labels[0, 0]), noisy))
    return answers


def _one_by_one(plan: VoteMechanism, votes: Votes, noise: Door) -> list[Answer]:
    session = plan.session(noise)
    answers: list[Answer] = []
    while len(answers) < votes.n_queries and not session.exhausted:
        answers.append(session.answer(votes.at(len(answers))))
    return answers


def _equal(first: Sequence[Answer], second: Sequence[Answer]) -> bool:
    return len(first) == len(second) and all(
        one.label == other.label and np.array_equal(_numbers(one), _numbers(other))
        for one, other in zip(first, second, strict=True)
    )


def _numbers(answer: Answer) -> list[float]:
    return [] if answer.noisy_counts is None else answer.noisy_counts.tolist()
