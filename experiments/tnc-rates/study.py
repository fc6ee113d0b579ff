"""Measured learning rates of PATE against those LZCW21 proves, where the Tsybakov parameter is known.

Data from `common.thresholds` (tau known, every risk exact), K, m and T from
`common.tnc` (as Theorems 28 and 10 set them). At each n the whole of
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

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.results.figures import STYLES, band
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.types import UNANSWERED, FloatArray

from ..common import thresholds, tnc
from ..common.figures import legend, panels
from ..common.thresholds import Family
from ..common.tnc import PARAMETERS, SLACK, Curve, Privacy, design, exponent
from ..common.tools import one_for_each

CHECKS: dict[str, Check] = PARAMETERS | {
    "calibration": OneOf(svt.CALIBRATIONS),
    "points": Listed(Real(0)),  # this and the next: for each tau, see `common.tnc`
    "mistakes": Listed(Real(0)),
    "learner_n": Listed(Whole(1), at_least=2, ascending=True),  # of one learner without privacy
    "learner_repeats": Whole(2),
}

_THEOREMS = {"gaussian": "Theorem 28", "svt": "Theorem 10"}
_CLAIMS = {
    "teacher Dis": "Lemma 13",
    "vote Dis": "proof of {}",
    "student Dis": "proof of {}",
    "student excess": "{}",
}
"""Measures of `run_once`, in order, and what bounds them; Dis is the disagreement with h*."""


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
    table = pd.DataFrame([tnc.row(curve) for curve in curves])
    figures = {
        "disagreement": lambda: _draw(curves, "student Dis", "Dis(student, h*)"),
        "excess-risk": lambda: _draw(curves, "student excess", "excess risk of the student"),
        "learner": lambda: _draw_learner([one for one in curves if one.learner == "one learner"]),
    }
    notes = _notes(p, answered)
    return StudyResult(table, figures, [tnc.verdict(curve, len(curves)) for curve in curves], notes)


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
    values = [
        family.excess(thresholds.train(family, p["learner_repeats"], n, np.random.default_rng(seed)))
        for n, seed in zip(p["learner_n"], seeds, strict=True)
    ]
    n, power = np.array(p["learner_n"], dtype=float), 1 / (2 - family.tau)
    facts = {"teachers": 1, "records a teacher": p["learner_n"][-1], "public points": 0}
    facts["repeats"] = p["learner_repeats"]
    claim = ("one learner", family.tau, "excess", "Lemma 38")
    return Curve(*claim, n, values, n**-power, -power, facts, sharp=-power)


def _private(mechanism: str, index: int, p: dict[str, Any]) -> tuple[list[Curve], float]:
    """Curves of one mechanism at one tau, and the share of queries answered at the largest n."""
    tau = p["taus"][index]
    family = Family(tau, p["left"], p["right"])
    privacy = Privacy(p["eps"], p["delta"], p["failure"], p["calibration"])
    # all before any run: what cannot work is refused at once
    designs = [design(mechanism, tau, n, privacy, p["points"][index], p["mistakes"][index]) for n in p["n"]]
    key = 1 + list(_THEOREMS).index(mechanism)
    seeds = np.random.SeedSequence(p["seed"], spawn_key=(index, key)).spawn(len(designs))
    runs = [
        [run_once(family, at, seed) for seed in root.spawn(p["repeats"])]
        for at, root in zip(designs, seeds, strict=True)
    ]
    n = np.array(p["n"], dtype=float)
    bound = np.array([(1 / at.size) ** (tau / (2 - tau)) for at in designs])
    facts = designs[-1].facts | {"repeats": p["repeats"]}
    curves = []
    for k, (quantity, claim) in enumerate(_CLAIMS.items()):
        values = [np.array([measured[k] for measured, _ in those]) for those in runs]
        head = (mechanism, tau, quantity, claim.format(_THEOREMS[mechanism]))
        curves.append(Curve(*head, n, values, bound, -exponent(mechanism, tau), facts))
    excess = curves[-1]  # a power of Dis, for this family
    curves[-1] = replace(excess, sharp=excess.in_range / tau)
    return curves, float(np.mean([answered for _, answered in runs[-1]]))


def run_once(family: Family, at: tnc.Design, seed: np.random.SeedSequence) -> tuple[FloatArray, float]:
    """LZCW21 Algorithm 3, once: the measures of `_CLAIMS`, exact, and the share of queries answered.

    The first measure is the mean over teachers; other queries are labelled at random (line 4).
    """
    data, noise = seed.spawn(2)
    rng = np.random.default_rng(data)
    trained = thresholds.train(family, at.n_teachers, at.size, rng)
    x = rng.uniform(-1.0, 1.0, at.points)
    given = at.mechanism.session(Door.seeded(noise)).answer_all(thresholds.votes(trained, x))
    labels = np.full(at.points, UNANSWERED)
    labels[: len(given)] = [answer.label for answer in given]
    missing = labels == UNANSWERED
    labels[missing] = rng.integers(0, 2, int(missing.sum()))
    student = thresholds.learn(x, labels)
    measured = np.array(
        [
            family.disagreement(trained).mean(),
            family.disagreement(thresholds.vote_threshold(trained)),
            family.disagreement(student),
            family.excess(student),
        ]
    )
    return measured, float(1 - missing.mean())


def _draw(curves: list[Curve], quantity: str, ylabel: str) -> Figure:
    shown = sorted((one for one in curves if one.quantity == quantity), key=lambda one: -one.tau)

    def label(one: Curve) -> str:
        return f"{one.learner}: {one.slope.text(2)}"

    return tnc.draw(shown, ylabel, "slope (95% CI)", label, predicted=True)


def _draw_learner(curves: list[Curve]) -> Figure:
    figure, axes = panels([""], "records n", "excess risk of one learner, not private")
    for style, one in zip(STYLES, curves, strict=False):
        slope = f"{one.slope.text(3)} ({one.asymptotic:.3f})"
        band(axes[0], one.n, one.means, one.half_widths, label=f"tau = {one.tau:g}: {slope}", style=style)
    legend(axes, "slope ± 95% CI (predicted)")
    return figure
