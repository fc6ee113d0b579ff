"""Plain verdicts: does a row reproduce the printed number, and do the paper's observations hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pate_cli.errors import InputError
from pate_cli.report.interval import Interval
from pate_cli.reproduce.rows import DoneRow, Pair, pairs
from pate_cli.studies import Verdict

__all__ = ["check_claim", "claim_verdict", "digits_of", "eps_ex_post_verdict", "row_verdict", "signed"]

_EX_POST_TOLERANCE = 0.01
_CLAIM_KEYS = {
    "greater": ("name", "claim", "measure", "of", "than", "where", "need"),
    "increases": ("name", "claim", "measure", "methods", "where", "need"),
    "unspent": ("name", "claim", "methods", "where", "need"),
    "spent": ("name", "claim", "methods", "where", "need"),
}


def row_verdict(row: DoneRow, *, instead: Sequence[str], typed: Sequence[str]) -> Verdict | None:
    """Compare a row with the printed accuracy; None where nothing is printed.

    Parameters
    ----------
    row : DoneRow
    instead : sequence of str
        Overrides of a quick run, which make it another experiment than the paper's.
    typed : sequence of str
        Overrides of the user; the verdict says them.
    """
    name = row.planned.spec.name
    if "accuracy" not in row.printed:
        return None
    but = f" (with {' '.join(typed)})" if typed else ""
    if row.status != "ok":
        return Verdict(name, "cannot be compared", f"{row.status}: {row.message}")
    gap = row.difference
    if gap is None:
        return Verdict(name, "cannot be compared", "nothing was measured")
    by = f"ours {signed(gap)} against the printed value"
    eps = row.printed.get("eps", row.eps)
    if eps != row.eps:
        return Verdict(name, "cannot be compared", f"eps is {row.eps:g} here and {eps:g} in the paper")
    if instead:
        return Verdict(name, "cannot be compared", f"quick run, {' '.join(instead)}: not the paper's sizes")
    if gap.half_width is None:
        return Verdict(name, "cannot be compared", f"{by}; a single repeat has no confidence interval{but}")
    if row.majority is not None and row.printed["accuracy"] < row.majority:
        return Verdict(
            name,
            "cannot be compared",
            f"the printed accuracy lies under {row.majority:.3f}, what a constant answer gets; {by}{but}",
        )
    if gap.sign == 0:
        return Verdict(name, "reproduces", f"{by}: within both intervals{but}")
    return Verdict(name, "better" if gap.sign > 0 else "worse", f"{by}: outside both intervals{but}")


def eps_ex_post_verdict(rows: Sequence[DoneRow]) -> Verdict | None:
    """Compare our accounting at the paper's own mean number of queries; None where nothing is printed."""
    gaps = {}
    for row in rows:
        ours, printed = row.eps_ex_post_at_printed, row.printed.get("eps_ex_post")
        if ours is not None and printed is not None and math.isfinite(ours):
            gaps[row.planned.spec.name] = abs(ours - printed)
    if not gaps:
        return None
    worst = max(gaps, key=lambda name: gaps[name])
    return Verdict(
        "eps_ex_post at the paper's mean number of queries",
        "reproduces" if gaps[worst] <= _EX_POST_TOLERANCE else "refuted",
        f"our calibration gives the printed eps_ex_post within {gaps[worst]:.4f} in {len(gaps)} rows"
        f" (the largest gap: {worst}); {_EX_POST_TOLERANCE:g} is accepted",
    )


class _Case(NamedTuple):
    """One place where a claim holds (1), does not (-1), or cannot be told (0)."""

    outcome: int
    text: str


def check_claim(claim: dict[str, Any], recipe: str) -> None:
    """Check a claim of a recipe before any work.

    Raises
    ------
    InputError
        Names the key that is not accepted.
    """
    form = claim.get("claim")
    if form not in _CLAIM_KEYS:
        raise InputError(f"{recipe}: claims: claim: got {form!r}; accepted: {', '.join(_CLAIM_KEYS)}")
    optional = ("where", "need")
    for key in _CLAIM_KEYS[form]:
        if key not in claim and key not in optional:
            raise InputError(f"{recipe}: claims: {claim.get('name')}: {key} is missing")
    if unknown := sorted(claim.keys() - set(_CLAIM_KEYS[form])):
        there = ", ".join(_CLAIM_KEYS[form])
        raise InputError(f"{recipe}: claims: {unknown[0]}: no such key; there are: {there}")


