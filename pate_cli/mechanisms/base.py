"""The protocol of mechanisms: options, a calibration from public numbers, one release.

A mechanism is one module of `pate_cli.mechanisms` (or of `agnostic`, `direct` and `scores` in it). It has

- ``Options``: a frozen dataclass of `pate_cli.mechanisms.options.MechanismOptions`, which has what is asked
  before calibration; each field is declared with its default and check (`pate_cli.checks.option`), and
  `conf/mechanism/NAME.yaml` has the same defaults;
- ``calibrate(options, setting) -> Mechanism``, which refuses what cannot work before any training.

Mechanisms of other packages come by an entry point of the group ``pate.mechanisms``, or by the import path of
their module (``mechanism.name=my_package.my_mechanism``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.mechanisms.session import Session, VoteOracle
from pate_cli.mechanisms.votes import ExpectedAnswers, VoteAttack, on_counts
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, compose
from pate_cli.privacy.gaussian import rounding_of
from pate_cli.queries import Passive, Strategy, Stream, passive_order
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

__all__ = ["UNPROVED", "Mechanism", "NumbersTable", "Sample", "SampledAttack", "Session", "VoteMechanism"]
__all__ += ["Relabelling", "no_answers"]

UNPROVED = PrivacyLoss(math.inf, 1.0, "releases that the proof does not have")
"""`Mechanism.loss` where something passed the door that the proof does not count."""

_SPARE = (1e-3, 1e-5, 0.05)
"""What is kept for integer noise where the noised numbers of a mechanism are not known: of eps, but at least
so much, and at most the share that `gaussian.vector_mu` allows."""

Sample: TypeAlias = Callable[[bool, np.random.Generator, int], FloatArray]
"""``sample(neighbour, rng, runs)``: releases of independent runs on D, or on its neighbour D', coded as
numbers, shape (runs, k). k may depend on the mechanism alone."""


class SampledAttack(NamedTuple):
    """Two private sets D and D' that differ in one record, and samples of the releases on them."""

    name: str
    sample: Sample
    runs: int = 200_000  # on each of the two; some seconds' worth

    @classmethod
    def on(
        cls,
        name: str,
        sets: tuple[Any, Any],
        outputs: Callable[[Any, Door, np.random.Generator, int], Any],
        runs: int = 200_000,
    ) -> SampledAttack:
        """Attack the outputs of a learner: ``outputs(D, door, rng, runs)``, of so many independent runs."""

        def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
            door = Door.seeded(int(rng.integers(2**63)))
            return np.asarray(outputs(sets[neighbour], door, rng, runs), dtype=float).reshape(runs, -1)

        return cls(name, sample, runs)


