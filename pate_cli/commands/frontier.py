"""`pate frontier`: accuracy against eps for chosen methods, on one data set or on many."""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from pate_cli.commands.methods import DEFAULT_METHODS, budgets, methods, plan_frontier, tables
from pate_cli.commands.printing import add_output_options
from pate_cli.commands.reporting import publish
from pate_cli.config.command_line import refuse_unused
from pate_cli.config.hydra_composition import own_configs
from pate_cli.engine import schedule
from pate_cli.engine.progress import reporting
from pate_cli.engine.recipe_plan import Plan
from pate_cli.engine.rows import Row
from pate_cli.engine.sources import sources
from pate_cli.engine.store import PLACE
from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.results.boards import METRICS
from pate_cli.results.page import checked_directory
from pate_cli.results.repeats import REPEATS, read_repeats
from pate_cli.results.repeats_file import RepeatsFile
from pate_cli.results.report import report
from pate_cli.results.settings import BASELINES, LIMIT, dataset_name, row_hash
from pate_cli.terminal import notice, only_writer

__all__ = ["main"]

_DATASET = "here it is --tables A,B, or --table NAME=OVERRIDE,OVERRIDE"
_EPS = "0.25,0.5,1,2,4"


def main(argv: list[str]) -> int:
    """Run `pate frontier`; 1 if a row failed that should have given numbers."""
    options = _parser().parse_intermixed_args(argv)
    if options.metric is not None and options.metric not in METRICS:
        raise ConfigError("--metric", options.metric, ", ".join(METRICS))
    plans, absent = _plans(options)
    several, (plan, *_) = bool(options.tables or options.table), plans.values()
    names = [_label(plan)] if not several else list(plans) if len(plans) < 4 else [f"{len(plans)}_tables"]
    directory = _directory(options, plans, [*names])
    if not options.force:
        _check_replaced(directory, plans)
    with only_writer(directory):
        data = {key: text for name, of in plans.items() for key, text in of.data(name * several).items()}
        full_report = report(
            _measured(plans, options, directory),
            ["pate", "frontier", *argv],
            sources() | data,
            metric=METRICS[options.metric] if options.metric else None,
            absent=absent,
        )
        return publish(
            full_report,
            directory,
            options,
            "frontier",
            [f"{name}: missing: {why}" for name, _, why in absent],
        )


def _plans(options: argparse.Namespace) -> tuple[dict[str, Plan], list[tuple[str, str, str]]]:
    """Plan every method at every eps, by name of the data set; and data sets that are not here, with why."""
    config_dir = own_configs(options.config_dir)
    names = options.methods if options.methods is not None else "" if options.method else DEFAULT_METHODS
    plan_table = functools.partial(
        plan_frontier,
        chosen=methods(names, options.method, config_dir),
        eps=budgets(options.eps),
        repeats=options.repeats,
        limit=options.limit,
        config_dir=config_dir,
    )
    if options.tables is None and not options.table:
        plan = plan_table(options.overrides)
        first = plan.rows[0]
        return {dataset_name(first.raw, first.config.dataset.name): plan}, []
    refuse_unused(options.overrides, {"dataset": _DATASET})
    plans, absent = {}, []
    for spec in tables(options.tables or "", options.table, options.config_dir):
        if spec.missing:
            absent.append((spec.name, "missing", spec.missing))
            continue
        try:
            plans[spec.name] = plan_table([*options.overrides, *spec.overrides])
        except InputError as error:
            raise InputError(f"table {spec.name}: {error}") from error
    return plans, absent


def _label(plan: Plan) -> str:
    """File and class of one data set, for the name of a directory."""
    of = plan.rows[0].config.dataset
    path, target = of.options.get("path") or of.options.get("schema"), of.options.get("target")
    if not isinstance(path, str):
        return of.name
    return "-".join(filter(None, [Path(path).name.partition(".")[0], target]))


def _directory(options: argparse.Namespace, plans: Mapping[str, Plan], names: list[str]) -> Path:
    """Directory of the result: as typed, or named by the data and everything it depends on."""
    rows = [[(r.name, r.code, r.key.dataset or None) for r in plan.rows] for plan in plans.values()]
    asked = {"limit": options.limit, "metric": options.metric, "tables": [*plans]}
    code = hashlib.sha256(json.dumps([rows, asked]).encode()).hexdigest()[:12]
    default = "-".join(re.sub(r"[^\w.+-]+", "_", name)[:40] for name in (*names, code))
    return checked_directory(options.output, Path("outputs", "frontier", default), "frontier")


