"""What the papers' theorems say of one problem: sample sizes, rates, and with which constants."""

from pate_cli.theory.problem import PARAMETERS, TheoryProblem
from pate_cli.theory.statements import STATEMENTS, Quantity, Statement

__all__ = ["PARAMETERS", "STATEMENTS", "Quantity", "Statement", "TheoryProblem"]
