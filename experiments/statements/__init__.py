"""What the papers' theorems say of one problem: sample sizes, rates, and with which constants."""

from .problem import PARAMETERS, TheoryProblem
from .statements import STATEMENTS

__all__ = ["PARAMETERS", "STATEMENTS", "TheoryProblem"]
