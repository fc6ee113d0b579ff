"""The table of runs: a column for each setting in which they differ, averages, and a setting over columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pate_cli.errors import InputError, one_line
from pate_cli.results.interval import T_NOTE, Interval
from pate_cli.results.means import ALWAYS, SYNONYMS, differing, pivoted, ranks, settings, telling
from pate_cli.results.record import RunRecord
from pate_cli.results.runs import Runs, checksum, count, majority, order, select, warnings
from pate_cli.results.tables import ABSENT, Column, Table, number

__all__ = ["METRICS", "run_table"]

GUARANTEE = (
    "eps is the guarantee, of one repeat. eps_ex_post depends on the outputs: a report, not a guarantee. "
    "Accuracy, also on exact votes, is measured on held-out data: not differentially private."
)
_MAJORITY = "majority is the share of the commonest class among the held-out records."
_POOLED = (
    "Runs that differ in nothing but the seed are averaged over all their repeats, which are independent "
    "given the data."
)
METRICS = {
    "balanced_accuracy": "mean recall of the classes",
    "roc_auc": "area under the ROC curve, of each class against the rest, averaged",
    "log_loss": "mean negative log of the probability given to the true class, in nats",
    "calibration_error": "mean distance of predicted from observed share, over 15 bins of the probability",
    "brier": "mean squared distance of the probabilities from the class; of two classes, of the second",
}
"""Figures beside accuracy that `pate table --metrics` shows, with those of each class."""

_BY_CLASS = ("recall.", "precision.")
_UNBALANCED = 0.8
"""Share of the commonest class above which accuracy says little: other figures are shown, too."""

_ACCURACY = "accuracy ± ci95"
_MEASURES = ("teachers", "answered/asked", "eps", "eps_ex_post", _ACCURACY)
_MEANS = ("n_teachers", "n_answered", "n_asked", "eps_ex_post")


def run_table(
    records: Sequence[RunRecord],
    *,
    by: Sequence[str] = (),
    pivot: str | None = None,
    metrics: bool = False,
) -> Table:
    """Put runs into a table with a column for each setting in which they differ.

    Finished runs that agree in the settings `by` are averaged; the values of the setting `pivot` are columns
    of accuracy.
    """
    if not by and pivot is None:
        return _plain_table(select(records), metrics=metrics)
    return _averages(select(records, averaged="repeats" not in (*by, pivot)), by, pivot)


def _plain_table(runs: Runs, *, metrics: bool) -> Table:
    frame = pd.DataFrame([settings(run) for run in runs.rows])
    extras = telling(differing(frame), frame)
    lines = [(run, settings(run) | _cells(run)) for run in runs.rows]
    lines.sort(key=lambda item: (order(item[0]), ranks([item[1].get(key, "") for key in extras])))
    heads = ["dataset", "mechanism", *extras, *_MEASURES]
    heads += ["exact votes"] if any(run.diagnostics.get("ceiling") is not None for run in runs.rows) else []
    shares = [share for run in runs.rows if (share := majority(run)) is not None]
    heads += ["majority"] if shares else []
    figures = _figures(runs.rows)
    if not metrics:
        unbalanced = max(shares, default=0.0) > _UNBALANCED
        figures = [name for name in figures if unbalanced and name.startswith(("roc_auc", *_BY_CLASS))]
    heads += figures
    heads += ["status"] if any(run.status != "ok" for run in runs.rows) else []
    columns, cells = _grid(heads, [line for _, line in lines], details=[*extras, "majority"])
    records = []
    for run in runs.records:
        line, own = _record(run) | {name: run.diagnostics.get(name) for name in figures}, settings(run)
        records.append(line | {key: own.get(key) for key in extras if key not in line})
    said = [GUARANTEE, *([_MAJORITY] if shares else [])]
    said += [f"{name}: {METRICS[name]}." for name in figures if name in METRICS]
    said += _interval_note(run.accuracy.half_width if run.accuracy else None for run in runs.rows)
    return Table(columns, cells, records, " ".join(said), runs.remarks())


def _averages(runs: Runs, by: Sequence[str], pivot: str | None) -> Table:
    frame = pd.DataFrame([settings(run) for run in runs.records])
    keys = [_known("--by", key, frame) for key in by]
    if pivot is not None:
        pivot = _known("--pivot", pivot, frame)
        if pivot in keys:
            raise InputError(f"--pivot {pivot}: is among --by; its values cannot be rows and columns")
        keys = keys or [key for key in (*ALWAYS[:2], "eps", *differing(frame)) if key != pivot]
    chosen = [*keys, *([] if pivot is None else [pivot])]
    finished = [run.status == "ok" and run.accuracy is not None for run in runs.records]
    groups = frame.reindex(columns=frame.columns.union(chosen))[finished]
    groups = groups.fillna(dict.fromkeys(chosen, ABSENT))
    found = {tuple(map(str, key)): part.index for key, part in groups.groupby(chosen)}
    averages: dict[tuple[str, ...], tuple[dict[str, Any], dict[str, str]]] = {}
    mixed, pooled = [], False
    for key in sorted(found, key=ranks):
        those = [runs.records[index] for index in found[key]]
        apart = differing(frame.loc[found[key]], always=True)
        apart = [name for name in apart if name not in ("seed", "repeats")]
        averages[key] = _average(those, pooled=not apart)
        mixed += apart
        pooled |= len(those) > 1 and not apart
    said = [*([f"Accuracy by {pivot}."] if pivot else []), GUARANTEE]
    said += [
        *_interval_note(record["ci95"] for record, _ in averages.values()),
        *([_POOLED] if pooled else []),
    ]
    if mixed:
        said.append(
            f"Runs that differ in {', '.join(dict.fromkeys(mixed))} are averaged by their means, without an "
            "interval: they are no sample of anything."
        )
    records = [dict(zip(chosen, key, strict=True)) | record for key, (record, _) in averages.items()]
    if pivot is None:
        lines = [line | dict(zip(keys, key, strict=True)) for key, (_, line) in averages.items()]
        heads = [*keys, "runs", "n", "answered/asked", *(["eps"] if "eps" not in keys else [])]
        columns, cells = _grid([*heads, "eps_ex_post", _ACCURACY, "exact votes"], lines)
    else:
        shown: dict[tuple[str, ...], dict[str, str]] = {}
        for key, (_, line) in averages.items():
            shown.setdefault(key[:-1], {})[f"{pivot} {key[-1]}"] = line[_ACCURACY]
        values = sorted({key[-1] for key in averages}, key=lambda text: ranks([text]))
        columns = [_column(key, [row[index] for row in shown]) for index, key in enumerate(keys)]
        columns, cells = pivoted(columns, [f"{pivot} {value}" for value in values], shown)
    return Table(columns, cells, records, " ".join(said), runs.remarks())


def _average(runs: Sequence[RunRecord], *, pooled: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Means of runs: for CSV, and as cells.

    Repeats are pooled where only seeds differ: then they are independent given the data.
    """
    intervals = [run.accuracy for run in runs if run.accuracy is not None]
    if not pooled:
        accuracy = Interval(_mean([one.mean for one in intervals]), None, sum(one.n for one in intervals))
    else:
        accuracy = Interval.pooled(intervals) if len(intervals) > 1 else intervals[0]
    spent = [run.eps for run in runs if run.eps is not None]
    record: dict[str, Any] = {"runs": len(runs), "n_repeats": accuracy.n}
    record |= {"largest_eps": max(spent, default=None)}
    record |= {name: _mean([getattr(run, name) for run in runs]) for name in _MEANS}
    record |= {"accuracy": accuracy.mean, "ci95": accuracy.half_width}
    record |= {"ceiling": _mean([run.diagnostics.get("ceiling") for run in runs])}
    return record, {
        "runs": str(len(runs)),
        "n": str(accuracy.n),
        "answered/asked": f"{count(record['n_answered'])}/{count(record['n_asked'])}",
        "eps": " to ".join(dict.fromkeys(number(pick(spent), "g") for pick in (min, max) if spent)),
        "eps_ex_post": number(record["eps_ex_post"]),
        _ACCURACY: number(accuracy),
        "exact votes": number(record["ceiling"]),
    }


