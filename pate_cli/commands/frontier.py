"""`pate frontier`: accuracy against eps for chosen methods on one dataset."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pate_cli import terminal
from pate_cli.compare.baselines import LIMIT
from pate_cli.compare.methods import DEFAULT_METHODS, Method, budgets, methods, plan_frontier
from pate_cli.compare.report import report
from pate_cli.config.composition import own_configs
from pate_cli.engine import schedule
from pate_cli.engine.plan import Plan
from pate_cli.engine.progress import reporting
from pate_cli.engine.store import PLACE
from pate_cli.report.findings import Findings
from pate_cli.report.output import check, write

__all__ = ["add_method_options", "chosen_methods", "directory_name", "main", "place", "told"]

_BUDGETS = "0.25,0.5,1,2,4"


def main(argv: list[str]) -> int:
    """Run `pate frontier`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate frontier`.

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
    own = own_configs(options.config_dir)
    plan = plan_frontier(
        options.overrides,
        chosen_methods(options, own),
        budgets(options.eps),
        repeats=options.repeats,
        limit=options.limit,
        config_dir=own,
    )
    of = plan.rows[0].config.dataset
    path, target = of.options.get("path"), of.options.get("target")
    names = [Path(path).name.partition(".")[0], target] if isinstance(path, str) else [of.name]
    default = directory_name(filter(None, names), [plan], limit=options.limit)
    directory = options.output or Path("outputs", "frontier", default)
    check(directory, default=options.output is None)

    work = place(options.output)
    with reporting("frontier", f"repeats of {len(plan.ready)} rows") as advance:
        results = schedule.run(plan, work, force=options.force, advance=advance)
    findings = report(plan, results, ["pate", "frontier", *argv])
    write(directory, findings)
    return told(findings, directory)


def directory_name(names: Iterable[str], plans: Sequence[Plan], **more: Any) -> str:
    """Make the name of a result's directory: `names`, and a hash of rows, data and `more`."""
    rows = [[(row.spec.name, row.code, row.key and row.key.dataset) for row in p.rows] for p in plans]
    code = hashlib.sha256(json.dumps([rows, more]).encode()).hexdigest()[:12]
    return "-".join(re.sub(r"[^\w.+-]+", "_", name)[:40] for name in (*names, code))


def place(output: Path | None) -> Path:
    """Say where finished repeats are kept: in the directory asked for, else where those of `pate run` are."""
    return (output or Path("outputs")) / PLACE


def chosen_methods(options: argparse.Namespace, config_dir: str | None) -> list[Method]:
    """Read `--methods` and `--method`; the usual ones if there is neither.

    Raises
    ------
    InputError
    """
    names = options.methods if options.methods is not None else "" if options.method else DEFAULT_METHODS
    return methods(names, options.method, config_dir)


def add_method_options(parser: argparse.ArgumentParser, eps: str, output: str) -> None:
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate frontier",
        description="Accuracy against eps for chosen methods on one dataset, at the same splits, beside "
        "what is got without privacy. Work done is kept: started again, it goes on.",
        epilog="Example: pate frontier dataset=mushroom --eps 0.5,1,2 --methods gaussian,svt,noisy_gd "
        f"--method {shlex.quote('trees=mechanism=gaussian,teacher=tree')} --repeats 30. "
        "Files: table.csv, .md, .tex, figure.png, .svg, report.html.",
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="of every row, as after pate run: dataset=mushroom"
    )
    add_method_options(parser, _BUDGETS, "outputs/frontier/NAME-HASH")
    parser.add_argument(
        "--limit", action="store_true", help=f"measure the {LIMIT} too, which takes seconds a split"
    )
    return parser


def told(findings: Findings, directory: Path, remarks: Sequence[str] = ()) -> int:
    """Print the table, statements, `remarks`, where the files are and what failed; give the exit code."""
    findings.table.show()
    for statement in findings.statements:
        terminal.out().print(f"- {statement}", markup=False, soft_wrap=True)
    for remark in remarks:
        terminal.err().print(f"pate: {remark}", markup=False, soft_wrap=True)
    terminal.err().print(f"written to {directory}", style="dim", markup=False, soft_wrap=True)
    for failure in findings.failures:
        terminal.err().print(f"pate: {failure}", markup=False, soft_wrap=True)
    return 1 if findings.failures else 0
