"""What the papers' theorems say of one problem: sample sizes, rates, and with which constants."""

from pate_cli.theory.problem import PARAMETERS, TheoryProblem
from pate_cli.theory.quantity import Quantity, Statement
from pate_cli.theory.statements import STATEMENTS

__all__ = ["PARAMETERS", "STATEMENTS", "Quantity", "Statement", "TheoryProblem"]
