"""`pate frontier`: accuracy against eps for chosen methods on one dataset."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from pate_cli.commands.comparison import add_options, measured, output_directory, planner
from pate_cli.commands.comparison_report import frontier
from pate_cli.commands.methods import budgets
from pate_cli.commands.printing import publish
from pate_cli.results.boards import LIMIT
from pate_cli.terminal import err, only_writer

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate frontier`; 1 if a row failed that should have given numbers."""
    options = _parser().parse_intermixed_args(argv)
    plan = planner(options, limit=options.limit)(options.overrides)
    of = plan.rows[0].config.dataset
    path, target = of.options.get("path"), of.options.get("target")
    names = [Path(path).name.partition(".")[0], target] if isinstance(path, str) else [of.name]
    directory = output_directory(options, "frontier", filter(None, names), [plan], limit=options.limit)
    name = Path(path).name if isinstance(path, str) else of.name
    with only_writer(directory):
        repeats = measured({name: plan}, options, directory, "frontier")
        findings = frontier(repeats, plan, ["pate", "frontier", *argv])
        code = publish(
            findings, directory, options, "frontier", [f"- {text}" for text in findings.statements]
        )
    if len(budgets(options.eps)) > 1:
        hint = f"draw it: pate plot {shlex.quote(str(directory))}"
        err().print(hint, style="dim", markup=False, soft_wrap=True)
    return code


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
    add_options(parser, "0.25,0.5,1,2,4", "outputs/frontier/NAME-HASH")
    parser.add_argument(
        "--limit",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"measure the {LIMIT}, too, which takes 3 s a split (default: yes)",
    )
    return parser
