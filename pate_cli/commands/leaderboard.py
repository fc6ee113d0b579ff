"""`pate leaderboard`: methods on many tables at many eps, and how far off the limits they are."""

from __future__ import annotations

import argparse
import shlex

from pate_cli.commands.chosen_tables import DEFAULT_TABLES, tables
from pate_cli.commands.comparison import add_options, compare, planner
from pate_cli.config.command_line import refuse_unused
from pate_cli.errors import ConfigError, InputError
from pate_cli.results.boards import METRICS

__all__ = ["main"]

_DATASET = "here it is --tables A,B, or --table NAME=OVERRIDE,OVERRIDE"


def main(argv: list[str]) -> int:
    """Run `pate leaderboard`; 1 if a row failed that should have given numbers."""
    options = _parser().parse_intermixed_args(argv)
    if options.metric not in METRICS:
        raise ConfigError("--metric", options.metric, ", ".join(METRICS))
    refuse_unused(options.overrides, {"dataset": _DATASET})
    plan_table = planner(options, limit=True)
    named = options.tables if options.tables is not None else "" if options.table else DEFAULT_TABLES
    specs = tables(named, options.table, options.config_dir)
    present, missing = ([s for s in specs if bool(s.missing) == absent] for absent in (False, True))
    plans = []
    for spec in present:
        try:
            plans.append(plan_table([*options.overrides, *spec.overrides]))
        except InputError as error:
            raise InputError(f"table {spec.name}: {error}") from error
    by_name = dict(zip([spec.name for spec in present], plans, strict=True))
    names = list(by_name) if len(plans) < 4 else [f"{len(plans)}_tables"]
    absent = [(spec.name, "missing", spec.missing) for spec in missing]
    asked = {"tables": [spec.name for spec in specs], "metric": options.metric}
    metric = METRICS[options.metric]
    return compare("leaderboard", argv, options, by_name, names, absent=absent, metric=metric, asked=asked)


def _parser() -> argparse.ArgumentParser:
    own = "mine.csv:target=label"
    parser = argparse.ArgumentParser(
        prog="pate leaderboard",
        description="Methods on many tables at the same splits: the best of each, mean ranks, win rates, and "
        "how far off the best model without privacy. Work done is kept: started again, it goes on.",
        epilog=f"Example: pate leaderboard --tables mushroom,a9a,{own} --eps 0.5,1,2 --methods best,gaussian "
        f"--table {shlex.quote('small=dataset=synthetic,dataset.n_records=3000')} --metric roc_auc. "
        "Files: table, ranks, paired, rows as .csv, .md, .tex; figure.png, .svg; report.html.",
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="of every row, as after pate run: split.public=100"
    )
    parser.add_argument(
        "--tables",
        metavar="A,B,...",
        help=f"data sets, NAME for NAME.csv in PATE_DATA, or files, options after colons: {own}; "
        f"default: {DEFAULT_TABLES}",
    )
    parser.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME=KEY=VALUE,...",
        help="one of your own, by its overrides; may be given again",
    )
    parser.add_argument(
        "--metric", default="accuracy", metavar="M", help=f"{', '.join(METRICS)}; another one costs no run"
    )
    add_options(parser, "0.1,0.25,0.5,1,2,4,10", "outputs/leaderboard/NAMES-HASH")
    return parser
