"""`pate check`: put a mechanism to the checks that every mechanism passes."""

from __future__ import annotations

import argparse
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pate_cli import mechanisms
from pate_cli.commands.printing import add_output_options, print_grid, print_json, print_line
from pate_cli.config import command_line, compose, parse
from pate_cli.config.hydra_composition import options as names_of
from pate_cli.config.hydra_composition import own_configs
from pate_cli.errors import ConfigError, InputError, count_of
from pate_cli.plugins import contained
from pate_cli.terminal import err

if TYPE_CHECKING:
    from pate_cli.testing import NamedCheck

__all__ = ["main"]

_MADE = "not used by pate check, which makes its own records"
_UNUSED = dict.fromkeys(("dataset", "split", "seed", "repeats"), _MADE) | {
    "features": "not used by pate check, which tries each mechanism with and without",
    **dict.fromkeys(
        ("student", "compute", "release", "ledger", "name", "tags", "hydra"),
        "not used by pate check",
    ),
}

_MEANING = """\
class: states the guarantee; from: shared votes, own teachers, or records
persons: one record of each, or all: in one teacher's part, or sums clipped
C: classes; release: whether release=true gives it exact noise"""


def main(argv: list[str]) -> int:
    """Run `pate check`; 1 if a check failed."""
    options = _parser().parse_intermixed_args(argv)
    if options.list:
        from pate_cli.testing import promises

        rows = [promises(name) for name in mechanisms.names()]
        if options.json:
            print_json("check --list", {"table": rows}, _MEANING.splitlines())
            return 0
        print_grid(tuple(rows[0]), [tuple(row.values()) for row in rows], caption=_MEANING)
        return 0
    with _configs(options) as (overrides, directory):
        command_line.refuse_unused(overrides, _UNUSED)
        config = parse(compose(command_line.checked(overrides), directory))
    from pate_cli.testing import check_mechanism

    mechanism = config.mechanism
    typed_keys = {text.partition("=")[0] for text in overrides}
    defaults = mechanisms.read(mechanism.name, {})
    chosen = {
        key: value
        for key, value in vars(mechanism.options).items()
        if f"mechanism.{key}" in typed_keys or value != getattr(defaults, key)
    }
    setting: dict[str, Any] = {key: getattr(config, key) for key in ("eps", "delta") if key in typed_keys}
    if any(key.startswith("teacher") for key in typed_keys):
        setting["teacher"] = (config.teacher.estimator, dict(config.teacher.params))
        if config.teacher.count:
            setting["n_teachers"] = config.teacher.count
    checks = check_mechanism(mechanism.name, chosen or None, setting)
    names = list(dict.fromkeys(check.name for check in checks))
    if unknown := set(options.only or ()) - set(names):
        raise ConfigError("--only", ", ".join(sorted(unknown)), names)
    chosen_checks = [check for check in checks if check.name in (options.only or names)]
    return _show(mechanism.name, chosen_checks, as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate check",
        usage="%(prog)s --list | mechanism=NAME [mechanism.KEY=VALUE ...]\n"
        "                  [eps=E] [delta=D] [teacher=NAME]",
        description="Put a mechanism, ours or of another package, to the checks that all of them pass: "
        "history replayed, values moved against the sensitivity stated, cost paid and noise drawn, calls "
        "with few and many queries, learners that fail, releases of neighbouring files, the audit. NAME may "
        "be the import path of a module. Without mechanism.KEY=VALUE those of its Options.checked are "
        "tried. Makes its own records; writes nothing. Exit code 1 if a check fails.",
        epilog="Example: pate check mechanism=svt mechanism.cutoff=2. None of the checks proves a guarantee. "
        "docs/auditing.md says what they mean, docs/extending.md how a test of your own runs them.",
    )
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="as of pate run")
    parser.add_argument("--list", action="store_true", help="the mechanisms there are and what they promise")
    parser.add_argument("--only", action="append", metavar="CHECK", help="only this check; may be repeated")
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    add_output_options(parser, quiet=False)
    return parser


@contextmanager
def _configs(options: argparse.Namespace) -> Iterator[tuple[list[str], str | None]]:
    """Overrides, and a directory of configurations: one is made for a mechanism by its import path."""
    directory, overrides = own_configs(options.config_dir), list(options.overrides)
    chosen = [text for text in overrides if text.startswith("mechanism=")]
    if not chosen:
        raise InputError("pate check: which mechanism? accepted: mechanism=NAME, of this or another package")
    path = chosen[-1].partition("=")[2]
    if path in names_of("mechanism", directory):
        yield overrides, directory
        return
    mechanisms.find(path)  # an InputError if there is none
    with TemporaryDirectory() as place:
        Path(place, "mechanism").mkdir()
        Path(place, "mechanism", "checked.yaml").write_text(f"name: {path}\n")
        yield ["mechanism=checked", *(text for text in overrides if text not in chosen)], place


def _show(name: str, checks: list[NamedCheck], *, as_json: bool) -> int:
    """Carry out checks and print each with what it tried and saw, a table for each form."""
    from rich.progress import Progress

    begun, failed, skipped = time.monotonic(), 0, 0
    records: list[dict[str, str]] = []
    with Progress(console=err(), transient=True, disable=not err().is_terminal) as bar:
        task = bar.add_task("checks", total=len(checks))
        for form, group in groupby(checks, key=lambda check: check.form):
            rows = []
            for check in group:
                outcome, saw = _outcome(check)
                failed, skipped = failed + (outcome == "FAILED"), skipped + (outcome == "skipped")
                rows.append((check.name, outcome, check.tried, saw))
                bar.advance(task)
            heads = ("check", "outcome", "tried", "saw")
            records += [{"form": form} | dict(zip(heads, row, strict=True)) for row in rows]
            if not as_json:
                print_grid(("check", "", "tried", "saw"), rows, title=form)
                print_line("")
    took = f"{count_of(len(checks), 'check')} in {time.monotonic() - begun:.0f} s"
    summary = f"{failed} failed" if failed else "none failed"
    summary += f", {skipped} skipped" if skipped else ""
    if as_json:
        print_json("check", {"table": records}, [f"{name}: {took}, {summary}"])
    else:
        print_line(f"{name}: {took}, {summary}", style="bold red" if failed else "bold")
    return int(failed > 0)


def _outcome(check: NamedCheck) -> tuple[str, str]:
    """Outcome in a word, and what was seen; an exception of the mechanism is a failure."""
    try:
        with contained():
            return "ok", check()
    except unittest.SkipTest as skip:
        return "skipped", str(skip)
    except AssertionError as error:
        return "FAILED", str(error)
    except Exception as error:
        return "FAILED", f"{type(error).__name__}: {error}"
