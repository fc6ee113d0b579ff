"""Sample sizes and error rates of the papers' theorems for one problem, and which constants are known."""

from .problem import TheoryProblem
from .statements import STATEMENTS

__all__ = ["STATEMENTS", "TheoryProblem"]