class NumbersTable(NamedTuple):
    """A table of public numbers: each row a name, a value for each further column, and a unit."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    caption: str = ""


class Relabelling(NamedTuple):
    """Relabelling of records by a hypothesis that is not released: one record may then move all labels.

    `function` takes the hypotheses, the features, and their labels, or the other records as (features,
    labels). The proof counts what it costs; a check puts a function into its place that moves no label.
    """

    function: Callable[..., Any]
    n_records: int  # that the proof is for


class Mechanism(ABC):
    """A mechanism calibrated for one run, from public numbers alone. Its class states the guarantee."""

    asks_votes: ClassVar[bool] = False
    """Whether it uses `Private.votes`, of teachers that are shared by the rows of a table."""

    persons: ClassVar[str] = "one record"
    """How its guarantee holds for persons with several records (`dataset.unit`): it is given `one record` of
    each, so that its proof for records is one for persons; or all of them, and keeps a person in one
    teacher's part (`parts`), as teachers that vote always do, or clips the sum of a person's gradients
    (`sums`)."""

    @property
    def in_words(self) -> str:
        """How it protects records, as a clause of a card; where there is none the card names the proof."""
        return ""

    def that_answered(self, chosen: str | None) -> Mechanism:
        """Itself, or the one that it chose."""
        return self

    @property
    def n_held_out(self) -> int:
        """Number of records that judge and do not teach."""
        return 0

    @property
    def asks_at_most(self) -> int | None:
        """Most queries that it takes; None where there are none to count."""
        return None

    @property
    def answers_at_most(self) -> int | None:
        """Most queries that it answers."""
        return self.asks_at_most

    @property
    def relabelling(self) -> Relabelling | None:
        """How it relabels records before it learns from them; by default it does not."""
        return None

    def drawn_inside(self) -> Counter[tuple[str, float]]:
        """Noise that a run draws beside its releases, by law and scale."""
        return Counter()

    def integer_loss(self, setting: Setting, eps: float) -> float:
        """Bound what integer noise costs beyond mu: c in `pate_cli.privacy.gaussian`.

        Where the noised numbers are not known before, a share of eps is kept.
        """
        share, least, most = _SPARE
        return max(min(eps, 1.0) * share, min(least, min(eps, 1.0) * most))

    @property
    def draws_copies(self) -> bool:
        """Whether it may draw a record several times, for which its proof counts."""
        return False

    @property
    def directions(self) -> int | None:
        """Most features of the map that public points make; None for as many as a teacher has records."""
        return None

    @property
    def choice_apart(self) -> bool:
        """Whether its last release is of records that no other release looked at."""
        return False

    @property
    def spends_all(self) -> bool:
        """Whether a run that stops nowhere costs all of the guarantee; a published rule may cost less."""
        return True

    @property
    def name(self) -> str:
        """Its `mechanism.name`, for messages: by default the name of the module."""
        return type(self).__module__.rpartition(".")[2]

    @property
    @abstractmethod
    def guarantee(self) -> PrivacyLoss:
        """Privacy loss of the whole run, at most."""

    @property
    def adds_mu(self) -> bool:
        """Whether all it releases has Gaussian noise, on one account: then mu^2 adds up with other noise."""
        return self.guarantee.mu is not None

    @property
    def n_teachers(self) -> int:
        """Number of teachers; by default none."""
        return 0

    @property
    def sees_features(self) -> bool:
        """Whether its public points may be features in place of their own columns."""
        return True

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Public numbers, for `result.json`."""

    def table(self) -> NumbersTable:
        """Public numbers for `pate plan`."""
        rows: list[tuple[Any, ...]] = [("guarantee", self.guarantee.how)]
        for name, value in self.describe().items():
            if value is not None:
                rows.append((name, value if isinstance(value, int | float | str) else str(value)))
        return NumbersTable("Calibration", ("", "value"), rows)

    def look_at(self, public: PublicPoints, rng: np.random.Generator) -> Any:
        """Make all of a run that needs no private records, if that is much: checks do it once for many."""
        return None

    @abstractmethod
    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Run once, as calibrated.

        Parameters
        ----------
        private : Private
        public : PublicPoints
        door : Door
            The only way out for private values.
        rng : numpy.random.Generator
            All randomness that privacy does not rest on.
        """

    def loss(self, spent: Account) -> PrivacyLoss:
        """Privacy loss of all that passed the door; at most the guarantee in every run.

        By default the sum of all releases. A class with a better proof overrides it, and returns `UNPROVED`
        where a kind of release passed that its proof does not count (`Account.only`).
        """
        return PrivacyLoss(*compose(spent, self.guarantee.delta), "sum of all releases")

    def after(self, spent: Account) -> PrivacyLoss:
        """Loss after the fact of what passed the door, a report; by default all that is promised."""
        return self.guarantee

    @property
    def signal(self) -> float | None:
        """Signal against noise of what its teachers say, see `signal_of`; None where that tells nothing."""
        return None

    def unanswered(self) -> str | None:
        """Warning from public numbers, as of queries that will go unanswered; None if there is none."""
        return None

    def expected_answers(self) -> ExpectedAnswers | None:
        """What becomes of votes of two to one, for `pate plan`; None where it asks for none."""
        return None

    def better(self, setting: Setting) -> str | None:
        """Name of a mechanism that nearly always learns more from such teachers; None where none is known."""
        return None

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Further figures for `diagnostics`: NOT differentially private."""
        return {}

    def attacks(self) -> list[Any]:
        """Worst-case neighbours for an audit: `VoteAttack` or `SampledAttack`; ConfigError if it has none.

        One that asks votes and has none is attacked all the same (`pate_cli.audit`).
        """
        raise ConfigError("mechanism.name", self.name, "a mechanism that offers attacks")

    def attacks_on_persons(self) -> list[SampledAttack]:
        """Worst-case neighbours that differ in all records of one person; by default those of a record.

        For a mechanism on votes, `pate_cli.audit` makes them from teachers.
        """
        return self.attacks()

    def with_exact_noise(self) -> Mechanism:
        """Recalibrate for the exact integer noise of a release; InputError if it has none, or cannot work."""
        raise ConfigError("mechanism.name", self.name, "a mechanism with exact noise with release=true")

    @property
    def can_be_released(self) -> bool:
        """Whether it has integer noise at all, as `release=true` needs."""
        return type(self).with_exact_noise is not Mechanism.with_exact_noise


