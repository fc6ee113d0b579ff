"""Verdicts on rows of a recipe (is the printed number reproduced?) and on the paper's observations.

They follow `pate_cli.results.verdicts`: intervals of Student's t, paired where both sides are ours, corrected
for the number of rows of the table, or of cases of all claims, and a margin that the recipe states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from pate_cli.checks import OneOf, Real, take
from pate_cli.errors import InputError
from pate_cli.results.interval import Interval, simultaneous
from pate_cli.results.means import MeasuredRow
from pate_cli.results.recipe_tables import Pair, chosen, digits_of, error_of, matches
from pate_cli.results.verdicts import CANNOT, FEWEST, Verdict, VerdictWord, at_least, close, combined, ended

__all__ = ["CLAIMS_RULE", "check_claim", "claim_verdicts", "eps_ex_post_verdict", "row_verdicts"]

CLAIMS_RULE = (
    "A claim is looked at in every case it speaks of, by paired differences at a level corrected for the "
    "cases of all claims, at which their intervals are shown: a case holds if the whole interval lies above "
    "0 (or minus the claim's margin), does not hold if none of it does, and cannot be told otherwise. A case "
    "in which a row cannot run is left out; other cases without numbers are not run."
)

_EX_POST_TOLERANCE = 0.01
_CLAIM_KEYS = {
    "greater": ("name", "claim", "measure", "of", "than", "where", "need", "margin"),
    "increases": ("name", "claim", "measure", "methods", "where", "need", "margin"),
    "unspent": ("name", "claim", "methods", "where", "need"),
    "spent": ("name", "claim", "methods", "where", "need"),
}
_OPTIONAL = ("where", "need", "margin")


def row_verdicts(
    rows: Sequence[MeasuredRow], margin: float, *, quick: bool, typed: Sequence[str]
) -> dict[str, Verdict]:
    """Compare rows with the printed accuracies, where there are any, by the names of the rows.

    Accuracies closer than `margin` count as the same; a `quick` run is not judged; `typed` are the overrides
    of the user, which the reasons name.
    """
    printed = [row for row in rows if row["printed_accuracy"] is not None]
    changes = f" (with {' '.join(typed)})" if typed else ""
    verdicts = {}
    for row in printed:
        verdict = _row(row, margin, len(printed), quick)
        verdicts[verdict.name] = replace(verdict, reason=verdict.reason + changes * bool(row.n))
    return verdicts


def _row(row: MeasuredRow, margin: float, n_rows: int, quick: bool) -> Verdict:
    name, ours, eps = str(row["name"]), row.over("accuracy"), row["printed_eps"]
    if row.status != "ok":
        return Verdict(name, "missing", f"{ended(row.status)}: {row.reason}")
    if ours is None:
        return Verdict(name, "missing", "nothing was measured")
    gap, (error, repeats) = ours.less(row["printed_accuracy"]), error_of(row)
    shown = gap.at(simultaneous(n_rows)).widened(error, repeats)
    comparison = f"ours {shown.text(sign=True)} against the printed value"
    comparison += f", whose standard error is {error:.4f}" * (error > 0)
    judged = close(name, gap, margin, comparison, n_rows, error, repeats)
    if eps not in (None, row["eps"]):
        return replace(
            judged, verdict="no verdict", reason=f"eps is {row['eps']:g} here and {eps:g} in the paper"
        )
    if quick:
        return replace(judged, verdict="no verdict", reason="quick run")
    majority = row["majority_rate"]
    if majority is not None and row["printed_accuracy"] < majority:
        why = f"the printed accuracy lies under {majority:.3f}, what a constant answer gets; {comparison}"
        return replace(judged, verdict="unusable", reason=why)
    if judged.verdict == "no verdict":
        return replace(judged, reason=f"{comparison}: {gap.n} repeats are fewer than {FEWEST}")
    return judged


def eps_ex_post_verdict(rows: Sequence[MeasuredRow]) -> Verdict | None:
    """Compare our accounting at the paper's own mean number of queries; None where nothing is printed."""
    gaps = {}
    for row in rows:
        ours, printed = row["eps_ex_post_at_printed_queries"], row["printed_eps_ex_post"]
        if ours is not None and printed is not None and math.isfinite(ours):
            gaps[str(row["name"])] = abs(ours - printed)
    if not gaps:
        return None
    worst = max(gaps, key=lambda name: gaps[name])
    return Verdict(
        "eps_ex_post at the paper's mean number of queries",
        "reproduces" if gaps[worst] <= _EX_POST_TOLERANCE else "differs",
        f"our calibration gives the printed eps_ex_post within {gaps[worst]:.4f} in {len(gaps)} rows"
        f" (the largest gap: {worst}); {_EX_POST_TOLERANCE:g} is accepted",
    )


class _Case(NamedTuple):
    """One case of a claim."""

    gap: Interval | None  # claimed to be above 0; None where it is missing
    where: str  # with what is missing
    digits: int | None = None  # of the difference, where it is shown

    def text(self, level: float) -> str:
        """Description, with the difference at the level at which it is judged."""
        if self.gap is None or self.digits is None:
            return self.where
        return f"{self.where} {self.gap.at(level).text(self.digits, sign=True)}"


