"""Sample sizes and error rates of the papers' theorems for one problem, and which constants are known."""

from .problem import PARAMETERS, TheoryProblem
from .statements import STATEMENTS

__all__ = ["PARAMETERS", "STATEMENTS", "TheoryProblem"]
