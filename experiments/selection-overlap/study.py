"""Overlap of the public points chosen by two mechanisms (LZCW21 Remark 25).

The sparse vector technique pays for the points it leaves unanswered; the active
learner pays for those it asks. Both walk through the public points in the same order
and both may stop early, so they are compared on the points both reached: with a of
them asked, s unanswered and u reached, two independent choices of these sizes share
k of them, k hypergeometric. That is the chance the overlap is compared with.

References
----------
.. [1] LZCW21, Remark 25: an open question there.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from matplotlib.figure import Figure
from scipy.stats import hypergeom

from pate_cli.checks import Check, Text
from pate_cli.engine.store import RepeatRecord
from pate_cli.results.figures import look, new_figure
from pate_cli.results.findings import Findings
from pate_cli.results.interval import Interval
from pate_cli.results.means import MeasuredRow, flat
from pate_cli.results.recipe_figures import Series, draw_series
from pate_cli.results.recipe_tables import Pair, pairs
from pate_cli.results.tables import Head, Table, number
from pate_cli.results.verdicts import Verdict

Results: TypeAlias = Mapping[str, Sequence[RepeatRecord]]
"""Repeats of each row, by its name."""

CHECKS: dict[str, Check] = {"asked": Text("a method"), "paid": Text("a method")}

_SHOWN = ("dataset", "eps", "cutoff", "jaccard", "jaccard_chance", "excess", "status")
"""Columns on a terminal; the files have all."""
_LINES = {"jaccard": "measured", "jaccard_chance": "by chance, same sizes"}
"""Lines of the figure."""


class Overlap(NamedTuple):
    """Two sets of points in one repeat."""

    reached: int  # points both mechanisms came to, u
    asked: int  # of them, by the active learner
    paid: int  # left unanswered by the sparse vector technique
    shared: int  # both
    jaccard: float  # shared / (asked or paid)
    jaccard_chance: float  # its expectation for independent choices of the same sizes
    coefficient: float  # shared / min(asked, paid)
    coefficient_chance: float
    excess: float  # Jaccard index above chance


@dataclass(frozen=True, eq=False)
class Compared:
    """The repeats of a pair of rows in which both chose at least one point."""

    pair: Pair  # `of` is the active learner, `minus` the sparse vector technique
    found: list[Overlap]

    def over(self, name: str) -> Interval | None:
        """Mean over these repeats."""
        return Interval.of(getattr(one, name) for one in self.found) if self.found else None


def compare(active: RepeatRecord, svt: RepeatRecord, budget: int) -> Overlap | None:
    """Compare one repeat of both, on the same split; None where one of the sets is empty.

    `asked` of the active learner, at most `budget` points, is in the order of the stream; that of the sparse
    vector technique is the stream itself, up to where it stopped.
    """
    reached = len(svt.asked)
    if active.n_asked >= budget and active.asked[-1] in svt.asked:
        reached = svt.asked.index(active.asked[-1]) + 1
    common = set(svt.asked[:reached])
    asked, paid = common.intersection(active.asked), common.intersection(svt.unanswered)
    if not asked or not paid:
        return None
    shared, both, smaller = len(asked & paid), len(asked) + len(paid), min(len(asked), len(paid))
    chance = hypergeom(reached, len(asked), len(paid))
    possible = range(max(0, both - reached), smaller + 1)
    jaccard = shared / (both - shared)
    jaccard_chance = float(sum(chance.pmf(k) * k / (both - k) for k in possible))
    return Overlap(
        reached,
        len(asked),
        len(paid),
        shared,
        jaccard,
        jaccard_chance,
        shared / smaller,
        len(asked) * len(paid) / reached / smaller,
        jaccard - jaccard_chance,
    )


def finish(p: dict[str, str], rows: Sequence[MeasuredRow], findings: Findings, results: Results) -> Findings:
    """Put the overlaps in the place of the table of runs, with a figure, and a verdict for each dataset."""
    compared = [_compared(pair, results) for pair in pairs(rows, p["asked"], p["paid"])]
    figure = {"figure": functools.partial(overlap_figure, compared)} if compared else {}
    return replace(
        findings,
        table=overlap_grid(compared, rows, p["paid"]),
        more={"rows": findings.table, **findings.more},
        figures=figure | findings.figures,
        claims=[*findings.claims, *overlap_verdicts(compared)],
    )


def _compared(pair: Pair, results: Results) -> Compared:
    budget = int(pair.of["budget"] or 0)
    others = {repeat.repeat: repeat for repeat in results[pair.minus["name"]]}
    both = [(one, others[one.repeat]) for one in results[pair.of["name"]] if one.repeat in others]
    found = (compare(active, svt, budget) for active, svt in both)
    return Compared(pair, [overlap for overlap in found if overlap is not None])


def overlap_grid(compared: Sequence[Compared], rows: Sequence[MeasuredRow], paid: str) -> Table:
    """Table of the mean overlaps; rows of the sparse vector technique without numbers have a status."""
    records: list[dict[str, Any]] = []
    for one in compared:
        row = one.pair.minus
        record = {
            "dataset": row["dataset"],
            "eps": row["eps"],
            "cutoff": None if row["cutoff"] is None else int(row["cutoff"]),
            "n": len(one.found),
        }
        record |= flat({name: one.over(name) for name in Overlap._fields})
        records.append(record | {"status": "ok" if one.found else "one of the sets is always empty"})
    for row in rows:
        if row["method"] == paid and row.status != "ok":
            records.append({"dataset": row["dataset"], "eps": row["eps"], "status": row.status})
    names = list(records[0]) if records else ["dataset", "eps", "status"]
    records = [{name: record.get(name) for name in names} for record in records]
    cells = [[one if isinstance(one, str) else number(one, ".3g") for one in r.values()] for r in records]
    texts = ("dataset", "status")
    columns = [Head(name, numeric=name not in texts, detail=name not in _SHOWN) for name in names]
    return Table(columns, cells, records)


def overlap_verdicts(compared: Sequence[Compared]) -> list[Verdict]:
    """Answer the question of Remark 25 for each dataset."""
    verdicts = []
    for dataset in dict.fromkeys(one.pair.of["dataset"] for one in compared):
        found = [one for one in compared if one.pair.of["dataset"] == dataset]
        gaps = [gap for one in found if (gap := one.over("excess")) is not None]
        above, below = (sum(gap.sign == sign for gap in gaps) for sign in (1, -1))
        largest = max((mean.mean for one in found if (mean := one.over("jaccard"))), default=0.0)
        verdicts.append(
            Verdict(
                f"Remark 25 on {dataset}",
                "no verdict",
                "an open question in the paper. Measured: the overlap of unstable and asked points is above"
                f" chance at {above} of {len(gaps)} budgets and below it at {below};"
                f" the largest mean Jaccard index is {largest:.2f}",
            )
        )
    return verdicts


def overlap_figure(compared: Sequence[Compared]) -> Figure:
    """Jaccard index against eps, measured and by chance, a panel for each dataset."""
    names = list(dict.fromkeys(one.pair.of["dataset"] for one in compared))
    figure, axes = new_figure(len(names), 1, panel=(2.7, 2.3), margin=(0.6, 0.9))
    for ax, name in zip(axes, names, strict=True):
        those = [one for one in compared if one.pair.of["dataset"] == name]
        every = []
        for style, (measure, label) in enumerate(_LINES.items()):
            hollow = {"markerfacecolor": "white", "linestyle": ":"} if style else {}
            means = [(one.pair.of["eps"], mean) for one in those if (mean := one.over(measure)) is not None]
            points = [(eps, mean.mean, mean.half_width or 0.0) for eps, mean in means]
            every.append(Series(label, look(style) | hollow, points))
        draw_series(ax, every, [one.pair.of["eps"] for one in those])
        if not any(one.found for one in those):
            ax.text(0.5, 0.5, "one of the sets\nis always empty", ha="center", transform=ax.transAxes)
        ax.set_title(name)
        ax.set_xlabel("budget eps")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("Jaccard index of\nunstable and asked points")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
