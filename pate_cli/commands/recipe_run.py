"""Runs one recipe of either kind: from its rows to tables, figures and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets import known_datasets
from pate_cli.engine import schedule
from pate_cli.engine.progress import reporting
from pate_cli.engine.recipe_plan import Plan, make_plan
from pate_cli.engine.recipes import Recipe
from pate_cli.engine.rows import Row
from pate_cli.engine.sources import sources
from pate_cli.engine.store import PLACE, RepeatRecord
from pate_cli.engine.studies import finisher, run_study
from pate_cli.errors import InputError
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.results.claims import (
    CLAIMS_RULE,
    check_claim,
    claim_verdicts,
    eps_ex_post_verdict,
    row_verdicts,
)
from pate_cli.results.details import shared_settings
from pate_cli.results.findings import Findings
from pate_cli.results.means import MeasuredRow, rows_of
from pate_cli.results.recipe_figures import check_figure, run_figures
from pate_cli.results.recipe_tables import KEYS, PRINTED, paired_table, pairs, recipe_table
from pate_cli.results.repeats import read_repeats
from pate_cli.results.repeats_file import RepeatsFile

__all__ = ["assemble", "check_views", "columns_of_recipe", "labelled", "reproduce"]

_PUBLIC = {*known_datasets.ENTRIES, *known_datasets.EMBEDDED}  # data sets whose records are public


def reproduce(
    recipe: Recipe,
    overrides: Sequence[str],
    *,
    quick: bool,
    force: bool = False,
    directory: Path,
    config_dir: str | None = None,
) -> Findings:
    """Run a recipe with the overrides typed; finished repeats of runs are kept in `directory`.

    InputError if the recipe or what was typed cannot be used, or a study's data is not there.
    """
    if recipe.kind == "study":
        with reporting(recipe.name, "steps") as advance:

            def progress(done: int, total: int) -> None:
                advance(done, 0, total)

            return labelled(
                run_study(recipe, overrides, progress, quick=quick, config_dir=config_dir), recipe
            )
    check_views(recipe.name, recipe.figures, recipe.claims)
    finish = finisher(recipe)
    plan = make_plan(recipe, overrides, quick=quick, config_dir=config_dir)
    table = RepeatsFile(directory, {row.name: columns_of_recipe(row) for row in plan.rows})
    with reporting(recipe.name, f"repeats of {len(plan.ready)} rows") as advance:
        results = schedule.run(plan.ready, directory / PLACE, force=force, advance=advance, table=table)
    table.write()
    return labelled(assemble(plan, rows_of(read_repeats(table.path)), results.repeats, finish), recipe)


def labelled(findings: Findings, recipe: Recipe) -> Findings:
    """Put verdicts under the words that the recipe gives them."""
    label = recipe.label_of
    rows, claims = ([v.labelled(label(v.name)) for v in some] for some in (findings.rows, findings.claims))
    return replace(findings, rows=rows, claims=claims)


def columns_of_recipe(row: Row) -> dict[str, Any]:
    """Columns of a row of `repeats.csv`, with the numbers that the paper prints."""
    columns = row.columns(name=row.name, panel=row.spec.panel)
    status = {key: columns.pop(key) for key in ("status", "reason") if key in columns}
    columns |= {name: row.spec.printed.get(name.removeprefix("printed_")) for name in PRINTED}
    columns |= {"eps_ex_post_at_printed_queries": None, "majority_rate": None, "note": row.spec.note or None}
    if row.checked:
        y = row.prepared.dataset.y
        columns["majority_rate"] = float(np.bincount(y).max() / len(y))
        columns["eps_ex_post_at_printed_queries"] = _eps_ex_post_at_printed(row)
    return columns | status


def _eps_ex_post_at_printed(row: Row) -> float | None:
    """Loss after the fact by our calibration at the paper's mean number of queries.

    None where the paper prints no such number, or the mechanism is not the Gaussian one.
    """
    queries = row.spec.printed.get("queries")
    if queries is None or row.checked is None:
        return None
    if math.isinf(row.config.eps):
        return math.inf
    public = row.prepared.mechanism.describe()
    if "sigma" not in public or queries > public["ell"]:
        return None
    mu = public["sensitivity"] * math.sqrt(queries) / public["sigma"]
    return eps_of_mu(mu, row.prepared.delta)


def check_views(recipe: str, figures: Sequence[dict[str, Any]], claims: Sequence[dict[str, Any]]) -> None:
    """Check the figures and claims of a recipe before any work; `InputError` names the key."""
    for figure in figures:
        check_figure(figure, recipe)
    for claim in claims:
        check_claim(claim, recipe)
    for view in (*claims, *(panel for figure in figures for panel in figure["panels"])):
        if unknown := sorted((view.get("where") or {}).keys() - set(KEYS)):
            raise InputError(f"{recipe}: where: {unknown[0]}: no such key; there are: {', '.join(KEYS)}")


def assemble(
    plan: Plan,
    rows: Sequence[MeasuredRow],
    repeats: Mapping[str, Sequence[RepeatRecord]],
    finish: Callable[..., Findings] | None = None,
) -> Findings:
    """Tables, figures and verdicts of a recipe of runs; `finish` adds those of its own `study.py`."""
    recipe = plan.recipe
    judged = row_verdicts(rows, recipe.margin, quick=plan.quick, typed=plan.typed)
    compared = [pair for of, minus in recipe.pairs for pair in pairs(rows, of, minus)]
    findings = Findings(
        about=recipe,
        command=plan.command,
        table=recipe_table(rows, judged, recipe.margin),
        more={"paired": paired_table(compared)} if compared else {},
        figures=run_figures(recipe.figures, rows),
        rows=list(judged.values()),
        claims=claim_verdicts(recipe.claims, rows),
        absent=[(row["name"], row.status, row.reason) for row in rows if row.status != "ok"],
        notes=[*recipe.notes, *([CLAIMS_RULE] if recipe.claims else []), *_notes_on(rows)],
        settings=shared_settings([row.columns() for row in plan.rows]),
        quick=plan.quick,
        private=any(row.config.dataset.name not in _PUBLIC for row in plan.rows),
        sources=sources() | plan.data(),
        commands={row.name: plan.command_of(row) for row in plan.rows},
        failures=[f"{row['name']}: {row.reason}" for row in rows if row.status == "failed"],
    )
    findings = finish(rows, findings, repeats) if finish else findings
    if plan.quick:
        return replace(findings, claims=[claim.unjudged("quick run") for claim in findings.claims])
    ex_post = eps_ex_post_verdict(rows)
    return replace(findings, claims=[*([ex_post] if ex_post else []), *findings.claims])


def _notes_on(rows: Sequence[MeasuredRow]) -> list[str]:
    """Number of rows without numbers, and the rows' own notes."""
    notes = []
    words = {"missing": "were not run", "infeasible": "cannot run", "failed": "broke off"}
    for status, word in words.items():
        reasons = [row.reason for row in rows if row.status == status]
        if reasons:
            why = reasons[0] if len(set(reasons)) == 1 else "the report and table.csv say why, row by row"
            notes.append(f"{len(reasons)} of {len(rows)} rows {word}: {why}")
    return notes + [f"{row['name']}: {row['note']}" for row in rows if row["note"]]
