"""`pate tune`: choose between candidates on held-out private records, under one guarantee."""

from __future__ import annotations

from typing import Any

from pate_cli.commands import grid
from pate_cli.config import Composer, command_line
from pate_cli.errors import InputError

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
    from pate_cli.commands import run

    code = run.main(arguments(argv))
    chosen = [arg.partition("=")[2] for arg in argv if arg.startswith("hydra.run.dir=")]
    _show_choice(chosen[-1] if chosen else "outputs")
    return code


def _show_choice(directory: str) -> None:
    """Print how often each candidate of the newest experiment was chosen, and its held-out accuracy."""
    from pate_cli.results import find_records

    records = [record for record in find_records([directory]).records if record.mechanism == "tune"]
    newest = max(records, key=lambda record: str(record.provenance["started"]), default=None)
    if newest is None or not newest.diagnostics:  # a release measures nothing
        return
    rows = []
    for label in newest.plan["candidates"]:
        share = newest.diagnostics.get(f"chosen {label}", 0.0)
        right = newest.diagnostics.get(f"held-out accuracy {label}")
        rows.append((label, f"{share:.0%}", "–" if right is None else f"{right:.4f}"))
    numbers = ("chosen", "held-out accuracy")
    note = "Held-out accuracy is the mean of exact counts: not differentially private."
    grid.show(("candidate", *numbers), rows, right=numbers, caption=note)


def arguments(argv: list[str]) -> list[str]:
    """Convert the arguments of `pate tune` to arguments of `pate run mechanism=tune`.

    InputError if the candidates need unlike data, or are none.
    """
    holdout = [f"mechanism.{arg.removeprefix('tune.')}" for arg in argv if arg.startswith("tune.")]
    line = command_line.parse_argv(["-m", *(arg for arg in argv if not arg.startswith("tune."))])
    if line.sweeper:
        raise InputError("hydra/sweeper: not with pate tune; list the values, as in student=logistic,tree")
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
    given = [f"mechanism.candidates={_written(candidates)}", *holdout]
    return [*options, *(["--force"] if line.force else []), *shared, "mechanism=tune", *given]


def _label(texts: tuple[str, ...]) -> str:
    """Values in which a candidate differs from the others."""
    pairs = ((text.lstrip("+~"), *text.partition("=")[::2]) for text in texts)
    return " ".join(text if "." in key else value for text, key, value in pairs)


def _written(value: Any) -> str:
    """Write a value as Hydra reads it on a command line."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
