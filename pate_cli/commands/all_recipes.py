"""Every recipe, one after the other, and one page with every claim of the papers that they test."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pate_cli.commands.claims_page import NAME, NOT_RUN, page_of
from pate_cli.commands.outcome import RecipeOutcome, key_of, load, save
from pate_cli.commands.recipe_run import reproduce
from pate_cli.datasets import known_datasets
from pate_cli.engine import recipes
from pate_cli.errors import ConfigError, DataError, InputError, one_line
from pate_cli.plugins import contained
from pate_cli.results.findings import Findings
from pate_cli.results.page import checked_directory, write
from pate_cli.results.recipe_page import recipe_report
from pate_cli.terminal import only_writer

__all__ = ["NAME", "Choice", "read_typed", "run_all"]

_PLACES = ("compute",)
_ACCEPTED = "recipes=[A,B], seed=N or seed=[0,1,2], and compute.*"


@dataclass(frozen=True)
class Choice:
    """Arguments of `pate reproduce all`."""

    names: list[str]  # recipes to run; the others are shown as they are kept
    seeds: list[int]  # empty for each recipe's own
    places: list[str]  # overrides of where the work is done or kept, for recipes of runs


def read_typed(overrides: Sequence[str]) -> Choice:
    """Read overrides; `InputError` if one is none of those that every recipe can take."""
    names, seeds, places = recipes.names(), list[int](), list[str]()
    for text in overrides:
        key, equals, value = text.partition("=")
        items = [item.strip(" '\"") for item in value.removeprefix("[").removesuffix("]").split(",")]
        if key == "recipes" and equals:
            for name in items:
                if name not in recipes.names():
                    raise ConfigError("recipes", name, f"of {', '.join(recipes.names())}")
            names = list(dict.fromkeys(items))
        elif key == "seed" and equals:
            if not all(item.isdecimal() for item in items):
                raise ConfigError("seed", value, "a whole number >= 0, or a list of them")
            seeds = list(dict.fromkeys(map(int, items)))
        elif key.partition(".")[0] in _PLACES and equals:
            places.append(text)
        else:
            raise InputError(f"{text}: not with all recipes; accepted: {_ACCEPTED}")
    return Choice(names, seeds, places)


def run_all(choice: Choice, base: Path, *, quick: bool, force: bool, say: Callable[[str], None]) -> Findings:
    """Run the chosen recipes, and put the verdicts of all of them on one page.

    Results are kept, each in a directory of `base`, and found again as long as nothing they depend on has
    changed; `force` does the chosen ones again. A recipe that cannot be run is a line of the page.
    """
    outcomes: dict[str, dict[str, RecipeOutcome]] = {}
    for name in recipes.names():
        recipe = recipes.find_recipe(name)
        takes_seed = recipe.kind == "runs" or "seed" in recipe.params
        for seed in map(str, choice.seeds) if choice.seeds and takes_seed else [""]:
            typed = ([f"seed={seed}"] if seed else []) + (choice.places if recipe.kind == "runs" else [])
            own_seed = seed in ("", "0")
            place = base / (name + ("" if own_seed else f"-seed-{seed}") + "-quick" * quick)
            outcome, how = _outcome(
                recipe, typed, place, quick=quick, force=force, chosen=name in choice.names
            )
            if how:
                say(f"{' '.join([name, *typed])}: {how}")
            outcomes.setdefault(name, {})[seed] = outcome
    names = [f"recipes=[{','.join(choice.names)}]"] if choice.names != recipes.names() else []
    seeds = [f"seed=[{','.join(map(str, choice.seeds))}]"] if choice.seeds else []
    command = ["pate", "reproduce", NAME, *names, *seeds, *["--quick"] * quick]
    return page_of(outcomes, quick=quick, command=command)


def _outcome(
    recipe: recipes.Recipe, overrides: list[str], place: Path, *, quick: bool, force: bool, chosen: bool
) -> tuple[RecipeOutcome, str]:
    """Outcome of a recipe, as it is kept or of a run; and how it came about, empty if it was not run."""
    command = ["pate", "reproduce", recipe.name, *overrides, *["--quick"] * quick]
    try:
        key = key_of(recipe, overrides, quick=quick)
        before = None if force and chosen else load(place, key)
        # recipes of runs find their finished repeats, which know what data they are of
        if before is not None and (recipe.kind == "study" or not chosen):
            return before, "kept from before"
        if not chosen:
            return RecipeOutcome(recipe.name, "not run", NOT_RUN, command), ""
        if missing := "; ".join(filter(None, map(known_datasets.missing, recipe.data))):
            raise DataError(missing)  # as a row of such data says it, without trying a download
        started = time.monotonic()
        checked_directory(None, place, "recipe")
        with only_writer(place):
            with contained():
                findings = reproduce(recipe, overrides, quick=quick, force=force, directory=place)
            write(place, recipe_report(findings))
            outcome = RecipeOutcome.of(findings)
            save(place, outcome, key)
    except Exception as error:  # a fault of one recipe must not cost the others
        refused = "refused" if isinstance(error, InputError) else "failed"
        status = "missing" if isinstance(error, DataError) else refused
        why = str(error) if status != "failed" else one_line(f"{type(error).__name__}: {error}")
        return RecipeOutcome(recipe.name, status, why, command), f"{status}: {why}"
    return outcome, f"{outcome.status} in {time.monotonic() - started:.0f} s"
