"""Arguments of `pate tune` and `pate plan tune`: those of a run, and its candidates."""

from __future__ import annotations

from typing import Any

from pate_cli.config import Composer, command_line
from pate_cli.errors import InputError

__all__ = ["arguments"]

_GROUPS = ("mechanism", "teacher", "student")


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
    if len({tuple(texts) for texts in jobs}) < len(jobs):
        raise InputError("pate tune: two candidates are the same; accepted: each value once")
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
