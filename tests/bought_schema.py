"""A run that buys levels, bounds and classes, and a check of all it costs and of what decides what leaves."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from generated_points import DELTA, Beside, eps_of, table

from pate_cli import pipeline
from pate_cli.datasets.column import Column
from pate_cli.datasets.encoding import TableEncoder
from pate_cli.datasets.schema import Schema
from pate_cli.features import bought as room
from pate_cli.features.bought import Bought, ThresholdedCounts
from pate_cli.features.generated import Generated
from pate_cli.privacy.door import RecordingDoor
from pate_cli.privacy.events import Account
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing import CheckFailed, require
from pate_cli.types import Dataset

EPOCH = dt.date(1970, 1, 1).toordinal()
DAYS = [(1, 1, 1), (1899, 12, 31), (2000, 12, 31), (2001, 1, 1), (9999, 12, 31)]
LABELS = ("Well", "ill", "unsure", "well", "of one record", "", "of two")
SEED = np.random.SeedSequence(7)
BOUGHT = {
    "age": Column(bought=True, missing=True),
    "pay": Column(bought=True, missing=True),
    "born": Column("date", bought=True, missing=True),
    "ward": Column("category", bought=True, missing=True),
}


@dataclass(frozen=True)
class Buying(Beside):
    """A mechanism beside marginals of columns whose levels and bounds are bought, and classes."""

    def data(self, kind: str, n: int) -> Dataset:
        """Records of three classes, one in two spellings, two of them as frequent; and a few others."""
        n, frame = 900, table(900)[0]
        frame["born"] = np.where(np.arange(n) % 9 == 0, np.nan, np.arange(n) % 3000 + 0.75)
        codes = np.arange(n) % 5 // 2
        codes[::3] += 3 * (codes[::3] == 0)
        codes[:4] = [4, 5, 6, 6]
        schema = Schema(BOUGHT, "declared", "label", classes_bought=True)
        public, encoder = Generated.of(kind, BOUGHT, frame, "label"), TableEncoder(schema)
        return Dataset("made", frame, codes, (), "0" * 64, "here", encoder, public, labels=LABELS)


def whole(form: Buying) -> None:
    """Levels, bounds, marginals and mechanism cost together what is charged; one record decides nothing."""
    try:
        run = form.prepared()
        charged, out, door = form.released(run)
    except RuntimeError as error:
        raise CheckFailed(f"stopped by the run's own check: {error}") from None
    require((charged[0].eps, charged[0].delta) == (4.0, DELTA), "another budget charged than asked")
    first, *rest = [passing for passing, _ in door.released]
    _classes(run, out, door.released[0])
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


def _classes(run: Any, out: Any, purchase: Any) -> None:
    """Classes are those of the noisy counts that left; no record is dropped, and all else is as they say."""
    passing, left = purchase
    exact = {cell: count for name, cell, count in passing.value if name == "label"}
    require(run.sizes.n_private - sum(exact.values()) in (0, 1), "a label lost")  # one is missing
    require("" not in exact, "a label that is none")
    noisy = {cell: float(count) for name, cell, count in left if name == "label"}
    sums: dict[str, float] = {}
    for cell, count in noisy.items():
        sums[cell.lower()] = sums.get(cell.lower(), 0.0) + count
    spelled = {low: max((c for c in noisy if c.lower() == low), key=noisy.__getitem__) for low in sums}
    found = out.generated.classes
    require(found.names == tuple(sorted(spelled.values())), "other classes than were bought")
    require(found.names[found.largest] == spelled[max(sums, key=sums.__getitem__)], "another largest class")
    require(out.run.dataset.classes == found.names, "a run of other classes")
    require(out.run.setting.n_classes == len(found.names), "calibrated for another number of classes")
    require(out.run.whole.bought == run.whole.bought, "bought at another price than was planned")
    require(out.run.whole.marginals == run.whole.marginals, "points at another price than was planned")
    at = {low: found.names.index(name) for low, name in spelled.items()}
    for others in (found.largest, -1):
        expected = [at.get(label.lower(), others) for label in LABELS]
        require(found.codes(LABELS, others).tolist() == expected, "a label of another class")
    split = pipeline.split_of(run, pipeline.Streams.of(3, 0), RecordingDoor(SeededNoise(SEED)))
    require(split.private.n_persons == run.sizes.n_private, "a record dropped")
    require(split.private.y.min() >= 0, "a record of no class")


def _written_out(kind: ThresholdedCounts, event: Any, exact: bool) -> None:
    """Sensitivity, threshold and event by a calculation of its own."""
    J, texts, sigma = 5, 2, kind.sigma
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
    X = pd.DataFrame({"age": 40.0, "pay": 900.0, "born": 9e3 + 0.5, "ward": rng.choice(["n", "s"], 800)})
    seen = np.zeros(2)
    odd_ones = [1e300, -np.inf, 3e6, "only"], [np.nan, 0.0, np.nan, ""], [-3.0, 1e-9, -7e5, "n"]
    for odd in odd_ones:
        other = X.copy()
        other.loc[3] = odd
        passed = []
        try:
            for side, data in enumerate((X, other)):
                labels = ["well"] * (len(data) - 1) + ["alone" if side else "well"]
                cells = room.cells_of(bought, data, labels)
                for seed in range(20):
                    recorder = RecordingDoor(SeededNoise(np.random.SeedSequence(seed)))
                    released = bought.release(cells, recorder)
                    found = bought.columns(BOUGHT, released)
                    seen[side] += "only" in (found["ward"].levels or ())
                    seen[side] += "alone" in bought.labels(released)
                    ends = [found[name].high or 1.0 for name in ("age", "pay")]
                    require(all(math.log10(end) == round(math.log10(end)) for end in ends), "an edge of data")
                    days = [int(bound or 0) + EPOCH for bound in (found["born"].low, found["born"].high)]
                    first, last = map(dt.date.fromordinal, days)  # all but one are of 1994
                    whole_years = (first.month, first.day, last.month, last.day) == (1, 1, 12, 31)
                    require(whole_years and 1988 < first.year <= 1994 <= last.year < 2000, "other years")
                passed.append(recorder.released[0][0])
        except (IndexError, ValueError) as error:
            raise CheckFailed(f"a record stops the run: {error}") from None
        apart = passed[0].kind.moved(passed[0].value, passed[1].value, 1)
        require(apart <= 1 + 1e-9, "a record moves more than is paid for")
        for at, known in enumerate(("age", "pay", "born")):
            counts = [sum(c for name, _, c in one.value if name == known) for one in passed]
            require(counts[0] - counts[1] == float(np.isnan(odd[at])), "a record beyond the grid is lost")
    require(not seen.any(), "a text of one record")
    days = [dt.date(*day).toordinal() - EPOCH for day in DAYS]
    ends = pd.DataFrame({"age": [100.0, 1e300, -np.inf, 0.0, 1e-9], "pay": 1.0, "born": days, "ward": "n"})
    years = room.cells_of(bought, ends.assign(born=ends["born"] + 0.9), ["a"] * 5)["born"]
    require(years == [min(max(day[0], 1900), 2100) - 1900 for day in DAYS], "a date in another year")
    require(room.cells_of(bought, ends, ["a"] * 5)["age"] == [8, 18, 37, 38, 0], "a number in another cell")
