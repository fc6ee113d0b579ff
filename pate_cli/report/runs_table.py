"""The table of runs: a column for each setting in which they differ, averages, and a setting over columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pate_cli.errors import InputError, one_line
from pate_cli.report.frame import ALWAYS, SYNONYMS, differing, pivoted, ranks, settings, telling
from pate_cli.report.interval import STUDENT, T_NOTE, Interval
from pate_cli.report.record import RunRecord
from pate_cli.report.runs import Runs, checksum, count, majority, no_better, order, select, stopped_early
from pate_cli.report.table import ABSENT, Column, Table, number

__all__ = ["METRICS", "run_table"]

GUARANTEE = (
    "eps is the guarantee, of one repeat. eps_ex_post depends on the outputs: a report, not a guarantee. "
    "Accuracy, also on exact votes, is measured on held-out data: not differentially private."
)
_MAJORITY = "majority is the share of the commonest class among the held-out records"
_POOLED = (
    "Runs that differ in nothing but the seed are averaged over all their repeats, which are independent "
    "given the data"
)
METRICS = {
    "balanced_accuracy": "mean recall of the classes",
    "roc_auc": "area under the ROC curve, of each class against the rest, averaged",
    "log_loss": "mean negative log of the probability given to the true class, in nats",
    "calibration_error": "mean distance of predicted from observed share, over 15 bins of the probability",
    "brier": "mean squared distance of the probabilities from the class; of two classes, of the second",
}
"""Figures beside accuracy that `pate table --metrics` shows, with `recall.CLASS` of each class."""

_UNBALANCED = 0.8
"""Share of the commonest class above which accuracy says little: `roc_auc` and recalls are shown, too."""


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
    averaged = bool(by) or pivot is not None
    runs = select(records, averaged=averaged and "repeats" not in (*by, pivot))
    if not averaged:
        return _plain_table(runs, metrics=metrics)
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
    averages = {
        tuple(map(str, key)): _average([runs.records[index] for index in part.index], frame.loc[part.index])
        for key, part in groups.groupby(chosen)
    }
    averages = dict(sorted(averages.items(), key=lambda item: ranks(item[0])))
    mixed = list(dict.fromkeys(key for one in averages.values() for key in one.mixed))
    said = [
        *([f"Accuracy by {pivot}."] if pivot else []),
        GUARANTEE,
        *_interval_note(one.accuracy for one in averages.values()),
    ]
    if any(len(one.runs) > 1 and not one.mixed for one in averages.values()):
        said.append(f"{_POOLED}.")
    if mixed:
        said.append(
            f"Runs that differ in {', '.join(mixed)} are averaged by their means, without an interval: they "
            "are no sample of anything."
        )
    lines = [dict(zip(chosen, key, strict=True)) | one.record() for key, one in averages.items()]
    columns, cells = _averaged(keys, averages) if pivot is None else _by_value(keys, pivot, averages)
    return Table(columns, cells, lines, " ".join(said), runs.remarks())


@dataclass(frozen=True)
class _Average:
    """Runs as one: their mean, and the settings besides the seed in which they differ."""

    runs: list[RunRecord]
    accuracy: Interval
    mixed: list[str]

    def mean(self, of: Callable[[RunRecord], float | None]) -> float | None:
        """Mean of the runs' means, where they have one."""
        values = [value for run in self.runs if (value := of(run)) is not None]
        return math.fsum(values) / len(values) if values else None

    def record(self) -> dict[str, Any]:
        """Every number, for CSV."""
        return {
            "runs": len(self.runs),
            "n_repeats": self.accuracy.n,
            "largest_eps": max((run.eps for run in self.runs if run.eps is not None), default=None),
            **{name: self.mean(lambda run, name=name: getattr(run, name)) for name in _MEANS},  # type: ignore[misc]
            "accuracy": self.accuracy.mean,
            "ci95": self.accuracy.half_width,
            "ceiling": self.mean(lambda run: run.diagnostics.get("ceiling")),
        }


_MEANS = ("n_teachers", "n_answered", "n_asked", "eps_ex_post")


def _average(runs: list[RunRecord], frame: pd.DataFrame) -> _Average:
    """Average over all repeats where only seeds differ: then they are independent given the data."""
    intervals = [run.accuracy for run in runs if run.accuracy is not None]
    mixed = [key for key in differing(frame, always=True) if key not in ("seed", "repeats")]
    if mixed:
        mean = math.fsum(one.mean for one in intervals) / len(intervals)
        return _Average(runs, Interval(mean, None, sum(one.n for one in intervals)), mixed)
    return _Average(runs, intervals[0] if len(intervals) == 1 else Interval.pooled(intervals), [])


def _averaged(keys: Sequence[str], groups: dict[tuple[str, ...], _Average]) -> tuple[Any, Any]:
    heads = [*keys, "runs", "n", "answered/asked", *(["eps"] if "eps" not in keys else [])]
    heads += ["eps_ex_post", "accuracy ± ci95", "exact votes"]
    lines = []
    for key, one in groups.items():
        found, spent = one.record(), [run.eps for run in one.runs if run.eps is not None]
        ends = dict.fromkeys(number(pick(spent), "g") for pick in (min, max) if spent)
        measured = {
            "runs": str(found["runs"]),
            "n": str(found["n_repeats"]),
            "answered/asked": f"{count(found['n_answered'])}/{count(found['n_asked'])}",
            **({} if "eps" in keys else {"eps": " to ".join(ends)}),
            "eps_ex_post": number(found["eps_ex_post"]),
            "accuracy ± ci95": number(one.accuracy),
            "exact votes": number(found["ceiling"]),
        }
        lines.append(dict(zip(keys, key, strict=True)) | measured)
    return _grid(heads, lines)


