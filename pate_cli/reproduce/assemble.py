"""From the repeats of the rows to tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pate_cli.config.recipes import Recipe
from pate_cli.engine.plan import Plan
from pate_cli.engine.schedule import Results
from pate_cli.report.findings import Findings
from pate_cli.reproduce import figures, tables, verdicts
from pate_cli.reproduce.rows import DoneRow, done_rows, pairs
from pate_cli.reproduce.sources import sources

__all__ = ["assemble", "check_views"]


def check_views(recipe: Recipe) -> None:
    """Check the figures and claims of a recipe before any work; `InputError` names the key."""
    for figure in recipe.figures:
        figures.check_figure(figure, recipe.name)
    for claim in recipe.claims:
        verdicts.check_claim(claim, recipe.name)


def assemble(plan: Plan, results: Results, finish: Callable[..., Findings] | None = None) -> Findings:
    """Tables, figures and verdicts of a recipe of runs; `finish` adds those of its own `study.py`."""
    recipe = plan.recipe
    rows = done_rows(plan, results)
    judged = verdicts.row_verdicts(
        rows, recipe.margin, instead=recipe.quick if plan.quick else [], typed=plan.typed
    )
    compared = [pair for of, minus in recipe.pairs for pair in pairs(rows, of, minus)]
    findings = Findings(
        recipe=recipe,
        command=plan.command,
        table=tables.runs_table(rows, judged, recipe.margin),
        more={"paired": tables.paired_table(compared)} if compared else {},
        figures=figures.run_figures(recipe.figures, rows),
        rows=list(judged.values()),
        claims=verdicts.claim_verdicts(recipe.claims, rows),
        absent=[(row.name, row.status, row.message) for row in rows if row.status != "ok"],
        notes=[*recipe.notes, *([verdicts.CLAIMS_RULE] if recipe.claims else []), *_remarks(rows)],
        quick=plan.quick,
        sources=sources() | plan.data(),
        commands={row.name: plan.command_of(row.planned) for row in rows},
        failures=[f"{row.name}: {row.message}" for row in rows if row.status == "failed"],
    )
    findings = finish(rows, findings) if finish else findings
    if plan.quick:
        return replace(findings, claims=[claim.unjudged("quick run") for claim in findings.claims])
    ex_post = verdicts.eps_ex_post_verdict(rows)
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
