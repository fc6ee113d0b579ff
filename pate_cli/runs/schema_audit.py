"""What a run pays for before its mechanism, as an audit attacks it: levels that are bought, and marginals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.features.bought import Bought
from pate_cli.features.generated import Marginals
from pate_cli.mechanisms.base import SampledAttack
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.types import PrivacyLoss

__all__ = ["SchemaAudit"]

_RUNS = 50_000
_TEXTS = _COMMON, _OTHER, _UNIQUE = "a", "b", "of one record"


@dataclass(frozen=True)
class SchemaAudit:
    """Levels that are bought of columns of texts, and the marginals after them: one attack runs both.

    Marginals have two bins a column, as in `MarginalsAudit`.
    """

    bought: Bought
    marginals: Marginals
    n_teachers = 0

    @property
    def guarantee(self) -> PrivacyLoss:
        """Loss of the two: mu^2 adds up, and delta of texts is added."""
        mu, delta = math.hypot(self.bought.mu, self.marginals.mu), self.bought.delta_of_run
        eps = gaussian.eps_of_mu(mu, delta - self.bought.delta)
        return PrivacyLoss(eps, delta, "levels bought above a threshold, and noisy marginals")

    def describe(self) -> dict[str, Any]:
        """Public numbers."""
        of_points = {"n_columns": self.marginals.n_columns, "sigma": self.marginals.sigma}
        return self.bought.describe() | of_points

    def attacks(self) -> list[SampledAttack]:
        """Attacks by a record with another text in every column: one that many have, or one of its own."""
        J, k = len(self.bought.names), self.marginals.n_columns
        many = math.ceil(self.bought.least + 6 * self.bought.sigma)  # such a text is bought
        common = ({_COMMON: many + 1, _OTHER: many}, {_COMMON: many, _OTHER: many + 1})
        unique = ({_COMMON: many, _UNIQUE: 1}, {_COMMON: many + 1})

        def released(side: tuple[int, Any], door: Door, rng: np.random.Generator, runs: int) -> Any:
            first, counts = side
            rows = [(at, text, count) for at in range(runs * J) for text, count in counts.items()]
            out = np.zeros((runs * J, len(_TEXTS)))
            for at, text, count in door.release(np.array(rows, dtype=object), self.bought.kind, runs):
                out[at, _TEXTS.index(text)] = count
            out = out.reshape(runs, -1)
            points = self.marginals.release(np.tile(np.eye(2)[first] + 50, (runs, k)), door, runs)
            return np.hstack([out, points])

        return [
            SampledAttack.on(f"{what} in {J} columns", ((0, sides[0]), (1, sides[1])), released, _RUNS)
            for what, sides in (("another common text", common), ("a text of its own", unique))
        ]

    def attacks_on_persons(self) -> list[SampledAttack]:
        """The same: of a person one record counts."""
        return self.attacks()
