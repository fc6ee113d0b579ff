"""Disjoint parts of the private records, a teacher on each, and their votes; no accounting."""

from pate_cli.teachers.ensemble import (
    NONE_FAILED,
    Ensemble,
    Failures,
    Teacher,
    Teachers,
    failures,
    judge_each,
    predict_each,
    released,
)
from pate_cli.teachers.parts import n_teachers, partition
from pate_cli.teachers.training import batches, ensemble_of, fit_part, train, watched
from pate_cli.teachers.unit_vectors import (
    grain_of,
    score_matrices,
    score_vectors,
    sum_of_unit_shares,
    sum_of_unit_vectors,
    sum_of_units,
)

__all__ = ["NONE_FAILED", "Ensemble", "Failures", "Teacher", "Teachers"]
__all__ += ["batches", "ensemble_of", "failures", "fit_part", "n_teachers", "partition", "predict_each"]
__all__ += ["judge_each", "released", "train", "watched"]
__all__ += ["score_matrices", "score_vectors", "sum_of_unit_shares", "sum_of_unit_vectors", "sum_of_units"]
__all__ += ["grain_of"]
