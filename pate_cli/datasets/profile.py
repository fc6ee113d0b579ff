"""What the public points of a table hold, column by column, and how far other records are from it.

A profile is saved with a student, so that `pate predict` can tell records unlike those it was made of. It is
computed from public points alone, as the encoder is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.types import IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LARGE", "check_profile", "drift", "profile_of"]

LARGE = 0.25
"""Population stability index from which on a column is said to have drifted: the usual rule of thumb."""

_BINS = 10
_FEWEST = 5
"""Records expected in a bin, below which the test is not to be relied on (Cochran's rule)."""

_CHANCE = 0.001
"""Chance that drift is said of records like the public points, for all columns together."""


def profile_of(X: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Describe public records.

    Parameters
    ----------
    X : DataFrame
        float64 for numbers, NaN where missing; texts else.

    Returns
    -------
    dict
        Of each column, in plain types, how many records lie in each bin. Numbers: `low`, `high`, the bounds
        `edges` of at most ten bins of about equal size (a bound belongs to the bin below it), and `counts`,
        the last one of missing numbers. Texts: the nine most frequent `values`, where five records have it,
        and `counts`, the last one of all other texts.
    """
    return {str(name): _numbers(X[name]) if X[name].dtype == np.float64 else _texts(X[name]) for name in X}


def check_profile(profile: Mapping[str, Any]) -> None:
    """Raise an exception, whichever, unless it is one that `profile_of` makes; for what a file holds."""
    import pandas as pd

    n_bins = len(_counted(profile, pd.Series([], dtype=np.float64 if "edges" in profile else object)))
    counts = profile["counts"]
    if len(counts) != n_bins or any(type(n) is not int or n < 0 for n in counts) or not sum(counts):
        raise ValueError(f"counts {counts}")
    if "edges" in profile:
        float(profile["low"]), float(profile["high"])


def drift(profile: Mapping[str, Any], cells: pd.Series, n_columns: int) -> float | None:
    """Compute the population stability index of new records in one column, where there is drift.

    The index is the sum over bins of (q - p) ln(q / p), p and q the shares of public points and of new
    records in a bin, each count raised by 1/2. Of few records it is large by chance: it counts only where the
    chi-squared test of homogeneity, too, refuses that both are of one distribution. Neighbouring bins are put
    together until the test expects five records of each kind in every bin; of very few records nothing is
    said.

    Parameters
    ----------
    profile : mapping
        Of the column, see `profile_of`.
    cells : Series
        The new records, with the types that `profile_of` takes.
    n_columns : int
        Columns that are looked at.

    Returns
    -------
    float or None
        The index, at least `LARGE`; None for no drift.

    References
    ----------
    N. Siddiqi. Credit Risk Scorecards. Wiley, 2006.
    """
    from scipy.stats import chi2_contingency

    table = _joined(np.array([profile["counts"], _counted(profile, cells)]))
    if table.shape[1] < 2:
        return None
    raised = table + 0.5
    p, q = raised / raised.sum(axis=1, keepdims=True)
    index = float(((q - p) * np.log(q / p)).sum())
    if index < LARGE or chi2_contingency(table, correction=False).pvalue >= _CHANCE / n_columns:
        return None
    return index


def _joined(table: IntArray) -> IntArray:
    """Put neighbouring columns of two rows of counts together until enough is expected in each cell."""
    share = float(table.sum(axis=1).min() / table.sum())
    joined: list[IntArray] = []
    left = np.zeros(2, dtype=np.int64)
    for column in table.T:
        left = left + column
        if left.sum() * share >= _FEWEST:
            joined.append(left)
            left = np.zeros(2, dtype=np.int64)
    if joined:
        joined[-1] = joined[-1] + left
    return np.array(joined, dtype=np.int64).reshape(-1, 2).T


def _numbers(cells: pd.Series) -> dict[str, Any]:
    values = cells.to_numpy(dtype=np.float64)
    held = values[~np.isnan(values)]
    edges: list[float] = []
    if len(held):
        edges = np.unique(np.quantile(held, np.arange(1, _BINS) / _BINS, method="lower")).tolist()
    low, high = (float(held.min()), float(held.max())) if len(held) else (0.0, 0.0)
    profile = {"low": low, "high": high, "edges": edges}
    return profile | {"counts": _counted(profile, cells).tolist()}


def _texts(cells: pd.Series) -> dict[str, Any]:
    counts = cells.astype(str).value_counts()
    # of values as frequent as each other the first by name: the order of records says nothing
    ordered = sorted(counts.index, key=lambda value: (-counts[value], value))
    profile = {"values": [value for value in ordered[: _BINS - 1] if counts[value] >= _FEWEST]}
    return profile | {"counts": _counted(profile, cells).tolist()}


def _counted(profile: Mapping[str, Any], cells: pd.Series) -> IntArray:
    """Count the records of each bin; the last one is of missing numbers, or of other texts."""
    if "edges" in profile:
        values, edges = cells.to_numpy(dtype=np.float64), np.asarray(profile["edges"], dtype=np.float64)
        at = np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="left"))
        return _bins(at, len(edges) + 2)
    places = {value: place for place, value in enumerate(profile["values"])}
    at = np.array([places.get(text, len(places)) for text in cells.astype(str)], dtype=np.int64)
    return _bins(at, len(places) + 1)


def _bins(at: Any, n: int) -> IntArray:
    return np.bincount(at, minlength=n).astype(np.int64)
