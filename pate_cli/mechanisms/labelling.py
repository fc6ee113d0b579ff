"""PATE proper: a labelling mechanism on the votes of shared teachers, asked about public points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli.mechanisms.protocol import LabellingPlan, NumbersTable, Plan
from pate_cli.mechanisms.service import VoteService
from pate_cli.privacy.door import Door, Spent
from pate_cli.queries import Oracle, Strategy
from pate_cli.types import (
    Answer,
    Answers,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
    Votes,
)

__all__ = ["LabelledByVotes"]


@dataclass(frozen=True)
class LabelledByVotes(Plan):
    """Teachers vote, the mechanism labels, the student learns from the labels.

    **Guarantee.** That of `labelling`, for up to `labelling.ell` adaptively chosen queries: the strategy sees
    public points and answers only, so whatever it asks is post-processing of what was answered before.

    Attributes
    ----------
    labelling : LabellingPlan
        How a vote becomes an answer.
    strategy : Strategy
        Which points are asked.
    setting : Setting
    """

    labelling: LabellingPlan
    strategy: Strategy
    setting: Setting

    @property
    def guarantee(self) -> PrivacyLoss:
        """Of all queries together."""
        return self.labelling.guarantee

    def loss(self, spent: Spent) -> PrivacyLoss:
        """That of the labelling, where its proof is not the sum of its releases."""
        own = getattr(self.labelling, "loss", super().loss)
        loss: PrivacyLoss = own(spent)
        return loss

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.setting.n_teachers

    @property
    def asks_votes(self) -> bool:
        """It does."""
        return True

    @property
    def on_votes(self) -> LabellingPlan:
        """The labelling."""
        return self.labelling

    def describe(self) -> dict[str, Any]:
        """Give the public numbers of the labelling."""
        return self.labelling.describe()

    def numbers_table(self) -> NumbersTable:
        """Show the public numbers of the labelling."""
        return self.labelling.numbers_table(self.n_teachers, self.setting.n_classes)

    def unanswered(self) -> str | None:
        """Say what the labelling says; see `Plan`."""
        return self.labelling.unanswered(self.n_teachers)

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Ask about the points that the strategy picks, in a random order; see `Plan`."""
        service = self.labelling.service(door)
        order = rng.permutation(public.n_points)
        answers, model = self.ask(public, order, _Oracle(service, private.votes()), rng)
        sigma = None if answers.noisy_counts is None else getattr(self.labelling, "sigma", None)
        answers = replace(answers, sigma=sigma, n_teachers=self.n_teachers)
        return Released(model, answers, service.spent(), service.not_private())

    def ask(
        self, public: PublicPoints, order: IntArray, oracle: Oracle, rng: np.random.Generator
    ) -> tuple[Answers, Any]:
        """Let the strategy ask; with a model, where it learns one of its own and not the student."""
        s = self.setting
        return self.strategy.ask(public, order, oracle, rng, n_classes=s.n_classes, budget=s.budget), None

    def for_release(self, setting: Setting) -> Plan:
        """Calibrate anew for integer noise; see `Plan`."""
        exact = self.labelling.with_integer_noise(n_classes=setting.n_classes, n_teachers=self.n_teachers)
        return replace(self, labelling=exact)


class _Oracle:
    """A service put to the votes on the public points, asked by number. Answers are all it gives."""

    def __init__(self, service: VoteService, votes: Votes) -> None:
        self._service = service
        self._votes = votes

    @property
    def exhausted(self) -> bool:
        return self._service.exhausted

    def answer(self, index: int) -> Answer:
        return self._service.answer(self._votes.at(index))

    def answer_all(self, order: Any) -> list[Answer]:
        return self._service.answer_all(self._votes.at(order))
