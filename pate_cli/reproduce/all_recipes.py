"""Every recipe, one after the other, and one page with every claim of the papers that they test."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pate_cli.config import recipes
from pate_cli.engine.plan import missing_data
from pate_cli.errors import ConfigError, DataError, InputError, one_line
from pate_cli.report import output
from pate_cli.report.findings import Findings
from pate_cli.reproduce.claims_page import NAME, NOT_RUN, page_of
from pate_cli.reproduce.outcome import Outcome, keep, kept, key_of
from pate_cli.reproduce.recipe_run import reproduce

__all__ = ["NAME", "Task", "read_typed", "run_all"]

_PLACES = ("compute", "cache")
_ACCEPTED = "recipes=[A,B], seed=N or seed=[0,1,2], compute.* and cache.*"
Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """Arguments of `pate reproduce all`."""

    chosen: list[str]  # recipes to run; the others are shown as they are kept
    seeds: list[int]  # empty for each recipe's own
    given: list[str]  # overrides of where the work is done or kept, for recipes of runs


def read_typed(given: Sequence[str]) -> Task:
    """Read overrides; `InputError` if one is none of those that every recipe can take."""
    chosen, seeds, rest = recipes.names(), list[int](), list[str]()
    for text in given:
        key, equals, value = text.partition("=")
        items = [item.strip(" '\"") for item in value.removeprefix("[").removesuffix("]").split(",")]
        if key == "recipes" and equals:
            for name in items:
                if name not in recipes.names():
                    raise ConfigError("recipes", name, f"of {', '.join(recipes.names())}")
            chosen = list(dict.fromkeys(items))
        elif key == "seed" and equals:
            if not all(item.isdecimal() for item in items):
                raise ConfigError("seed", value, "a whole number >= 0, or a list of them")
            seeds = list(dict.fromkeys(map(int, items)))
        elif key.partition(".")[0] in _PLACES and equals:
            rest.append(text)
        else:
            raise InputError(f"{text}: not with all recipes; accepted: {_ACCEPTED}")
    return Task(chosen, seeds, rest)


def run_all(task: Task, base: Path, *, quick: bool, force: bool, say: Say) -> Findings:
    """Run the recipes that were chosen, and put the verdicts of all of them on one page.

    Results are kept, each in a directory of `base`, and found again as long as nothing they depend on has
    changed; `force` does the chosen ones again. A recipe that cannot be run is a line of the page.
    """
    seeds: list[int | None] = [*task.seeds] or [None]
    found: dict[str, dict[str, Outcome]] = {}
    for name in recipes.names():
        recipe = recipes.find_recipe(name)
        for seed in seeds if _takes_seed(recipe) else [None]:
            given = [] if seed is None else [f"seed={seed}"]
            given += task.given if recipe.kind == "runs" else []
            place = base / (name + (f"-seed-{seed}" if seed else "") + "-quick" * quick)  # 0: its own
            one = _one(recipe, given, place, quick=quick, force=force, run=name in task.chosen, say=say)
            found.setdefault(name, {})["" if seed is None else str(seed)] = one
    return page_of(found, quick=quick, command=_command(task, quick))


def _takes_seed(recipe: recipes.Recipe) -> bool:
    return recipe.kind == "runs" or "seed" in recipe.params


def _command(task: Task, quick: bool) -> list[str]:
    chosen = [f"recipes=[{','.join(task.chosen)}]"] if task.chosen != recipes.names() else []
    seeds = [f"seed=[{','.join(map(str, task.seeds))}]"] if task.seeds else []
    return ["pate", "reproduce", NAME, *chosen, *seeds, *["--quick"] * quick]


def _one(
    recipe: recipes.Recipe, given: list[str], place: Path, *, quick: bool, force: bool, run: bool, say: Say
) -> Outcome:
    command = ["pate", "reproduce", recipe.name, *given, *["--quick"] * quick]
    label = " ".join([recipe.name, *given])
    try:
        key = key_of(recipe, given, quick=quick)
        before = None if force and run else kept(place, key)
        # recipes of runs find their finished repeats, which know what data they are of
        if before is not None and (recipe.kind == "study" or not run):
            say(f"{label}: kept from before")
            return before
        if not run:
            return Outcome(recipe.name, "not run", NOT_RUN, command)
        if missing := "; ".join(filter(None, map(missing_data, recipe.data))):
            raise DataError(missing)  # as a row of such data says it, without trying a download
        started = time.monotonic()
        output.check(place, default=True)
        findings = reproduce(recipe, given, quick=quick, force=force, directory=place)
        output.write(place, findings)
        outcome = Outcome.of(findings)
        keep(place, outcome, key)
        say(f"{label}: {outcome.status} in {time.monotonic() - started:.0f} s")
    except Exception as error:  # a fault of one recipe must not cost the others
        refused = "refused" if isinstance(error, InputError) else "failed"
        status = "missing" if isinstance(error, DataError) else refused
        why = str(error) if status != "failed" else one_line(f"{type(error).__name__}: {error}")
        outcome = Outcome(recipe.name, status, why, command)
        say(f"{label}: {status}: {why}")
    return outcome
