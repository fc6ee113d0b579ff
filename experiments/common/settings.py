"""One printed table under several settings that the paper does not state: which of them gives which rows.

The panels of the recipe are the settings, with the same printed rows in each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pandas as pd
from scipy.special import chdtri

from pate_cli.checks import Check, Real, Text, Whole
from pate_cli.results.claims import claim_verdicts
from pate_cli.results.means import MeasuredRow
from pate_cli.results.page import Findings
from pate_cli.results.recipe_tables import difference
from pate_cli.results.tables import Table, from_frame
from pate_cli.results.verdicts import Verdict, VerdictWord, compare

CHECKS: dict[str, Check] = {
    "rows": Whole(),  # printed accuracies hoped for within the recipe's margin
    "of": Text("a dataset"),  # on which they are counted
    "queries": Real(),  # margin, as a share of the budget of queries
    "eps_ex_post": Real(),  # margin, as a share of eps
    "splits": Whole(2),  # random splits that the paper's means and intervals are of
}

Parts: TypeAlias = Mapping[tuple[str, str], Sequence[MeasuredRow]]
"""Rows by setting and dataset."""

_Z = 1.96
_SHORT: dict[VerdictWord, str] = {"reproduces": "holds", "differs (below)": "fails", "differs": "fails"}


def finish(p: dict[str, Any], rows: Sequence[MeasuredRow], findings: Findings, _: object) -> Findings:
    """Add the table of settings, which judges the recipe's claims in each; two verdicts take their place."""
    words = {one.name: one.verdict for one in findings.rows}
    parts: dict[tuple[str, str], list[MeasuredRow]] = {}
    for row in rows:
        parts.setdefault((row["panel"], row["dataset"]), []).append(row)
    claims = [settings_verdict(parts, words, p, findings.recipe.margin)]
    claims += filter(None, [interval_verdict(rows, p["splits"])])
    table = settings_table(parts, words, [] if findings.quick else findings.recipe.claims, p)
    return replace(findings, more={"settings": table, **findings.more}, claims=claims)


def settings_table(
    parts: Parts, words: Mapping[str, VerdictWord], claims: Sequence[dict[str, Any]], p: Mapping[str, Any]
) -> Table:
    """Table of the printed numbers that each setting reproduces on a dataset, and of the claims that hold.

    `words` are the verdicts of the accuracies, by the names of the rows; `claims` the paper's observations.
    """
    records = []
    for (panel, dataset), part in parts.items():
        accuracies = [words[row["name"]] for row in part if row["name"] in words]
        gaps = [abs(gap.mean) for row in part if (gap := difference(row)) is not None]
        active = [row for row in part if _fewer(row)]
        within, those = _within(active, "answered", "queries", p["queries"])
        within_loss, those_loss = _within(active, "eps_ex_post", "eps_ex_post", p["eps_ex_post"])
        held = [_SHORT.get(one.verdict, one.verdict) for one in claim_verdicts(claims, part)]
        records.append(
            {
                "setting": panel,
                "dataset": dataset,
                "accuracies_within": accuracies.count("reproduces"),
                "accuracies": len(accuracies),
                "furthest": max(gaps, default=None),
                "queries_within": within,
                "eps_ex_post_within": within_loss,
                "queries_rows": those,
                "eps_ex_post_rows": those_loss,
                **{str(claim["name"]): one for claim, one in zip(claims, held, strict=True)},
            }
        )
    note = (
        "Within: the whole interval of ours less the printed number lies within the margin; the rows of all "
        "settings are corrected for together. Queries and eps_ex_post: of rows of active queries, within "
        f"{p['queries']:g} of the budget and {p['eps_ex_post']:g} of eps. "
        "Observations: looked at in this setting and dataset alone."
    )
    table = from_frame(pd.DataFrame(records), note)
    heads = [one.header.partition(":")[0].replace("_", " ") for one in table.columns]
    return replace(table, columns=[replace(c, header=h) for c, h in zip(table.columns, heads, strict=True)])


def settings_verdict(
    parts: Parts, words: Mapping[str, VerdictWord], p: Mapping[str, Any], margin: float
) -> Verdict:
    """Judge whether some setting reproduces as many printed accuracies as hoped for; names the best."""
    need, of = int(p["rows"]), p["of"]
    name = f"{of}: some setting gives at least {need} printed accuracies to {margin:g}"
    tallies = {}
    for (panel, dataset), part in parts.items():
        if dataset == of:
            found = [words[row["name"]] for row in part if row["name"] in words]
            gaps = [abs(gap.mean) for row in part if (gap := difference(row)) is not None]
            near = sum(gap <= margin for gap in gaps)
            tallies[panel] = (found.count("reproduces"), near, found)
    if not any(found for *_, found in tallies.values()):
        return Verdict(name, "missing", "no row to see it in")
    if any("no verdict" in found for *_, found in tallies.values()):
        return Verdict(name, "no verdict", "too few repeats, or a quick run")
    best = max(tallies, key=lambda panel: tallies[panel][:2])
    good, near, found = tallies[best]
    possible = max(sum(not word.startswith("differs") for word in those) for *_, those in tallies.values())
    word: VerdictWord = "reproduces" if good >= need else "undecided" if possible >= need else "differs"
    reason = (
        f"best of {len(tallies)}: {best}, {good} of {len(found)} wholly within {margin:g}, {near} by their "
        f"means; no setting has more than {possible} that are not wholly beyond"
    )
    return Verdict(name, word, reason, margin=margin)


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
