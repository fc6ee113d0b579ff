"""Recipes of kind `sizes`: how datasets are split, against a printed table of sizes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from pate_cli import datasets
from pate_cli.config import RunConfig, parse
from pate_cli.config.command_line import refuse_unused
from pate_cli.config.recipes import Recipe
from pate_cli.config.rows import Composer, checked, choices, last_wins
from pate_cli.datasets.files import ENTRIES
from pate_cli.engine.plan import missing_data
from pate_cli.errors import ConfigError
from pate_cli.report.figures import new_figure
from pate_cli.report.findings import Findings
from pate_cli.report.table import Column, Table
from pate_cli.report.verdict import Verdict, unjudged
from pate_cli.reproduce.assemble import sources

__all__ = ["find_sizes"]

_UNUSED = (
    *("teacher", "student", "mechanism", "compute", "cache", "eps", "delta", "repeats", "seed"),
    *("release", "ledger", "tracking", "hydra"),
)
_HEADS = {
    "n_records": "all",
    "n_private": "private",
    "n_public": "unlabelled",
    "budget": "budget",
    "n_test": "test",
    "n_features": "dimension",
}


def find_sizes(recipe: Recipe, given: Sequence[str], *, quick: bool) -> Findings:
    """Count every dataset of a recipe and split its records.

    A dataset that is not on this machine is counted by its published sizes, and the row says so.

    Raises
    ------
    InputError
        As `plan.make_plan`.
    """
    chosen, typed = choices(given)
    refuse_unused(typed, dict.fromkeys(_UNUSED, f"not with {recipe.name}, which counts records alone"))
    asked = chosen.get("dataset")
    composer = Composer()
    rows, verdicts, notes, data = [], [], [], {}
    for spec in recipe.rows:
        config = parse(composer.compose(last_wins(checked([*spec.overrides, *typed]))))
        name = config.dataset.name
        counts, checksum = _count(config)
        missing = missing_data(name)
        status = f"known sizes, not counted: {missing}" if missing else "counted"
        rows.append((spec.name, name, counts, spec.printed, status))
        data[f"data: {name}"] = f"SHA-256 {checksum}" if checksum else "not on this machine"
    there = list(dict.fromkeys(name for _, name, *_ in rows))
    for name in asked or []:
        if name not in there:
            raise ConfigError("dataset", name, f"of the rows of {recipe.name}: {', '.join(there)}")
    rows = [row for row in rows if asked is None or row[1] in asked]
    for name, _, counts, printed, status in rows:
        wrong = [f"{_HEADS[key]} {counts[key]:,}, printed {printed[key]:,}" for key in _off(counts, printed)]
        reason = "; ".join(wrong) if wrong else "every size is the printed one"
        if status != "counted":
            notes.append(f"{name}: {status}")
            reason += " (by its published sizes: the file is not here)"
        verdict = Verdict(name, "differs" if wrong else "reproduces", reason)
        verdicts.append(unjudged(verdict, "quick run") if quick else verdict)
    only = [f"dataset=[{','.join(asked)}]"] if asked else []
    return Findings(
        recipe=recipe,
        command=["pate", "reproduce", recipe.name, *only, *typed, *["--quick"] * quick],
        table=_grid(rows, verdicts),
        figures={"figure": functools.partial(_figure, rows)},
        rows=verdicts,
        notes=[*recipe.notes, *notes],
        quick=quick,
        sources=sources() | {f"data: {row[1]}": data[f"data: {row[1]}"] for row in rows},
    )


def _count(config: RunConfig) -> tuple[dict[str, int], str]:
    name, checksum = config.dataset.name, ""
    if missing_data(name):
        n_records, n_features = ENTRIES[name].n_records, ENTRIES[name].n_features
    else:
        dataset = datasets.load(name, **config.dataset.options)
        n_records, n_features, checksum = dataset.n_records, dataset.n_features, dataset.checksum
    parts = datasets.sizes(n_records, **config.split.shares)
    counts = {"n_records": n_records, **vars(parts), "n_features": n_features}
    return {key: counts[key] for key in _HEADS}, checksum


def _off(counts: dict[str, int], printed: dict[str, Any]) -> list[str]:
    return [key for key in _HEADS if key in printed and printed[key] != counts[key]]


def _grid(rows: Sequence[Any], verdicts: Sequence[Verdict]) -> Table:
    columns = [Column("dataset", numeric=False)]
    columns += [Column(who, head) for head in _HEADS.values() for who in ("ours", "paper")]
    columns += [Column("how", numeric=False), Column("verdict", numeric=False, tags=True)]
    cells, records = [], []
    for (name, _, counts, printed, status), verdict in zip(rows, verdicts, strict=True):
        numbers = [f"{value:,}" for key in _HEADS for value in (counts[key], printed[key])]
        cells.append([name, *numbers, status.partition(":")[0], verdict.verdict])
        record = {"dataset": name} | {
            f"{who}{key}": source[key]
            for key in _HEADS
            for who, source in (("", counts), ("printed_", printed))
        }
        records.append(record | {"status": status, "verdict": verdict.verdict, "reason": verdict.reason})
    return Table(columns, cells, records, brief=[0, *range(1, 13, 2), 14])


def _figure(rows: Sequence[Any]) -> Figure:
    figure, (ax,) = new_figure(panel=(4.6, 3.4))
    for index, (marker, (name, _, counts, printed, _status)) in enumerate(zip("os^DvP", rows, strict=False)):
        places = [place + 0.16 * (index - (len(rows) - 1) / 2) for place in range(len(_HEADS))]
        ours, theirs = ([source[key] for key in _HEADS] for source in (counts, printed))
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": "black"}
        ax.plot(places, theirs, markersize=10, markerfacecolor="white", label=f"{name}, the paper", **look)
        ax.plot(places, ours, markersize=4, label=f"{name}, ours", **look)
    ax.set_yscale("log")
    ax.set_xticks(range(len(_HEADS)), list(_HEADS.values()))
    ax.set_ylabel("records (dimension: features)")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure
