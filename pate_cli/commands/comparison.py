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
from pate_cli.commands.printing import add_output_options
from pate_cli.config.hydra_composition import own_configs
from pate_cli.engine import schedule
from pate_cli.engine.progress import reporting
from pate_cli.engine.recipe_plan import Plan
from pate_cli.engine.rows import Row
from pate_cli.engine.store import PLACE
from pate_cli.results.boards import BASELINES
from pate_cli.results.page import checked_directory
from pate_cli.results.repeats import RepeatsFile, read_repeats

__all__ = ["add_options", "measured", "output_directory", "planner"]


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


def output_directory(
    options: argparse.Namespace, command: str, names: Iterable[str], plans: Sequence[Plan], **more: Any
) -> Path:
    """Directory for the results, checked: `--output`, or one named by `names` and a hash of all rows."""
    rows = [[(r.name, r.code, r.key.dataset or None) for r in p.rows] for p in plans]
    code = hashlib.sha256(json.dumps([rows, more]).encode()).hexdigest()[:12]
    default = "-".join(re.sub(r"[^\w.+-]+", "_", name)[:40] for name in (*names, code))
    return checked_directory(options.output, Path("outputs", command, default))


def measured(
    plans: Mapping[str, Plan], options: argparse.Namespace, directory: Path, title: str = ""
) -> pd.DataFrame:
    """Measure the rows of plans, by name of their dataset; finished repeats are shared with `pate run`."""
    work = (options.output or Path("outputs")) / PLACE
    rows = {
        dataset + row.name: _columns(row) | {"dataset": dataset}
        for dataset, plan in plans.items()
        for row in plan.rows
    }
    table = RepeatsFile(directory, rows)
    for dataset, plan in plans.items():
        with reporting(title or dataset, f"repeats of {len(plan.ready)} rows") as advance:
            seen = functools.partial(_write, table, dataset)
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
