"""`pate reproduce`: a paper's table or figure, ours beside the printed numbers."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from pate_cli.config import recipes
from pate_cli.config.composition import own_configs
from pate_cli.config.recipes import Recipe
from pate_cli.console import err, out
from pate_cli.engine import schedule
from pate_cli.engine.finished import PLACE
from pate_cli.engine.plan import make_plan
from pate_cli.engine.progress import reporting
from pate_cli.errors import InputError
from pate_cli.report.findings import Findings
from pate_cli.report.output import check, write
from pate_cli.reproduce.assemble import assemble
from pate_cli.reproduce.figures import check_figure
from pate_cli.reproduce.sizes import find_sizes
from pate_cli.reproduce.study import parameters, run_study
from pate_cli.reproduce.verdicts import check_claim

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate reproduce`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate reproduce`.

    Returns
    -------
    int
        0, or 1 if a row failed that should have given numbers.

    Raises
    ------
    InputError
        Before anything is written.
    OSError
        If a file cannot be written.
    """
    options = _parser().parse_intermixed_args(argv)
    if options.list:
        if options.name:
            raise InputError(f"--list: takes no recipe; pate reproduce {options.name} runs it")
        return _list()
    if not options.name:
        raise InputError(f"no recipe; there are: {', '.join(recipes.names())}")
    if "=" in options.name:
        raise InputError(f"{options.name}: the recipe comes first; there are: {', '.join(recipes.names())}")
    recipe = recipes.find_recipe(options.name)
    directory = options.output or Path("outputs") / "reproduce" / (recipe.name + "-quick" * options.quick)
    check(directory, default=options.output is None)
    findings = _reproduce(recipe, options, directory)
    write(directory, findings)
    _report(findings)
    err().print(f"written to {directory}", style="dim", markup=False, soft_wrap=True)
    for failure in findings.failures:
        err().print(f"pate: {failure}", markup=False, soft_wrap=True)
    return 1 if findings.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate reproduce",
        description="Regenerate a paper's table or figure: ours beside the printed numbers, with confidence "
        "intervals, paired differences and a verdict a row. Work done is kept: started again, it goes on.",
        epilog="Examples: pate reproduce table4 'dataset=[mushroom,a9a]'; pate reproduce table4 repeats=5; "
        "pate reproduce --list. Files: table.csv, .md, .tex, figure.png, .svg, report.html.",
    )
    parser.add_argument("name", nargs="?", help="a recipe (see --list), or a directory with a recipe.yaml")
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="dataset=[A,B] chooses rows; any other goes to every row, as after pate run (repeats=5); "
        "for a study, one of its parameters",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--force", action="store_true", help="do again what is already done")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="default: outputs/reproduce/NAME, NAME-quick with --quick"
    )
    return parser


def _list() -> int:
    for name in recipes.names():
        recipe = recipes.find_recipe(name)
        out().print(f"{name}: {recipe.title}", markup=False, soft_wrap=True)
        out().print(f"    {recipe.source}", style="dim", markup=False, soft_wrap=True)
    return 0


def _reproduce(recipe: Recipe, options: argparse.Namespace, directory: Path) -> Findings:
    quick: bool = options.quick
    if options.config_dir and recipe.kind != "runs":
        raise InputError(f"--config-dir: {recipe.name} composes no runs")
    if recipe.kind == "sizes":
        return find_sizes(recipe, options.overrides, quick=quick)
    if recipe.kind == "study":
        parameters(recipe, options.overrides, quick=quick)
        with reporting(recipe.name, "steps") as advance:
            return run_study(recipe, options.overrides, quick=quick, advance=advance)
    for figure in recipe.figures:
        check_figure(figure, recipe.name)
    for claim in recipe.claims:
        check_claim(claim, recipe.name)
    plan = make_plan(recipe, options.overrides, quick=quick, config_dir=own_configs(options.config_dir))
    with reporting(recipe.name, f"repeats of {len(plan.ready)} rows") as advance:
        results = schedule.run(plan, directory / PLACE, force=options.force, advance=advance)
    return assemble(plan, results)


def _report(findings: Findings) -> None:
    """Print the table, and what the paper's observations came to; the reasons are in the report."""
    findings.table.show()
    counts = Counter(verdict.verdict for verdict in findings.rows)
    if counts:
        out().print("rows: " + ", ".join(f"{count} {word}" for word, count in counts.items()), soft_wrap=True)
    for verdict in findings.claims:
        out().print(f"{verdict.verdict}: {verdict.name}", markup=False, soft_wrap=True)
    for note in findings.notes:
        out().print(f"- {note}", markup=False, soft_wrap=True)
