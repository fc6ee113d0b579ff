"""Selection and order of the runs of a table, and the remarks below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pate_cli.errors import one_line
from pate_cli.results.provenance import config_hash
from pate_cli.results.record import RunRecord
from pate_cli.results.tables import ABSENT, number

__all__ = ["Runs", "checksum", "count", "majority", "order", "select", "warnings"]

_FEW = 0.25  # an active learner that wanted a smaller share of its budget is pointed out


@dataclass(frozen=True)
class Runs:
    """Runs sorted by dataset, mechanism and eps."""

    records: list[RunRecord]  # whatever their status
    left_out: int  # how many there are of whose configuration, seed and data another one is kept

    @property
    def rows(self) -> list[RunRecord]:
        """Runs with something to show in a row: finished, or stopped after some repeats."""
        return [run for run in self.records if run.status == "ok" or run.accuracy is not None]

    @property
    def unfinished(self) -> list[RunRecord]:
        """Runs whose status is not "ok", to be listed with their message."""
        return [run for run in self.records if run.status != "ok"]

    def remarks(self) -> list[str]:
        """Lines below the table: runs left out, runs to be read with care and runs not finished."""
        lines = []
        if self.left_out:
            runs = "1 other run" if self.left_out == 1 else f"{self.left_out} other runs"
            lines.append(f"{runs} of the same configuration and seed left out")
        for code in dict.fromkeys(run.config_hash for run in self.records):
            those = [run for run in self.records if run.config_hash == code and checksum(run)]
            if len(sums := list(dict.fromkeys(checksum(run)[:12] for run in those))) > 1:
                what = _name(those[0]).rpartition(" (")[0]
                lines.append(
                    f"{what}: one configuration on different data: SHA-256 {', '.join(sums)}, in this order"
                )
        lines += [f"warning: {_name(run)}: {remark}" for run in self.rows for remark in warnings(run)]
        return lines + [
            f"{run.status}: {_name(run)}: {one_line(run.message or '') or 'no message'}"
            for run in self.unfinished
        ]


def select(records: Sequence[RunRecord], *, averaged: bool = False) -> Runs:
    """Select the runs of a table.

    Of runs with one configuration, one seed and the same data (by their checksum) the latest is kept; if
    that one did not finish, the latest that did is kept as well, so a failed repetition hides nothing. A
    run that failed before it had read its data is left out if any run of its configuration and seed is later.

    Where repeats are to be pooled (`averaged`), of runs that differ in `repeats` alone the finished one with
    most is kept: repeat i of one configuration and seed is the same in each of them.
    """
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        code = record.config_hash
        if averaged:
            code = config_hash({key: value for key, value in record.config.items() if key != "repeats"})
        groups.setdefault((code, str(record.provenance.get("seed"))), []).append(record)
    kept: list[RunRecord] = []
    for group in groups.values():
        ordered = sorted(group, key=_started)
        for content in dict.fromkeys(map(checksum, ordered)):
            those = [record for record in ordered if checksum(record) == content]
            if not content and those[-1] is not ordered[-1]:
                continue
            finished = [record for record in those if record.status == "ok"]
            # a stable sort: of equals, the latest
            kept += sorted(finished, key=lambda run: run.accuracy.n if run.accuracy else 0)[-1:]
            kept += [] if those[-1].status == "ok" else those[-1:]
    return Runs(sorted(kept, key=order), len(records) - len(kept))


def _name(run: RunRecord) -> str:
    eps = "" if run.eps is None else f", eps {run.eps:g}"
    return one_line(f"{run.dataset}, {run.mechanism}{eps} ({run.config_hash})")


def warnings(run: RunRecord) -> list[str]:
    """Warnings: an active learner wanted few points, or a student is no better than the majority class."""
    found = []
    wanted, budget = run.diagnostics.get("queries_wanted"), run.sizes.get("budget")
    if wanted is not None and budget and wanted < _FEW * budget:
        group = run.config.get("mechanism")
        rest = (
            "the rest of the budget was asked of random points (mechanism.fill)"
            if isinstance(group, dict) and group.get("fill")
            else "mechanism.fill=true asks the rest of the budget of random points, at the same guarantee"
        )
        asked = f"the active learner asked {count(wanted)} of {budget} points"
        found.append(f"{asked}: {rest}; a larger mechanism.mellowness wants more")
    share = majority(run)
    if run.accuracy is not None and share is not None and run.accuracy.mean <= share:
        than = f"always saying the commonest class ({number(share)} of the records)"
        found.append(f"the student is no better than {than}")
    return found


def majority(record: RunRecord) -> float | None:
    """Share of the commonest class among the held-out records. Not differentially private."""
    return record.diagnostics.get("majority_class")


def order(run: RunRecord) -> tuple[str, str, float, bool]:
    """Key to sort runs by: dataset, mechanism, eps."""
    eps = math.inf if run.eps is None else run.eps
    return one_line(run.dataset), one_line(run.mechanism), eps, run.eps is None


def _started(record: RunRecord) -> datetime:
    try:
        started = datetime.fromisoformat(str(record.provenance.get("started")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)  # unknown: before all others
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def checksum(record: RunRecord) -> str:
    """SHA-256 of the data of a run; empty where they were not read."""
    return str(record.provenance.get("dataset_checksum") or "")


def count(value: float | None) -> str:
    """Write a mean number of queries, without a fraction where it has none."""
    if value is None:
        return ABSENT
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
