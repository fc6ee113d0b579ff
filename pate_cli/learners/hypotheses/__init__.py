"""Hypothesis classes whose labelings of a sample can be listed: thresholds, stumps, points, rectangles.

All label with 0 and 1. Each class offers its VC dimension, the distinct labelings
("dichotomies") of a sample with one representative each, and exact empirical risk
minimisation. A hypothesis *is* a fitted classifier.
"""

from pate_cli.learners.hypotheses.hypothesis import Dichotomies, HypothesisClass
from pate_cli.learners.hypotheses.points import PointClassifier, Points
from pate_cli.learners.hypotheses.rectangles import RectangleClassifier, Rectangles
from pate_cli.learners.hypotheses.stumps import StumpClassifier, Stumps
from pate_cli.learners.hypotheses.thresholds import ThresholdClassifier, Thresholds

__all__ = ["CLASSES", "Dichotomies", "HypothesisClass", "PointClassifier", "Points", "RectangleClassifier"]
__all__ += ["Rectangles", "StumpClassifier", "Stumps", "ThresholdClassifier", "Thresholds"]

CLASSES: dict[str, HypothesisClass] = {
    each.name: each for each in (Thresholds(), Stumps(), Points(), Rectangles())
}
"""Hypothesis classes by their names in a config."""
