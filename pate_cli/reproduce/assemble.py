"""From the repeats of the rows to tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pate_cli.engine.plan import Plan
from pate_cli.engine.schedule import Results
from pate_cli.errors import InputError
from pate_cli.reproduce.figures import check_figure, run_figures
from pate_cli.reproduce.rows import KEYS, DoneRow, done_rows, paired_table, pairs, runs_table
from pate_cli.reproduce.sources import sources
from pate_cli.reproduce.verdicts import (
    CLAIMS_RULE,
    check_claim,
    claim_verdicts,
    eps_ex_post_verdict,
    row_verdicts,
)
from pate_cli.results.page import Findings

__all__ = ["assemble", "check_views"]


def check_views(recipe: str, figures: Sequence[dict[str, Any]], claims: Sequence[dict[str, Any]]) -> None:
    """Check the figures and claims of a recipe before any work; `InputError` names the key."""
    for figure in figures:
        check_figure(figure, recipe)
    for claim in claims:
        check_claim(claim, recipe)
    for one in (*claims, *(panel for figure in figures for panel in figure["panels"])):
        if unknown := sorted((one.get("where") or {}).keys() - set(KEYS)):
            raise InputError(f"{recipe}: where: {unknown[0]}: no such key; there are: {', '.join(KEYS)}")


def assemble(plan: Plan, results: Results, finish: Callable[..., Findings] | None = None) -> Findings:
    """Tables, figures and verdicts of a recipe of runs; `finish` adds those of its own `study.py`."""
    recipe = plan.recipe
    rows = done_rows(plan, results)
    judged = row_verdicts(rows, recipe.margin, quick=plan.quick, typed=plan.typed)
    compared = [pair for of, minus in recipe.pairs for pair in pairs(rows, of, minus)]
    findings = Findings(
        recipe=recipe,
        command=plan.command,
        table=runs_table(rows, judged, recipe.margin),
        more={"paired": paired_table(compared)} if compared else {},
        figures=run_figures(recipe.figures, rows),
        rows=list(judged.values()),
        claims=claim_verdicts(recipe.claims, rows),
        absent=[(row.name, row.status, row.message) for row in rows if row.status != "ok"],
        notes=[*recipe.notes, *([CLAIMS_RULE] if recipe.claims else []), *_remarks(rows)],
        quick=plan.quick,
        sources=sources() | plan.data(),
        commands={row.name: plan.command_of(row.planned) for row in rows},
        failures=[f"{row.name}: {row.message}" for row in rows if row.status == "failed"],
    )
    findings = finish(rows, findings) if finish else findings
    if plan.quick:
        return replace(findings, claims=[claim.unjudged("quick run") for claim in findings.claims])
    ex_post = eps_ex_post_verdict(rows)
    return replace(findings, claims=[*([ex_post] if ex_post else []), *findings.claims])


def _remarks(rows: Sequence[DoneRow]) -> list[str]:
    """Number of rows without numbers, and the rows' own notes."""
    remarks = []
    for status in ("missing", "infeasible", "failed"):
        reasons = [row.message for row in rows if row.status == status]
        if reasons:
            why = reasons[0] if len(set(reasons)) == 1 else "the report and table.csv say why, row by row"
            remarks.append(f"{len(reasons)} of {len(rows)} rows {status}: {why}")
    return remarks + [f"{row.name}: {row.planned.spec.note}" for row in rows if row.planned.spec.note]
