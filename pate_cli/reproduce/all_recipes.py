"""Every recipe, one after the other, and one page with every claim of the papers that they test."""

from __future__ import annotations

import math
import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from pate_cli.config import recipes
from pate_cli.config.recipes import Recipe
from pate_cli.engine.plan import missing_data
from pate_cli.errors import ConfigError, DataError, InputError, one_line
from pate_cli.report import output
from pate_cli.report.findings import Findings
from pate_cli.report.table import Column, Table, number
from pate_cli.report.verdict import Verdict, VerdictWord
from pate_cli.reproduce.assemble import sources
from pate_cli.reproduce.outcome import Outcome, keep, kept, key_of, outcome_of
from pate_cli.reproduce.recipe_run import reproduce

__all__ = ["NAME", "Task", "page_of", "read_typed", "run_all"]

NAME = "all"
"""What is typed in place of a recipe's name."""

_NOT_RUN = "not chosen, and not kept"
_PLACES = ("compute", "cache")
_ACCEPTED = "recipes=[A,B], seed=N or seed=[0,1,2], compute.* and cache.*"
_SAID = (
    "Ours less what is claimed, with the interval at the level that the verdict is judged at: corrected for "
    "what is judged together. A claim over several cases has its numbers in the reason. How verdicts are "
    "given: docs/reproduce.md. Accuracy is measured on held-out records: not differentially private."
)

Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """What was typed after `pate reproduce all`.

    Attributes
    ----------
    chosen : list of str
        Names of the recipes to run; the others are shown as they are kept.
    seeds : list of int
        Empty for each recipe's own.
    given : list of str
        What says where the work is done or kept, for recipes of runs.
    """

    chosen: list[str]
    seeds: list[int]
    given: list[str]


