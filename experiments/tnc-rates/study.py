"""Measured learning rates of PATE against those LZCW21 proves, where the Tsybakov parameter is known.

Data from `common.thresholds` (tau known, every risk exact), K, m and T from
`common.tnc_design` (as Theorems 28 and 10 set them). At each n the whole of
Algorithm 3 is run many times; an exponent is fitted to the means on log axes and put
beside the predicted one, at two levels:

- *asymptotic*: the exponent printed in Table 1, logarithms forgotten;
- *in range*: the slope over these n of ``(K/n)^(tau/(2-tau))`` with the K in use, so with
  the logarithms that K carries. This is what a measured slope is judged by.

The theorems bound the excess risk by ``Dis(student, h*)`` and that by the rate. Under TNC the
first step gives away a power: for this family ``excess = const * Dis^(1/tau)``. So the rate is
compared both with Dis, where it may be tight, and with the excess risk, where for tau < 1 it
cannot be; `sharp` is the exponent of the rate over tau.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.privacy import svt
from pate_cli.report.figures import STYLES, band
from pate_cli.report.interval import mean_ci
from pate_cli.reproduce.study import Progress, StudyResult

from ..common import thresholds, tnc_curves
from ..common.figures import legend, panels
from ..common.thresholds import Family
from ..common.tnc_curves import SLACK, Curve
from ..common.tnc_design import PARAMETERS, QUANTITIES, Privacy, design, exponent, run_once
from ..common.tools import one_for_each, slope_weights

CHECKS: dict[str, Check] = PARAMETERS | {
    "calibration": OneOf(svt.CALIBRATIONS),
    "points": Listed(Real(0)),  # this and the next: for each tau, see tnc_design
    "mistakes": Listed(Real(0)),
    "learner_n": Listed(Whole(1), at_least=2, ascending=True),  # of one learner without privacy
    "learner_repeats": Whole(2),
}

_CLAIMS = {
    "teacher Dis": "Lemma 13",
    "vote Dis": "proof of {}",
    "student Dis": "proof of {}",
    "student excess": "{}",
}
_THEOREMS = {"gaussian": "Theorem 28", "svt": "Theorem 10"}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the rates of one learner, and of PATE with either mechanism, for each tau."""
    one_for_each("taus", p, CHECKS, "points", "mistakes")
    curves, answered = [], []
    for i, tau in enumerate(p["taus"]):
        curves.append(_single(Family(tau, p["left"], p["right"]), p, i))
    cases = list(product(range(len(p["taus"])), _THEOREMS))
    for done, (i, mechanism) in enumerate(cases):
        progress(done, len(cases))
        some, share = _private(mechanism, i, p)
        curves += some
        answered.append(f"{mechanism} at tau = {p['taus'][i]:g}: {share:.3f}")
    progress(len(cases), len(cases))
    table = pd.DataFrame([tnc_curves.row(curve) for curve in curves])
    figures = {
        "disagreement": lambda: _draw(curves, "student Dis", "Dis(student, h*)"),
        "excess-risk": lambda: _draw(curves, "student excess", "excess risk of the student"),
        "learner": lambda: _draw_learner([one for one in curves if one.learner == "one learner"]),
    }
    notes = _notes(p, answered)
    return StudyResult(table, figures, [tnc_curves.verdict(curve, len(curves)) for curve in curves], notes)


def _notes(p: dict[str, Any], answered: list[str]) -> list[str]:
    first, last = p["n"][0], p["n"][-1]
    return [
        f"{Family(1.0, p['left'], p['right']).text}; all risks exact. "
        f"n from {first:,} to {last:,}, a factor {last / first:g}; {p['repeats']} repeats; "
        f"eps = {p['eps']:g}, delta = {p['delta']:g}, calibration of SVT: {p['calibration']}.",
        "Matched: the exponent predicted in range, which has the logarithms of K in it, lies inside the 95% "
        f"CI of the slope; close: within {SLACK} of it. The CI is of sampling error only, not of curvature: "
        "where it is narrow, teachers of few records at the smallest n show. A verdict needs the whole "
        f"interval, corrected for the curves, within {SLACK} of the exponent in range, or wholly beyond.",
        f"m = {p['points']} times (n/K)^(tau/(2 - tau)) for tau = {p['taus']}; T = 3 B from the teachers' "
        f"disagreement with h*, measured beforehand as {p['mistakes']} times (K/n)^(tau/(2 - tau)).",
        "Share of queries answered at the largest n: " + "; ".join(answered) + ".",
    ]


