"""Learners for teachers and students: built in, or any scikit-learn classifier by import path.

Importing this package is cheap; scikit-learn comes in when a learner is made.
"""

from pate_cli.learners.class_params import by_code, limit_to
from pate_cli.learners.properties import is_linear, row_by_row
from pate_cli.learners.registry import (
    BUILT_IN,
    TWO_CLASSES,
    check_learner,
    dense_warnings,
    gives_shares,
    make_learner,
    passed_on,
    try_out,
)

__all__ = ["BUILT_IN", "TWO_CLASSES", "by_code", "check_learner", "dense_warnings"]
__all__ += ["gives_shares", "is_linear", "limit_to", "make_learner", "passed_on", "row_by_row", "try_out"]
