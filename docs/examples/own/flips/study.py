"""How often Gaussian noise on a count turns a unanimous vote: simulated, and exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.results.figures import STYLES, band, new_figure
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import close

CHECKS: dict[str, Check] = {
    "teachers": Listed(Whole(1), at_least=2, ascending=True),
    "sigma": Real(0),
    "repeats": Whole(2),
    "seed": Whole(0),
}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Simulate one vote a repeat: `sigma` is the noise of the count of one class."""
    rng, rows, verdicts = np.random.default_rng(p["seed"]), [], []
    for done, n in enumerate(p["teachers"], start=1):
        wrong = Interval.of(n + rng.normal(0, p["sigma"], p["repeats"]) < n / 2)
        exact = float(ndtr(-n / 2 / p["sigma"]))
        rows.append({"teachers": n, "wrong": wrong.mean, "ci95": wrong.half_width, "exact": exact})
        reason = f"{wrong.text(3)} of the votes, {exact:.3f} by the closed form"
        verdicts.append(close(f"{n} teachers", wrong.less(exact), 0.05, reason, len(p["teachers"])))
        progress(done, len(p["teachers"]))
    table = pd.DataFrame(rows)

    def draw() -> Figure:
        figure, (axis,) = new_figure()
        band(axis, table["teachers"], table["wrong"], table["ci95"], label="simulated", style=STYLES[0])
        axis.set_xlabel("teachers, of one mind")
        axis.set_ylabel("share of wrong votes")
        return figure

    return StudyResult(table, {"wrong": draw}, verdicts, ["Two classes; the count of one gets the noise."])
