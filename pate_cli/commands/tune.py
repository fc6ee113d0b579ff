"""`pate tune`: choose between candidates on held-out private records, under one guarantee."""

from __future__ import annotations

from typing import Any

from pate_cli.commands import grid
from pate_cli.commands.printing import print_table, split_output_options
from pate_cli.config import Composer, command_line
from pate_cli.errors import InputError
from pate_cli.results.record import RunRecord
from pate_cli.results.record_files import RECORD_NAME, read_record
from pate_cli.results.tables import Column, Table, number

__all__ = ["arguments", "main"]

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
_GROUPS = ("mechanism", "teacher", "student")


def main(argv: list[str]) -> int:
    """Run `pate tune`: `pate run mechanism=tune` with the candidates that are typed."""
    if not {"-h", "--help"}.isdisjoint(argv):
        grid.line(_USAGE.rstrip())
        return 0
    from pate_cli.commands.run import start

    options, argv = split_output_options(argv)
    tables: list[Table] = []
    code, directory = start(*arguments(argv), command=["pate", "tune", *argv], show=tables.append)
    tables += _choice(read_record(directory / RECORD_NAME))
    if tables:
        print_table(tables[0], options, "tune", dict(zip(["candidates"], tables[1:], strict=False)))
    return code


def _choice(record: RunRecord) -> list[Table]:
    """Table of how often each candidate was chosen, and its held-out accuracy; a release measures nothing."""
    if not record.diagnostics:
        return []
    records = [
        {
            "candidate": label,
            "chosen": record.diagnostics.get(f"chosen {label}", 0.0),
            "held-out accuracy": record.diagnostics.get(f"held-out accuracy {label}"),
        }
        for label in record.plan["candidates"]
    ]
    columns = [Column("candidate", numeric=False), Column("chosen"), Column("held-out accuracy")]
    cells = [
        [each["candidate"], f"{each['chosen']:.0%}", number(each["held-out accuracy"])] for each in records
    ]
    note = "Held-out accuracy is the mean of exact counts: not differentially private."
    return [Table(columns, cells, records, note)]


def arguments(argv: list[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Separate the arguments of `pate tune`: those of `pate run mechanism=tune`, and the candidates.

    InputError if the candidates need unlike data, or are none.
    """
    holdout = [f"mechanism.{arg.removeprefix('tune.')}" for arg in argv if arg.startswith("tune.")]
    line = command_line.parse_argv(["-m", *(arg for arg in argv if not arg.startswith("tune."))])
    if line.sweeper:
        raise InputError("hydra/sweeper: not with pate tune; list the values, as in student=logistic,tree")
    if line.only_shows:
        raise InputError("pate tune takes overrides only; the rest is for pate run")
    jobs = command_line.jobs(line)
    if len(jobs) < 2:
        raise InputError("pate tune: one candidate, so no choice; list values, as in student=logistic,tree")
    swept = [texts for texts in zip(*jobs, strict=True) if len(set(texts)) > 1]
    for texts in swept:
        key = texts[0].partition("=")[0].lstrip("+~")
        if key.partition(".")[0] not in _GROUPS:
            raise InputError(
                f"{key}: has several values; candidates share data, public points and eps, and differ in"
                f" {', '.join(_GROUPS)}"
            )
    composer = Composer(line.config_dir, line.config_name)
    candidates = [
        {"label": _label(texts), **{group: config.get(group) for group in _GROUPS}}
        for texts, config in zip(zip(*swept, strict=True), map(composer.compose, jobs), strict=True)
    ]
    options = [arg for arg in line.argv if arg not in line.overrides and arg not in ("-m", "--multirun")]
    options = [arg for arg in options if not arg.lstrip("+~").startswith(tuple(f"{g}." for g in _GROUPS))]
    both = [texts[0] for texts in zip(*jobs, strict=True) if len(set(texts)) == 1]
    shared = [text for text in both if not text.lstrip("+~").startswith("mechanism")]
    return [*options, *["--force"] * line.force, *shared, "mechanism=tune", *holdout], candidates


def _label(texts: tuple[str, ...]) -> str:
    """Values in which a candidate differs from the others."""
    pairs = ((text.lstrip("+~"), *text.partition("=")[::2]) for text in texts)
    return " ".join(text if "." in key else value for text, key, value in pairs)
