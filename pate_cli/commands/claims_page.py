"""One page with the verdicts of every recipe, across seeds."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

from pate_cli.commands.outcome import RecipeOutcome
from pate_cli.engine.recipes import CountedAs, find_recipe, names
from pate_cli.engine.sources import sources
from pate_cli.results.findings import About, Findings
from pate_cli.results.tables import ABSENT, Head, Table, number
from pate_cli.results.totals import Counted, totals
from pate_cli.results.verdicts import Verdict

__all__ = ["NAME", "NOT_RUN", "page_of"]

NAME = "all"
"""Typed in place of a recipe's name."""

NOT_RUN = "not chosen, and not kept"
_NOTE = (
    "Ours less what is claimed, with the interval at the level that the verdict is judged at: corrected for "
    "what is judged together. A claim over several cases has its numbers in the reason. How verdicts are "
    "given: docs/reproduce.md. Accuracy is measured on held-out records: not differentially private."
)
_SEEDS = (
    "Run with several seeds: their repeats are pooled, and the verdict is that of all of them. Where a "
    "claim has no interval to pool all seeds must agree, and the numbers are of the first."
)


_COLUMNS = {
    "recipe": Head("recipe", numeric=False),
    "claim": Head("claim", numeric=False, prose=True),
    "ours_less_claimed": Head("ours less claimed", detail=True),
    "margin": Head("margin", detail=True),
    "verdict": Head("verdict", numeric=False, tags=True),
    "seeds": Head("with each seed", numeric=False, detail=True),
    "reason": Head("reason", numeric=False, prose=True, detail=True),
    "command": Head("command", numeric=False, detail=True),
}
"""Columns that people see, by their names in the CSV file, which has more."""


def page_of(
    outcomes: Mapping[str, Mapping[str, RecipeOutcome]], *, quick: bool, command: list[str]
) -> Findings:
    """Put the verdicts of recipes, found by recipe and then by seed, on one page."""
    several = len({seed for by_seed in outcomes.values() for seed in by_seed}) > 1
    judged = [(name, by_seed, *pooled) for name, by_seed in outcomes.items() for pooled in _across(by_seed)]
    records = [
        {
            "recipe": name,
            "claim": verdict.name,
            "ours_less_claimed": verdict.gap and verdict.gap.mean,
            "half_width": verdict.interval and verdict.interval.half_width,
            "level": verdict.gap and verdict.gap.level,
            "n": verdict.gap and verdict.gap.n,
            "margin": verdict.margin,
            "verdict": verdict.word,
            "seeds": "; ".join(words) if several else None,
            "reason": verdict.reason,
            "command": shlex.join(next(iter(by_seed.values())).command),
        }
        for name, by_seed, verdict, words in judged
    ]
    shown = [name for name in _COLUMNS if several or name != "seeds"]
    cells = [[_cell(record, name) for name in shown] for record in records]
    absent = _absent(outcomes)
    return Findings(
        about=About(
            name=NAME,
            title="Every claim of the papers that is tested here",
            source="BTT18, NB20, LZCW21 and LWY25, by the recipes of experiments/",
            shows=" ".join(
                [
                    f"{len(outcomes)} recipes.",
                    *totals([_counted(name, verdict) for name, _, verdict, _ in judged]),
                ]
            ),
        ),
        command=command,
        table=Table([_COLUMNS[name] for name in shown], cells, records, _NOTE),
        absent=absent,
        notes=[_SEEDS] if several else [],
        quick=quick,
        sources=sources(),
        failures=[f"{name}: {why}" for name, status, why in absent if status in ("failed", "refused")],
    )


def _counted(name: str, verdict: Verdict) -> Counted:
    ours = name in names()
    counted = (
        find_recipe(name).counted_as(verdict.name) if ours else CountedAs("printed", (), name, each=True)
    )
    judged = verdict.gap is not None or any(verdict.cases)
    return Counted(name, counted.kind, counted.claim_of(verdict.name), counted.claim, verdict.verdict, judged)


def _cell(record: Mapping[str, Any], name: str) -> str:
    value = record[name]
    if name == "ours_less_claimed":
        finite = value is not None and math.isfinite(value)
        return number(value, "+.3g", record["half_width"]) if finite else ABSENT
    return number(value, "g") if name == "margin" else str(value)


def _across(by_seed: Mapping[str, RecipeOutcome]) -> list[tuple[Verdict, list[str]]]:
    """Verdicts of all seeds together, see `Verdict.pooled`; and the word of each."""
    each = [{verdict.name: verdict for verdict in outcome.verdicts} for outcome in by_seed.values()]
    pooled = []
    for name in dict.fromkeys(name for verdicts in each for name in verdicts):
        absent = Verdict(name, "missing", "no such row with this seed")
        verdicts_of_seeds = [verdicts.get(name, absent) for verdicts in each]
        pooled.append((Verdict.pooled(verdicts_of_seeds), [verdict.word for verdict in verdicts_of_seeds]))
    return pooled


def _absent(outcomes: Mapping[str, Mapping[str, RecipeOutcome]]) -> list[tuple[str, str, str]]:
    """Recipes without verdicts: name, status and reason; those not run share a line, the last."""
    absent = [
        (" seed ".join(filter(None, [name, seed])), outcome.status, outcome.message)
        for name, by_seed in outcomes.items()
        for seed, outcome in by_seed.items()
        if outcome.status not in ("done", "not run")
    ]
    if others := [
        n for n, by_seed in outcomes.items() if any(o.status == "not run" for o in by_seed.values())
    ]:
        why = f"{NOT_RUN}: pate reproduce {NAME} 'recipes=[{others[0]}]' runs the first"
        absent.append((", ".join(others), "not run", why))
    return absent
