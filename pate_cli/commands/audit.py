"""`pate audit`: attack a mechanism, and hold what was measured against the claim."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError, InfeasibleError, InputError

if TYPE_CHECKING:
    from pate_cli.auditing import Finding
    from pate_cli.config import RunConfig
    from pate_cli.mechanisms import GaussianPlan, GnmaxPlan, SvtPlan

__all__ = ["main"]

_TEACHERS = 1000
_DELTA = 1e-5


def main(argv: list[str]) -> int:
    """Run `pate audit`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate audit`.

    Returns
    -------
    int
        1 if a measured lower bound on eps exceeds the claim, else 0.

    Raises
    ------
    InputError
    """
    options = _parser().parse_intermixed_args(argv)
    _check(options)
    config = _config(options)

    from pate_cli.auditing import attacks, audit

    plan, n_teachers = _plan(config, options)
    pairs = attacks(plan, n_teachers, options.classes)
    with _progress(len(pairs)) as advance:
        findings = audit(
            plan, pairs, runs=options.runs, confidence=options.confidence, seed=options.seed, advance=advance
        )
    worst = max(findings, key=lambda finding: finding.bound)
    violation = worst.bound > plan.guarantee.eps
    verdict = _verdict(worst.bound, plan.guarantee.eps, options.confidence, violation=violation)
    _print(plan, findings, _setting(config, n_teachers, options), verdict, violation=violation)
    if options.output:
        record = {
            "mechanism": config.mechanism.labeller,
            "claim": {"eps": plan.guarantee.eps, "delta": plan.guarantee.delta, "how": plan.guarantee.how},
            "plan": plan.describe(),
            "n_teachers": n_teachers,
            **{key: getattr(options, key) for key in ("queries", "classes", "runs", "confidence", "seed")},
            "bound": worst.bound,
            "violation": violation,
            "findings": [vars(finding) for finding in findings],
        }
        _write(options.output, record)
    return int(violation)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate audit",
        usage="%(prog)s [options] [GROUP=OPTION ...] [KEY=VALUE ...]",
        description="Attack the mechanism of a configuration: run it many times on neighbouring votes, "
        "and report a lower bound on its eps against the eps it claims. Takes the overrides of "
        "`pate run`; loads no data. Exit code 1 if the bound exceeds the claim.",
        epilog="Example: pate audit --runs 1000000 mechanism=svt eps=1.0 mechanism.cutoff=5. "
        "The bounds hold together at the stated confidence. One below the claim proves nothing: these "
        "attacks found no violation. mechanism=active is audited through its oracle: which points it "
        "asks depends on answers alone.",
    )
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="as of pate run")
    parser.add_argument(
        "--runs", type=int, default=200_000, help="of the mechanism on each database; %(default)s"
    )
    parser.add_argument(
        "--queries", type=int, default=100, help="it is calibrated for and asked; %(default)s"
    )
    parser.add_argument(
        "--teachers",
        type=int,
        help=f"voting; default teacher.count, else {_TEACHERS} or as many as the attacks need",
    )
    parser.add_argument("--classes", type=int, default=2, help="of the votes; %(default)s")
    parser.add_argument("--confidence", type=float, default=0.95, help="of all bounds together; %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write everything to FILE as JSON")
    parser.add_argument("--config-dir", metavar="DIR", help="directory of your own configs, as of pate run")
    return parser


def _check(options: argparse.Namespace) -> None:
    for name, least in (("runs", 1000), ("queries", 1), ("teachers", 4), ("classes", 2), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise ConfigError(f"--{name}", value, f"a whole number >= {least}")
    if not 0 < options.confidence < 1:
        raise ConfigError("--confidence", options.confidence, "a number in (0, 1)")
    if options.output and (options.output.is_dir() or not options.output.absolute().parent.is_dir()):
        raise ConfigError("--output", str(options.output), "a file in a directory that exists")


def _config(options: argparse.Namespace) -> RunConfig:
    from pate_cli import config, overrides

    argv = [*(["--config-dir", options.config_dir] if options.config_dir else []), *options.overrides]
    (job,) = overrides.jobs(overrides.parse_argv(argv))
    return config.parse(overrides.compose(job, options.config_dir))


def _plan(config: RunConfig, options: argparse.Namespace) -> tuple[GaussianPlan | GnmaxPlan | SvtPlan, int]:
    """The mechanism to attack, and the number of teachers."""
    from pate_cli.auditing import teachers_for
    from pate_cli.mechanisms import NoPrivacyPlan, plan_gaussian, plan_gnmax, plan_svt

    m, delta = config.mechanism, _DELTA if config.delta is None else config.delta
    chosen = options.teachers or config.teacher.count
    n_teachers: int = chosen or _TEACHERS
    while True:
        try:
            if m.labeller == "gaussian" or m.name == "boosting":  # boosting asks the same service
                plan: Any = plan_gaussian(config.eps, delta, options.queries, options.classes)
            elif m.labeller != "svt":
                plan = plan_gnmax(
                    m.name,
                    m.options,
                    eps=config.eps,
                    delta=delta,
                    ell=options.queries,
                    answers=options.queries,
                    n_teachers=n_teachers,
                    n_classes=options.classes,
                )
            else:
                plan = plan_svt(
                    config.eps, delta, options.queries, n_teachers, rule=m.calibration, cutoff=m.cutoff
                )
            break
        except InfeasibleError:
            if chosen:
                raise
            n_teachers *= 2
    if isinstance(plan, NoPrivacyPlan):
        raise ConfigError("eps", config.eps, "a finite number: without noise nothing is claimed")
    return plan, n_teachers if chosen else max(n_teachers, teachers_for(plan))


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, nothing otherwise; call what it gives after each attack."""
    from pate_cli.console import err

    if not err().is_terminal:
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress(console=err(), transient=True) as bar:
        task = bar.add_task("attacks", total=total)
        yield lambda: bar.advance(task)


def _setting(config: RunConfig, n_teachers: int, options: argparse.Namespace) -> str:
    through = ", the oracle of active" if config.mechanism.name == "active" else ""
    return (
        f"{config.mechanism.labeller}{through}: {options.queries:,} queries, {options.classes} classes, "
        f"{n_teachers:,} teachers, {options.runs:,} runs on each database"
    )


def _verdict(bound: float, claim: float, confidence: float, *, violation: bool) -> str:
    measured = f"measured lower bound {bound:.3g} ({100 * confidence:.8g}% confidence)"
    if violation:
        return f"VIOLATION: {measured} exceeds the claim {claim:g}"
    return f"no violation found: {measured} is {'at' if bound == claim else 'below'} the claim {claim:g}"


def _print(
    plan: GaussianPlan | GnmaxPlan | SvtPlan,
    findings: list[Finding],
    setting: str,
    verdict: str,
    *,
    violation: bool,
) -> None:
    from rich import box
    from rich.table import Table

    from pate_cli.console import out

    claim = plan.guarantee
    table = Table(
        title=f"{setting}\nclaim: eps {claim.eps:g}, delta {claim.delta:g}; {claim.how}",
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in ("votes on D, against D'", "event"):
        table.add_column(column, overflow="fold")
    for column in ("on D", "on D'", "eps at least", "of claim"):
        table.add_column(column, justify="right", no_wrap=True)
    for finding in _better(findings):
        hits = (f"{side:,}" for side in (finding.hits, finding.neighbour_hits))
        share = f"{100 * finding.bound / claim.eps:.0f}%"
        table.add_row(finding.attack, finding.event, *hits, f"{finding.bound:.3f}", share)
    table.caption = (
        "event: log-odds of D against D' by the outcomes or the noisy counts,\n"
        "learnt query by query or by kind of query\n"
        f"on D, on D': of {findings[0].runs:,} other runs each, those in the event"
    )
    table.caption_justify = "left"
    out().print(table)
    out().print()
    out().print(verdict, style="bold red" if violation else "bold", markup=False, soft_wrap=True)


def _better(findings: list[Finding]) -> list[Finding]:
    """Of each pair the direction that shows more, in the order of the attacks."""
    best: dict[str, Finding] = {}
    for finding in findings:
        if finding.attack not in best or finding.bound > best[finding.attack].bound:
            best[finding.attack] = finding
    return list(best.values())


def _write(path: Path, record: dict[str, Any]) -> None:
    import json

    from pate_cli.results import write_text

    try:
        write_text(path, json.dumps(record, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError(f"--output {path}: cannot be written: {error.strerror or error}") from error
