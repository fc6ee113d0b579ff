"""What every mechanism is: options, a plan made of public numbers, and a release.

A mechanism is one module of this room (or of `agnostic`, `direct` and `baselines` in it), named as in
`mechanism=NAME`. It has

- ``Options``: a frozen dataclass, each field declared with its default and check (`pate_cli.checks.option`);
  `conf/mechanism/NAME.yaml` says the same defaults to people;
- ``plan(options, setting) -> Plan``, which refuses what cannot work before any training;
- where a table should name it otherwise, ``label(options) -> str``.

`find` gets it by being there; one from elsewhere comes by an entry point of the group
``pate.mechanisms``, or by the import path of its module (``mechanism.name=my_package.my_mechanism``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.service import VoteService
from pate_cli.privacy.door import Door, Spent
from pate_cli.privacy.integer import vector_eps
from pate_cli.types import (
    Answers,
    FloatArray,
    Holdout,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
)

__all__ = [
    "EXACT",
    "SINGLE",
    "UNITS",
    "LabellingPlan",
    "NumbersTable",
    "Plan",
    "Sample",
    "SampledAttack",
    "described",
    "no_answers",
    "single_records",
]

EXACT = "a mechanism with exact noise with release=true: gaussian, svt, active, best, score_boosting"
"""What a release accepts."""

UNITS = "best, noisy_gd, output_perturbation, or a mechanism on votes: gaussian, svt, gnmax, active"
"""What protects persons with several records."""

SINGLE = (
    *("agprivcl", "private_prediction"),
    *("realizable_to_agnostic", "score_boosting", "soft", "sspp", "universal"),
)
"""What protects single records alone, whatever its options: refused with a unit before it is calibrated."""

Sample: TypeAlias = Callable[[bool, np.random.Generator, int], FloatArray]
"""``sample(neighbour, rng, runs)``: outputs of independent runs on D, or on its neighbour D'."""


class SampledAttack(NamedTuple):
    """Two private sets that differ in one record, and what a mechanism releases on them.

    Attributes
    ----------
    name : str
    sample : callable
        ``sample(neighbour: bool, rng, runs)`` gives what `runs` independent runs release on D, or on
        D' if `neighbour`, coded as numbers: an array of shape (runs, k). k may depend on the plan alone.
    runs : int
        As many on each of the two as take some seconds.
    """

    name: str
    sample: Sample
    runs: int = 200_000


