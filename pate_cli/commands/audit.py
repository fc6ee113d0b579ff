"""`pate audit`: attack a mechanism, and compare the measured lower bound on eps with its claim."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli import config
from pate_cli.audit import audit, differing_paths
from pate_cli.audit.target import RECORDS, TEACHERS, Target, make_target
from pate_cli.config import command_line, composition
from pate_cli.errors import ConfigError
from pate_cli.terminal import check_file, err, out, write_output

if TYPE_CHECKING:
    from pate_cli.audit import Finding
    from pate_cli.config import RunConfig
    from pate_cli.types import PrivacyLoss

__all__ = ["main"]

_OTHERS = ("compute", "cache", "release", "ledger", "tracking", "repeats", "hydra")
_UNUSED = dict.fromkeys(_OTHERS, "not used by pate audit") | {
    "dataset.unit": "here it is --persons",  # before the key above it
    "dataset": "pate audit loads no data; --queries, --records and --classes say what there is",
    "split": "pate audit loads no data; --queries and --records say what there is",
    "seed": "here it is --seed N",
    "teacher.size": "here it is --teachers N, or teacher.count=N",
}
"""Keys that an audit does not use."""


def main(argv: list[str]) -> int:
    """Run `pate audit`; 1 if a measured lower bound on eps exceeds the claim."""
    options = _parser().parse_intermixed_args(argv)
    _check(options)
    config = _config(options)
    from rich.progress import Progress

    sizes = ("queries", "classes", "records", "teachers", "runs", "persons", "seed")
    target = make_target(config, **{name: getattr(options, name) for name in sizes})
    plan, attacks, numbers = target.mechanism, target.attacks, target.numbers
    differing = [] if target.learner else differing_paths(plan, attacks)
    moved = numbers.get("votes_moved", 0)
    runs = options.runs if target.learner else numbers["runs"]  # each attack on a learner has its own
    how = {"runs": runs, "confidence": options.confidence, "seed": options.seed}
    with Progress(console=err(), transient=True, disable=not err().is_terminal) as bar:
        task = bar.add_task("attacks", total=len(attacks))
        findings = audit(plan, attacks, **how, advance=lambda: bar.advance(task))
    worst = max(findings, key=lambda finding: finding.bound)
    claim = plan.guarantee
    violation = worst.bound > claim.eps or bool(differing) or moved > 1
    verdict = _verdict(worst, claim, options.confidence, differing, moved)
    _print(target, findings, _title(config, target), verdict, violation=violation)
    if options.output:
        record = {
            "mechanism": config.mechanism.oracle,
            "claim": {"eps": claim.eps, "delta": claim.delta, "mu": claim.mu, "how": claim.how},
            "plan": plan.describe(),
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
    parser.add_argument("--classes", type=int, default=2, help="of the votes; %(default)s")
    parser.add_argument("--confidence", type=float, default=0.95, help="of all bounds together; %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write everything to FILE as JSON")
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    return parser


def _check(options: argparse.Namespace) -> None:
    least_of = {"runs": 100, "queries": 1, "records": 10, "teachers": 4, "classes": 2, "seed": 0}
    for name, least in least_of.items():
        value = getattr(options, name)
        if value is not None and value < least:
            raise ConfigError(f"--{name}", value, f"a whole number >= {least}")
    if not 0 < options.confidence < 1:
        raise ConfigError("--confidence", options.confidence, "a number in (0, 1)")
    if options.output:
        check_file(options.output)


def _config(options: argparse.Namespace) -> RunConfig:
    command_line.refuse_unused(options.overrides, _UNUSED)
    argv = [*(["--config-dir", options.config_dir] if options.config_dir else []), *options.overrides]
    (job,) = command_line.jobs(command_line.parse_argv(argv))
    return config.parse(composition.compose(job, options.config_dir))


def _title(config: RunConfig, target: Target) -> str:
    m, setting = config.mechanism, target.numbers
    name = m.label if target.learner or m.label == m.oracle else f"{m.oracle}, the oracle of {m.name}"
    if target.learner:
        counted = "private persons" if setting["persons"] else "private records"
        parts = [f"{setting['records']:,} {counted}", f"{setting['queries']:,} public points"]
    else:
        parts = [f"{setting['queries']:,} queries"]
    parts.append(f"{setting['classes']} classes")
    if setting["n_teachers"]:
        parts.append(f"{setting['n_teachers']:,} teachers")
    return f"{name}: {', '.join(parts)}, {setting['runs']:,} runs on each database"


def _verdict(
    worst: Finding, claim: PrivacyLoss, confidence: float, differing: Sequence[str], moved: int
) -> str:
    if moved > 1:
        return f"VIOLATION: all records of one person moved {moved} votes on a query, not 1"
    if differing:
        ways = " and ".join(differing)
        return f"VIOLATION: at equal noise {ways} gave other answers than what was attacked"
    measured = f"measured lower bound {worst.bound:.3g} ({100 * confidence:.8g}% confidence)"
    if worst.bound > claim.eps:
        return f"VIOLATION: {measured} exceeds the claim {claim.eps:g}"
    place = "at" if worst.bound == claim.eps else "below"
    return f"no violation found: {measured} is {place} the claim {claim.eps:g}"


def _print(target: Target, findings: list[Finding], title: str, verdict: str, *, violation: bool) -> None:
    from rich import box
    from rich.table import Table

    claim, learner = target.mechanism.guarantee, target.learner
    table = Table(
        title=f"{title}\nclaim: eps {claim.eps:g}, delta {claim.delta:g}; {claim.how}",
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in ("records of D, against D'" if learner else "votes on D, against D'", "event"):
        table.add_column(column, overflow="fold")
    for column in ("on D", "on D'", "eps at least", "of claim"):
        table.add_column(column, justify="right", no_wrap=True)
    best: dict[str, Finding] = {}  # of each attack the direction that shows more
    for finding in findings:
        if finding.attack not in best or finding.bound > best[finding.attack].bound:
            best[finding.attack] = finding
    for finding in best.values():
        hits = (f"{side:,}" for side in (finding.hits, finding.neighbour_hits))
        share = f"{100 * finding.bound / claim.eps:.0f}%"
        table.add_row(finding.attack, finding.event, *hits, f"{finding.bound:.3f}", share)
    what = (
        "event: the outputs released, added up, or the log-odds of D against D' they give"
        if learner
        else "event: log-odds of D against D' by the outcomes or the noisy counts,\n"
        "learnt query by query or by kind of query"
    )
    if claim.mu is None:
        rule = "bound: from the probabilities of one event on D and on D'"
    else:
        rule = f"bound: GDP, as {claim.mu:.4g}-GDP is claimed; a lower limit of mu, turned to eps at delta"
    counted = " or ".join(f"{runs:,}" for runs in sorted({finding.runs for finding in findings}))
    table.caption = f"{what}\n{rule}\non D, on D': of {counted} other runs each, those in the event"
    table.caption_justify = "left"
    out().print(table)
    out().print()
    out().print(verdict, style="bold red" if violation else "bold", markup=False, soft_wrap=True)
