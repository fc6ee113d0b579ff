"""`pate plan --theory`: the papers' sample-complexity theorems at the sizes of a run."""

from __future__ import annotations

import argparse
import math
from importlib import import_module
from typing import Any

from pate_cli import terminal
from pate_cli.commands.plan import UNUSED
from pate_cli.config import command_line, composition
from pate_cli.engine import execution
from pate_cli.engine.execution import CheckedRun
from pate_cli.errors import InputError

__all__ = ["main"]

theory: Any = import_module("pate_cli.experiments.statements")
"""The theorems' numbers, which are beside the recipes."""

_SAME = "not used by pate plan --theory, whose numbers are the same whatever it is"


def main(argv: list[str]) -> int:
    """Run `pate plan --theory`."""
    options = _parser().parse_intermixed_args(argv)
    line = command_line.parse_argv(options.overrides)
    command_line.refuse_unused(line.overrides, UNUSED | dict.fromkeys(("repeats", "release"), _SAME))
    jobs = command_line.jobs(line)
    execution.forget()
    run = execution.checked(composition.compose(jobs[0]))
    problem = _problem(run, options)
    shown = ", ".join(f"{name} {_number(value)}" for name, value in vars(problem).items())
    terminal.out().print(shown, markup=False, highlight=False)
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("statement", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("constants")
    for statement in theory.STATEMENTS:
        table.add_row(f"{statement.source}: {statement.about}", style="bold")
        for quantity in statement.evaluate(problem):
            table.add_row(f"  {quantity.name}", _value(quantity), quantity.constants)
    terminal.out().print(table)
    terminal.out().print(
        "explicit: every constant is the paper's or its proofs'. Otherwise the expression\n"
        "with the constant 1: to compare as n, m or eps change, with nothing else.\n"
        "with a slip: as printed, and not what its proof gives here; that is in the next row.\n"
        "A probability of 1 or more says nothing.",
        markup=False,
        highlight=False,
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate plan --theory",
        usage="%(prog)s [--NAME NUMBER ...] [GROUP=OPTION ...] [KEY=VALUE ...]",
        description="Evaluate every sample-complexity statement of the four papers on the sizes of a run: "
        "how many records they ask for, or which error they promise. Trains and writes nothing.",
        epilog="Example: pate plan --theory dataset=mushroom eps=1.0 --alpha 0.1 --d 10",
    )
    parser.add_argument("--theory", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="as of pate run")
    for name, what in theory.PARAMETERS.items():
        parser.add_argument(f"--{name}", type=float, metavar="NUMBER", help=what)
    return parser


def _problem(run: CheckedRun, options: argparse.Namespace) -> Any:
    p = run.prepared
    given = {name: getattr(options, name) for name in theory.PARAMETERS if getattr(options, name) is not None}
    of_run = {
        "n": p.sizes.n_private,
        "m": p.sizes.n_public,
        "eps": run.config.eps,
        "delta": p.delta,
        "d": p.dataset.n_features + 1,
    }
    if math.isinf({**of_run, **given}["eps"]):
        raise InputError("eps: got inf; accepted: a finite number, the theorems are about privacy")
    return theory.TheoryProblem(**{**of_run, **given})


def _value(quantity: Any) -> str:
    if math.isinf(quantity.value):
        return "none"
    if quantity.kind != "size" and quantity.value >= 1:
        return ">= 1"
    return _number(quantity.value)


def _number(value: float) -> str:
    if value >= 1e6:
        return f"{value:.2e}"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
