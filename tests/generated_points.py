"""A run whose public points are made of noisy marginals, and a check of what all of it costs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pate_cli import pipeline
from pate_cli.config import RunConfig, compose, parse
from pate_cli.datasets.column import Column
from pate_cli.datasets.encoding import TableEncoder
from pate_cli.datasets.schema import Schema
from pate_cli.features.generated import Generated
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Gdp, Pure
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.testing import CheckFailed, require
from pate_cli.testing.doors import Recorder
from pate_cli.testing.release_checks import WholeNoise
from pate_cli.types import Dataset

N, DELTA = 600, 1e-4
COLUMNS = {
    "age": Column(low=0.0, high=100.0),
    "pay": Column(low=0.0, high=1e6, missing=True),
    "ward": Column("category", levels=["north", "south"]),
}


@cache
def _config(*argv: str) -> RunConfig:
    return parse(compose(list(argv)))


@dataclass(frozen=True)
class Beside:
    """A mechanism beside noisy marginals, with integer noise or not, for records or persons."""

    name: str
    exact: bool = False
    persons: bool = False
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.name, *self.options, "exact" * self.exact, "persons" * self.persons]).strip()

    def prepared(self, kind: str = "marginals", *more: str, n: int = N) -> pipeline.Prepared:
        """Check the run; its records are easy to tell apart."""
        data = self.data(kind, n)
        if self.persons:
            data = replace(data, persons=np.arange(n) % (n // 2), person_column="person")
        argv = [f"mechanism={self.name}", "eps=4", f"delta={DELTA}", "teacher.count=30", "release=true"]
        argv += ["split.public=null", "features=auto", "student=logistic", "generate.points=40"]
        argv += [*self.options, *more]
        return pipeline.prepare(_config(*argv), data, exact=self.exact)

    def data(self, kind: str, n: int) -> Dataset:
        """Records of declared columns."""
        frame, y = table(n)
        encoder, public = TableEncoder(Schema(COLUMNS, "declared")), Generated.of(kind, COLUMNS, frame)
        return Dataset("made", frame, y, ("a", "b"), "0" * 64, "here", encoder, public)

    def released(self, run: pipeline.Prepared) -> tuple[Any, Any, Any]:
        """Do the release: what was charged, what left, and the door."""
        charged: list[Any] = []
        doors: list[Any] = []

        def door(noise: Any) -> Any:
            doors.append(Recorder(noise))
            return doors[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "Door", door)
            noise = (lambda: WholeNoise(np.random.SeedSequence(7))) if self.exact else seeded
            out = pipeline.release(run, pipeline.Streams.of(3, 0), noise, charged.append)
        return charged, out, doors[0]


def seeded() -> Any:
    """Floating-point noise from a seed."""
    from pate_cli.privacy.noise import SeededNoise

    return SeededNoise(np.random.SeedSequence(7))


def table(n: int = N) -> tuple[pd.DataFrame, Any]:
    """Records of two classes."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 20 * y, 5).clip(0, 100),
            "pay": np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(7 + 3 * y, 1))),
            "ward": rng.choice(["north", "south"], n),
        }
    )
    return frame, y


def eps_of(releases: list[tuple[float, float]], delta: float) -> float:
    """Eps of Gaussian releases of some sensitivity and sigma, by an account that shares none of our code."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=1e-3)
    for (sensitivity, sigma), times in Counter(releases).items():
        accountant.compose(GaussianDpEvent(sigma / sensitivity), times)
    return float(accountant.get_epsilon(delta))


def summed(form: Beside) -> None:
    """Marginals and mechanism cost together what is charged, no more and hardly less."""
    try:
        run = form.prepared()
        charged, _, door = form.released(run)
    except RuntimeError as error:
        raise CheckFailed(f"stopped by the run's own check: {error}") from None
    (promised,) = charged
    require((promised.eps, promised.delta) == (4.0, DELTA), "another budget charged than asked")
    points, *rest = [one for one, _ in door.released]
    tables = [rest.pop()] if run.whole.evaluation else []
    for one in tables:
        theirs = eps_of([(one.kind.sensitivity, one.kind.sigma)], DELTA)
        require(4.0 * (0.6 if form.exact else 0.995) <= theirs <= 4.002, "a table of another cost")
        require(abs(one.kind.sensitivity - math.sqrt(2)) < 1e-12, "another sensitivity of the table")
        idle = Door.seeded(0)
        if run.mechanism.asks_votes:
            run.mechanism.session(idle)
        unasked = run.whole.after(idle.spent)  # as if no query was asked
        require(unasked.eps >= theirs - 0.002, "a loss after the fact below the table's")
    require(points.kind.grain == (1.0 if form.exact else None), "noise of another grain")
    noisy = [one for one in (points, *rest) if isinstance(one.kind, GaussianNoise)]
    gaussian = [(one.kind.sensitivity, one.kind.sigma) for one in noisy for _ in range(one.releases)]
    require(abs(points.kind.sensitivity - math.sqrt(2 * len(COLUMNS))) < 1e-12, "another sensitivity")
    share = run.config.generate.share
    if form.name in ("svt", "tune"):  # of its own, and that of the marginals
        theirs, asked, own = eps_of(gaussian[:1], share * DELTA), share * 4, run.mechanism.guarantee
        require(own.eps <= (1 - share) * 4 * (1 + 1e-9), "more than its share of eps")
        require(own.delta <= (1 - share) * DELTA * (1 + 1e-9), "more than its share of delta")
    else:
        theirs, asked = eps_of(gaussian, DELTA), 4.0
    # their intervals of 0.001 round up; integer noise is a little larger than Gaussian
    require(theirs <= asked + 0.002 * len(gaussian), "more spent than charged")
    require(theirs >= asked * (0.9 if form.exact else 0.995), "less spent than charged")
    dear = run.whole.loss(Account([Gdp(1e4)]), Account())
    require(dear.eps > promised.eps, "marginals that cost nothing")
    if not run.whole.adds_mu:
        both = run.whole.loss(Account([Gdp(0.01)]), Account([Pure(1.0)]))
        require(both.eps > 1.0, "the larger loss of two on the same records")
