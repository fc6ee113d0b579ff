"""Disjoint parts of the private records, a teacher on each, and their votes; knows no privacy."""

from pate_cli.teachers.directions import score_vectors, sum_of_unit_shares, sum_of_unit_vectors, unit_of
from pate_cli.teachers.ensemble import Ensemble, Failures, Teacher, fit_part, kept_at_once, train
from pate_cli.teachers.parts import n_teachers, partition
from pate_cli.teachers.progress import watched

__all__ = [
    "Ensemble",
    "Failures",
    "Teacher",
    "fit_part",
    "kept_at_once",
    "n_teachers",
    "partition",
    "score_vectors",
    "sum_of_unit_shares",
    "sum_of_unit_vectors",
    "train",
    "unit_of",
    "watched",
]
