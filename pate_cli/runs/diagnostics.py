"""Figures of a repeat, computed from private or held-out data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pate_cli.mechanisms.votes import majority
from pate_cli.students import asked, mapped_once
from pate_cli.types import Answers, Split

__all__ = ["diagnostics"]


def diagnostics(
    run: Any, split: Split, trained: Any, answers: Answers, fit: Callable[..., Any]
) -> dict[str, float]:
    """Compute figures of a repeat for experiments: NOT differentially private.

    `run` and `trained` are of the pipeline; None where no teachers voted.
    """
    truth, answered_points = split.public_labels.y, answers.labels >= 0
    points, labels = answers.asked[answered_points], answers.labels[answered_points]
    labelled, answered = bool((truth >= 0).all()), len(points) > 0
    label_accuracy = float(np.mean(labels == truth[points])) if answered and labelled else float("nan")
    y = split.test.y
    majority_class = float(np.bincount(y[y >= 0], minlength=1).max() / len(y))
    if trained is None:
        return {"label_accuracy": label_accuracy, "majority_class": majority_class}
    votes, vote = trained.votes, majority(trained.votes.counts)
    # the same student on the exact votes on all public points: counts without noise where counts are released
    s, counted = run.config.student, answers.noisy_counts is not None
    seen = (run.setting.features, run.config.features.directions) if run.setting.student_mapped else None
    student = repr((s.estimator, s.params, seen, counted))
    if student not in trained.ceilings:
        exact = Answers(np.arange(len(vote)), vote, n_teachers=votes.n_teachers)
        exact = replace(exact, noisy_counts=votes.counts.astype(np.float64), noise=0.0) if counted else exact
        judge, X = mapped_once(fit(exact, probabilities=False), split.test)
        trained.ceilings[student] = float(np.mean(asked(judge, "predict", X) == split.test.y))
    figures = {
        "ceiling": trained.ceilings[student],
        "vote_agreement": float(np.mean(votes.counts.max(axis=1)) / votes.n_teachers),
        "vote_accuracy": float(np.mean(vote == truth)) if labelled else float("nan"),
        "label_accuracy": label_accuracy,
        "label_agreement": float(np.mean(labels == vote[points])) if answered else float("nan"),
        "teacher_accuracy": trained.teacher_accuracy,
        "majority_class": majority_class,
    }
    if run.config.mechanism.options.picks_queries:  # it may have stopped early
        figures["queries_wanted"] = float(run.sizes.budget if answers.n_chosen is None else answers.n_chosen)
    return figures
