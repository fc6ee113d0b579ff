"""One printed table under several settings that the paper does not state: which of them gives which rows.

The panels of the recipe are the settings, with the same printed rows in each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import chdtri, fdtrc, ndtr, ndtri

from pate_cli.checks import Check, Real, Whole
from pate_cli.results.claims import claim_verdicts
from pate_cli.results.findings import Findings
from pate_cli.results.means import MeasuredRow
from pate_cli.results.recipe_tables import difference
from pate_cli.results.tables import Table, from_frame
from pate_cli.results.verdicts import FEWEST, OWN, Verdict, VerdictWord, compare

CHECKS: dict[str, Check] = {
    "queries": Real(),  # margin, as a share of the budget of queries
    "eps_ex_post": Real(),  # margin, as a share of eps
    "splits": Whole(2),  # random splits that the paper's means and intervals are of
    "caption": Real(0, 1, open_above=True),  # level that the caption states of the intervals
}

Parts: TypeAlias = Mapping[tuple[str, str], Sequence[MeasuredRow]]
"""Rows by setting and dataset."""

_Z = 1.96
_SHORT: dict[VerdictWord, str] = {"reproduces": "holds", "differs (below)": "fails", "differs": "fails"}


def finish(p: dict[str, Any], rows: Sequence[MeasuredRow], findings: Findings, _: object) -> Findings:
    """Add the table of settings, which judges the recipe's claims in each; one verdict a setting is left."""
    parts = parts_of(rows)
    claims = [fit_verdict(panel, dataset, part) for (panel, dataset), part in parts.items()]
    claims += filter(None, [interval_verdict(rows, p["splits"]), _caption(p["caption"])])
    table = settings_table(parts, [] if findings.quick else p["claims"], p)
    return replace(findings, more={"settings": table, **findings.more}, rows=[], claims=claims)


def parts_of(rows: Sequence[MeasuredRow]) -> dict[tuple[str, str], list[MeasuredRow]]:
    """Rows by setting and dataset."""
    parts: dict[tuple[str, str], list[MeasuredRow]] = {}
    for row in rows:
        parts.setdefault((row["panel"] or "", row["dataset"]), []).append(row)
    return parts


@dataclass(frozen=True)
class Fit:
    """Hotelling's T^2 of the printed accuracies of rows that share random splits."""

    t2: float
    n: int  # accuracies
    splits: int  # the fewest that a mean is of, on either side
    p: float  # nan where there are no more splits than accuracies
    furthest: str = ""  # the rows furthest out, each in standard errors

    def __str__(self) -> str:
        p = "p below 1e-300" if self.p < 1e-300 else f"p = {self.p:.2g}"
        return (
            f"T2 {self.t2:.1f} of {self.n} printed accuracies, {p}; furthest {self.furthest} standard errors"
        )


def fit(rows: Sequence[MeasuredRow]) -> Fit | None:
    """Test all printed accuracies together, under the errors of both sides; None where there is none.

    Rows share random splits, so that their means vary together: their correlations are those of ours over
    splits, and taken to be those of the printed means as well, whose splits are shared too (LZCW21, section
    5.1: "we repeat these random selection processes"). T^2 (n - k)/(k (n - 1)) of k accuracies over n splits
    has an F law with k and n - k degrees of freedom, for normal means.
    """
    found = [(row, gap) for row in rows if (gap := difference(row)) is not None and gap.standard_error > 0]
    if not found:
        return None
    accuracies = pd.DataFrame({i: row.repeats["accuracy"] for i, (row, _) in enumerate(found)}).dropna()
    k, n = len(found), min(len(accuracies), *(gap.n for _, gap in found))
    z = np.array([gap.mean / gap.standard_error for _, gap in found])
    order = np.argsort(-np.abs(z))[:2]
    furthest = ", ".join(f"{found[i][0]['method']} eps={found[i][0]['eps']:g} {z[i]:+.1f}" for i in order)
    if n <= k or np.any(accuracies.std() == 0):
        return Fit(math.nan, k, n, math.nan, furthest)
    t2 = float(z @ np.linalg.solve(np.corrcoef(accuracies.T).reshape(k, k), z))
    return Fit(t2, k, n, float(fdtrc(k, n - k, t2 * (n - k) / (k * (n - 1)))), furthest)


def fit_verdict(panel: str, dataset: str, rows: Sequence[MeasuredRow]) -> Verdict:
    """Say how well a setting fits all printed accuracies of a dataset together: a question of our own."""
    name = f"setting: {dataset}, {panel}"
    found = fit(rows)
    if found is None:
        return Verdict(name, "missing", "no row to see it in", label=OWN)
    if any(row.n < FEWEST for row in rows):
        return Verdict(name, "no verdict", f"fewer than {FEWEST} repeats", label=OWN)
    return Verdict(name, OWN, str(found), label=OWN)


def conclude(p: dict[str, Any], rows: Sequence[MeasuredRow], findings: Findings, _: object) -> Findings:
    """Add what the rows say together: how well the learner fits each dataset, and which recipes say more."""
    measured = [row for row in rows if row.n]
    notes = []
    for (_, dataset), part in parts_of(measured).items():
        if (found := fit(part)) is not None:
            notes.append(f"{dataset}, this learner: {found}{_MORE.get(dataset, '')}")
    return replace(findings, notes=[*findings.notes, *notes])


