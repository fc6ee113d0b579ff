"""The table of runs: which runs make a row, in which order, and what is said below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pate_cli.errors import one_line
from pate_cli.results.record import RunRecord

__all__ = ["RunTable", "TableRow", "run_table"]

_FEW = 0.25
"""An active learner that wanted a smaller share of its budget is pointed out."""


@dataclass(frozen=True)
class TableRow:
    """One run in the table; None where a number was not measured.

    Attributes
    ----------
    dataset, mechanism, status : str
    n_teachers : int or None
    n_answered, n_asked : float or None
        Means over repeats.
    eps, delta, eps_ex_post : float or None
    accuracy, ci95, ceiling : float or None
        In [0, 1]. Not differentially private.
    n_repeats : int
    seed : int or None
    config_hash : str
    message : str
        Why the run did not finish, on one line; else empty.
    checksum : str
        SHA-256 (hex) of the data; empty if they were not read.
    remark : str
        What the reader should know of the numbers, on one line; else empty.
    """

    dataset: str
    mechanism: str
    n_teachers: int | None
    n_answered: float | None
    n_asked: float | None
    eps: float | None
    delta: float | None
    eps_ex_post: float | None
    accuracy: float | None
    ci95: float | None
    ceiling: float | None
    n_repeats: int
    status: str
    seed: int | None
    config_hash: str
    message: str
    checksum: str = ""
    remark: str = ""

    @property
    def queries(self) -> str:
        """Queries answered of queries asked, as "16.2/163"."""
        return f"{_mean_count(self.n_answered)}/{_mean_count(self.n_asked)}"


@dataclass(frozen=True)
class RunTable:
    """Runs sorted by dataset, mechanism and eps, and how many were left out.

    Attributes
    ----------
    runs : list of TableRow
        Every run kept, whatever its status.
    left_out : int
        Earlier runs of a configuration and seed, on the same data, that have a later one.
    """

    runs: list[TableRow] = field(default_factory=list)
    left_out: int = 0

    @property
    def rows(self) -> list[TableRow]:
        """Runs with something to show in a row: finished, or stopped after some repeats."""
        return [run for run in self.runs if run.status == "ok" or run.accuracy is not None]

    @property
    def unfinished(self) -> list[TableRow]:
        """Runs whose status is not "ok", to be listed with their message."""
        return [run for run in self.runs if run.status != "ok"]

    def remarks(self) -> list[str]:
        """Say what stands below the table: runs left out, runs to be read with care and runs not finished."""
        lines = []
        if self.left_out:
            runs = "1 earlier run" if self.left_out == 1 else f"{self.left_out} earlier runs"
            lines.append(f"{runs} of the same configuration and seed left out")
        for code in dict.fromkeys(row.config_hash for row in self.runs):
            those = [row for row in self.runs if row.config_hash == code and row.checksum]
            if len(sums := list(dict.fromkeys(row.checksum[:12] for row in those))) > 1:
                eps = "" if those[0].eps is None else f", eps {those[0].eps:g}"
                what = f"{those[0].dataset}, {those[0].mechanism}{eps}"
                lines.append(
                    f"{what}: one configuration on different data: SHA-256 {', '.join(sums)}, in this order"
                )
        lines += [f"warning: {_name(row)}: {row.remark}" for row in self.rows if row.remark]
        lines += [f"{row.status}: {_name(row)}: {row.message or 'no message'}" for row in self.unfinished]
        return lines


def run_table(records: Sequence[RunRecord]) -> RunTable:
    """Put runs into a table.

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
    return RunTable(sorted(map(_row, kept), key=_order), len(records) - len(kept))


def _name(row: TableRow) -> str:
    eps = "" if row.eps is None else f", eps {row.eps:g}"
    return f"{row.dataset}, {row.mechanism}{eps} ({row.config_hash})"


def _row(record: RunRecord) -> TableRow:
    accuracy = record.accuracy
    seed = record.provenance.get("seed")
    return TableRow(
        dataset=one_line(record.dataset),
        mechanism=one_line(record.mechanism),
        n_teachers=record.n_teachers,
        n_answered=record.n_answered,
        n_asked=record.n_asked,
        eps=record.eps,
        delta=record.delta,
        eps_ex_post=record.eps_ex_post,
        accuracy=accuracy.mean if accuracy else None,
        ci95=accuracy.ci95 if accuracy else None,
        ceiling=record.diagnostics.get("ceiling"),
        n_repeats=accuracy.n if accuracy else 0,
        status=record.status,
        seed=seed if isinstance(seed, int) else None,
        config_hash=one_line(record.config_hash),
        message=one_line(record.message or ""),
        checksum=one_line(_checksum(record)),
        remark=_stopped_early(record),
    )


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
    return f"the active learner asked {_mean_count(wanted)} of {budget} points: {rest}; {more}"


def _order(row: TableRow) -> tuple[str, str, float, bool]:
    return (row.dataset, row.mechanism, math.inf if row.eps is None else row.eps, row.eps is None)


def _started(record: RunRecord) -> datetime:
    try:
        started = datetime.fromisoformat(str(record.provenance.get("started")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)  # unknown: before all others
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def _checksum(record: RunRecord) -> str:
    return str(record.provenance.get("dataset_checksum") or "")


def _mean_count(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
