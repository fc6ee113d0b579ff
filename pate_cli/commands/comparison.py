"""Shared by `pate frontier` and `pate leaderboard`: options, planning, output directory, measuring."""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from pate_cli.commands.methods import DEFAULT_METHODS, budgets, methods, plan_frontier
from pate_cli.commands.printing import add_output_options, publish
from pate_cli.config.hydra_composition import own_configs
from pate_cli.engine import schedule
from pate_cli.engine.progress import reporting
from pate_cli.engine.recipe_plan import Plan
from pate_cli.engine.rows import Row
from pate_cli.engine.sources import sources
from pate_cli.engine.store import PLACE
from pate_cli.results.boards import ACCURACY, BASELINES, Metric
from pate_cli.results.page import checked_directory
from pate_cli.results.repeats import RepeatsFile, read_repeats
from pate_cli.results.report import report
from pate_cli.terminal import only_writer

__all__ = ["add_options", "compare", "planner"]


def add_options(parser: argparse.ArgumentParser, eps: str, output: str) -> None:
    """Add the options of a comparison of methods, with the defaults of `--eps` and `--output`."""
    parser.add_argument("--eps", default=eps, metavar="A,B,...", help=f"default: {eps}")
    parser.add_argument("--methods", metavar="A,B,...", help=f"default: {DEFAULT_METHODS}")
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME=KEY=VALUE,...",
        help="one of your own, by its overrides; may be given again",
    )
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="random splits; default: 30")
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    parser.add_argument("--force", action="store_true", help="do again what is already done")
    parser.add_argument("--output", type=Path, metavar="DIR", help=f"default: {output}")
    add_output_options(parser)


def planner(options: argparse.Namespace, *, limit: bool) -> Callable[[Sequence[str]], Plan]:
    """Plan the chosen methods at the chosen eps, given overrides common to all rows."""
    config_dir = own_configs(options.config_dir)
    names = options.methods if options.methods is not None else "" if options.method else DEFAULT_METHODS
    return functools.partial(
        plan_frontier,
        chosen=methods(names, options.method, config_dir),
        eps=budgets(options.eps),
        repeats=options.repeats,
        limit=limit,
        config_dir=config_dir,
    )


def compare(
    command: str,
    argv: Sequence[str],
    options: argparse.Namespace,
    plans: Mapping[str, Plan],
    names: Iterable[str],
    *,
    absent: Sequence[tuple[str, str, str]] = (),
    metric: Metric = ACCURACY,
    asked: Mapping[str, Any],
) -> int:
    """Measure methods on data sets, by name, and publish the report; 1 if a row failed.

    `names` are for the directory, and `asked` is what else tells it from others.
    """
    rows = [[(r.name, r.code, r.key.dataset or None) for r in plan.rows] for plan in plans.values()]
    code = hashlib.sha256(json.dumps([rows, asked]).encode()).hexdigest()[:12]
    default = "-".join(re.sub(r"[^\w.+-]+", "_", name)[:40] for name in (*names, code))
    directory = checked_directory(options.output, Path("outputs", command, default))
    several, (plan, *_) = len(plans) > 1 or command == "leaderboard", plans.values()
    with only_writer(directory):
        findings = report(
            _measured(plans, options, directory),
            ["pate", command, *argv],
            sources()
            | {key: text for name, of in plans.items() for key, text in of.data(name * several).items()},
            name=command,
            title="" if several else f"{next(iter(plans))}: accuracy against eps",
            metric=metric,
            learner="" if several else plan.rows[0].config.student.estimator.rpartition(".")[2],
            releases=None if several else _releases(plan),
            absent=absent,
            commands={
                f"{name}, {row.name}" if several else row.name: of.command_of(row)
                for name, of in plans.items()
                for row in of.rows
                if row.name not in BASELINES
            },
        )
        lines = [f"- {text}" for text in findings.statements]
        remarks = [f"{name}: missing: {why}" for name, _, why in absent]
        return publish(findings, directory, options, command, lines, remarks)


def _measured(plans: Mapping[str, Plan], options: argparse.Namespace, directory: Path) -> pd.DataFrame:
    """Measure the rows of plans, by name of their dataset; finished repeats are shared with `pate run`."""
    work = (options.output or Path("outputs")) / PLACE
    rows = {of + row.name: _columns(row) | {"dataset": of} for of, plan in plans.items() for row in plan.rows}
    table = RepeatsFile(directory, rows)
    for of, plan in plans.items():
        title = of if len(plans) > 1 else "frontier"
        with reporting(title, f"repeats of {len(plan.ready)} rows") as advance:
            seen = functools.partial(_write, table, of)
            schedule.run(plan, work, force=options.force, advance=advance, seen=seen)
    table.write()
    return read_repeats(table.path)


def _write(table: RepeatsFile, dataset: str, done: schedule.Done) -> None:
    done.write(table, dataset + done.row)


def _columns(row: Row) -> dict[str, Any]:
    """Columns of a row of `repeats.csv`: a baseline has no settings."""
    columns = row.columns()
    public = islice(columns, list(columns).index("eps"), None)
    return (
        {key: columns[key] for key in ("dataset", "method", *public)} if row.method in BASELINES else columns
    )


def _releases(plan: Plan) -> dict[tuple[str, float], list[str]]:
    """Overrides of a release by method and eps, without those of experiments."""
    left_out = ("eps=", "repeats=", "seed=", "name=", "tags=", "compute")
    config, prepared = plan.rows[0].config, next((row.checked for row in plan.rows if row.checked), None)
    public = []
    if prepared and prepared.dataset.public is None and not config.split.public_from_private:
        own = "public" in config.dataset.options  # a file of the user's
        public = ["dataset.public=FILE" if own else "split.public_from_private=true"]
    return {
        (row.method, row.config.eps): [t for t in row.spec.overrides if not t.startswith(left_out)] + public
        for row in plan.rows
    }
