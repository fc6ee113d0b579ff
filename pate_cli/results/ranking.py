"""Methods compared over tables: ranks, win rates, and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pate_cli.results.boards import Board
from pate_cli.results.interval import LEVEL, Interval

__all__ = ["Ranking", "Standing", "fewest_tables", "friedman", "holm", "ranking", "smallest_p", "standings"]


@dataclass(frozen=True)
class Ranking:
    """How a method stands over tables.

    Equals share the mean of their ranks, and a method without a value is last. p is of Wilcoxon's signed-rank
    test against the first method, over the tables where both have a value, two-sided, corrected by Holm for
    as many methods as are compared with the first; None for the first itself, and where no outcome on so many
    tables could be below 0.05.
    """

    rank: Interval  # mean over tables, 1 the best
    wins: Interval  # mean over tables of the share of others it is above, in [0, 1]; a tie is half a win
    firsts: int  # tables in which no other is above it
    p: float | None


def ranking(scores: Mapping[str, Sequence[float | None]]) -> dict[str, Ranking]:
    """Compare methods by a score a table, larger being better; all are tested against the first."""
    from scipy.stats import rankdata

    names, values = list(scores), _values(scores)
    ranks = rankdata(-values, axis=0)
    p = _against_first(values)
    rankings = {}
    for index, name in enumerate(names):
        wins = (len(names) - ranks[index]) / max(1, len(names) - 1)
        best = np.isfinite(values[index]) & (values[index] == values.max(axis=0))
        rankings[name] = Ranking(_over(ranks[index]), _over(wins), int(best.sum()), p[index])
    return rankings


class Standing(NamedTuple):
    """A method at a budget, over several boards."""

    ranking: Ranking
    scores: list[float | None]  # of each board, larger is better; None where it has none
    below: list[float]  # distances to the best model without privacy, where there are


def standings(boards: Sequence[Board]) -> dict[float, dict[str, Standing]]:
    """Standings by eps and method, on boards with the same methods, budgets and metric."""
    by_eps = {}
    for eps in boards[0].budgets:
        values = [board.values(eps) for board in boards]
        sign = boards[0].metric.sign
        scores = {
            name: [sign * means[name].mean if name in means else None for means in values]
            for name in boards[0].methods
        }
        by_eps[eps] = {
            name: Standing(
                ranks, scores[name], [gap.mean for board in boards if (gap := board.below(name, eps))]
            )
            for name, ranks in ranking(scores).items()
        }
    return by_eps


def _values(scores: Mapping[str, Sequence[float | None]]) -> NDArray[np.float64]:
    return np.array([[-math.inf if v is None else v for v in row] for row in scores.values()])


def _over(values: NDArray[np.float64]) -> Interval:
    """Mean over tables; no interval where all agree, since so few tables do not show the spread."""
    interval = Interval.of(values)
    return interval if interval.half_width else replace(interval, half_width=None)


def friedman(scores: Mapping[str, Sequence[float | None]]) -> float | None:
    """Test by Friedman whether the methods differ at all; None with fewer than 3 of them, or 5 tables.

    The p-value is that of the chi-squared approximation, which is rough below ten tables.
    """
    from scipy.stats import friedmanchisquare

    values = _values(scores)
    if values.shape[0] < 3 or values.shape[1] < 5:
        return None
    p = float(friedmanchisquare(*values).pvalue)
    return None if math.isnan(p) else p  # all alike on every table


def smallest_p(n_tables: int, comparisons: int) -> float:
    """Smallest p of the signed-rank test, corrected by Holm: all differences have one sign."""
    return min(1.0, comparisons * 2.0 ** (1 - n_tables))


def fewest_tables(comparisons: int) -> int:
    """Smallest number of tables for which a corrected p of 0.05 is possible."""
    return math.ceil(1 + math.log2(comparisons / (1 - LEVEL)))


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for their number (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p, kind="stable")
    corrected = np.minimum(1.0, np.asarray(p)[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(corrected)
    return [float(value) for value in adjusted]


def _against_first(values: NDArray[np.float64]) -> list[float | None]:
    """Corrected p of each row of scores against the first row; None for the first."""
    from scipy.stats import wilcoxon

    raw = []
    for row in values[1:]:
        both = np.isfinite(values[0]) & np.isfinite(row)
        gaps = values[0, both] - row[both]
        raw.append((float(wilcoxon(gaps).pvalue) if gaps.any() else 1.0, int(both.sum())))
    corrected = holm([p for p, _ in raw])
    possible = [smallest_p(n, len(raw)) <= 1 - LEVEL + 1e-12 for _, n in raw]
    return [None, *(p if able else None for p, able in zip(corrected, possible, strict=True))]
