"""`pate reproduce`: a paper's table or figure, ours beside the printed numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from pate_cli.commands import all_recipes
from pate_cli.commands.outcome import RecipeOutcome, key_of, recipe_in, save
from pate_cli.commands.printing import add_output_options, print_json
from pate_cli.commands.recipe_run import reproduce
from pate_cli.commands.reporting import publish
from pate_cli.config.hydra_composition import own_configs
from pate_cli.engine import recipes
from pate_cli.errors import InputError
from pate_cli.results.page import checked_directory
from pate_cli.results.recipe_page import recipe_report
from pate_cli.terminal import err, only_writer, out

__all__ = ["main"]

_OUTPUT = Path("outputs") / "reproduce"


def main(argv: list[str]) -> int:
    """Run `pate reproduce`; 1 if a row failed that should have given numbers."""
    options = _parser().parse_intermixed_args(argv)
    if options.list:
        if options.name:
            raise InputError(f"--list: takes no recipe; pate reproduce {options.name} runs it")
        return _list(as_json=options.json)
    if not options.name:
        raise InputError(f"no recipe; there are: {', '.join(recipes.names())}")
    if "=" in options.name:
        raise InputError(f"{options.name}: the recipe comes first; there are: {', '.join(recipes.names())}")
    if options.name == all_recipes.NAME:
        return _all(options)
    recipe = recipes.find_recipe(options.name)
    default = _OUTPUT / (recipe.name + "-quick" * options.quick)
    directory = checked_directory(options.output, default, "recipe")
    quick, force = options.quick, options.force
    if (other := recipe_in(directory)) not in ("", recipe.name) and not force:
        kept = f"--output {directory}: holds the result of the recipe {other}"
        raise InputError(f"{kept}; give another directory, or --force to replace it")
    config_dir = own_configs(options.config_dir)
    with only_writer(directory):
        findings = reproduce(
            recipe, options.overrides, quick=quick, force=force, directory=directory, config_dir=config_dir
        )
        step = ("run it in full", [[w for w in findings.command if w != "--quick"]]) if quick else None
        code = publish(recipe_report(findings, step), directory, options, "reproduce")
        if config_dir is None:  # results with the user's own options are not for the page of all recipes
            save(directory, RecipeOutcome.of(findings), key_of(recipe, options.overrides, quick=quick))
    return code


def _all(options: argparse.Namespace) -> int:
    if options.config_dir:
        raise InputError("--config-dir: not with all recipes")
    choice = all_recipes.read_typed(options.overrides)
    directory = checked_directory(options.output, _OUTPUT, "recipe")
    findings = all_recipes.run_all(
        choice,
        directory,
        quick=options.quick,
        force=options.force,
        say=lambda line: err().print(line, markup=False, soft_wrap=True),
    )
    notes = [f"{status}: {name}: {why}" for name, status, why in findings.absent]
    return publish(recipe_report(findings), directory, options, "reproduce", notes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate reproduce",
        description="Regenerate a paper's table or figure: ours beside the printed numbers, with confidence "
        "intervals, paired differences and a verdict a row. Work done is kept: started again, it goes on.",
        epilog="Examples: pate reproduce table4 'dataset=[mushroom,a9a]'; pate reproduce table4 repeats=5; "
        "pate reproduce all: every recipe, and one page with each claim; pate reproduce --list. "
        "Files: table.csv, verdicts.csv, figure.png, .svg, report.html.",
    )
    parser.add_argument(
        "name", nargs="?", help="a recipe (see --list), a directory with a recipe.yaml, or all"
    )
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="dataset=[A,B] chooses rows; any other goes to every row, as after pate run (repeats=5); "
        "for a study, one of its parameters; with all: recipes=[A,B] (others as they are kept), seed=[0,1,2]",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    parser.add_argument("--list", action="store_true", help="say what there is")
    add_output_options(parser)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--force", action="store_true", help="do again what is already done")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="default: outputs/reproduce/NAME, NAME-quick with --quick"
    )
    return parser


def _list(*, as_json: bool) -> int:
    if as_json:
        all_recipes = [recipes.find_recipe(name) for name in recipes.names()]
        lines = [{"name": each.name, "title": each.title, "source": each.source} for each in all_recipes]
        print_json("reproduce --list", {"table": lines})
        return 0
    for name in recipes.names():
        recipe = recipes.find_recipe(name)
        out().print(f"{name}: {recipe.title}", markup=False, soft_wrap=True)
        out().print(f"    {recipe.source}", style="dim", markup=False, soft_wrap=True)
    return 0
