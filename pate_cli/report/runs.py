"""The table of runs: which runs make a row, what tells them apart, and how they are averaged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pate_cli.errors import InputError, one_line
from pate_cli.report.interval import NORMAL, STUDENT, T_NOTE, Interval
from pate_cli.report.record import RunRecord
from pate_cli.report.table import ABSENT, Column, Table, number

__all__ = ["GUARANTEE", "METRICS", "Runs", "run_table", "select"]

GUARANTEE = (
    "eps is the guarantee, of one repeat. eps_ex_post depends on the outputs: a report, not a guarantee. "
    "Accuracy and ceiling are measured on held-out or private data: not differentially private."
)
_MAJORITY = "majority is the share of the commonest class among the held-out records"
_POOLED = (
    "Runs that differ in nothing but the seed are averaged over all their repeats, which are independent "
    "given the data"
)
_FEW = 0.25
"""An active learner that wanted a smaller share of its budget is pointed out."""

_ELSEWHERE = ("hydra", "compute", "cache", "release", "purpose", "ledger")
"""Settings that no number depends on."""

_SAID = ("dataset.name", "mechanism.name", "mechanism.oracle")
"""Settings that the names of the dataset and the mechanism say."""

_ALWAYS = ("dataset", "mechanism", "teachers", "eps")
"""Keys that have a column in any case."""

_SYNONYMS = {"teacher.estimator": "teacher", "student.estimator": "student"}
_SYNONYMS |= {"dataset.name": "dataset", "mechanism.name": "mechanism"}

METRICS = {
    "balanced_accuracy": "mean recall of the classes",
    "roc_auc": "area under the ROC curve, of each class against the rest, averaged",
    "log_loss": "mean negative log of the probability given to the true class, in nats",
    "calibration_error": "mean distance of predicted from observed share, over 15 bins of the probability",
    "brier": "mean squared distance of the probabilities from the class; of two classes, of the second",
}
"""Figures beside accuracy that `pate table --metrics` shows, with `recall.CLASS` of each class."""

_SHORT = {
    "answered/asked": "answered\n/asked",
    "eps_ex_post": "eps_ex\n_post",
    "accuracy ± ci95": "accuracy\n± ci95",
    "teachers": "teach-\ners",
    "ceiling": "ceil-\ning",
    "majority": "major-\nity",
    **{name: name.replace("_", "_\n", 1) for name in METRICS},
}
"""Narrow headings, so that the table fits into 80 columns."""


@dataclass(frozen=True)
class Runs:
    """Runs sorted by dataset, mechanism and eps, and how many were left out.

    Attributes
    ----------
    records : list of RunRecord
        Every run kept, whatever its status.
    left_out : int
        Earlier runs of a configuration and seed, on the same data, that have a later one.
    """

    records: list[RunRecord]
    left_out: int

    @property
    def rows(self) -> list[RunRecord]:
        """Runs with something to show in a row: finished, or stopped after some repeats."""
        return [run for run in self.records if run.status == "ok" or run.accuracy is not None]

    @property
    def unfinished(self) -> list[RunRecord]:
        """Runs whose status is not "ok", to be listed with their message."""
        return [run for run in self.records if run.status != "ok"]

    def remarks(self) -> list[str]:
        """Say what stands below the table: runs left out, runs to be read with care and runs not finished."""
        lines = []
        if self.left_out:
            runs = "1 earlier run" if self.left_out == 1 else f"{self.left_out} earlier runs"
            lines.append(f"{runs} of the same configuration and seed left out")
        for code in dict.fromkeys(run.config_hash for run in self.records):
            those = [run for run in self.records if run.config_hash == code and _checksum(run)]
            if len(sums := list(dict.fromkeys(_checksum(run)[:12] for run in those))) > 1:
                what = _name(those[0]).rpartition(" (")[0]
                lines.append(
                    f"{what}: one configuration on different data: SHA-256 {', '.join(sums)}, in this order"
                )
        old = sum(run.accuracy is not None and run.accuracy.law == NORMAL for run in self.rows)
        if any(run.accuracy is not None and run.accuracy.law != NORMAL for run in self.rows) and old:
            lines.append(f"{old} of the runs are of an earlier version: their ± is 1.96 s/sqrt(n)")
        told = [(run, remark) for run in self.rows for remark in (_stopped_early(run), _no_better(run))]
        lines += [f"warning: {_name(run)}: {remark}" for run, remark in told if remark]
        return lines + [
            f"{run.status}: {_name(run)}: {one_line(run.message or '') or 'no message'}"
            for run in self.unfinished
        ]


def select(records: Sequence[RunRecord]) -> Runs:
    """Choose the runs that a table is made of.

    Of runs with one configuration, one seed and the same data (by their checksum) the latest is kept; if
    that one did not finish, the latest that did is kept as well, so a failed repetition hides nothing. A
    run that failed before it had read its data is left out if any run of its configuration and seed is later.
    """
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        groups.setdefault((record.config_hash, str(record.provenance.get("seed"))), []).append(record)
    kept: list[RunRecord] = []
    for group in groups.values():
        ordered = sorted(group, key=_started)
        for checksum in dict.fromkeys(map(_checksum, ordered)):
            *earlier, latest = [record for record in ordered if _checksum(record) == checksum]
            if not checksum and latest is not ordered[-1]:
                continue
            if latest.status != "ok":
                kept += [record for record in earlier if record.status == "ok"][-1:]
            kept.append(latest)
    return Runs(sorted(kept, key=_order), len(records) - len(kept))


def run_table(
    records: Sequence[RunRecord],
    *,
    by: Sequence[str] = (),
    pivot: str | None = None,
    metrics: bool = False,
    width: int | None = None,
) -> Table:
    """Put runs into a table with a column for each setting in which they differ.

    Parameters
    ----------
    records : sequence of RunRecord
    by : sequence of str
        Settings that make a row; finished runs that agree in them are averaged. Empty: every run is a row.
    pivot : str, optional
        Setting whose values are columns, of accuracy.
    metrics : bool
        Whether to show the other figures of the students, and the recall of each class.
    width : int, optional
        Of the terminal: settings that do not fit into it are named below the table instead.

    Raises
    ------
    InputError
        If no run has a setting of that name; names those there are.
    """
    runs = select(records)
    rows = [_Run(run, _settings(run)) for run in (runs.rows if not by and pivot is None else runs.records)]
    differing = _differing([run.settings for run in rows])
    if not by and pivot is None:
        return _plain_table(runs, rows, differing, width, metrics=metrics)
    finished = [run for run in rows if run.record.status == "ok" and run.record.accuracy is not None]
    keys = [_known("--by", key, rows) for key in by]
    if pivot is not None:
        pivot = _known("--pivot", pivot, rows)
        if pivot in keys:
            raise InputError(f"--pivot {pivot}: is among --by; its values cannot be rows and columns")
        keys = keys or [key for key in (*_ALWAYS[:2], "eps", *differing) if key != pivot]
    chosen = [*keys, *([] if pivot is None else [pivot])]
    groups: dict[tuple[str, ...], list[_Run]] = {}
    for run in finished:
        groups.setdefault(tuple(run.settings.get(key, ABSENT) for key in chosen), []).append(run)
    averaged = {
        key: _average(group) for key, group in sorted(groups.items(), key=lambda item: _ranks(item[0]))
    }
    mixed = list(dict.fromkeys(key for one in averaged.values() for key in one.mixed))
    said = [
        *([f"Accuracy by {pivot}."] if pivot else []),
        GUARANTEE,
        *_interval_note(one.accuracy for one in averaged.values()),
    ]
    if any(len(one.runs) > 1 and not one.mixed for one in averaged.values()):
        said.append(f"{_POOLED}.")
    if mixed:
        said.append(
            f"Runs that differ in {', '.join(mixed)} are averaged by their means, without an interval: they "
            "are no sample of anything."
        )
    lines = [dict(zip(chosen, key, strict=True)) | one.record() for key, one in averaged.items()]
    columns, cells = _averaged(keys, averaged) if pivot is None else _pivoted(keys, pivot, averaged)
    return Table(columns, cells, lines, " ".join(said), runs.remarks())


class _Run(NamedTuple):
    record: RunRecord
    settings: dict[str, str]


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


def _average(group: Sequence[_Run]) -> _Average:
    """Average over all repeats where only seeds differ: then they are independent given the data."""
    runs = [run.record for run in group]
    intervals = [run.accuracy for run in runs if run.accuracy is not None]
    mixed = [
        key
        for key in _differing([run.settings for run in group], always=True)
        if key not in ("seed", "repeats")
    ]
    if mixed:
        mean = math.fsum(one.mean for one in intervals) / len(intervals)
        return _Average(runs, Interval(mean, None, sum(one.n for one in intervals)), mixed)
    return _Average(runs, intervals[0] if len(intervals) == 1 else Interval.pooled(intervals), [])


def _averaged(keys: Sequence[str], groups: dict[tuple[str, ...], _Average]) -> tuple[Any, Any]:
    heads = [*keys, "runs", "n", "answered/asked", *(["eps"] if "eps" not in keys else [])]
    heads += ["eps_ex_post", "accuracy ± ci95", "ceiling"]
    cells = []
    for key, one in groups.items():
        found, spent = one.record(), [run.eps for run in one.runs if run.eps is not None]
        measured = {
            "runs": str(found["runs"]),
            "n": str(found["n_repeats"]),
            "answered/asked": f"{_count(found['n_answered'])}/{_count(found['n_asked'])}",
            "eps": " to ".join(dict.fromkeys(number(pick(spent), "g") for pick in (min, max) if spent)),
            "eps_ex_post": number(found["eps_ex_post"]),
            "accuracy ± ci95": number(one.accuracy),
            "ceiling": number(found["ceiling"]),
        }
        cells.append([*key, *(measured[head] for head in heads[len(keys) :])])
    return [_column(head, [row[i] for row in cells]) for i, head in enumerate(heads)], cells


def _pivoted(keys: Sequence[str], pivot: str, groups: dict[tuple[str, ...], _Average]) -> tuple[Any, Any]:
    heads = sorted({group[-1] for group in groups}, key=lambda text: _ranks([text]))
    rows = list(dict.fromkeys(group[:-1] for group in groups))
    columns = [_column(key, [row[i] for row in rows]) for i, key in enumerate(keys)]
    columns += [Column(head, pivot, short=f"{pivot}\n{head}") for head in heads]
    found = [[groups.get((*row, head)) for head in heads] for row in rows]
    cells = [
        [*row, *(number(None if one is None else one.accuracy) for one in those)]
        for row, those in zip(rows, found, strict=True)
    ]
    return columns, cells


def _plain_table(
    runs: Runs, rows: Sequence[_Run], differing: Sequence[str], width: int | None, *, metrics: bool
) -> Table:
    extras = _telling(differing, [run.settings for run in rows])
    keys = {id(run): _ranks([run.settings.get(key, "") for key in extras]) for run in rows}
    rows = sorted(rows, key=lambda run: (_order(run.record), keys[id(run)]))
    shown = [run.settings | _measured(run.record) for run in rows]
    heads = ["dataset", "mechanism", *extras, *_MEASURES]
    heads += ["ceiling"] if any(run.record.diagnostics.get("ceiling") is not None for run in rows) else []
    heads += ["majority"] if any(_majority(run.record) is not None for run in rows) else []
    figures = _figures(run.record for run in rows) if metrics else []
    heads += figures
    heads += ["status"] if any(run.record.status != "ok" for run in rows) else []
    cells = [[line.get(head, ABSENT) for head in heads] for line in shown]
    columns = [_column(head, [row[i] for row in cells]) for i, head in enumerate(heads)]
    lines = []
    for run in runs.records:
        line, settings = _record(run) | {name: run.diagnostics.get(name) for name in figures}, _settings(run)
        lines.append(line | {key: settings.get(key) for key in extras if key not in line})
    said = [GUARANTEE, *([f"{_MAJORITY}."] if "majority" in heads else [])]
    said += [f"{name}: {METRICS[name]}." for name in figures if name in METRICS]
    note = " ".join([*said, *_interval_note(run.record.accuracy for run in rows)])
    table = Table(columns, cells, lines, note, runs.remarks())
    return table if width is None else _fitted(table, extras, width)


def _fitted(table: Table, extras: Sequence[str], width: int) -> Table:
    """Choose the columns for a terminal; room is made by leaving out what all rows have in common."""
    heads = [column.header for column in table.columns]
    optional = [*extras, *(["majority"] if "majority" in heads else [])]
    always = [index for index, head in enumerate(heads) if head not in optional]

    def chosen(shown: list[int]) -> list[int]:
        for key in optional:
            more = sorted([*shown, heads.index(key)])
            shown = more if table.width(more) <= width else shown
        return shown

    brief, said = chosen(always), ""
    if len(brief) < len(heads):
        common = [i for i in always if heads[i] in _ALWAYS[:3] and table.constant(i)]
        brief = chosen([index for index in always if index not in common])
        if common:
            said = f"In every run: {', '.join(f'{heads[i]} {table.cells[0][i]}' for i in common)}. "
        if hidden := [key for key in extras if heads.index(key) not in brief]:
            said += (
                f"They differ in these too: {', '.join(hidden)} (--format csv shows them, --by averages). "
            )
        if "majority" in heads and (last := heads.index("majority")) not in brief:
            name = heads.index("dataset")
            shares = dict.fromkeys(f"{row[name]} {row[last]}" for row in table.cells)
            said += f"Share of the commonest class: {', '.join(shares)}."
    return replace(table, brief=brief, left_out=said.strip())


def _column(head: str, cells: Sequence[str]) -> Column:
    numeric = head in _MEASURES or all(_ranks([c])[0][0] != 1 for c in cells)
    short = _SHORT.get(head) or head.replace(".", ".\n")
    return Column(head, numeric=numeric, short=short, folds=not numeric)


_MEASURES = ("teachers", "answered/asked", "eps", "eps_ex_post", "accuracy ± ci95")


def _measured(record: RunRecord) -> dict[str, str]:
    """Cells of a run, besides its settings."""
    return {
        "answered/asked": f"{_count(record.n_answered)}/{_count(record.n_asked)}",
        "eps_ex_post": number(record.eps_ex_post),
        "accuracy ± ci95": number(record.accuracy),
        "ceiling": number(record.diagnostics.get("ceiling")),
        "majority": number(_majority(record)),
        **{name: number(record.diagnostics.get(name)) for name in _figures([record])},
        "status": record.status,
    }


def _figures(records: Iterable[RunRecord]) -> list[str]:
    """Names of the figures that `--metrics` shows."""
    there = list(dict.fromkeys(name for record in records for name in record.diagnostics))
    return [name for name in METRICS if name in there] + [
        name for name in there if name.startswith("recall.")
    ]


def _majority(record: RunRecord) -> float | None:
    return record.diagnostics.get("majority_class")


def _no_better(record: RunRecord) -> str:
    """Say that a student is no better than one that knows nothing."""
    share = _majority(record)
    if record.accuracy is None or share is None or record.accuracy.mean > share:
        return ""
    return f"the student is no better than always saying the commonest class ({number(share)} of the records)"


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
        "majority": _majority(run),
        "n_repeats": accuracy.n if accuracy else 0,
        "status": run.status,
        "seed": seed if isinstance(seed, int) else None,
        "config_hash": one_line(run.config_hash),
        "message": one_line(run.message or ""),
        "checksum": one_line(_checksum(run)),
        "remark": "; ".join(remark for remark in (_stopped_early(run), _no_better(run)) if remark),
    }


def _settings(record: RunRecord) -> dict[str, str]:
    """Everything a run was set to, by its dotted name, and what it was run on: as text."""
    found: dict[str, str] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{name}.{key}" if name else str(key), item)
        elif name not in _SAID:
            text = value if isinstance(value, str) else json.dumps(value)
            text = f"{value:g}" if isinstance(value, float) else text
            found[one_line(_SYNONYMS.get(name, name))] = one_line(text)

    walk("", {key: value for key, value in record.config.items() if key not in _ELSEWHERE})
    found |= {"dataset": one_line(record.dataset), "mechanism": one_line(record.mechanism)}
    seed, checksum = record.provenance.get("seed"), _checksum(record)
    known = {
        "eps": record.eps,
        "teachers": record.n_teachers,
        "seed": seed if isinstance(seed, int) else None,
    }
    found |= {
        key: number(value, "g" if key == "eps" else "d") for key, value in known.items() if value is not None
    }
    return found | ({"data": one_line(checksum[:12])} if checksum else {})


def _differing(settings: Sequence[dict[str, str]], *, always: bool = False) -> list[str]:
    """Name the settings in which runs differ.

    A setting that some runs do not have tells those apart that could have it: `mechanism.cutoff` is
    compared among runs of one mechanism, `teacher.params.C` among those of one teacher.

    Parameters
    ----------
    settings : sequence of dict of str to str
    always : bool
        Whether to name those, too, that have a column in any case.
    """
    found = []
    for key in dict.fromkeys(key for one in settings for key in one):
        owner = key.partition(".")[0]
        alike: dict[str, set[str | None]] = {}
        for one in settings:
            # files differ from dataset to dataset: only another content under the same settings counts
            of = [v for k, v in one.items() if k.partition(".")[0] == "dataset"] if key == "data" else []
            alike.setdefault(json.dumps([of, "" if key == owner else one.get(owner)]), set()).add(
                one.get(key)
            )
        values = {one[key] for one in settings if key in one}
        if (len(values) > 1 and key != "data") or any(len(those) > 1 for those in alike.values()):
            found.append(key)
    return [key for key in found if always or key not in _ALWAYS]


def _telling(keys: Sequence[str], settings: Sequence[dict[str, str]]) -> list[str]:
    """Sort settings: first the one that tells most runs apart, then that which tells most of the rest."""
    left, told = list(keys), [tuple(one.get(key) for key in _ALWAYS) for one in settings]
    found = []
    while left:
        counts = {
            key: len({(*t, one.get(key)) for t, one in zip(told, settings, strict=True)}) for key in left
        }
        best = max(left, key=lambda key: counts[key])
        told = [(*t, one.get(best)) for t, one in zip(told, settings, strict=True)]
        found.append(best)
        left.remove(best)
    return found


def _known(option: str, key: str, rows: Sequence[_Run]) -> str:
    """Give the name a setting goes by here."""
    there = list(dict.fromkeys((*_ALWAYS, *(name for run in rows for name in run.settings))))
    name = _SYNONYMS.get(key, key)
    if name not in there:
        raise InputError(f"{option}: {key!r}: no such setting of these runs; there are: {', '.join(there)}")
    return name


def _ranks(texts: Sequence[str]) -> list[tuple[int, float, str]]:
    """Sort key: numbers by their size, then other texts; what is absent is no text."""
    ranks = []
    for text in texts:
        try:
            ranks.append((0, float(text.replace("∞", "inf")), text))
        except ValueError:
            ranks.append((2 if text == ABSENT else 1, 0.0, text))
    return ranks


def _interval_note(accuracies: Iterable[Interval | None]) -> list[str]:
    """Say what ± is, where there is one."""
    laws = {found.law for found in accuracies if found is not None and found.half_width is not None}
    return [f"{T_NOTE}."] if STUDENT in laws else ["± is 1.96 s/sqrt(n) over n repeats."] if laws else []


def _name(run: RunRecord) -> str:
    eps = "" if run.eps is None else f", eps {run.eps:g}"
    return one_line(f"{run.dataset}, {run.mechanism}{eps} ({run.config_hash})")


def _stopped_early(record: RunRecord) -> str:
    """Say that an active learner wanted few of the points its noise was calibrated for."""
    wanted, budget = record.diagnostics.get("queries_wanted"), record.sizes.get("budget")
    if wanted is None or not budget or wanted >= _FEW * budget:
        return ""
    group = record.config.get("mechanism")
    filled = isinstance(group, dict) and group.get("fill")
    rest = (
        "the rest of the budget was asked of random points (mechanism.fill)"
        if filled
        else "mechanism.fill=true asks the rest of the budget of random points, at the same guarantee"
    )
    more = "a larger mechanism.mellowness wants more"
    return f"the active learner asked {_count(wanted)} of {budget} points: {rest}; {more}"


def _order(run: RunRecord) -> tuple[str, str, float, bool]:
    eps = math.inf if run.eps is None else run.eps
    return one_line(run.dataset), one_line(run.mechanism), eps, run.eps is None


def _started(record: RunRecord) -> datetime:
    try:
        started = datetime.fromisoformat(str(record.provenance.get("started")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)  # unknown: before all others
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def _checksum(record: RunRecord) -> str:
    return str(record.provenance.get("dataset_checksum") or "")


def _count(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
