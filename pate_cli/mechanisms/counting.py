"""Number of teachers from public numbers: `teacher.count=auto`."""

from __future__ import annotations

import math

from pate_cli.privacy.gaussian import mu_of

__all__ = ["auto_count"]

_RATIO = 0.45
_FEWEST = 10
_FEWEST_RECORDS_A_CLASS = 5


def auto_count(
    n_private: int,
    n_queries: int,
    n_features: int,
    n_classes: int,
    eps: float,
    delta: float,
) -> int:
    """Choose the number of teachers from public numbers alone, so it costs no privacy.

    Parameters
    ----------
    n_private, n_queries, n_features, n_classes : int
        Private records n; public points asked m; columns d (before encoding); classes C.
    eps, delta : float
        The budget; eps may be inf.

    Returns
    -------
    int
        K in [1, n_private].

    Notes
    -----
    With s = n/K records a teacher there are two errors to balance. *Weak teachers*: the mean vote is off by
    about ``d C/(2 s)``, as a fit of d coefficients on s records is. *Noise*: sigma is ``sqrt(m)/mu`` at
    mu-GDP, so a share of the votes has noise ``sqrt(m) s/(mu n)``, of which a student that smooths over
    ``r = min(d, m)`` directions keeps ``sqrt(r) s/(mu n)``. Their sum is smallest where ``s^2`` is in
    proportion to ``sqrt(r) (C/2) mu n``; the factor, 0.45^2, is measured, and the curve is flat there. At
    least 5 records a class and teacher, and 10 teachers where there are records for them. The rule is for
    noisy counts; the sparse vector technique may refuse it, with the number that would do.

    Examples
    --------
    >>> [auto_count(6_499, 163, 112, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2)]
    [132, 97, 71]
    """
    most = max(1, min(n_private // (_FEWEST_RECORDS_A_CLASS * n_classes), n_private))
    fewest = min(_FEWEST, most)
    if math.isinf(eps):
        return fewest
    mu = mu_of(eps, delta)
    directions = max(1, min(n_features, n_queries))
    size = _RATIO * math.sqrt(math.sqrt(directions) * n_classes / 2 * mu * n_private)
    return min(most, max(fewest, int(n_private / size)))
