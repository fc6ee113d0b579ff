"""`pate audit`: attack a mechanism, and compare the measured lower bound on eps with its claim."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from decimal import Decimal
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.audit import audit, differing_paths
from pate_cli.audit.target import RECORDS, TEACHERS, make_target
from pate_cli.commands.printing import add_output_options, print_grid, print_json, print_line
from pate_cli.config import command_line, compose, parse
from pate_cli.config.hydra_composition import own_configs
from pate_cli.errors import ConfigError, InputError, count_of
from pate_cli.results.marks import guaranteed, rounded_down
from pate_cli.terminal import check_file, err, write_output

if TYPE_CHECKING:
    from pate_cli.audit import Finding
    from pate_cli.types import PrivacyLoss

__all__ = ["main"]

_OTHERS = ("compute", "release", "ledger", "repeats", "name", "tags", "hydra")
_UNUSED = dict.fromkeys(_OTHERS, "not used by pate audit") | {
    "dataset.unit": "here it is --persons",  # before the key above it
    "dataset": "pate audit loads no data; --queries, --records and --classes say what there is, --marginals"
    " and --bought what is paid for its public points and its schema",
    "split": "pate audit loads no data; --queries and --records say what there is",
    "seed": "here it is --seed N",
    "teacher.size": "here it is --teachers N, or teacher.count=N",
}
"""Keys that an audit does not use."""

_LEAST = {
    "runs": 100,
    "marginals": 1,
    "bought": 1,
    "queries": 1,
    "records": 10,
    "teachers": 4,
    "classes": 2,
    "seed": 0,
}
_SIZED, _MOST = ("queries", "classes", "marginals", "bought"), 10**6
"""Sizes of what an attack holds in memory."""

_SIZES = ("queries", "classes", "records", "teachers", "runs", "persons", "seed", "marginals", "bought")


def main(argv: list[str]) -> int:
    """Run `pate audit`; 1 if a measured lower bound on eps exceeds the claim."""
    options = _parser().parse_intermixed_args(argv)
    _check(options)
    command_line.refuse_unused(options.overrides, _UNUSED)
    config = parse(compose(command_line.checked(options.overrides), own_configs(options.config_dir)))
    from rich.progress import Progress

    target = make_target(config, **{name: getattr(options, name) for name in _SIZES})
    mechanism, attacks, numbers = target.mechanism, target.attacks, target.numbers
    differing = [] if target.learner else differing_paths(mechanism, attacks)
    runs = options.runs if target.learner else numbers["runs"]  # each attack on a learner has its own
    how = {"runs": runs, "confidence": options.confidence, "seed": options.seed}
    with Progress(console=err(), transient=True, disable=not err().is_terminal) as bar:
        task = bar.add_task("attacks", total=len(attacks))
        findings = audit(mechanism, attacks, **how, advance=lambda: bar.advance(task))
    worst, claim = max(findings, key=lambda finding: finding.bound), mechanism.guarantee
    moved = numbers.get("votes_moved", 0)
    violation = worst.bound > claim.eps or bool(differing) or moved > 1
    m, beside = config.mechanism, "noisy marginals beside " * bool(options.marginals or options.bought)
    beside = f"levels bought and {beside}" if options.bought else beside
    name = m.label if target.learner or m.label == m.oracle else f"{m.oracle}, the oracle of {m.name}"
    title = f"{beside}{name}: {_sizes(numbers, learner=target.learner)}"
    verdict = _verdict(worst, claim, options.confidence, differing, moved)
    if options.json:
        print_json("audit", {"table": [vars(finding) for finding in findings]}, [title, verdict])
    else:
        print_line(f"{verdict}\n", style="bold red" if violation else "bold")
        _show_findings(title, findings, claim, target.learner)
    if options.output:
        record = {
            "mechanism": m.oracle,
            "claim": {"eps": claim.eps, "delta": claim.delta, "mu": claim.mu, "how": claim.how},
            "plan": mechanism.describe(),
            **numbers,
            "confidence": options.confidence,
            "seed": options.seed,
            "bound": worst.bound,
            "bound_from": "probabilities" if worst.mu is None else "GDP",
            "mu": worst.mu,
            "differing_paths": differing,
            "violation": violation,
            "findings": [vars(finding) for finding in findings],
        }
        write_output(options.output, json.dumps(record, indent=2, allow_nan=False) + "\n")
    return int(violation)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate audit",
        usage="%(prog)s [options] [GROUP=OPTION ...] [KEY=VALUE ...]",
        description="Attack the mechanism of a configuration: run it many times on neighbouring votes, or "
        "a private learner on neighbouring records, and report a lower bound on its eps against the eps it "
        "claims. Takes the overrides of `pate run`; loads no data. Exit code 1 if the bound exceeds the "
        "claim.",
        epilog="Example: pate audit --runs 1000000 mechanism=svt eps=1.0 mechanism.cutoff=5. "
        "The bounds hold together at the stated confidence. One below the claim proves nothing: these "
        "attacks found no violation. mechanism=active is audited through its oracle: which points it "
        "asks depends on answers alone.",
    )
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="as of pate run")
    parser.add_argument(
        "--runs",
        type=int,
        help="of the mechanism on each database; default 200000, fewer for attacks on a slow private learner",
    )
    parser.add_argument(
        "--queries", type=int, default=100, help="or public points it is calibrated for; %(default)s"
    )
    parser.add_argument(
        "--records",
        type=int,
        help=f"private ones a private learner is calibrated for; default {RECORDS}, or two a teacher",
    )
    parser.add_argument(
        "--teachers",
        type=int,
        help=f"voting; default teacher.count, else {TEACHERS} or as many as the attacks need",
    )
    parser.add_argument(
        "--persons",
        action="store_true",
        help="of whom each may have several records: private sets that differ in all records of one, on"
        " votes through teachers (teacher.estimator) that are trained on both",
    )
    parser.add_argument(
        "--marginals",
        type=int,
        metavar="COLUMNS",
        help="attack the noisy marginals of so many columns (dataset.public=marginals) beside the mechanism",
    )
    parser.add_argument(
        "--bought",
        type=int,
        metavar="COLUMNS",
        help="attack what buys levels of so many of these columns (levels: private in a schema, classes are"
        " one more), and the marginals after it",
    )
    parser.add_argument("--classes", type=int, default=2, help="of the votes; %(default)s")
    parser.add_argument("--confidence", type=float, default=0.95, help="of all bounds together; %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s")
    add_output_options(parser, quiet=False)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write everything to FILE as JSON")
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    return parser


def _check(options: argparse.Namespace) -> None:
    for name, least in _LEAST.items():
        value = getattr(options, name)
        if value is not None and value < least:
            raise ConfigError(f"--{name}", value, f"a whole number >= {least}")
        if name in _SIZED and value is not None and value > _MOST:
            raise ConfigError(f"--{name}", value, f"at most {_MOST}")
    if options.persons and (options.marginals or options.bought):
        other = "--marginals" if options.marginals else "--bought"
        raise InputError(f"--persons: not with {other}, which is attacked by one record")
    if not 0 < options.confidence < 1:
        raise ConfigError("--confidence", options.confidence, "a number in (0, 1)")
    if options.output:
        check_file(options.output)


def _sizes(numbers: dict[str, Any], *, learner: bool) -> str:
    """Sizes of the attack: teachers, queries, runs."""
    of = "person" if numbers["persons"] else "record"
    parts = [count_of(numbers["records"], f"private {of}")] if learner else []
    parts += [count_of(numbers["queries"], "public point" if learner else "question")]
    parts += [f"{numbers['classes']} classes"]
    parts += [count_of(numbers["n_teachers"], "teacher")] if numbers["n_teachers"] else []
    return ", ".join([*parts, f"{count_of(numbers['runs'], 'run')} on each database"])


def _verdict(
    worst: Finding, claim: PrivacyLoss, confidence: float, differing: Sequence[str], moved: int
) -> str:
    if moved > 1:
        return f"VIOLATION: all records of one person moved {moved} votes on a query, not 1"
    if differing:
        ways = " and ".join(differing)
        return f"VIOLATION: at equal noise {ways} gave other answers than what was attacked"
    at = f"{rounded_down(float(100 * Decimal(repr(confidence))), 8):.8g}% confidence"
    measured = f"measured lower bound {rounded_down(worst.bound, 3):.3g} ({at})"
    if worst.bound > claim.eps:
        return f"VIOLATION: {measured} exceeds the claim {guaranteed(claim.eps)}"
    place = "at" if worst.bound == claim.eps else "below"
    return f"no violation found: {measured} is {place} the claim {guaranteed(claim.eps)}"


def _show_findings(title: str, findings: list[Finding], claim: PrivacyLoss, learner: bool) -> None:
    """Print a row for each attack, in the direction that shows more, and how to read it."""
    best: dict[str, Finding] = {}
    for finding in findings:
        if finding.attack not in best or finding.bound > best[finding.attack].bound:
            best[finding.attack] = finding
    numbers = ("on D", "on D'", "eps at least", "of claim")
    rows = [
        (
            *(finding.attack, finding.event, f"{finding.hits:,}", f"{finding.neighbour_hits:,}"),
            *(f"{floor(1000 * finding.bound) / 1000:.3f}", f"{floor(100 * finding.bound / claim.eps)}%"),
        )
        for finding in best.values()
    ]
    if learner:
        event = "event: the outputs released, added up, or the log-odds of D against D' they give"
    else:
        event = "event: log-odds of D against D' by the outcomes or the noisy counts,"
        event += "\nlearnt query by query or by kind of query"
    if claim.mu is None:
        rule = "bound: from the probabilities of one event on D and on D'"
    else:
        rule = f"bound: GDP, as {claim.mu:.4g}-GDP is claimed; a lower limit of mu, turned to eps at delta"
    counted = " or ".join(f"{runs:,}" for runs in sorted({finding.runs for finding in findings}))
    print_grid(
        ("records of D, against D'" if learner else "votes on D, against D'", "event", *numbers),
        rows,
        right=numbers,
        title=f"{title}\nclaim: eps {claim.eps:g}, delta {claim.delta:g}; {claim.how}",
        caption=f"{event}\n{rule}\non D, on D': of {counted} other runs each, those in the event",
    )
