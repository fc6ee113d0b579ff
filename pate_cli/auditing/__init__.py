"""Attack a mechanism or a private learner: run it on neighbours, and see what tells them apart.

A black-box audit. A mechanism on votes is run many times on each of two sequences of votes that
differ in one vote a query, the most that one record can do; a private learner on each of two
tiny private sets that differ in one record (its room offers them). What is released is put
into scores, learnt on an eighth of the runs; the event {score >= t} that tells the two apart best
is chosen on three eighths, and counted on the other half. The counts give a lower bound on eps
(`pate_cli.privacy.audit`).

**Statement.** All bounds of one audit hold together with probability at least
`confidence`: the events are chosen on runs that are not counted, and the miss probability
is shared equally (Bonferroni) by all pairs in both directions. A bound above the claim
therefore refutes the claim at that confidence. A bound below it proves nothing: it says
that these attacks, with so many runs, found no violation.
"""

from __future__ import annotations

from typing import Any

from pate_cli import aggregation, agnostic, references
from pate_cli.auditing.engine import RUNS, Finding, audit
from pate_cli.auditing.votes import Attack, attacks, teachers_for
from pate_cli.private_learner import LearnerPlan, SampledAttack

__all__ = [
    "RUNS",
    "Attack",
    "Finding",
    "SampledAttack",
    "attacks",
    "audit",
    "learner_attacks",
    "teachers_for",
]


def learner_attacks(plan: LearnerPlan) -> list[SampledAttack]:
    """Worst-case neighbours for a private learner, from the room that made the plan."""
    rooms: tuple[Any, ...] = (agnostic, references, aggregation)
    for room in rooms:
        if type(plan).__module__.startswith(f"{room.__name__}."):
            found: list[SampledAttack] = room.attacks(plan)
            return found
    raise TypeError(f"{type(plan).__name__} is not a plan of a room of private learners")
