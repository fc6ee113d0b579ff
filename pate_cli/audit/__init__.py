"""Lower bounds on eps by attack: run a mechanism on neighbours, and count an event that separates them.

A black-box audit. A mechanism on votes is run many times on each of two sequences of votes that differ in one
vote a query, the most that one record can do; a private learner on each of two tiny private sets that differ
in one record, or in all records of one person (`Mechanism.attacks`). The class that runs is attacked: a
session on votes is the case of one run of a class that carries many (`pate_cli.mechanisms.base.Session`), and
learners are attacked through the methods of their `release`. The outputs are turned into scores (`scores`),
learnt on an eighth of the runs; the event {score >= t} that separates the two best is chosen on three
eighths, and counted on the other half. The counts imply a lower bound on eps (`bounds`).

**Statement.** All bounds of one audit hold together with probability at least `confidence`: the events are
chosen on runs that are not counted, and the miss probability is shared equally (Bonferroni) by all pairs in
both directions. A bound above the claim therefore refutes the claim at that confidence; where the claim is
mu-GDP the bound is on mu, and refutes that. A bound below it proves nothing: these attacks, with so many
runs, found no violation.
"""

from __future__ import annotations

from pate_cli.audit.attack import RUNS, Finding, audit, differing_paths
from pate_cli.mechanisms.base import SampledAttack

__all__ = ["RUNS", "Finding", "SampledAttack", "audit", "differing_paths"]
