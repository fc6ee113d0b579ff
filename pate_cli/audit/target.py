"""The mechanism of a configuration, calibrated at sizes that need no data, and the attacks on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pate_cli import mechanisms
from pate_cli.audit.attack import RUNS
from pate_cli.audit.persons import person_attacks
from pate_cli.audit.releases import default_attacks, release_attack
from pate_cli.datasets.column import Column
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.features.generated import Generated, Marginals
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.runs.guarantee import MarginalsAudit, calibrate_whole
from pate_cli.runs.schema_audit import SchemaAudit
from pate_cli.types import Setting

if TYPE_CHECKING:
    from pate_cli.config import RunConfig
    from pate_cli.mechanisms import Mechanism, SampledAttack

__all__ = ["RECORDS", "TEACHERS", "Target", "make_target"]

TEACHERS = 1000
RECORDS = 100_000
_MOST_TEACHERS = 2**21
_FEATURES = 2
_DELTA = 1e-5


@dataclass(frozen=True, eq=False)
class Target:
    """A mechanism, the attacks on it, and the numbers for the report; `learner` if it takes no votes."""

    mechanism: Any
    attacks: Sequence[Any]
    numbers: dict[str, Any]
    learner: bool


def make_target(
    config: RunConfig,
    *,
    queries: int,
    classes: int,
    records: int | None,
    teachers: int | None,
    runs: int | None,
    persons: bool,
    seed: int,
    marginals: int | None = None,
    bought: int | None = None,
) -> Target:
    """Calibrate the mechanism of a configuration, and list the attacks on it.

    `records`, `teachers` and `runs` have defaults if None. With `marginals`, of so many columns, these are
    attacked in place of the mechanism that they leave a share of the budget; with `bought`, what buys levels
    of so many of the columns, and they after it. InputError if the mechanism
    cannot be calibrated, or there is nothing to attack.
    """
    if math.isinf(config.eps):
        raise ConfigError("eps", config.eps, "a finite number: without noise nothing is claimed")
    numbers: dict[str, Any] = {"queries": queries, "classes": classes, "persons": persons}
    teachers = teachers or config.teacher.count
    mechanism: Any
    mechanism, setting = _feasible(config, queries, classes, records, teachers)
    if marginals or bought:
        if (n_bought := bought or 0) > (n_columns := marginals or n_bought):
            raise ConfigError("--bought", bought, f"at most {n_columns}, the columns of --marginals")
        calibrated = partial(mechanisms.calibrated, config.mechanism.name, config.mechanism.options)
        unit_number, texts = Column(low=0.0, high=1.0), Column("category", bought=True, missing=True)
        columns = {f"x{i}": texts if i < n_bought else unit_number for i in range(n_columns)}
        points = Generated(None, None, "", columns, True)
        beside = calibrate_whole(calibrated, setting, points, config.generate.share, False)
        of_points = cast(Marginals, beside.marginals)
        mechanism = MarginalsAudit(of_points, setting.delta)
        mechanism = SchemaAudit(beside.bought, of_points) if beside.bought else mechanism
    if not isinstance(mechanism, mechanisms.VoteMechanism):
        attacks = _attacks(mechanism, setting, persons)
        runs = runs or max(attack.runs for attack in attacks)
        numbers |= {"records": setting.n_private, "n_teachers": mechanism.n_teachers, "runs": runs}
        return Target(mechanism, attacks, numbers, learner=True)
    if not teachers:
        mechanism = replace(mechanism, n_teachers=max(mechanism.n_teachers, mechanism.teachers_to_attack))
    numbers |= {"n_teachers": mechanism.n_teachers, "runs": runs or RUNS}
    on_votes = mechanism.attacks() or mechanisms.VoteMechanism.attacks(mechanism)
    if persons:
        teacher = (config.teacher.estimator, config.teacher.params)
        sizes = (mechanism.n_teachers, classes, queries)
        on_persons, numbers["votes_moved"] = person_attacks(*sizes, teacher=teacher, seed=seed)
        on_votes = [*on_votes, *on_persons]
    return Target(mechanism, on_votes, numbers, learner=False)


def _attacks(made: Mechanism, setting: Setting, persons: bool) -> list[SampledAttack]:
    """Attacks of a mechanism's own, or those on votes if it asks for them; ConfigError if there are none."""
    try:
        attacks = made.attacks_on_persons() if persons else made.attacks()
    except ConfigError:
        if not made.asks_votes:
            raise
        attacks = []
    attacks = attacks or default_attacks(made, setting) or mechanisms.Mechanism.attacks(made)
    return [
        release_attack(made, setting, attack) if isinstance(attack, VoteAttack) else attack
        for attack in attacks
    ]


def _feasible(
    config: RunConfig, queries: int, classes: int, records: int | None, teachers: int | None
) -> tuple[Mechanism, Setting]:
    """Calibrate, with more teachers until it is feasible unless their number was given; and for what."""
    m = config.mechanism
    setting = Setting(
        eps=config.eps,
        delta=_DELTA if config.delta is None else config.delta,
        n_private=0,
        n_public=queries,
        budget=queries,
        n_features=m.options.audited_columns() or _FEATURES,
        n_classes=classes,
        n_teachers=0,
        sparse=False,
        teacher=(config.teacher.estimator, config.teacher.params),
        student=(config.student.estimator, config.student.params),
        unanswered=config.student.unanswered,
    )
    K = teachers or m.options.audited_teachers() or TEACHERS
    first: InfeasibleError | None = None
    while K < _MOST_TEACHERS:
        n = records or max(RECORDS, 2 * K)
        try:
            sized = replace(setting, n_private=n, n_teachers=min(K, n))
            return mechanisms.calibrated(m.name, m.options, sized), sized
        except InfeasibleError as error:
            if teachers:
                raise
            first = first or error
            K *= 2
    raise first or ConfigError("--teachers", teachers, f"a whole number < {_MOST_TEACHERS}")
