"""`pate tune`: choose between candidates on held-out private records, under one guarantee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pate_cli.commands.printing import print_line, split_output_options
from pate_cli.commands.reporting import show_report
from pate_cli.commands.tune_arguments import arguments
from pate_cli.results.boards import ACCURACY
from pate_cli.results.marks import name
from pate_cli.results.page import Report
from pate_cli.results.record import RECORD_NAME, RunRecord, read_record
from pate_cli.results.tables import Head, Table

__all__ = ["main"]

_USAGE = """\
usage: pate tune [GROUP=OPTION,OPTION ...] [KEY=VALUE,VALUE ...] [KEY=VALUE ...]

Try several settings on private data, choose the best, and pay for all of it:
labels, students and the choice are (eps, delta)-DP together. The choice is made
on private records that no teacher sees (tune.holdout=0.1 of them), with noise.

  pate tune student=logistic,tree,voting eps=1.0
  pate tune mechanism=gaussian,best teacher=logistic,tree eps=1.0
  pate plan tune student=logistic,tree,voting eps=1   # what each candidate gets

Keys of mechanism, teacher and student take several values: each combination is
a candidate. Candidates that differ in the student alone share one labelling,
which costs nothing more. All else is as for `pate run` (see pate run --help):
repeats, release=true, hydra.run.dir, ... The list has to be chosen without
looking at the private records.
"""


def main(argv: list[str]) -> int:
    """Run `pate tune`: `pate run mechanism=tune` with the candidates that are typed."""
    if not {"-h", "--help"}.isdisjoint(argv):
        print_line(_USAGE.rstrip())
        return 0
    from pate_cli.commands.run import start

    options, argv = split_output_options(argv)
    reports: list[Report] = []

    def show(report: Report, *, place: str = "") -> None:
        reports.append(report)

    code, directory = start(*arguments(argv), command=["pate", "tune", *argv], show=show)
    if reports:
        show_report(_with_choice(reports[0], read_record(directory / RECORD_NAME)), options, "tune")
    return code


def _with_choice(report: Report, record: RunRecord) -> Report:
    """Add how often each candidate was chosen, and its held-out accuracy; a release measures nothing."""
    if not record.diagnostics:
        return report
    records: list[dict[str, Any]] = [
        {
            "candidate": label,
            "chosen": record.diagnostics.get(f"chosen {label}", 0.0),
            "held-out accuracy": record.diagnostics.get(f"held-out accuracy {label}"),
        }
        for label in record.plan["candidates"]
    ]
    records.sort(key=lambda each: -each["chosen"])
    heads = ("chosen, % of splits", "held-out accuracy, %")
    columns = [Head("candidate", numeric=False), *map(Head, heads)]
    cells = [
        [each["candidate"], f"{100 * each['chosen']:.0f}", ACCURACY.level(each["held-out accuracy"])]
        for each in records
    ]
    first = records[0]
    often = "in every split" if first["chosen"] == 1 else f"in {100 * first['chosen']:.0f}% of the splits"
    chosen = report.answer.replace(name("tune"), "What is chosen")
    answer = f"{name(first['candidate'])} is chosen {often}. {chosen}"
    return replace(
        report,
        answer=answer,
        table=Table(columns, cells),
        lines=(),
        notes=[
            *report.notes,
            "The guarantee is for the choice, too. Held-out accuracy: exact, not to be shown.",
        ],
        next_step=None,
        files={**report.files, "candidates": Table(columns, cells, records)},
    )