def _single(family: Family, p: dict[str, Any], index: int) -> Curve:
    """Excess risk of one learner on n records: Lemma 38."""
    seeds = np.random.SeedSequence(p["seed"], spawn_key=(index, 0)).spawn(len(p["learner_n"]))
    found = [
        mean_ci(family.excess(thresholds.train(family, p["learner_repeats"], n, np.random.default_rng(seed))))
        for n, seed in zip(p["learner_n"], seeds, strict=True)
    ]
    means, half_widths = np.array(found).T
    n = np.array(p["learner_n"], dtype=float)
    power = 1 / (2 - family.tau)
    facts = {"teachers": 1, "records a teacher": p["learner_n"][-1], "public points": 0}
    facts["repeats"] = p["learner_repeats"]
    claim = ("one learner", family.tau, "excess", "Lemma 38")
    return Curve(*claim, n, means, half_widths, n**-power, -power, -power, facts)


def _private(mechanism: str, index: int, p: dict[str, Any]) -> tuple[list[Curve], float]:
    """Curves of one mechanism at one tau, and the share of queries answered at the largest n."""
    tau = p["taus"][index]
    family = Family(tau, p["left"], p["right"])
    privacy = Privacy(p["eps"], p["delta"], p["failure"], p["calibration"])
    sizes = p["points"][index], p["mistakes"][index]
    # all before any run: what cannot work is refused at once
    designs = [design(mechanism, tau, n, privacy, *sizes) for n in p["n"]]
    key = 1 + list(_THEOREMS).index(mechanism)
    seeds = np.random.SeedSequence(p["seed"], spawn_key=(index, key)).spawn(len(designs))
    values = []
    for at, root in zip(designs, seeds, strict=True):
        runs = [run_once(family, at, seed) for seed in root.spawn(p["repeats"])]
        values.append([mean_ci(each) for each in np.array([measured for measured, _ in runs]).T])
    n = np.array(p["n"], dtype=float)
    bound = np.array([(1 / at.size) ** (tau / (2 - tau)) for at in designs])
    facts = designs[-1].facts | {"repeats": p["repeats"]}
    curves = []
    for quantity, found in zip(QUANTITIES, np.array(values).swapaxes(0, 1), strict=True):
        means, half_widths = found.T
        weights = slope_weights(n, means, half_widths)
        sharp = float(weights @ np.log(bound)) / (tau if quantity == "student excess" else 1)
        head = (mechanism, tau, quantity, _CLAIMS[quantity].format(_THEOREMS[mechanism]))
        curves.append(Curve(*head, n, means, half_widths, bound, -exponent(mechanism, tau), sharp, facts))
    return curves, float(np.mean([answered for _, answered in runs]))


def _draw(curves: list[Curve], quantity: str, ylabel: str) -> Figure:
    shown = sorted((one for one in curves if one.quantity == quantity), key=lambda one: -one.tau)

    def label(one: Curve) -> str:
        return f"{one.learner}: {one.slope.text(2)}"

    return tnc_curves.draw(shown, ylabel, "slope (95% CI)", label, predicted=True)


def _draw_learner(curves: list[Curve]) -> Figure:
    figure, axes = panels([""], "records n", "excess risk of one learner, not private")
    for style, one in zip(STYLES, curves, strict=False):
        slope = f"{one.slope.text(3)} ({one.asymptotic:.3f})"
        band(axes[0], one.n, one.means, one.half_widths, label=f"tau = {one.tau:g}: {slope}", style=style)
    legend(axes, "slope ± 95% CI (predicted)")
    return figure
