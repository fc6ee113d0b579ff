"""`pate plan --theory`: the papers' sample-complexity theorems at the sizes of a run."""

from __future__ import annotations

import argparse
import math
from importlib import import_module
from typing import Any

from pate_cli.commands import grid
from pate_cli.config import command_line, compose
from pate_cli.engine.rows import Row, forget
from pate_cli.errors import InputError
from pate_cli.terminal import out

__all__ = ["main"]

theory: Any = import_module("pate_cli.experiments.statements")
"""The theorems' numbers, which are beside the recipes."""

_SAME = "not used by pate plan --theory, whose numbers are the same whatever it is"


_UNUSED = ("seed", "compute", "ledger", "name", "tags", "hydra", "repeats", "release")


def main(argv: list[str]) -> int:
    """Run `pate plan --theory`, which refuses keys that no public number depends on."""
    options = _parser().parse_intermixed_args(argv)
    command_line.refuse_unused(options.overrides, dict.fromkeys(_UNUSED, _SAME))
    forget()
    problem = _problem(Row.of(compose(command_line.checked(options.overrides))), options)
    out().print(", ".join(f"{name} {_number(value)}" for name, value in vars(problem).items()), markup=False)
    rows: list[tuple[str, ...]] = []
    for statement in theory.STATEMENTS:
        rows.append((f"{statement.source}: {statement.about}",))
        rows += [(f"  {q.name}", _value(q), q.constants) for q in statement.evaluate(problem)]
    grid.show(("statement", "value", "constants"), rows, right=("value",))
    out().print(
        "explicit: every constant is the paper's or its proofs'. Otherwise the expression\n"
        "with the constant 1: to compare as n, m or eps change, with nothing else.\n"
        "with a slip: as printed, and not what its proof gives here; that is in the next row.\n"
        "A probability of 1 or more says nothing.",
        markup=False,
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


def _problem(run: Row, options: argparse.Namespace) -> Any:
    """Sizes of the run, replaced by options of the command line."""
    p = run.prepared
    numbers = {"n": p.sizes.n_private, "m": p.sizes.n_public, "eps": run.config.eps, "delta": p.delta}
    numbers |= {"d": p.dataset.n_features + 1}
    numbers |= {name: value for name in theory.PARAMETERS if (value := getattr(options, name)) is not None}
    if math.isinf(numbers["eps"]):
        raise InputError("eps: got inf; accepted: a finite number, the theorems are about privacy")
    return theory.TheoryProblem(**numbers)


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
