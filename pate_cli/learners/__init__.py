"""Learners for teachers and students: built in, or any scikit-learn classifier by import path.

Importing this package is cheap; scikit-learn comes in when a learner is made.
"""

from pate_cli.learners.registry import (
    BUILT_IN,
    TWO_CLASSES,
    check_learner,
    dense_remarks,
    make_learner,
    row_by_row,
    try_out,
)

__all__ = [
    "BUILT_IN",
    "TWO_CLASSES",
    "check_learner",
    "dense_remarks",
    "make_learner",
    "row_by_row",
    "try_out",
]