def check_claim(claim: dict[str, Any], recipe: str) -> None:
    """Check a claim of a recipe before any work; `InputError` names the key that is not accepted."""
    form = take(f"{recipe}: claims: claim", claim.get("claim"), OneOf(tuple(_CLAIM_KEYS)))
    for key in _CLAIM_KEYS[form]:
        if key not in claim and key not in _OPTIONAL:
            raise InputError(f"{recipe}: claims: {claim.get('name')}: {key} is missing")
    if unknown := sorted(claim.keys() - set(_CLAIM_KEYS[form])):
        accepted = ", ".join(_CLAIM_KEYS[form])
        raise InputError(f"{recipe}: claims: {unknown[0]}: no such key; there are: {accepted}")
    take(f"{recipe}: claims: margin", claim.get("margin", 0), Real(closed_below=True))


def claim_verdicts(claims: Sequence[dict[str, Any]], rows: Sequence[MeasuredRow]) -> list[Verdict]:
    """Check the observations of the paper in every case they speak of.

    A claim has `name`; `claim`, one of greater (`of` has more of `measure` than `than`, at the same splits),
    increases (`measure` grows with eps), unspent and spent (queries are left of the budget in more than half
    of the repeats, or in fewer); `methods`; `where`, to choose rows; `need`, all (the default) or most of the
    cases; `margin`, by which less still counts as no less (default 0).
    """
    cases = []
    for claim in claims:
        matching = [row for row in rows if chosen(row, claim.get("where") or {})]
        cases.append(list(_CASES[claim["claim"]](claim, matching)))
    n_cases = sum(case.gap is not None for matching in cases for case in matching)
    return [_claim_verdict(claim, matching, n_cases) for claim, matching in zip(claims, cases, strict=True)]


def _claim_verdict(claim: dict[str, Any], cases: Sequence[_Case], n_cases: int) -> Verdict:
    name, margin = str(claim["name"]), float(claim.get("margin", 0))
    # a row that cannot run: nothing is compared with it, the claim does not speak of the case
    left_out = [case for case in cases if case.gap is None and case.where.endswith(CANNOT)]
    cases = [case for case in cases if case not in left_out]
    places = "; ".join(dict.fromkeys(case.where for case in left_out))
    skipped = f"{len(left_out)} more left out, where a row cannot run: {places}" * bool(left_out)
    if not cases:
        return Verdict(name, "missing", skipped or "no row to see it in")
    level = simultaneous(n_cases)
    words: list[VerdictWord] = [
        "missing" if case.gap is None else at_least(case.gap, margin, n_cases) for case in cases
    ]
    sentences = {
        "reproduces": "holds",
        "differs (below)": "does not hold",
        "undecided": "cannot be told",
        "missing": "not run",
        "no verdict": f"fewer than {FEWEST} repeats",
    }
    parts = [
        f"{text} in {len(reasons)} of {len(cases)}: {'; '.join(reasons)}"
        for word, text in sentences.items()
        if (
            reasons := [
                case.text(level) for case, verdict in zip(cases, words, strict=True) if verdict == word
            ]
        )
    ]
    parts += [skipped] * bool(skipped)
    most = claim.get("need") == "most"
    at_level = tuple(case.gap and case.gap.at(level) for case in cases)
    reason = ". ".join(parts)
    return Verdict(name, combined(words, most=most), reason, margin=margin, cases=at_level, most=most)


def _greater(claim: dict[str, Any], rows: Sequence[MeasuredRow]) -> Iterator[_Case]:
    for method in _list(claim["of"]):
        for reference in _list(claim["than"]):
            for pair in matches(rows, method, reference):
                yield _paired(pair, claim["measure"], pair.case)


def _increases(claim: dict[str, Any], rows: Sequence[MeasuredRow]) -> Iterator[_Case]:
    series: dict[Any, list[MeasuredRow]] = {}
    for row in rows:
        if row["method"] in _list(claim["methods"]):
            key = (row["method"], row["splits"], row["panel"])
            series.setdefault(key, []).append(row)
    for rows_of_line in series.values():
        for smaller, larger in pairwise(sorted(rows_of_line, key=lambda row: float(row["eps"]))):
            case = f"{larger['dataset']} {larger['method']} eps {smaller['eps']:g} to {larger['eps']:g}"
            yield _paired(Pair(larger, smaller), claim["measure"], case)


def _paired(pair: Pair, measure: str, case: str) -> _Case:
    gap = pair.over(measure)
    return _Case(gap, case, digits_of(measure)) if gap else _Case(None, f"{case} {pair.missing}")


def _budget(claim: dict[str, Any], rows: Sequence[MeasuredRow]) -> Iterator[_Case]:
    """Cases of the claims unspent and spent: queries left of the budget."""
    for row in rows:
        if row["method"] not in _list(claim["methods"]):
            continue
        answered, budget, where = row.over("answered"), row["budget"], f"{row['dataset']} eps={row['eps']:g}"
        if answered is None or budget is None:
            yield _Case(None, f"{where} {ended(row.status)}")
            continue
        left = [bool(answers < budget) for answers in row.repeats["n_answered"]]
        share = Interval.of((1 if left == (claim["claim"] == "unspent") else -1) for left in left)
        text = f"{answered.text(1)} of {budget:.0f}, budget left in {sum(left)} of {len(left)} repeats"
        yield _Case(share, f"{where} {text}")


_CASES = {"greater": _greater, "increases": _increases, "unspent": _budget, "spent": _budget}


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
