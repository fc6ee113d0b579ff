"""Boosting by votes: a private learner whose teachers are trained again on what the student gets wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.private_learner import LearnerPlan
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "auto_count", "plan"]

OPTIONS: dict[str, dict[str, Any]] = {
    "boosting": {"rounds": 4, "step": 4.0, "kernel": "auto"},
    "score_boosting": {"rounds": "auto", "calibration": 0.15},
}
"""Options of each learner here (`mechanism.OPTION`), with their defaults."""


def auto_count(
    n_private: int,
    n_queries: int,
    n_features: int,
    n_classes: int,
    eps: float,
    delta: float,
    *,
    rounds: int = 1,
) -> int:
    """Choose the number of teachers of `score_boosting` from public numbers: 12 records each, or one a class.

    Scores are averaged, not counted, so a teacher need not be right, only lean to what is right: many weak
    ones serve better than few good ones, down to where a part lacks most of the classes. Measured on
    mushroom (8, 12 and 20 records do alike), digits and letter.

    Parameters
    ----------
    n_private, n_classes : int
    n_queries, n_features, eps, delta, rounds
        As in `mechanisms.auto_count`; the rule does without.

    Returns
    -------
    int
        K in [1, n_private].
    """
    return max(1, n_private // max(12, n_classes))


def plan(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Check the options of a learner and calibrate it.

    Raises
    ------
    ConfigError
        If an option is not accepted.
    """
    given = {**OPTIONS[name], **options}
    rounds = given["rounds"]
    if name == "score_boosting" and rounds == "auto":
        rounds = 8 if setting.n_classes == 2 else 4
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 100:
        otherwise = "auto, or " if name == "score_boosting" else ""
        raise ConfigError("mechanism.rounds", rounds, f"{otherwise}a whole number from 1 to 100")
    if name == "score_boosting":
        from pate_cli.boosting.scores import ScoreBoostingPlan

        share = given["calibration"]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise ConfigError("mechanism.calibration", share, "a number in (0, 1)")
        return ScoreBoostingPlan(setting, rounds, float(share))
    from pate_cli.boosting.rounds import BoostingPlan

    step, kernel = given["step"], given["kernel"]
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step <= 100:
        raise ConfigError("mechanism.step", step, "a number in (0, 100]")
    if kernel not in ("auto", "linear", "rbf"):
        raise ConfigError("mechanism.kernel", kernel, "auto, linear, rbf")
    return BoostingPlan.of(setting, rounds=rounds, step=float(step), kernel=kernel)
