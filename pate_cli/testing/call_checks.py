"""Checks of a mechanism by its calls: options, sizes, blocks, failing learners, audit, other processes."""

from __future__ import annotations

import json
import math
import sys
import unittest
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from pate_cli import audit, mechanisms
from pate_cli.audit.one_run import guesses_right, mu_of_guesses
from pate_cli.audit.target import make_target
from pate_cli.config import MechanismConfig, RunConfig, compose, parse
from pate_cli.errors import BudgetSpent, ConfigError, InputError
from pate_cli.mechanisms import SampledAttack, VoteMechanism
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.privacy.door import Door
from pate_cli.signals import start_joblib
from pate_cli.testing.door_checks import Run, moved, output, paid, replayed
from pate_cli.testing.failure import CheckFailed, require
from pate_cli.testing.forms import LABELS, Form, K, votes_of
from pate_cli.testing.learners import Failing
from pate_cli.testing.part_checks import refused
from pate_cli.types import Private, PrivateRecords, PublicPoints, Votes

__all__ = ["alike", "asked", "audited", "blocks", "failing", "numbers", "options"]
__all__ += ["one_run", "without_noise"]

QUERIES, RUNS, SHARE = 100, 10_000, 20
"""Of the audit: queries, runs on votes, share of the runs of another attack. `pate audit` has more."""

CANARIES, FALSE_ALARM = 300, 1e-6


def options(form: Form) -> str:
    """Unknown options and wrong values are refused in one line that names the key, before anything is run."""
    module = mechanisms.find(form.name)
    saw = refused(module.Options, lambda given: mechanisms.read(form.name, given), "mechanism.")
    defaults = mechanisms.read(form.name, {})
    require(isinstance(defaults.label(form.name), str), "a label that is no text")
    return saw


def numbers(form: Form) -> str:
    """It promises at most what was asked, shows public numbers, and says how it is attacked."""
    mechanism, asked = form.mechanism(), form.setting
    require(isinstance(mechanism, mechanisms.Mechanism), "not a Mechanism")
    promised = mechanism.guarantee
    require(promised.eps <= asked.eps * (1 + 1e-9), f"promises eps {promised.eps:g} of {asked.eps:g}")
    require(promised.delta <= asked.delta * (1 + 1e-9), f"promises delta {promised.delta:g}")
    require(not promised.data_dependent, "a guarantee that depends on data")
    require(mechanism.n_teachers == int(mechanism.n_teachers) >= 0, "no number of teachers")
    try:
        exact = mechanism.with_exact_noise().guarantee
    except InputError as error:
        require(str(error).startswith(("mechanism.", "eps")), f"exact noise refused otherwise: {error}")
    else:
        require(exact.eps <= asked.eps * (1 + 1e-9), "more promised with exact noise")
        require(exact.delta <= asked.delta * (1 + 1e-9), "more promised with exact noise")
    json.dumps(mechanism.describe(), allow_nan=False)
    table = mechanism.table()
    require(all(len(row) == len(table.columns) for row in table.rows), "rows of another length")
    require(mechanism.persons in ("parts", "sums", "one record"), f"persons = {mechanism.persons!r}")
    try:
        attacks = [*mechanism.attacks(), *mechanism.attacks_on_persons()]
    except ConfigError:
        attacks = []
    require(attacks or mechanism.asks_votes, "no attacks: pate audit cannot try it")
    kinds = (VoteAttack, SampledAttack) if mechanism.asks_votes else SampledAttack
    require(all(isinstance(attack, kinds) for attack in attacks), "attacks of another kind")
    return f"eps {promised.eps:.4g}, delta {promised.delta:.3g}, {len(mechanism.describe())} public numbers"


def asked(form: Form) -> str:
    """It takes no query, one query and, where it counts them, no more than it is made for."""
    try:
        single = Run(replace(form, n_public=1))
        output(single)
        paid(single)
        saw = f"one point: {single.out.answers.n_asked} asked"
    except InputError as error:
        saw = f"one point: refused, {error}"
    mechanism, rng = form.mechanism(), np.random.default_rng(9)
    if not isinstance(mechanism, VoteMechanism):
        return saw
    session = mechanism.session(Door.seeded(1))
    require(session.answer_all(votes_of(rng, 0, form.n_classes)) == [], "an answer to no query")
    many = session.ask(votes_of(rng, mechanism.ell + 5, form.n_classes))
    taken = int(np.count_nonzero(many.reached))
    require(taken <= mechanism.ell, f"{taken} queries taken, made for {mechanism.ell}")
    if session.exhausted:
        try:
            session.answer(votes_of(rng, 1, form.n_classes))
        except BudgetSpent:
            pass
        else:
            raise CheckFailed("an answer when it is exhausted")
    require(taken < mechanism.ell or session.exhausted, "it takes more queries than it is made for")
    return f"{saw}; of {mechanism.ell + 5} queries {taken} taken"


