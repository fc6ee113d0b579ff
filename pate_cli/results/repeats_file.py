"""The repeats of a command as they are done: the file that grows with them, and their summary."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from pate_cli.errors import one_line
from pate_cli.results.interval import Interval
from pate_cli.results.record import Summary
from pate_cli.results.repeats import END, REPEATS
from pate_cli.results.settings import NAMES, differing
from pate_cli.terminal import write_file
from pate_cli.types import RepeatResult

__all__ = ["RepeatsFile", "summarise"]

_MEASURES = ("n_asked", "n_answered", "eps_ex_post", "accuracy", "seconds")
"""Measures that every repeat has, in the order of the file; diagnostics follow."""

_PAUSE = 1.0  # least seconds between two writings of a file that grows
_SHARE = 50  # of the time at most one part in so many is spent on them


class RepeatsFile:
    """`repeats.csv` of a command, which grows with the repeats of its rows.

    `rows` are the columns of each row by its name: dataset, method, settings, of which those stay in which
    rows differ, public numbers from `eps` on, and `status` and `reason` where it cannot be run. The file is
    written as a whole or not at all.
    """

    def __init__(self, directory: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self.path = directory / REPEATS
        before_eps = dict.fromkeys(n for row in rows.values() for n in takewhile(lambda n: n != "eps", row))
        constant = {*before_eps}.difference(NAMES, differing(list(rows.values()), before_eps))
        self._left = [name for name in before_eps if name not in constant]
        self._rows = {name: {k: v for k, v in row.items() if k not in constant} for name, row in rows.items()}
        self._done: dict[str, dict[int, RepeatResult | str]] = {name: {} for name in rows}
        self._next = -math.inf

    def add(self, row: str, repeat: int, result: RepeatResult | str) -> None:
        """Add a repeat, or the reason why it failed."""
        self._done[row][repeat] = result

    def end(self, row: str, status: str, reason: str) -> None:
        """Say why a row ended before its last repeat."""
        self._rows[row] |= {"status": status, "reason": reason}

    def grow(self) -> None:
        """Write what was measured so far, unless that was done less than a second ago, or takes long."""
        if (began := time.monotonic()) >= self._next and any(self._done.values()):
            with contextlib.suppress(OSError):  # of a full disk, which `write` names at the end
                self.write()
            ended = time.monotonic()
            self._next = ended + max(_PAUSE, _SHARE * (ended - began))

    def write(self) -> None:
        """Write the file; its directory is made if absent."""
        lines = list(self._lines())
        left = self._left
        names = dict.fromkeys(n for row in self._rows.values() for n in row if n not in (*left, *END))
        measures = dict.fromkeys(name for line in lines for name in line if name not in (*left, *names, *END))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns := [*left, *names, *END, *measures])
        writer.writerows([_text(line.get(name)) for name in columns] for line in lines)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path, text.getvalue(), sync=False)

    def _lines(self) -> Iterator[dict[str, Any]]:
        for name, row in self._rows.items():
            for repeat, result in sorted(self._done[name].items()):
                line = row | {"repeat": repeat, "status": "ok", "reason": None}
                if isinstance(result, str):
                    yield line | {"status": "failed", "reason": result}
                else:
                    yield line | {key: getattr(result, key) for key in _MEASURES} | result.diagnostics
            if row.get("status"):
                yield row


def _text(value: Any) -> str:
    """Text of a cell: empty where there is no number."""
    if isinstance(value, str):
        return one_line(value)
    return "" if value is None or value != value else str(value)


def summarise(repeats: Sequence[RepeatResult]) -> Summary:
    """Summarise the repeats of one configuration; ValueError if they differ in the number of teachers."""
    if not repeats:
        return Summary()
    teachers = {repeat.n_teachers for repeat in repeats}
    if len(teachers) > 1:
        raise ValueError(f"repeats disagree about the number of teachers: {sorted(teachers)}")
    defined: dict[str, list[float]] = {}
    for repeat in repeats:
        for name, value in repeat.diagnostics.items():
            defined.setdefault(name, []).extend([] if math.isnan(value) else [value])
    return Summary(
        n_teachers=repeats[0].n_teachers,
        n_asked=_mean([repeat.n_asked for repeat in repeats]),
        n_answered=_mean([repeat.n_answered for repeat in repeats]),
        eps=max(repeat.eps for repeat in repeats),
        delta=max(repeat.delta for repeat in repeats),
        eps_ex_post=_mean([repeat.eps_ex_post for repeat in repeats]),
        accuracy=Interval.of(repeat.accuracy for repeat in repeats),
        diagnostics={name: _mean(values) for name, values in defined.items()},
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
