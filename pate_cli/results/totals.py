"""Totals of verdicts: each claim of a paper once, however many rows and recipes speak of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pate_cli.errors import count_of
from pate_cli.results.interval import LEVEL
from pate_cli.results.verdicts import SHOWN, VerdictWord, combined, counted

__all__ = ["Counted", "once", "shown", "totals"]

_HEADS = {
    "printed": "Printed numbers",
    "tested": "Theorems, remarks and observations, tested on data",
    "algebra": "Identities and rates, computed",
}
"""Headings by the kinds of `CountedAs`, those of our own questions aside."""


@dataclass(frozen=True)
class Counted:
    """A verdict, and what it is counted as."""

    recipe: str
    kind: str
    claim: str  # identity: paper, place, quantity
    table: str  # claims counted together: where the numbers stand
    word: VerdictWord
    judged: bool  # by an interval, which errs with a stated probability


def once(words: Sequence[VerdictWord]) -> VerdictWord:
    """Word of a claim by those of all verdicts that speak of it; what was not measured says nothing."""
    measured = [word for word in words if word != "missing"]
    bounded: VerdictWord = "bound holds, not attained"
    if len(set(words)) == 1 or not measured:
        return words[0]
    if "error in the paper" in measured:
        return "error in the paper"
    holds = combined(["reproduces" if word == bounded else word for word in measured])
    return bounded if holds == "reproduces" and bounded in measured else holds


def totals(verdicts: Sequence[Counted]) -> list[str]:
    """Sentences with the totals: printed numbers by table, the rest by kind, and how sure they are."""
    sentences = []
    for kind, head in _HEADS.items():
        tables: dict[str, dict[str, list[VerdictWord]]] = {}
        for verdict in verdicts:
            if verdict.kind == kind:
                table = verdict.table if kind == "printed" else ""
                tables.setdefault(table, {}).setdefault(verdict.claim, []).append(verdict.word)
        for table, claims in tables.items():
            n, counts = len(claims), counted(shown(once(words), kind) for words in claims.values())
            heading = ", ".join(filter(None, [head, table]))
            sentences.append(f"{heading}: {count_of(n, 'claim')}: {counts}.")
    n_own = sum(verdict.kind == "own" for verdict in verdicts)
    if n_own:
        sentences.append(f"Questions of our own: {n_own}, in no total.")
    if recipes := {verdict.recipe for verdict in verdicts if verdict.judged}:
        n = len(recipes)
        sentences.append(
            f"{count_of(n, 'recipe')} judge{'s' * (n == 1)} by intervals, in one group of verdicts or "
            f"several each. Those of a group are all right with probability at least {LEVEL:.0%}: among many "
            "groups a wrong verdict is no surprise."
        )
    return sentences


def shown(word: VerdictWord, kind: str) -> str:
    """A word as it is shown: "lower than printed" is of a number, a claim "differs"."""
    return SHOWN["differs" if word.startswith("differs") and kind != "printed" else word]
