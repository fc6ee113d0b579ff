"""`pate leaderboard`: methods on many tables at many eps, and how far off the limits they are."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from pate_cli.commands.frontier import add_method_options, chosen_methods, directory_name, place, told
from pate_cli.compare.boards import METRICS, Board
from pate_cli.compare.leaderboard import leaderboard
from pate_cli.compare.methods import budgets, plan_frontier
from pate_cli.compare.tables import default_tables, tables
from pate_cli.config.command_line import refuse_unused
from pate_cli.config.composition import own_configs
from pate_cli.engine import schedule
from pate_cli.engine.progress import reporting
from pate_cli.errors import ConfigError, InputError
from pate_cli.report.output import check, write

__all__ = ["main"]

_BUDGETS = "0.1,0.25,0.5,1,2,4,10"


def main(argv: list[str]) -> int:
    """Run `pate leaderboard`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate leaderboard`.

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
    if options.metric not in METRICS:
        raise ConfigError("--metric", options.metric, ", ".join(METRICS))
    refuse_unused(
        options.overrides, {"dataset": "here it is --tables A,B, or --table NAME=OVERRIDE,OVERRIDE"}
    )
    named = options.tables if options.tables is not None else "" if options.table else default_tables()
    own = own_configs(options.config_dir)
    specs, methods, eps = (
        tables(named, options.table, own),
        chosen_methods(options, own),
        budgets(options.eps),
    )
    plans = []
    for spec in specs:
        if not spec.missing:
            try:
                plan = plan_frontier(
                    [*options.overrides, *spec.overrides],
                    methods,
                    eps,
                    repeats=options.repeats,
                    limit=True,
                    config_dir=own,
                )
            except InputError as error:
                raise InputError(f"table {spec.name}: {error}") from error
            plans.append((spec, plan))
    named_by = [spec.name for spec, _ in plans] if len(plans) < 4 else [f"{len(plans)}_tables"]
    missing = [spec for spec in specs if spec.missing]
    default = directory_name(
        named_by, [plan for _, plan in plans], tables=[one.name for one in specs], metric=options.metric
    )
    directory = options.output or Path("outputs", "leaderboard", default)
    check(directory, default=options.output is None)

    work = place(options.output)
    boards = []
    for spec, plan in plans:
        with reporting(spec.name, f"repeats of {len(plan.ready)} rows") as advance:
            results = schedule.run(plan, work, force=options.force, advance=advance)
        boards.append(Board(spec, plan, results))
    findings = leaderboard(boards, missing, METRICS[options.metric], ["pate", "leaderboard", *argv])
    write(directory, findings)
    return told(findings, directory, [f"{spec.name}: missing: {spec.missing}" for spec in missing])


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
        f"default: {default_tables()}",
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
    add_method_options(parser, _BUDGETS, "outputs/leaderboard/NAMES-HASH")
    return parser
