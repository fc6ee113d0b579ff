"""`pate` from Python: a classifier with scikit-learn's conventions, runs, and results as a DataFrame."""

from pate_cli.api.classifier import PateClassifier, Privacy
from pate_cli.api.runs import run

__all__ = ["PateClassifier", "Privacy", "run"]