def _mean(values: Sequence[float | None]) -> Any:
    """Mean of the values that there are; None without any."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None


def _grid(
    heads: Sequence[str], lines: Sequence[dict[str, str]], details: Sequence[str] = ()
) -> tuple[list[Column], list[list[str]]]:
    cells = [[line.get(head, ABSENT) for head in heads] for line in lines]
    columns = [_column(head, [row[i] for row in cells], details) for i, head in enumerate(heads)]
    return columns, cells


def _column(head: str, cells: Sequence[str], details: Sequence[str] = ()) -> Column:
    numeric = head in _MEASURES or all(ranks([c])[0][0] != 1 for c in cells)
    return Column(head, numeric=numeric, detail=head in details)


def _cells(record: RunRecord) -> dict[str, str]:
    """Cells of a run, besides its settings."""
    return {
        "answered/asked": f"{count(record.n_answered)}/{count(record.n_asked)}",
        "eps_ex_post": number(record.eps_ex_post),
        _ACCURACY: number(record.accuracy),
        "exact votes": number(record.diagnostics.get("ceiling")),
        "majority": number(majority(record)),
        **{name: number(record.diagnostics.get(name)) for name in _figures([record])},
        "status": record.status,
    }


def _figures(records: Iterable[RunRecord]) -> list[str]:
    """Names of the figures that `--metrics` shows."""
    there = dict.fromkeys(name for record in records for name in record.diagnostics)
    by_class = [name for name in there if name.startswith(_BY_CLASS)]
    return [*(name for name in METRICS if name in there), *by_class]


def _record(run: RunRecord) -> dict[str, Any]:
    """Everything of a run for CSV, nothing rounded."""
    accuracy, seed = run.accuracy, run.provenance.get("seed")
    return {
        "dataset": one_line(run.dataset),
        "mechanism": one_line(run.mechanism),
        **{name: getattr(run, name) for name in ("n_teachers", "n_answered", "n_asked")},
        **{name: getattr(run, name) for name in ("eps", "delta", "eps_ex_post")},
        "accuracy": accuracy.mean if accuracy else None,
        "ci95": accuracy.half_width if accuracy else None,
        "ceiling": run.diagnostics.get("ceiling"),
        "majority": majority(run),
        "n_repeats": accuracy.n if accuracy else 0,
        "status": run.status,
        "seed": seed if isinstance(seed, int) else None,
        "config_hash": one_line(run.config_hash),
        "message": one_line(run.message or ""),
        "checksum": one_line(checksum(run)),
        "remark": "; ".join(warnings(run)),
    }


def _known(option: str, key: str, frame: pd.DataFrame) -> str:
    """Name of a setting here, checked."""
    there = list(dict.fromkeys((*ALWAYS, *frame)))
    name = SYNONYMS.get(key, key)
    if name not in there:
        raise InputError(f"{option}: {key!r}: no such setting of these runs; there are: {', '.join(there)}")
    return name


def _interval_note(half_widths: Iterable[float | None]) -> list[str]:
    """Meaning of ±, where there is one."""
    return [f"{T_NOTE}."] if any(one is not None for one in half_widths) else []
