"""Runs written down without running them."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.special import stdtrit

from pate_cli.results import Interval, RunRecord
from pate_cli.results.means import rows_of
from pate_cli.results.overview import overview
from pate_cli.results.record import write_record
from pate_cli.results.repeats import find_repeats
from pate_cli.results.repeats_file import RepeatsFile
from pate_cli.results.tables import Table
from pate_cli.types import RepeatResult


def values(interval: Interval) -> list[float]:
    """Values with this mean and interval: half of them above, half of them below."""
    n, k = interval.n, interval.n // 2
    if interval.half_width is None or not k:
        return [interval.mean] * n
    s = interval.half_width / stdtrit(n - 1, (1 + interval.level) / 2) * math.sqrt(n)
    d = s * math.sqrt((n - 1) / (2 * k))
    return [interval.mean - d] * k + [interval.mean] * (n % 2) + [interval.mean + d] * k


def write_run(directory: Path | str, record: RunRecord) -> None:
    """Write the files of a run, with repeats that have the means of its record."""
    directory = Path(directory)
    write_record(directory, record)
    if record.accuracy is None:
        return
    table = RepeatsFile(directory, {"": {"dataset": record.dataset, "method": "", "eps": record.eps}})
    asked, answered, loss = record.n_asked or 0, record.n_answered or 0, record.eps_ex_post or 0.0
    for repeat, accuracy in enumerate(values(record.accuracy)):
        numbers: list[Any] = [record.n_teachers, asked, answered, record.eps, record.delta, loss]
        table.add("", repeat, RepeatResult(repeat, *numbers, accuracy, 1.0, record.diagnostics))
    table.write()


def repeats_of(*records: RunRecord) -> pd.DataFrame:
    """Repeats of runs that are written into directories and read back."""
    with tempfile.TemporaryDirectory() as place:
        for index, record in enumerate(records):
            write_run(Path(place) / f"{index:03}", record)
        frame, unreadable = find_repeats([place], constant=True)
    assert unreadable == []
    return frame


def table_of(records: list[RunRecord], **options: Any) -> Table:
    """Table of runs, as `pate table` makes it."""
    repeats = repeats_of(*records)
    return overview(rows_of(repeats), left_out=repeats.attrs["left_out"], **options)