def claim_verdict(claim: dict[str, Any], rows: Sequence[DoneRow]) -> Verdict:
    """Check one observation of the paper in every case it speaks of.

    Parameters
    ----------
    claim : dict
        `name`; `claim`, one of greater (`of` has more of `measure` than `than`, at the same splits),
        increases (`measure` grows with eps), unspent and spent (queries are left of the budget, or none
        are); `methods`; `where`, to choose rows; `need`, all (the default) or most of the cases.
    """
    chosen = [row for row in rows if row.chosen(claim.get("where") or {})]
    cases = _CASES[claim["claim"]](claim, [row for row in chosen if row.units])
    name = str(claim["name"])
    if not cases:
        absent = ", ".join(dict.fromkeys(f"{row.planned.dataset} is {row.status}" for row in chosen))
        return Verdict(name, "cannot be compared", f"no row to see it in{': ' + absent if absent else ''}")
    holds, fails = (sum(case.outcome == sign for case in cases) for sign in (1, -1))
    if claim.get("need") == "most":
        reproduced, refuted = 2 * holds > len(cases), 2 * fails >= len(cases)
    else:
        reproduced, refuted = holds == len(cases), fails > 0
    word = "reproduces" if reproduced else "refuted" if refuted else "cannot be compared"
    groups = [(1, "holds"), (-1, "does not hold"), (0, "cannot be told")]
    parts = [
        f"{said} in {len(those)} of {len(cases)}: {'; '.join(case.text for case in those)}"
        for sign, said in groups
        if (those := [case for case in cases if case.outcome == sign])
    ]
    return Verdict(name, word, ". ".join(parts))  # type: ignore[arg-type]


def _greater(claim: dict[str, Any], rows: Sequence[DoneRow]) -> list[_Case]:
    cases = []
    for of in _list(claim["of"]):
        for than in _list(claim["than"]):
            for pair in pairs(rows, of, than):
                gap = pair.over(claim["measure"])
                if gap is not None:
                    cases.append(
                        _Case(_outcome(gap), f"{pair.case} {signed(gap, digits_of(claim['measure']))}")
                    )
    return cases


def _increases(claim: dict[str, Any], rows: Sequence[DoneRow]) -> list[_Case]:
    cases = []
    series: dict[Any, list[DoneRow]] = {}
    for row in rows:
        if row.planned.method in _list(claim["methods"]):
            series.setdefault((row.planned.method, row.planned.teaching, row.planned.spec.panel), []).append(
                row
            )
    for line in series.values():
        for less, more in pairwise(sorted(line, key=lambda row: row.eps)):
            gap = Pair(more, less).over(claim["measure"])
            if gap is not None:
                text = f"{more.planned.dataset} {more.planned.method} eps {less.eps:g} to {more.eps:g}"
                cases.append(_Case(_outcome(gap), f"{text} {signed(gap, digits_of(claim['measure']))}"))
    return cases


def _unspent(claim: dict[str, Any], rows: Sequence[DoneRow], wanted: bool = True) -> list[_Case]:
    cases = []
    for row in rows:
        answered, budget = row.over("answered"), row.budget
        if row.planned.method not in _list(claim["methods"]) or answered is None or budget is None:
            continue
        left = sum(unit.n_answered < budget for unit in row.units)
        eps = "inf" if math.isinf(row.eps) else f"{row.eps:g}"
        text = f"{row.planned.dataset} eps={eps} {answered.text(1)} of {budget}"
        text += f", budget left in {left} of {answered.n} repeats"
        outcome = 1 if 2 * left > answered.n else -1
        cases.append(_Case(outcome if wanted else -outcome, text))
    return cases


def _spent(claim: dict[str, Any], rows: Sequence[DoneRow]) -> list[_Case]:
    return _unspent(claim, rows, wanted=False)


_CASES = {"greater": _greater, "increases": _increases, "unspent": _unspent, "spent": _spent}


def digits_of(measure: str) -> int:
    """Digits worth showing: queries are counted, the rest are rates."""
    return 1 if measure in ("answered", "asked") else 4


def signed(gap: Interval, digits: int = 4) -> str:
    """Write a difference with its sign and its interval."""
    return gap.text(digits, sign=True)


def _outcome(gap: Interval) -> int:
    """1 above 0, -1 below it or exactly equal in every repeat, 0 where the interval holds 0."""
    return -1 if gap.mean == 0 and gap.half_width == 0 else gap.sign


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