class NumbersTable(NamedTuple):
    """A table of public numbers for people: each row a name, a value for each further column, and a unit."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    caption: str = ""


def described(guarantee: PrivacyLoss, numbers: dict[str, Any]) -> NumbersTable:
    """Make the table of a mechanism that has no form of its own: what `describe` gives."""
    rows: list[tuple[Any, ...]] = [("guarantee", guarantee.how)]
    for name, value in numbers.items():
        if value is not None:
            rows.append((name, value if isinstance(value, int | float | str) else str(value)))
    return NumbersTable("Calibration", ("", "value"), rows)


class Plan(ABC):
    """A mechanism calibrated for one run, from public numbers alone. Its class states the guarantee."""

    @property
    def name(self) -> str:
        """Its `mechanism.name`, for messages: the name of the module, unless the class has another."""
        return type(self).__module__.rpartition(".")[2]

    @property
    @abstractmethod
    def guarantee(self) -> PrivacyLoss:
        """What the whole run is promised to cost."""

    @property
    @abstractmethod
    def n_teachers(self) -> int:
        """Teachers it asks or trains, 0 for none."""

    @property
    def asks_votes(self) -> bool:
        """Whether it asks for `Private.votes`, the votes of the teachers that rows of a table share."""
        return False

    @property
    def protects_units(self) -> bool:
        """Whether its guarantee holds for persons with several records, all of them in one teacher's part.

        It does where nothing but votes is used: changing all records of one person changes one teacher.
        """
        return self.asks_votes

    @property
    def on_votes(self) -> LabellingPlan | None:
        """The mechanism on votes in it, which an audit attacks; None for others, which have `attacks`."""
        return None

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Give its public numbers, for people and for `result.json`."""

    def numbers_table(self) -> NumbersTable:
        """Show its public numbers to people, as `pate plan` does."""
        return described(self.guarantee, self.describe())

    @abstractmethod
    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Do the one run that it is calibrated for.

        Parameters
        ----------
        private : Private
        public : PublicPoints
        door : Door
            All randomness that privacy rests on.
        rng : numpy.random.Generator
            All other randomness.
        """

    def loss(self, spent: Spent) -> PrivacyLoss:
        """Turn what passed the door into the loss that it proves; at most the guarantee in every run.

        The sum of all releases here: what a mechanism's proof does better is said by its class.
        """
        eps, delta = spent.sparse_loss()
        eps += spent.pure_eps
        if spent.mu_squared:
            rest = self.guarantee.delta - delta
            eps += vector_eps(math.sqrt(spent.mu_squared), spent.integers, rest) if rest > 0 else math.inf
            delta = self.guarantee.delta
        if spent.inner or spent.other:
            eps = math.inf
        return PrivacyLoss(eps, delta, "sum of all releases")

    def unanswered(self) -> str | None:
        """Say beforehand which queries will stay unanswered; None where public numbers alone do not tell."""
        return None

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Measure figures of its own for `diagnostics`: NOT differentially private."""
        return {}

    def attacks(self) -> list[SampledAttack]:
        """Make worst-case neighbours for an audit.

        Raises
        ------
        ConfigError
            If it offers none.
        """
        raise ConfigError("mechanism.name", self.name, "a mechanism that offers attacks")

    def attacks_on_persons(self) -> list[SampledAttack]:
        """Make worst-case neighbours that differ in all records of one person, as many or not.

        Raises
        ------
        ConfigError
            If it offers none: with `on_votes`, `pate_cli.audit` makes them from teachers.
        """
        raise ConfigError("mechanism.name", self.name, f"one that protects persons: {UNITS}")

    def for_release(self, setting: Setting) -> Plan:
        """Calibrate anew for a release, whose noise is exact and drawn from integers.

        Raises
        ------
        InputError
            If there is no such form, or it cannot work in this setting.
        """
        raise ConfigError("mechanism.name", self.name, EXACT)


class LabellingPlan(Protocol):
    """A calibrated mechanism that answers query by query, on votes."""

    @property
    def guarantee(self) -> PrivacyLoss:
        """What all queries together are promised to cost."""

    @property
    def ell(self) -> int:
        """Most queries that may be asked."""

    def service(self, door: Door, runs: int = 1) -> VoteService:
        """Put it to work with a source of noise, in one run or in several side by side."""

    def describe(self) -> dict[str, Any]:
        """Its public numbers, for people and for `result.json`."""

    def numbers_table(self, n_teachers: int, n_classes: int) -> NumbersTable:
        """Its public numbers for people, with so many teachers."""

    def unanswered(self, n_teachers: int) -> str | None:
        """Say beforehand which queries will stay unanswered; None where public numbers alone do not tell."""

    def attacks(self, n_teachers: int, n_classes: int) -> list[VoteAttack]:
        """Worst-case votes for an audit."""

    @property
    def teachers_to_attack(self) -> int:
        """Fewest teachers whose votes reach all that the attacks want."""

    def with_integer_noise(self, *, n_classes: int, n_teachers: int) -> LabellingPlan:
        """Calibrate it anew for integer noise; raises InputError where that cannot work."""


def single_records(unit: str, mechanism: str) -> ConfigError:
    """Say that a mechanism protects no persons, and which do."""
    accepted = f"null with mechanism={mechanism}, whose proof is for single records"
    return ConfigError("dataset.unit", unit, f"{accepted}; with a unit: {UNITS}")


def no_answers() -> Answers:
    """Give the answers of a mechanism that asked nothing."""
    empty = np.array([], dtype=np.int64)
    return Answers(empty, empty)
