"""Runs one recipe of either kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pate_cli.config.recipes import Recipe
from pate_cli.engine import schedule
from pate_cli.engine.plan import make_plan
from pate_cli.engine.progress import reporting
from pate_cli.engine.store import PLACE
from pate_cli.reproduce.assemble import assemble, check_views
from pate_cli.reproduce.study import finisher, run_study
from pate_cli.results.page import Findings
from pate_cli.results.repeats import RepeatsFile

__all__ = ["reproduce"]


def reproduce(
    recipe: Recipe,
    given: Sequence[str],
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

            return run_study(recipe, given, progress, quick=quick, config_dir=config_dir)
    check_views(recipe.name, recipe.figures, recipe.claims)
    finish = finisher(recipe)
    plan = make_plan(recipe, given, quick=quick, config_dir=config_dir)
    names = {row.spec.name: {"name": row.spec.name, "panel": row.spec.panel} for row in plan.rows}
    table = RepeatsFile(directory, {row.spec.name: row.columns(**names[row.spec.name]) for row in plan.rows})
    with reporting(recipe.name, f"repeats of {len(plan.ready)} rows") as advance:
        results = schedule.run(
            plan,
            directory / PLACE,
            force=force,
            advance=advance,
            seen=lambda done: done.write(table, done.row),
        )
    table.write()
    return assemble(plan, results, finish)
