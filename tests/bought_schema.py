"""A run that buys levels and bounds, and a check of all that it costs and of what decides what leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from unittest import mock

import generated_points
import numpy as np
from generated_points import DELTA, Beside, eps_of

from pate_cli import pipeline
from pate_cli.datasets.column import Column
from pate_cli.features import bought as room
from pate_cli.features.bought import Bought, ThresholdedCounts
from pate_cli.privacy.door import RecordingDoor
from pate_cli.privacy.events import Account
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing import CheckFailed, require

BOUGHT = {
    "age": Column(bought=True, missing=True),
    "pay": Column(bought=True, missing=True),
    "ward": Column("category", bought=True, missing=True),
}


@dataclass(frozen=True)
class Buying(Beside):
    """A mechanism beside marginals of columns whose levels and bounds are bought."""

    def prepared(self, kind: str = "marginals", *more: str, n: int = 900) -> pipeline.Prepared:
        """See `Beside`."""
        with mock.patch.object(generated_points, "COLUMNS", BOUGHT):
            return super().prepared(kind, *more, n=n)


def whole(form: Buying) -> None:
    """Levels, bounds, marginals and mechanism cost together what is charged; one record decides nothing."""
    try:
        run = form.prepared()
        charged, _, door = form.released(run)
    except RuntimeError as error:
        raise CheckFailed(f"stopped by the run's own check: {error}") from None
    require((charged[0].eps, charged[0].delta) == (4.0, DELTA), "another budget charged than asked")
    first, *rest = [passing for passing, _ in door.released]
    kind: Any = first.kind
    require(isinstance(kind, ThresholdedCounts), "something else comes first")
    _written_out(kind, first.event, form.exact)
    releases = [(one.kind.sensitivity, one.kind.sigma) for one in (first, *rest) for _ in range(one.releases)]
    theirs = eps_of(releases, DELTA - DELTA / 100)
    require(theirs <= 4.0 + 0.002 * len(releases), "more spent than charged")
    require(theirs >= 4.0 * (0.9 if form.exact else 0.99), "less spent than charged")
    known = [count for name, _, count in first.value if name == "age"]
    require(sum(known) == run.sizes.n_private, "more than one record of a person, or a number lost")
    dear = run.whole.loss(None, Account(), Account([kind.event(1), kind.event(2)]))
    require(dear.eps > 0.5, "levels and bounds that cost nothing")
    _records(run.whole.bought)


def _written_out(kind: ThresholdedCounts, event: Any, exact: bool) -> None:
    """Sensitivity, threshold and event by a calculation of its own."""
    J, texts, sigma = 3, 1, kind.sigma
    require(abs(kind.sensitivity - math.sqrt(2 * J)) < 1e-12, "another sensitivity")
    x = np.arange(-40 * sigma, 40 * sigma).round()
    law = np.exp(-(x**2) / (2 * sigma**2)) / np.exp(-(x**2) / (2 * sigma**2)).sum()
    only = [law[1 + x >= least].sum() for least in (kind.least, kind.least - 2)]
    require(-texts * math.log1p(-only[0]) <= DELTA / 100, "a threshold too low")
    require(-texts * math.log1p(-only[1]) > DELTA / 100, "a threshold too high")
    require(event.delta >= -texts * math.log1p(-only[0]) * 0.999, "texts that cost no delta")
    require(not exact or kind.event(50).integers == 2 * J, "integers by the size of a private file")


def _records(bought: Bought | None) -> None:
    """Odd records move no more than is paid for, stop nothing, and are not seen beyond chance."""
    import pandas as pd

    assert bought is not None
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": 40.0, "pay": 900.0, "ward": rng.choice(["n", "s"], 800)})
    seen = np.zeros(2)
    for odd in ([1e300, -np.inf, "only"], [np.nan, 0.0, ""], [-3.0, 1e-9, "n"]):
        other = X.copy()
        other.loc[3] = odd
        passed = []
        try:
            for side, data in enumerate((X, other)):
                for seed in range(20):
                    recorder = RecordingDoor(SeededNoise(np.random.SeedSequence(seed)))
                    released = bought.release(room.cells_of(bought, data), recorder)
                    found = bought.columns(BOUGHT, released)
                    seen[side] += "only" in (found["ward"].levels or ())
                    ends = [found[name].high or 1.0 for name in ("age", "pay")]
                    require(all(math.log10(end) == round(math.log10(end)) for end in ends), "an edge of data")
                passed.append(recorder.released[0][0])
        except (IndexError, ValueError) as error:
            raise CheckFailed(f"a record stops the run: {error}") from None
        apart = passed[0].kind.moved(passed[0].value, passed[1].value, 1)
        require(apart <= 1 + 1e-9, "a record moves more than is paid for")
        counts = [sum(c for name, _, c in one.value if name == "age") for one in passed]
        require(counts[0] - counts[1] == float(np.isnan(odd[0])), "a record beyond the grid is lost")
    require(not seen.any(), "a text of one record")
    ends = pd.DataFrame({"age": [100.0, 1e300, -np.inf, 0.0, 1e-9], "pay": 1.0, "ward": "n"})
    require(room.cells_of(bought, ends)["age"] == [8, 18, 37, 38, 0], "a number in another cell")
