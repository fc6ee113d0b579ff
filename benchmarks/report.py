"""The tables on the terminal, the CSV files, and results.json with all rows, a line each, for a diff."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory import Peak
from benchmarks.repeats import Curve
from benchmarks.rows import Row
from benchmarks.table4 import LEAST, Comparison
from benchmarks.timing import Result

__all__ = ["Findings", "show", "write"]


@dataclass
class Findings:
    """Everything that was measured, and what could not be."""

    machine: dict[str, str]
    results: list[Result] = field(default_factory=list)
    comparison: Comparison | None = None
    curves: list[Curve] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def all_rows(self) -> list[Row]:
        """Give everything that has a value and perhaps a target as rows, in the order of the parts."""
        found = [*map(_result_row, self.results), *map(_peak_row, self.peaks), *map(_curve_row, self.curves)]
        if self.comparison is not None:
            found += _table4_rows(self.comparison)
        return found + self.rows


def show(findings: Findings) -> None:
    """Print the machine, and a table for each kind of measurement, ratios first."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(", ".join(f"{key} {value}" for key, value in findings.machine.items()), style="dim")
    for title, header, rows in _tables(findings):
        if rows:
            console.print(f"\n{title}", style="bold")
            console.print(_grid(header, rows))
    missed = [f"{row.part}: {row.name}" for row in findings.all_rows() if row.met is False]
    if missed:
        console.print(f"\n[red]MISSED[/] {'; '.join(missed)}", soft_wrap=True)
    for reason in findings.skipped:
        console.print(f"skipped: {reason}", markup=False)


def write(findings: Findings, directory: Path) -> None:
    """Write a CSV file for each kind of measurement, the machine on every row."""
    directory.mkdir(parents=True, exist_ok=True)
    machine = findings.machine
    content = {
        "machine": machine,
        "rows": [row.content() for row in findings.all_rows()],
        "skipped": findings.skipped,
    }
    (directory / "results.json").write_text(_json(content), encoding="utf-8")
    times = [f"{side}_{what}_s" for side in ("ours", "bare") for what in ("median", "min", "max")]
    _write(
        directory / "ratios.csv",
        ["ratio", "ours", "bare", *times, "rounds", "target", "met"],
        (
            [f"{r.ratio:.3f}", r.name, r.bare_name, *_spread(r), len(r.ours), r.target, r.met]
            for r in findings.results
        ),
        machine,
    )
    if (c := findings.comparison) is not None:
        rounds = zip(c.ours, c.busy, c.careful, c.start, c.script_busy, strict=True)
        names = (
            "ours_s",
            "ours_processor_s",
            "careful_one_repeat_s",
            "careful_start_s",
            "careful_processor_s",
        )
        _write(
            directory / "table4.csv",
            ["ratio", "repeats", *names],
            ([f"{c.ratio:.2f}", c.repeats, *(f"{value:.3f}" for value in row)] for row in rounds),
            machine,
        )
        _write(
            directory / "accuracies.csv",
            ["cell", "ours", "ours_ci95", "ours_same_repeats", "careful", "careful_ci95", "agree"],
            ([a.cell, a.ours, a.ours_ci, a.same, a.careful, a.careful_ci, a.agrees] for a in c.accuracies),
            machine,
        )
    _write(
        directory / "growth.csv",
        ["of", "size", "seconds", "exponent", "most"],
        (
            [c.name, size, f"{took:.4f}", f"{c.exponent:.3f}", c.most]
            for c in findings.curves
            for size, took in zip(c.sizes, c.seconds, strict=True)
        ),
        machine,
    )
    _write(
        directory / "memory.csv",
        ["run", "seconds", "megabytes", "most"],
        ([p.name, f"{p.seconds:.1f}", f"{p.megabytes:.0f}", p.most] for p in findings.peaks),
        machine,
    )


