"""From the numbers of a frontier to tables, sentences and the page."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pate_cli.compare.baselines import BASELINES, EXACT, NOT_PRIVATE
from pate_cli.compare.boards import methods_and_baselines
from pate_cli.compare.drawing import draw
from pate_cli.compare.statements import statements
from pate_cli.config.recipes import Recipe
from pate_cli.engine.plan import Plan
from pate_cli.engine.schedule import Results
from pate_cli.report.findings import Findings
from pate_cli.report.frame import flat, paired_difference, pivoted
from pate_cli.report.interval import T_NOTE
from pate_cli.report.runs_table import METRICS
from pate_cli.report.table import Column, Table, number
from pate_cli.reproduce.assemble import sources
from pate_cli.reproduce.rows import DoneRow
from pate_cli.reproduce.verdicts import signed

__all__ = ["report"]

_NOTE = (
    f"Mean accuracy on held-out records; {T_NOTE}; the measuring itself is not differentially private. "
    "eps is the guarantee of one repeat, for one record replaced by another."
)


def report(
    plan: Plan,
    results: Results,
    command: Sequence[str],
) -> Findings:
    """Put a frontier together.

    Parameters
    ----------
    plan : Plan
        Of `plan_frontier`.
    results : Results
        Of `schedule.run`.
    command : sequence of str
        What makes it again.
    """
    rows, baselines = methods_and_baselines(plan, results)
    every = [*rows, *baselines.values()]
    first = next(row.planned for row in rows)
    exact = next(row for row in plan.rows if row.spec.name == EXACT)
    repeats = first.config.repeats
    prepared = exact.prepared
    delta = prepared.delta if prepared else None
    sizes = prepared.sizes if prepared else None
    title = f"{first.dataset}: accuracy against eps"
    size = f"{sizes.n_private:,} private records, {sizes.n_public:,} public points" if sizes else ""
    source = f"{repeats} random splits of {size}, the same for every method (seed {first.config.seed})"
    recipe = Recipe(
        name="frontier",
        title=title,
        source=f"{source}; delta = {number(delta, '.3g')}",
        shows="What each method gets for a budget, and what is got without privacy.",
        kind="runs",
        repeats=repeats,
    )
    return Findings(
        recipe=recipe,
        command=list(command),
        table=_table(rows, baselines, delta),
        more={"rows": _runs(rows), "metrics": _metrics(rows, baselines), **_against_best(rows, baselines)},
        figures={"figure": functools.partial(draw, f"{title}, {repeats} splits", rows, baselines)},
        absent=[(row.name, row.status, row.message) for row in every if row.status != "ok"],
        notes=[
            *(f"{name}: {BASELINES[name]}. {NOT_PRIVATE.capitalize()}." for name in baselines),
            *_REMARKS,
        ],
        statements=statements(rows, baselines),
        sources=sources() | plan.data(),
        commands={row.name: plan.command_of(row.planned) for row in rows},
        failures=[f"{row.name}: {row.message}" for row in every if row.status == "failed"],
    )


_REMARKS = (
    "The baselines are of the common configuration; a method that brings its own teachers or student is not "
    "bounded by them.",
    "noisy_gd and output_perturbation train one linear model on the private records themselves; the other "
    "methods treat teachers and student as black boxes, whatever they are.",
)


def _table(rows: Sequence[DoneRow], baselines: Mapping[str, DoneRow], delta: float | None) -> Table:
    """A line a method and a column a budget; as CSV a line for each of both."""
    budgets = sorted({row.eps for row in rows})
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    guarantees, records = [], []
    for name in dict.fromkeys(row.method for row in rows):
        those = {row.eps: row for row in rows if row.method == name}
        pure = any(_delta(row) == 0 for row in those.values())
        guarantees.append("(eps, 0)-DP" if pure else "(eps, delta)-DP")
        shown[(name,)] = {f"eps {eps:g}": _accuracy(those[eps]) for eps in budgets}
        records += [_record(those[eps]) for eps in budgets]
    for one in baselines.values():
        guarantees.append(NOT_PRIVATE)
        shown[(one.name,)] = {f"eps {eps:g}": number(one.over("accuracy")) for eps in budgets}
        blank = dict.fromkeys(records[0])
        records.append(
            blank
            | {"kind": "yardstick", "method": one.name, "guarantee": NOT_PRIVATE, "eps": float("inf")}
            | {"n": len(one.units), "status": one.status}
            | flat({name: one.over(name) for name in ("accuracy", *METRICS)})
        )
    columns, cells = pivoted([Column("method", numeric=False)], [f"eps {eps:g}" for eps in budgets], shown)
    columns.append(Column("guarantee", numeric=False))
    cells = [[*row, guarantee] for row, guarantee in zip(cells, guarantees, strict=True)]
    return Table(columns, cells, records, f"{_NOTE} delta = {number(delta, '.3g')}.")


def _delta(row: DoneRow) -> float | None:
    return row.planned.prepared.plan.guarantee.delta if row.planned.prepared else None


def _accuracy(row: DoneRow) -> str:
    found = row.over("accuracy")
    return row.status if found is None else number(found)


def _mean(row: DoneRow, name: str, digits: int) -> str:
    found = row.over(name)
    unasked = row.budget is None and name in ("answered", "asked")  # nobody asks a private learner
    return number(None if found is None or unasked else found.mean, f".{digits}f")


def _record(row: DoneRow) -> dict[str, Any]:
    record: dict[str, Any] = {
        "kind": "method",
        "method": row.method,
        "dataset": row.dataset,
        "eps": row.eps,
        "delta": _delta(row),
        "guarantee": "differentially private",
        "status": row.status,
        "n": len(row.units),
        "n_teachers": row.n_teachers,
        "cutoff": row.cutoff,
    }
    names = ("accuracy", "answered", "asked", "eps_ex_post", "label_accuracy", "ceiling", *METRICS)
    return record | flat({name: row.over(name) for name in names}) | {"reason": row.message or None}


def _metrics(rows: Sequence[DoneRow], baselines: Mapping[str, DoneRow]) -> Table:
    """The other figures of each row and baseline: they are in each finished repeat, and cost no run."""
    columns = [Column("method", numeric=False), Column("eps"), Column("accuracy")]
    columns += [Column(name.replace("_", " ")) for name in METRICS]
    several = [
        *((row.method, row.eps, row) for row in rows),
        *((one.name, math.inf, one) for one in baselines.values()),
    ]
    cells, records = [], []
    for name, eps, one in several:
        found = {metric: one.over(metric) for metric in ("accuracy", *METRICS)}
        cells.append([name, f"{eps:g}", *(number(each) for each in found.values())])
        records.append({"method": name, "eps": eps} | flat(found))
    meanings = "; ".join(f"{name.replace('_', ' ')}: {meaning}" for name, meaning in METRICS.items())
    note = f"On held-out records, {NOT_PRIVATE}. {meanings[0].upper()}{meanings[1:]}. {T_NOTE}."
    return Table(columns, cells, records, note)


def _runs(rows: Sequence[DoneRow]) -> Table:
    columns = [Column("method", numeric=False), Column("eps"), Column("teachers"), Column("T")]
    columns += [Column("answered", "queries"), Column("asked", "queries"), Column("eps_ex_post")]
    columns += [Column("accuracy"), Column("n"), Column("status", numeric=False)]
    cells = []
    for row in rows:
        line = [
            row.method,
            f"{row.eps:g}",
            number(row.n_teachers or None, ",d"),
            number(row.cutoff, "d"),
        ]
        line += [_mean(row, "answered", 1), _mean(row, "asked", 1), _mean(row, "eps_ex_post", 4)]
        line += [_accuracy(row), str(len(row.units)), row.status]
        cells.append(line)
    note = "eps_ex_post depends on the outputs: a report, not a guarantee."
    return Table(columns, cells, [_record(row) for row in rows], note)


def _against_best(rows: Sequence[DoneRow], baselines: Mapping[str, DoneRow]) -> dict[str, Table]:
    """Differences to the first method named, repeat by repeat."""
    names = list(dict.fromkeys(row.method for row in rows))
    budgets = sorted({row.eps for row in rows})
    if len(names) < 2:
        return {}
    at = {(row.method, row.eps): row.units for row in rows}
    others = {name: {eps: at[name, eps] for eps in budgets} for name in names[1:]}
    others |= {f"{one.name} ({NOT_PRIVATE})": dict.fromkeys(budgets, one.units) for one in baselines.values()}
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    records = []
    for name, units in others.items():
        gaps = {eps: paired_difference(at[names[0], eps], units[eps], "accuracy") for eps in budgets}
        shown[(name,)] = {f"eps {eps:g}": signed(gap) for eps, gap in gaps.items() if gap}
        for eps, gap in gaps.items():
            pair = {"of": names[0], "minus": name, "eps": eps, "n": gap.n if gap else 0}
            records.append(pair | flat({"accuracy": gap}))
    note = f"Differences in accuracy at the same splits, repeat by repeat. {T_NOTE}."
    heads = [f"eps {eps:g}" for eps in budgets]
    columns, cells = pivoted([Column(f"{names[0]} less", numeric=False)], heads, shown)
    return {"paired": Table(columns, cells, records, note)}