def blocks(form: Form) -> str:
    """Queries in blocks of any length have the answers that they have at once, at equal noise and cost."""
    mechanism, rng = form.mechanism(), np.random.default_rng(9)
    if not isinstance(mechanism, VoteMechanism):
        return "it has no session"
    votes = votes_of(rng, mechanism.ell, form.n_classes)
    for seed in range(3):
        door = Door.seeded(seed)
        session = mechanism.session(door)
        whole = session.ask(votes)
        end = session.exhausted, mechanism.after(door.spent)
        for lengths in ([1] * mechanism.ell, [mechanism.ell - 1, 1], [2, 3, mechanism.ell]):
            door, at, parts = Door.seeded(seed), 0, []
            session = mechanism.session(door)
            for length in lengths:
                part = session.ask(Votes(votes.counts[at : at + length], K))
                parts.append(part)
                at += len(part.labels)
            same = (session.exhausted, mechanism.after(door.spent)) == end
            require(same, f"blocks of {lengths}: another end, or cost")
            for name in ("labels", "reached", "noisy_counts"):
                if (first := getattr(whole, name)) is not None:
                    pieces = np.concatenate([getattr(part, name) for part in parts])
                    require(np.array_equal(first, pieces[: len(first)]), f"blocks of {lengths}: other {name}")
    ways = audit.differing_paths(mechanism, mechanism.attacks())
    require(not ways, f"{' and '.join(ways)} answer otherwise than ask")
    return f"{mechanism.ell} queries at once, one by one, in blocks"


def without_noise(form: Form) -> str:
    """At eps=inf it runs without noise, or refuses in one line."""
    exact = replace(form, changes=(*form.changes, ("eps", math.inf)))
    try:
        mechanism = exact.mechanism()
    except InputError as error:
        require("\n" not in str(error), "more than one line")
        return f"refused: {error}"
    require(
        math.isinf(mechanism.guarantee.eps), f"a guarantee of eps {mechanism.guarantee.eps:g} without noise"
    )
    return output(Run(exact))


def failing(form: Form) -> str:
    """A release is made whatever a learner does with private parts: such teachers are constant."""
    ways = ("fit", "predict", "some")
    for when in ways:
        run = Run(replace(form, changes=(*form.changes, ("teacher", (Failing(when), {})))), LABELS[1])
        replayed(run)
        moved(run)
    return f"{len(ways)} learners that fail: released, and moved as stated"


@cache
def _usual() -> RunConfig:
    return parse(compose(["eps=1.0", "delta=1e-5", "features=none", "student=logistic", "teacher=logistic"]))


def audited(form: Form) -> str:
    """The audit at eps 1 measures no more than the claim; a false alarm has probability at most 1e-6."""
    options = mechanisms.read(form.name, dict(form.options))
    mechanism = MechanismConfig(form.name, options, form.name)
    config, none = replace(_usual(), mechanism=mechanism), {"records": None, "teachers": None, "runs": None}
    target = make_target(config, queries=QUERIES, classes=2, persons=False, seed=0, **none)
    attacks = [
        attack._replace(runs=attack.runs // SHARE) if isinstance(attack, SampledAttack) else attack
        for attack in target.attacks
    ]
    mechanism, claim = target.mechanism, target.mechanism.guarantee
    runs = None if target.learner else RUNS
    findings = audit.audit(mechanism, attacks, runs=runs, confidence=1 - FALSE_ALARM)
    worst = max(finding.bound for finding in findings)
    require(worst <= claim.eps, f"measured {worst:.3g}, claimed {claim.eps:g}")
    return f"{len(attacks)} attacks: at least {worst:.3g} of eps {claim.eps:g}"


def one_run(form: Form) -> str:
    """One release at eps 1 tells no more of its records than mu allows, by guesses of which were drawn."""
    m, n, rng = CANARIES, 2 * CANARIES, np.random.default_rng(0)
    sizes: dict[str, Any] = {
        "eps": 1.0,
        "delta": 1e-5,
        "n_private": n,
        "n_public": m,
        "budget": m,
        "n_features": m,
    }
    setting = replace(form.setting, **sizes)
    mechanism = mechanisms.calibrate(form.name, dict(form.options), setting)
    if mechanism.guarantee.mu is None or mechanism.asks_votes or mechanism.n_teachers:
        raise unittest.SkipTest("for learners on the records whose guarantee is mu-GDP")
    bits, X = rng.integers(0, 2, m), np.zeros((n, m))
    X[:m] = np.eye(m)  # a column each, so a record moves a weight of its own, by its label
    records = PrivateRecords(X, np.concatenate([bits, np.arange(m) % 2]))
    released = mechanism.release(Private(records), PublicPoints(np.eye(m)), Door.seeded(0), rng)
    scores = released.model.decision_function(np.eye(m))
    right = guesses_right(scores - scores.mean(), bits, m // 2)
    mu = mu_of_guesses(m, m // 2, right, 1 - FALSE_ALARM)
    require(mu <= mechanism.guarantee.mu, f"measured mu {mu:.3g}, claimed {mechanism.guarantee.mu:.3g}")
    return f"{right} of {m // 2} guesses right: mu at least {mu:.3g} of {mechanism.guarantee.mu:.3g}"


def alike(form: Form) -> str:
    """Another process gets the numbers of this one."""
    form = replace(form, fits=None)
    here, there = _numbers(form), _process(tuple(sys.path)).submit(_numbers, form).result()
    same = all(map(np.array_equal, here, there, [True] * len(here)))
    require(len(here) == len(there) and same, "other numbers in another process")
    return f"{sum(part.size for part in here):,} equal numbers"


@lru_cache(maxsize=1)
def _process(paths: tuple[str, ...]) -> Any:
    """Give a process that finds modules on these paths, as one of joblib's own pool may not."""
    from joblib.externals.loky import ProcessPoolExecutor

    start_joblib()
    return ProcessPoolExecutor(1, timeout=10)  # after as many seconds without work, the process ends


def _numbers(form: Form) -> list[Any]:
    """All that a run lets out, as arrays."""
    run = Run(form)
    answers, model = run.out.answers, run.out.model
    arrays = [answers.asked, answers.labels, *(out for _, out in run.door.released if hasattr(out, "dtype"))]
    return arrays if model is None else [*arrays, model.predict(run.form.public.X)]