def _check_replaced(directory: Path, plans: Mapping[str, Plan]) -> None:
    """Refuse (InputError) a directory with rows that are none of these: they would be gone."""
    try:
        earlier_rows = read_repeats([directory / REPEATS])
    except DataError:  # none, or not one of ours
        return
    ours = {row_hash(row.raw) for plan in plans.values() for row in plan.rows}
    others = earlier_rows[~earlier_rows["row"].isin(ours)]
    if len(others):
        first = others.iloc[0]
        which = f"{first['dataset']}, {first['method']}, eps {first['eps']:g}"
        raise InputError(
            f"--output {directory}: holds the result of another configuration ({which}); give another "
            "directory, or --force to replace it"
        )


def _measured(plans: Mapping[str, Plan], options: argparse.Namespace, directory: Path) -> pd.DataFrame:
    """Measure the rows of plans, by name of their dataset; finished repeats are shared with `pate run`."""
    work = (options.output or Path("outputs")) / PLACE
    rows = {
        of + row.name: _columns(plan, row) | {"dataset": of}
        for of, plan in plans.items()
        for row in plan.rows
    }
    expected = [
        text for plan in plans.values() for row in plan.ready for text in row.prepared.public_warnings
    ]
    for text in dict.fromkeys(expected):
        notice(text, "dim")
    table = RepeatsFile(directory, rows)
    for of, plan in plans.items():
        title = of if len(plans) > 1 else "frontier"
        with reporting(title, f"repeats of {len(plan.ready)} rows") as advance:
            schedule.run(plan.ready, work, force=options.force, advance=advance, table=table, prefix=of)
    table.write()
    return read_repeats(table.path)


def _columns(plan: Plan, row: Row) -> dict[str, Any]:
    """Columns of a row of `repeats.csv`: a baseline has no settings."""
    columns = row.columns() | {"overrides": shlex.join(plan.command_of(row)[2:])}
    public = islice(columns, list(columns).index("eps"), None)
    return (
        {key: columns[key] for key in ("dataset", "method", *public)} if row.method in BASELINES else columns
    )


def _parser() -> argparse.ArgumentParser:
    own_file = "mine.csv:target=label"
    parser = argparse.ArgumentParser(
        prog="pate frontier",
        description="Accuracy against eps for chosen methods on one data set, or on many, at the same "
        "splits, beside what is got without privacy. Work done is kept: started again, it goes on.",
        epilog="Examples: pate frontier dataset=mushroom --eps 0.5,1,2 --methods gaussian,svt,noisy_gd "
        f"--method {shlex.quote('trees=mechanism=gaussian,teacher=tree')} --repeats 30; pate frontier "
        f"--tables mushroom,a9a,{own_file} --eps 1. Files: table, paired, rows, repeats (.csv), report.html.",
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="of every row, as after pate run: dataset=mushroom"
    )
    parser.add_argument("--eps", default=_EPS, metavar="A,B,...", help=f"default: {_EPS}")
    parser.add_argument("--methods", metavar="A,B,...", help=f"default: {DEFAULT_METHODS}")
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME=KEY=VALUE,...",
        help="one of your own, by its overrides; may be given again",
    )
    parser.add_argument(
        "--tables",
        metavar="A,B,...",
        help="many data sets, with ranks and win rates over them: names, NAME for NAME.csv in PATE_DATA, or "
        f"files, options after colons: {own_file}",
    )
    parser.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME=KEY=VALUE,...",
        help="a data set of your own, by its overrides; may be given again",
    )
    parser.add_argument(
        "--metric",
        metavar="M",
        help=f"{', '.join(METRICS)}; default: accuracy, or roc_auc where one class has more than 80%% of the "
        "records or no model beats a constant answer. Another one costs no run",
    )
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="random splits; default: 30")
    parser.add_argument(
        "--limit",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"measure the {LIMIT}, too, which takes 3 s a split (default: yes)",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    parser.add_argument("--force", action="store_true", help="do again what is already done")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: outputs/frontier/NAME-HASH")
    add_output_options(parser)
    return parser
