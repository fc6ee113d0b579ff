"""Students learn from released answers and public points alone: post-processing."""

from pate_cli.students.fit import fit_student
from pate_cli.students.metrics import asked, by_class, mapped_once, measure, says_one_class
from pate_cli.students.registry import LINEAR, STUDENTS, LearnsCounts, check_student, make_student
from pate_cli.students.saved import SavedStudent, dump_student, load_student, read_student, save_student
from pate_cli.students.trusted import foreign_types

__all__ = ["LINEAR", "STUDENTS", "LearnsCounts", "SavedStudent", "asked", "by_class"]
__all__ += ["check_student", "dump_student", "fit_student", "foreign_types"]
__all__ += ["load_student", "make_student", "mapped_once", "measure", "read_student", "save_student"]
__all__ += ["says_one_class"]