def read_typed(given: Sequence[str]) -> Task:
    """Read overrides.

    Raises
    ------
    ConfigError
        If one is none of those that every recipe can take.
    """
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

    What is done is kept, and found again as long as nothing it depends on is another. A recipe that cannot
    be run is a line of the page, not the end.

    Parameters
    ----------
    task : Task
    base : Path
        Each recipe has a directory in it.
    quick : bool
        Whether each is to be run in its small version, without verdicts.
    force : bool
        Whether recipes that were chosen are done again.
    say : function
        Called with a line as each recipe is done.
    """
    seeds: list[int | None] = [*task.seeds] or [None]
    found: dict[str, dict[str, Outcome]] = {}
    for name in recipes.names():
        recipe = recipes.find_recipe(name)
        for seed in seeds if _takes_seed(recipe) else [None]:
            given = [] if seed is None else [f"seed={seed}"]
            given += task.given if recipe.kind == "runs" else []
            place = base / _place(name, seed, quick)
            one = _one(recipe, given, place, quick=quick, force=force, run=name in task.chosen, say=say)
            found.setdefault(name, {})["" if seed is None else str(seed)] = one
    return page_of(found, quick=quick, command=_command(task, quick))


def _takes_seed(recipe: Recipe) -> bool:
    return recipe.kind == "runs" or "seed" in recipe.params


def _place(name: str, seed: int | None, quick: bool) -> str:
    """Name of a recipe's directory: seed 0 is every recipe's own."""
    return f"{name}-seed-{seed}" * bool(seed) + name * (not seed) + "-quick" * quick


def _command(task: Task, quick: bool) -> list[str]:
    chosen = [f"recipes=[{','.join(task.chosen)}]"] if task.chosen != recipes.names() else []
    seeds = [f"seed=[{','.join(map(str, task.seeds))}]"] if task.seeds else []
    return ["pate", "reproduce", NAME, *chosen, *seeds, *["--quick"] * quick]


def _one(
    recipe: Recipe, given: list[str], place: Path, *, quick: bool, force: bool, run: bool, say: Say
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
            return Outcome(recipe.name, "not run", _NOT_RUN, command)
        if missing := "; ".join(filter(None, map(missing_data, recipe.data))):
            raise DataError(missing)  # as a row of such data says it, without trying a download
        started = time.monotonic()
        output.check(place, default=True)
        findings = reproduce(recipe, given, quick=quick, force=force, directory=place)
        output.write(place, findings)
        outcome = outcome_of(findings)
        keep(place, outcome, key)
        say(f"{label}: {outcome.status} in {time.monotonic() - started:.0f} s")
    except DataError as error:
        outcome = Outcome(recipe.name, "missing", str(error), command)
        say(f"{label}: missing: {error}")
    except InputError as error:
        outcome = Outcome(recipe.name, "refused", str(error), command)
        say(f"{label}: refused: {error}")
    except Exception as error:  # a fault of one recipe must not cost the others
        outcome = Outcome(recipe.name, "failed", one_line(f"{type(error).__name__}: {error}"), command)
        say(f"{label}: failed: {outcome.message}")
    return outcome


def page_of(found: Mapping[str, Mapping[str, Outcome]], *, quick: bool, command: list[str]) -> Findings:
    """Put the verdicts of recipes on one page.

    Parameters
    ----------
    found : mapping of str to mapping of str to Outcome
        By recipe, then by seed.
    quick : bool
    command : list of str
    """
    several = len({seed for by_seed in found.values() for seed in by_seed}) > 1
    columns = [
        Column("recipe", numeric=False),
        Column("claim", numeric=False, folds=True, prose=True),
        Column("ours less claimed"),
        Column("margin"),
        Column("verdict", numeric=False, tags=True),
        *([Column("with each seed", numeric=False, folds=True)] if several else []),
        Column("reason", numeric=False, prose=True),
        Column("command", numeric=False),
    ]
    cells, records, absent = [], [], []
    for name, by_seed in found.items():
        for seed, outcome in by_seed.items():
            if outcome.status != "done":
                absent.append((" seed ".join(filter(None, [name, seed])), outcome.status, outcome.message))
        first = next(iter(by_seed.values()))
        for verdict, words in _across(by_seed):
            gap, margin = verdict.gap, verdict.margin
            each = [", ".join(words)] if several else []
            shown = number(gap, "+.3g") if gap and math.isfinite(gap.mean) else "–"
            cells.append([name, verdict.name, shown, number(margin, "g"), verdict.verdict, *each])
            cells[-1] += [verdict.reason, shlex.join(first.command)]
            records.append(
                {
                    "recipe": name,
                    "claim": verdict.name,
                    "ours_less_claimed": gap and gap.mean,
                    "half_width": gap and gap.half_width,
                    "level": gap and gap.level,
                    "n": gap and gap.n,
                    "margin": margin,
                    "verdict": verdict.verdict,
                    "seeds": "; ".join(words) if several else None,
                    "reason": verdict.reason,
                    "command": shlex.join(first.command),
                }
            )
    counts = Counter(str(record["verdict"]) for record in records)
    told = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    recipe = Recipe(
        name=NAME,
        title="Every claim of the papers that is tested here",
        source="BTT18, NB20, LZCW21 and LWY25, by the recipes of experiments/",
        shows=f"{len(records)} rows and claims of {len(found)} recipes: {told}.",
        kind=NAME,
    )
    if others := [n for n, by_seed in found.items() if "not run" in {one.status for one in by_seed.values()}]:
        why = f"{_NOT_RUN}: pate reproduce {NAME} 'recipes=[{others[0]}]' runs the first"
        absent = [one for one in absent if one[1] != "not run"]
        absent.append((", ".join(others), "not run", why))
    failures = [f"{name}: {why}" for name, status, why in absent if status in ("failed", "refused")]
    return Findings(
        recipe=recipe,
        command=command,
        table=Table(columns, cells, records, _SAID, brief=[0, 1, 4]),
        absent=absent,
        notes=[_SEEDS] if several else [],
        quick=quick,
        sources=sources(),
        failures=failures,
    )


_SEEDS = (
    "Run with several seeds: a verdict is given where all seeds give it; where they differ it is undecided, "
    "and the numbers are those of the first."
)


def _across(by_seed: Mapping[str, Outcome]) -> list[tuple[Verdict, list[VerdictWord]]]:
    """Verdicts that all seeds make together, with the numbers of the first that has any; and all words."""
    each = [{one.name: one for one in outcome.verdicts} for outcome in by_seed.values()]
    names = dict.fromkeys(name for verdicts in each for name in verdicts)
    together = []
    for name in names:
        words: list[VerdictWord] = [v[name].verdict if name in v else "missing" for v in each]
        first = next(v[name] for v in each if name in v)
        agreed = words[0] if len(set(words)) == 1 else "no verdict" if "no verdict" in words else "undecided"
        together.append((replace(first, verdict=agreed), words))
    return together