_MORE = {
    "mushroom": "; pate reproduce table4-sgd runs a setting that comes near, of those of table4-settings",
    "a9a": "; no working learner can: the printed spreads shrink as noise grows, and constant teachers "
    "give them (pate reproduce table4-coin)",
}


def settings_table(parts: Parts, claims: Sequence[dict[str, Any]], p: Mapping[str, Any]) -> Table:
    """Table of how well each setting fits the printed numbers of a dataset, and of the claims that hold."""
    records = []
    for (panel, dataset), part in parts.items():
        found = fit(part)
        gaps = [abs(gap.mean) for row in part if (gap := difference(row)) is not None]
        active = [row for row in part if _fewer(row)]
        within, those = _within(active, "answered", "queries", p["queries"])
        within_loss, those_loss = _within(active, "eps_ex_post", "eps_ex_post", p["eps_ex_post"])
        held = [_SHORT.get(one.verdict, one.verdict) for one in claim_verdicts(claims, part)]
        records.append(
            {
                "setting": panel,
                "dataset": dataset,
                "T2": found and found.t2,
                "accuracies": found.n if found else 0,
                "p": found and found.p,
                "furthest": max(gaps, default=None),
                "queries_within": within,
                "eps_ex_post_within": within_loss,
                "queries_rows": those,
                "eps_ex_post_rows": those_loss,
                **{str(claim["name"]): one for claim, one in zip(claims, held, strict=True)},
            }
        )
    note = (
        "T2: Hotelling's, of ours less the printed accuracies, with the errors of both means and the "
        "correlations of rows over the splits that they share. Queries and eps_ex_post: "
        f"rows of active queries within {p['queries']:g} of the budget and {p['eps_ex_post']:g} of eps. "
        "Observations: looked at in this setting and dataset alone."
    )
    table = from_frame(pd.DataFrame(records), note)
    heads = [one.header.partition(":")[0].replace("_", " ") for one in table.columns]
    return replace(table, columns=[replace(c, header=h) for c, h in zip(table.columns, heads, strict=True)])


def interval_verdict(rows: Sequence[MeasuredRow], repeats: int) -> Verdict | None:
    """Compare the printed intervals with the noise that the test records alone bring, if any is printed.

    The accuracy p of a model on n_test of N records drawn without replacement has a standard deviation of
    ``sqrt(p (1 - p)/n_test (1 - n_test/N))``; models that differ from split to split add to that. A sample
    deviation of `repeats` splits may fall below it by chance: as low as the quantile of chi-square that all
    rows together fall below with probability 5%.
    """
    narrow, ratios, seen = [], [], set()
    n_rows = len({(row["dataset"], row["method"], row["eps"]) for row in rows if row["printed_ci"]})
    chance = math.sqrt(chdtri(repeats - 1, 1 - 0.05 / max(1, n_rows)) / (repeats - 1))
    for row in rows:
        ci, p, n_test, n = (row[key] for key in ("printed_ci", "printed_accuracy", "n_test", "n_records"))
        if ci is None or p is None or n_test is None:
            continue
        least = chance * _Z * math.sqrt(p * (1 - p) / n_test * (1 - n_test / n) / repeats)
        case = f"{row['dataset']} {row['method']} eps={row['eps']:g}"
        ours = row.over("accuracy")
        if ours is not None and ours.n > 1:
            ratios.append(math.log(_Z * ours.standard_error * math.sqrt(ours.n / repeats) / ci))
        if case not in seen and ci < least:
            narrow.append(f"{case}: {ci:g} printed, {least:.4f} at the least")
        seen.add(case)
    if not seen:
        return None
    factor = f"; ours are {math.exp(sum(ratios) / len(ratios)):.2f} times the printed ones" if ratios else ""
    return Verdict(
        f"the printed intervals are those of means over {repeats} splits",
        "differs (below)" if narrow else "undecided",
        f"narrower than the binomial noise of the test records in {len(narrow)} of {len(seen)} rows "
        f"({'; '.join(narrow) or 'none'}){factor} in the geometric mean, at {repeats} splits; the caption "
        f"divides by sqrt({repeats}) = {math.sqrt(repeats):.2f} what it calls a standard error",
    )


def _caption(level: float) -> Verdict:
    """Compare the level that the caption states with that of its factor, by arithmetic."""
    own, factor = 2 * float(ndtr(_Z)) - 1, float(ndtri((1 + level) / 2))
    return Verdict(
        f"the caption's {level:.0%} is the level of {_Z} standard errors",
        "differs (above)" if level > own + 0.005 else "reproduces",
        f"{_Z} standard errors on either side are {own:.1%} of a normal law; {level:.0%} takes {factor:.2f}",
    )


def _fewer(row: MeasuredRow) -> bool:
    """Whether the row is one of active queries: its budget is not the number of public points."""
    return row["budget"] is not None and row["budget"] < row["n_public"]


def _within(rows: Sequence[MeasuredRow], measure: str, printed: str, share: float) -> tuple[int, int]:
    """Rows within a share of their budget (of queries, or eps) of the printed number, and rows compared."""
    words = []
    for row in rows:
        ours, theirs = row.over(measure), row[f"printed_{printed}"]
        if ours is None or theirs is None or not math.isfinite(theirs) or not math.isfinite(ours.mean):
            continue
        unit = float(row["eps"] if printed == "eps_ex_post" else row["budget"] or 0)
        words.append(compare(ours.less(theirs), share * unit, len(rows)))
    return words.count("reproduces"), len(words)