def _by_value(keys: Sequence[str], pivot: str, groups: dict[tuple[str, ...], _Average]) -> tuple[Any, Any]:
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for key, one in groups.items():
        cells.setdefault(key[:-1], {})[f"{pivot} {key[-1]}"] = number(one.accuracy)
    values = sorted({key[-1] for key in groups}, key=lambda text: ranks([text]))
    columns = [_column(key, [row[i] for row in cells]) for i, key in enumerate(keys)]
    return pivoted(columns, [f"{pivot} {value}" for value in values], cells)


def _plain_table(runs: Runs, *, metrics: bool) -> Table:
    frame = pd.DataFrame([settings(run) for run in runs.rows])
    extras = telling(differing(frame), frame)
    found = {id(run): settings(run) | _measured(run) for run in runs.rows}

    def place(run: RunRecord) -> Any:
        return order(run), ranks([found[id(run)].get(key, "") for key in extras])

    lines = [found[id(run)] for run in sorted(runs.rows, key=place)]
    heads = ["dataset", "mechanism", *extras, *_MEASURES]
    heads += ["exact votes"] if any(run.diagnostics.get("ceiling") is not None for run in runs.rows) else []
    shares = [share for run in runs.rows if (share := majority(run)) is not None]
    heads += ["majority"] if shares else []
    figures = _figures(runs.rows)
    if not metrics:
        unbalanced = max(shares, default=0.0) > _UNBALANCED
        figures = [name for name in figures if unbalanced and name.startswith(("roc_auc", "recall."))]
    heads += figures
    heads += ["status"] if any(run.status != "ok" for run in runs.rows) else []
    columns, cells = _grid(heads, lines, details=[*extras, "majority"])
    records = []
    for run in runs.records:
        line, own = _record(run) | {name: run.diagnostics.get(name) for name in figures}, settings(run)
        records.append(line | {key: own.get(key) for key in extras if key not in line})
    said = [GUARANTEE, *([f"{_MAJORITY}."] if "majority" in heads else [])]
    said += [f"{name}: {METRICS[name]}." for name in figures if name in METRICS]
    note = " ".join([*said, *_interval_note(run.accuracy for run in runs.rows)])
    return Table(columns, cells, records, note, runs.remarks())


def _grid(
    heads: Sequence[str], lines: Sequence[dict[str, str]], details: Sequence[str] = ()
) -> tuple[list[Column], list[list[str]]]:
    cells = [[line.get(head, ABSENT) for head in heads] for line in lines]
    columns = [_column(head, [row[i] for row in cells], details) for i, head in enumerate(heads)]
    return columns, cells


def _column(head: str, cells: Sequence[str], details: Sequence[str] = ()) -> Column:
    numeric = head in _MEASURES or all(ranks([c])[0][0] != 1 for c in cells)
    return Column(head, numeric=numeric, detail=head in details)


_MEASURES = ("teachers", "answered/asked", "eps", "eps_ex_post", "accuracy ± ci95")


def _measured(record: RunRecord) -> dict[str, str]:
    """Cells of a run, besides its settings."""
    return {
        "answered/asked": f"{count(record.n_answered)}/{count(record.n_asked)}",
        "eps_ex_post": number(record.eps_ex_post),
        "accuracy ± ci95": number(record.accuracy),
        "exact votes": number(record.diagnostics.get("ceiling")),
        "majority": number(majority(record)),
        **{name: number(record.diagnostics.get(name)) for name in _figures([record])},
        "status": record.status,
    }


def _figures(records: Iterable[RunRecord]) -> list[str]:
    """Names of the figures that `--metrics` shows."""
    there = list(dict.fromkeys(name for record in records for name in record.diagnostics))
    return [name for name in METRICS if name in there] + [
        name for name in there if name.startswith("recall.")
    ]


def _record(run: RunRecord) -> dict[str, Any]:
    """Make a row for CSV: everything of a run, nothing rounded."""
    accuracy, seed = run.accuracy, run.provenance.get("seed")
    return {
        "dataset": one_line(run.dataset),
        "mechanism": one_line(run.mechanism),
        "n_teachers": run.n_teachers,
        "n_answered": run.n_answered,
        "n_asked": run.n_asked,
        "eps": run.eps,
        "delta": run.delta,
        "eps_ex_post": run.eps_ex_post,
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
        "remark": "; ".join(remark for remark in (stopped_early(run), no_better(run)) if remark),
    }


def _known(option: str, key: str, frame: pd.DataFrame) -> str:
    """Name of a setting here, checked."""
    there = list(dict.fromkeys((*ALWAYS, *frame)))
    name = SYNONYMS.get(key, key)
    if name not in there:
        raise InputError(f"{option}: {key!r}: no such setting of these runs; there are: {', '.join(there)}")
    return name


def _interval_note(accuracies: Iterable[Interval | None]) -> list[str]:
    """Meaning of ±, where there is one."""
    laws = {found.law for found in accuracies if found is not None and found.half_width is not None}
    return [f"{T_NOTE}."] if STUDENT in laws else ["± is 1.96 s/sqrt(n) over n repeats."] if laws else []