@dataclass(frozen=True)
class VoteMechanism(Mechanism):
    """Labels public points from the teachers' votes (LZCW21 Algorithms 3 and 5); a student learns from them.

    **Guarantee.** That of the subclass, for up to `ell` adaptively chosen queries: the strategy sees public
    points and answers only, so the choice of a query is post-processing of the answers before it.
    """

    asks_votes = True
    persons = "parts"
    noise_in_words: ClassVar[str] = "noise is added to the counts"
    """The last part of `in_words`."""
    ell: int = field(kw_only=True)  # most queries that may be asked
    n_teachers: int = field(default=0, kw_only=True)  # K
    n_classes: int = field(default=2, kw_only=True)  # C
    budget: int = field(default=0, kw_only=True)  # most questions of a strategy that picks (`split.budget`)
    strategy: Strategy = field(default=Passive(), kw_only=True, repr=False)  # which points are asked

    @property
    def asks_at_most(self) -> int:
        """See `Mechanism`."""
        return self.ell

    @property
    def in_words(self) -> str:
        """See `Mechanism`."""
        chosen = "" if isinstance(self.strategy, Passive) else " that the student chose"
        votes = f"teachers, trained on separate parts of the records, vote on public points{chosen}"
        return f"{votes}; {self.noise_in_words}"

    def better(self, setting: Setting) -> str:
        """See `Mechanism`: one to which teachers say more than a label."""
        return "scores" if setting.teacher_mapped else "score_boosting"

    def integer_loss(self, setting: Setting, eps: float) -> float:
        """See `Mechanism`: a number for each query and class."""
        return rounding_of(self.ell * setting.n_classes)

    @abstractmethod
    def session(self, door: Door, runs: int = 1) -> Session:
        """Start one run, or several side by side."""

    def after(self, spent: Account) -> PrivacyLoss:
        """See `Mechanism`: of the queries asked."""
        return replace(self.loss(spent), data_dependent=True)

    @property
    def sees_features(self) -> bool:
        """As its strategy says."""
        return getattr(self.strategy, "sees_features", True)

    @property
    def count_noise(self) -> float | None:
        """Standard deviation of the noise on released counts, in votes; None where none are released."""
        return None

    @property
    def teachers_to_attack(self) -> int:
        """Fewest teachers for all votes of `attacks`."""
        return 4  # enough for all of `on_counts`

    def attacks(self) -> list[VoteAttack]:
        """Worst-case votes for an audit; by default those for noisy counts."""
        return on_counts(self.ell, self.n_teachers, self.n_classes)

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Ask about the points that the strategy picks, in a random order; see `Mechanism`."""
        session = self.session(door)
        stream = Stream(public, passive_order(public.n_points, rng), self.n_classes, self.budget)
        answers, model = self.strategy.ask(stream, VoteOracle(session, private.votes()), rng)
        answers = replace(answers, n_teachers=self.n_teachers, noise=self.count_noise)
        return Released(model, answers, session.not_private())


def no_answers() -> Answers:
    """Answers of a mechanism that labels no points."""
    empty = np.array([], dtype=np.int64)
    return Answers(empty, empty)
