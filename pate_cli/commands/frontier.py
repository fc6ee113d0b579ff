"""`pate frontier`: accuracy against eps for chosen methods on one dataset."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from pate_cli.commands.comparison import add_options, compare, planner
from pate_cli.results.boards import LIMIT

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate frontier`; 1 if a row failed that should have given numbers."""
    options = _parser().parse_intermixed_args(argv)
    plan = planner(options, limit=options.limit)(options.overrides)
    of = plan.rows[0].config.dataset
    path, target = of.options.get("path"), of.options.get("target")
    name = Path(path).name if isinstance(path, str) else of.name
    names = filter(None, [name.partition(".")[0], target if isinstance(path, str) else None])
    return compare("frontier", argv, options, {name: plan}, names, asked={"limit": options.limit})


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
