"""How many teachers and rounds `score_boosting` has, where the user leaves it open: public numbers say."""

from __future__ import annotations

import math

from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Setting

__all__ = ["auto_count", "auto_rounds"]

_FEWEST_RECORDS = 12  # of a teacher
_RECORDS = 0.35  # of a teacher, per root of mu n
_LARGEST_MU = 6.0  # beyond, noise is none


def auto_count(
    n_private: int,
    n_queries: int,
    n_features: int,
    n_classes: int,
    eps: float,
    delta: float,
) -> int:
    """Choose the number of teachers of `score_boosting` from public numbers.

    Scores are averaged, not counted, so a teacher need not be right, only lean to what is right: where noise
    is what costs accuracy, many weak teachers serve better than few good ones, down to 12 records each, or
    one a class. Where it is not, weak ones agree on something else than the best model does: a teacher then
    has ``0.35 sqrt(mu n)`` records. Measured on mushroom, a9a and magic, with linear teachers and trees.

    Parameters
    ----------
    n_private, n_classes : int
    eps, delta : float
        The budget; eps may be inf.
    n_queries, n_features : int
        As in `mechanisms.auto_count`; the rule does without.

    Returns
    -------
    int
        K in [1, n_private].

    Examples
    --------
    >>> [auto_count(6_499, 163, 112, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2)]
    [541, 404, 298]
    """
    mu = _mu(eps, delta)
    return max(1, int(n_private / max(_FEWEST_RECORDS, n_classes, _RECORDS * math.sqrt(mu * n_private))))


def auto_rounds(setting: Setting) -> int:
    """Choose the number of rounds from public numbers: fewer of several classes where noise is large.

    Shares of classes, unlike vectors in directions, are no better known for being asked again: a round is
    as much as votes, and four of them at half the signal each are less than one where noise drowns them.
    """
    if setting.n_classes == 2:
        return 8
    mu = _mu(setting.eps, setting.delta)
    return min(4, max(1, round(mu * setting.n_teachers / (4 * setting.n_classes))))


def _mu(eps: float, delta: float) -> float:
    return _LARGEST_MU if math.isinf(eps) else min(mu_of(eps, delta), _LARGEST_MU)
