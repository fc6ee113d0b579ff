"""What is known of classifiers by their types."""

from __future__ import annotations

from typing import Any

__all__ = ["is_linear", "row_by_row"]

_LINEAR = ("LinearSVC", "SgdLogistic", "LinearDiscriminantAnalysis")
"""Names of linear classifiers outside of `sklearn.linear_model`."""


def is_linear(learner: Any) -> bool:
    """Whether a classifier is linear in its columns, by its type; of a pipeline, its last step."""
    while hasattr(learner, "steps") or type(learner).__name__ == "DenseInput":
        learner = learner.steps[-1][1] if hasattr(learner, "steps") else learner.estimator
    kind = type(learner)
    linear = kind.__module__.startswith("sklearn.linear_model.") or kind.__name__ in _LINEAR
    return linear or (kind.__name__ == "LibsvmClassifier" and learner.kernel == "linear")


def row_by_row(model: Any) -> bool:
    """Whether a fitted classifier is known to label each record by itself, and to fail on no finite numbers.

    A number of its result may round otherwise where the record stands elsewhere, not where others do.
    """
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    kind = type(model)
    if kind.__name__ == "MappedClassifier" and kind.__module__.startswith("pate_cli."):
        ours = type(model.features).__module__.startswith("pate_cli.")
        return ours and row_by_row(model.classifier)
    if kind.__module__.startswith("pate_cli."):  # a subclass of others may differ
        return bool(getattr(model, "row_by_row", False))
    trees = (DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier)
    return kind in (LogisticRegression, LinearSVC, *trees)