def _tables(findings: Findings) -> Iterable[tuple[str, list[str], list[list[str]]]]:
    pairs = [
        [
            f"{r.ratio:.2f}",
            r.name,
            _time(r.ours),
            r.bare_name,
            _time(r.bare),
            str(r.target or ""),
            _met(r.met),
        ]
        for r in findings.results
    ]
    yield (
        "Run in turn, medians; the ratio is taken within a round",
        ["ratio", "ours", "time", "bare", "time", "target", ""],
        pairs,
    )
    if (c := findings.comparison) is not None:
        yield (
            f"Table 4: `pate reproduce table4`, cold, {c.repeats} repeats; one repeat of the careful script",
            ["times less", "ours", "processor", "careful, a repeat", "processor", "target", ""],
            [
                [
                    f"{c.ratio:.1f}",
                    _time(c.ours),
                    _time(c.busy),
                    _time(c.careful),
                    _time(c.script_busy),
                    f">= {LEAST:g}",
                    _met(c.ratio >= LEAST),
                ]
            ],
        )
        yield (
            f"Accuracies: ours over {c.repeats} repeats; ours and the script's over {len(c.careful)}",
            ["cell", "ours", "ours, same", "careful, same", "agree"],
            [
                [
                    a.cell,
                    f"{a.ours:.4f} ± {a.ours_ci:.4f}",
                    f"{a.same:.4f}",
                    f"{a.careful:.4f} ± {a.careful_ci:.4f}",
                    _met(a.agrees),
                ]
                for a in c.accuracies
            ],
        )
    yield (
        "Growth of a passive repeat: seconds ~ size^exponent",
        ["exponent", "in", "sizes", "seconds", "target", ""],
        [
            [
                f"{c.exponent:.2f}",
                c.name,
                f"{c.sizes[0]:,} to {c.sizes[-1]:,}",
                f"{_time(c.seconds[:1])} to {_time(c.seconds[-1:])}",
                f"<= {c.most}" if c.most else "",
                _met(c.exponent <= c.most if c.most else None),
            ]
            for c in findings.curves
        ],
    )
    yield (
        "Rows of their own",
        ["value", "of", "beside", "target", ""],
        [[r.shown, f"{r.part}: {r.name}", r.beside, r.target, _met(r.met)] for r in findings.rows],
    )
    yield (
        "Peak memory of `pate run`",
        ["peak", "run", "time", "target", ""],
        [
            [
                f"{p.megabytes:,.0f} MB",
                p.name,
                _time([p.seconds]),
                f"< {p.most:,.0f} MB",
                _met(p.megabytes < p.most),
            ]
            for p in findings.peaks
        ],
    )


def _json(content: dict[str, Any]) -> str:
    """Give JSON with a row a line: two of them are compared by diff."""
    rows = ",\n".join(f"  {json.dumps(row)}" for row in content["rows"])
    rest = {key: value for key, value in content.items() if key != "rows"}
    return json.dumps(rest, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n'


def _result_row(r: Result) -> Row:
    ratio = r.target is None or r.target.is_ratio
    details = {f"{side}_s": round(statistics.median(getattr(r, side)), 4) for side in ("ours", "bare")}
    return Row(
        r.part,
        r.name if r.name not in _TWICE else f"{r.name}, beside {r.bare_name}",
        r.ratio if ratio else statistics.median(r.ours),
        "times" if ratio else "s",
        r.bare_name,
        r.target and r.target.value,
        details={**details, "ratio": round(r.ratio, 3), "rounds": len(r.ours)},
    )


_TWICE = ("pate run, svt",)
"""Measured beside two other things."""


def _peak_row(p: Peak) -> Row:
    return Row(
        p.part, f"peak memory: {p.name}", p.megabytes, "MB", most=p.most, details={"s": round(p.seconds, 2)}
    )


def _curve_row(c: Curve) -> Row:
    name = f"growth in {c.name}"
    return Row("growth", name, c.exponent, "exponent", f"{c.sizes[0]:,} to {c.sizes[-1]:,}", c.most)


def _table4_rows(c: Comparison) -> list[Row]:
    details = {
        "ours_s": round(statistics.median(c.ours), 3),
        "ours_processor_s": round(statistics.median(c.busy), 3),
        "careful_repeat_s": round(statistics.median(c.careful), 3),
        "careful_processor_s": round(statistics.median(c.script_busy), 3),
    }
    agree = sum(a.agrees for a in c.accuracies) / max(1, len(c.accuracies))
    beside = f"a careful script, {c.repeats} repeats"
    return [
        Row("table4", "times less than by hand", c.ratio, "times", beside, least=LEAST, details=details),
        Row("table4", "accuracies that agree", agree, "share", beside, least=1),
    ]


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in header:
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _met(met: bool | None) -> str:
    return {None: "", True: "[green]met[/]", False: "[red]MISSED[/]"}[met]


def _time(seconds: Sequence[float]) -> str:
    median = statistics.median(seconds)
    return f"{median:.2f} s" if median >= 0.1 else f"{1000 * median:.2g} ms"


def _spread(r: Result) -> list[str]:
    return [f"{f(side):.4f}" for side in (r.ours, r.bare) for f in (statistics.median, min, max)]


def _write(path: Path, header: list[str], rows: Iterable[list[Any]], machine: Mapping[str, str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*header, *machine])
        writer.writerows([*row, *machine.values()] for row in rows)
