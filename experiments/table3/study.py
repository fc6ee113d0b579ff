"""Sizes of the datasets and of their splits, counted from the files (LZCW21 Table 3).

A dataset whose file is not on this machine is missing: nothing was counted.
"""

from __future__ import annotations

import functools
from typing import Any

from matplotlib.figure import Figure

from pate_cli import datasets
from pate_cli.checks import Check, Listed, OneOf
from pate_cli.config import parse
from pate_cli.config.hydra_composition import compose
from pate_cli.datasets.known_datasets import missing as missing_data
from pate_cli.results.figures import new_figure
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.tables import Head, Table, number
from pate_cli.results.verdicts import Verdict

HEADS = {
    "n_records": "all",
    "n_private": "private",
    "n_public": "unlabelled",
    "budget": "budget",
    "n_test": "test",
    "n_features": "dimension",
}
PRINTED = {
    "mushroom": (8124, 6499, 163, 49, 1462, 112),
    "a9a": (48842, 39073, 977, 293, 8792, 123),
    "real-sim": (72309, 57847, 1447, 434, 13015, 20958),
}
"""The paper's sizes, in the order of `HEADS`."""

CHECKS: dict[str, Check] = {"dataset": Listed(OneOf(tuple(PRINTED)))}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Count every dataset asked for and split its records."""
    records, verdicts, notes = [], [], []
    for name in p["dataset"]:
        printed, missing = dict(zip(HEADS, PRINTED[name], strict=True)), missing_data(name)
        counts = {} if missing else count(name)
        wrong = [
            f"{HEADS[key]} {n:,}, printed {printed[key]:,}" for key, n in counts.items() if n != printed[key]
        ]
        reason = missing or "; ".join(wrong) or "every size is the printed one"
        verdicts.append(Verdict(name, "missing" if missing else "differs" if wrong else "reproduces", reason))
        notes += [f"{name}: {missing}"] if missing else []
        status = "missing" if missing else "counted"
        record: dict[str, Any] = {"dataset": name}
        for key in HEADS:
            record |= {key: counts.get(key), f"printed_{key}": printed[key]}
        records.append(record | {"status": status, "verdict": verdicts[-1].verdict, "reason": reason})
        progress(len(records), len(p["dataset"]))
    return StudyResult(table(records), {"figure": functools.partial(draw, records)}, verdicts, notes)


def table(records: list[dict[str, Any]]) -> Table:
    """Table 3 in the paper's columns, ours above the paper's of each dataset."""
    columns = [Head("dataset", numeric=False), Head("sizes", numeric=False)]
    columns += [Head(head) for head in HEADS.values()] + [Head("verdict", numeric=False, tags=True)]
    cells = []
    for record in records:
        for whose, prefix in (("ours", ""), ("paper", "printed_")):
            sizes = [number(record[prefix + key], ",d") for key in HEADS]
            cells.append([record["dataset"], whose, *sizes, record["verdict"] if whose == "ours" else ""])
    n = sum(record["verdict"] == "reproduces" for record in records)
    absent = [record["dataset"] for record in records if record["verdict"] == "missing"]
    note = f"Every size of {n} of {len(records)} datasets is the printed one."
    note += f" Not on this machine: {', '.join(absent)}." * bool(absent)
    return Table(columns, cells, records, note)


def count(name: str) -> dict[str, int]:
    """Sizes of a dataset and of its default split, by the keys of `HEADS`."""
    config = parse(compose([f"dataset={name}"]))
    dataset = datasets.load(name, **config.dataset.options)
    parts = vars(datasets.sizes(dataset.n_records, **config.split.shares))
    sizes = {"n_records": dataset.n_records, **parts, "n_features": dataset.n_features}
    return {key: sizes[key] for key in HEADS}


def draw(records: list[dict[str, Any]]) -> Figure:
    """Sizes on a log scale, ours within the paper's."""
    figure, (ax,) = new_figure(panel=(4.6, 3.4))
    for index, (marker, row) in enumerate(zip("os^", records, strict=False)):
        places = [place + 0.16 * (index - (len(records) - 1) / 2) for place in range(len(HEADS))]
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": "black"}
        theirs, ours = [row[f"printed_{key}"] for key in HEADS], [row[key] for key in HEADS]
        name = row["dataset"]
        ax.plot(places, theirs, markersize=10, markerfacecolor="white", label=f"{name}, the paper", **look)
        if ours[0] is not None:
            ax.plot(places, ours, markersize=4, label=f"{name}, ours", **look)
    ax.set_yscale("log")
    ax.set_xticks(range(len(HEADS)), list(HEADS.values()))
    ax.set_ylabel("records (dimension: features)")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure
