"""`pate plan`: the public numbers of a run, before any training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from pate_cli.execution import CheckedRun
    from pate_cli.mechanisms import GaussianPlan, GnmaxPlan, SvtPlan
    from pate_cli.privacy.svt import Calibration, SvtCalibration
    from pate_cli.private_learner import LearnerPlan

__all__ = ["main"]

_USAGE = """\
usage: pate plan [-m] [GROUP=OPTION ...] [KEY=VALUE ...]

Show the public numbers of a run before any training: sizes, teachers, queries,
noise, thresholds and how many teachers they need. Takes the arguments of
`pate run` (see pate run --help), loads the data to count it, writes nothing.

  pate plan mechanism=svt eps=1.0
  pate plan dataset=mushroom mechanism=gaussian eps=0.5 teacher.size=50
  pate plan -m mechanism=svt eps=0.5,1,2 mechanism.cutoff=1,10
  pate plan --theory dataset=mushroom eps=1.0   # what the papers' theorems say of such a run

Everything shown is computed from sizes and the configuration, never from records
or votes, so showing it costs no privacy. Exit code 2 where the run would be refused.
"""


def main(argv: list[str]) -> int:
    """Run `pate plan`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate plan`: those of `pate run`.

    Returns
    -------
    int
        0.

    Raises
    ------
    InputError
        If `pate run` would refuse the same arguments.
    """
    if "--theory" in argv:
        from pate_cli.commands import plan_theory

        return plan_theory.main(argv)
    from pate_cli import console, execution, overrides

    if not {"-h", "--help"}.isdisjoint(argv):
        console.out().print(_USAGE, end="", soft_wrap=True, markup=False)
        return 0
    line = overrides.parse_argv(argv)
    if line.only_shows:
        raise InputError("pate plan takes overrides and -m only; the rest is for pate run")
    execution.forget()
    tables = []
    for raw in overrides.compose_all(overrides.jobs(line), line.config_dir):
        tables += list(_tables(execution.checked(raw)))  # all of them before the first is shown
    for table in tables:
        console.out().print(table, crop=False)
        console.out().print()
    return 0


def _tables(run: CheckedRun) -> Iterator[Table]:
    from pate_cli.mechanisms import GaussianPlan, GnmaxPlan, SvtPlan
    from pate_cli.private_learner import LearnerPlan

    yield _run(run)
    plan = run.prepared.plan
    if isinstance(plan, GaussianPlan):
        yield _gaussian(plan, run.prepared.n_teachers)
    elif isinstance(plan, SvtPlan):
        yield _svt(plan, run)
    elif isinstance(plan, GnmaxPlan | LearnerPlan):
        yield _described(plan)


def _run(run: CheckedRun) -> Table:
    """Sizes and budget, which every run has."""
    p, config = run.prepared, run.config
    sizes = p.sizes
    what, assumed = config.split.protects.split("; ")
    source = "probability: 1 / private records" if config.delta is None else "probability"
    table = _table(f"{run.label}, eps {config.eps:g}", "", "value", "unit")
    rows: list[tuple[str, Any, str]] = [
        ("data set", p.dataset.n_records, "records"),
        ("private split", sizes.n_private, "records"),
        ("public split", sizes.n_public, "points"),
        ("test split", sizes.n_test, "records"),
        ("features", p.dataset.n_features, "columns"),
        ("classes", p.dataset.n_classes, "classes"),
        *_teachers(run),
        *_queries(run),
        ("eps, of one repeat", config.eps, "nats (log of a probability ratio)"),
        ("delta, of one repeat", p.delta, source),
        ("protects", what, assumed),
        ("repeats", config.repeats, "random splits; each costs eps"),
    ]
    if math.isinf(config.eps):
        rows.append(("noise", 0, "votes: no privacy at eps=inf"))
    for name, value, unit in rows:
        table.add_row(name, _show(value), unit)
    return table


def _teachers(run: CheckedRun) -> list[tuple[str, Any, str]]:
    """How many teachers there are, and the records they are trained on: not always all of them."""
    p, n = run.prepared, run.prepared.sizes.n_private
    if not p.n_teachers:
        return [("teachers", 0, "teachers: it has none")]
    public = p.plan.describe()
    taught = next((public[key] for key in ("n_sampled", "n_relabelled") if public.get(key)), n)
    taught -= public.get("n_holdout", 0)
    least, more = divmod(taught, p.n_teachers)
    rows: list[tuple[str, Any, str]] = [("teachers", p.n_teachers, "teachers")]
    if taught != n:
        rows.append(("records for teachers", taught, "records, of the private split"))
    return [*rows, ("records a teacher", f"{least} to {least + 1}" if more else least, "records")]


def _queries(run: CheckedRun) -> list[tuple[str, Any, str]]:
    """How many queries the guarantee is for, and which."""
    public, m = run.prepared.plan.describe(), run.prepared.sizes.n_public
    ell, answers = public.get("ell"), public.get("answers")
    if ell is None:
        return []
    if run.config.mechanism.queries == "active":
        asked = "split.budget, chosen actively"
    elif ell < m:
        asked = f"of {m:,} public points"
    else:
        asked = "all public points" + (f", {ell // m} times" if ell > m else "")
    rows: list[tuple[str, Any, str]] = [("queries, at most (ell)", ell, f"queries: {asked}")]
    if answers is not None and answers < ell:
        rows.append(("answers, at most", answers, "answers: split.budget; the other queries are checks"))
    return rows


def _gaussian(plan: GaussianPlan, n_teachers: int) -> Table:
    """Noise on a count of votes, and what fewer queries would cost after the fact."""
    from pate_cli.privacy import gaussian

    table = _table("Gaussian noise on a count of votes", "", "value", "unit")
    table.add_row("sigma, exact", _show(plan.sigma), "votes")
    table.add_row("sigma / teachers", _show(plan.sigma / n_teachers), "of all votes")
    zcdp = gaussian.calibrate_sigma_zcdp(plan.eps, plan.delta, plan.ell, plan.sensitivity)
    table.add_row("sigma by the looser zCDP rule", _show(zcdp), "votes (not used)")
    table.add_row("sensitivity of one query, L2", _show(plan.sensitivity), "votes")
    for share, word in ((4, "a quarter"), (2, "half"), (1, "all")):
        asked = -(-plan.ell // share)
        eps = gaussian.eps_of_mu(plan.sensitivity * math.sqrt(asked) / plan.sigma, plan.delta)
        table.add_row(f"eps_ex_post of {word} of the queries", _show(eps), f"nats, {asked} queries")
    return table


def _described(plan: GnmaxPlan | LearnerPlan) -> Table:
    """The public numbers of a plan, as it names them."""
    table = _table("Calibration", "", "value")
    names, values = table.columns
    names.no_wrap, values.no_wrap = True, False  # a long guarantee is broken into lines, its name is not lost
    table.add_row("guarantee", plan.guarantee.how)
    for name, value in plan.describe().items():
        if value is not None:
            table.add_row(name, _show(value) if isinstance(value, int | float | str) else str(value))
    return table


def _svt(plan: SvtPlan, run: CheckedRun) -> Table:
    """The calibration of the run, and the other two beside it."""
    from pate_cli.mechanisms.plan import fewest_teachers
    from pate_cli.mechanisms.votes import max_distance
    from pate_cli.privacy.svt import CALIBRATIONS

    used, n_teachers = plan.calibration, run.prepared.n_teachers
    rules = sorted(CALIBRATIONS, key=lambda rule: rule != used.rule)
    columns = [used, *(_other(rule, plan, run) for rule in rules[1:])]
    table = _table("Sparse vector technique", "", f"{rules[0]} (used)", *rules[1:], "unit")
    best = max_distance(n_teachers)

    def row(name: str, unit: str, value: Any) -> None:
        table.add_row(name, *("-" if c is None else _show(value(c)) for c in columns), unit)

    row("cut-off T", "unstable answers", lambda c: c.cutoff)
    row("noise", "kind", lambda c: c.noise)
    row("threshold drawn", "times a run", lambda c: "T" if c.redraw else "1")
    row("threshold w", "votes", lambda c: c.threshold)
    row("threshold noise scale", "votes", lambda c: c.threshold_scale)
    row("query noise scale", "votes", lambda c: c.query_scale)
    row("delta of composition", "probability", lambda c: c.delta_comp)
    row("delta of stability", "probability", lambda c: c.delta_stab)
    row("half answered at", "votes", lambda c: c.margin(0.5))
    row("95% answered at", "votes", lambda c: c.margin(0.05))
    row("largest distance", "votes", lambda c: best)
    if run.prepared.dataset.n_classes == 2:
        row("majority for half", "of the teachers", lambda c: _share(c.margin(0.5), n_teachers))
        row("majority for 95%", "of the teachers", lambda c: _share(c.margin(0.05), n_teachers))
    row("fewest teachers", "teachers, at T", fewest_teachers)
    row(
        "feasible",
        f"at {n_teachers:,} teachers",
        lambda c: "yes" if fewest_teachers(c) <= n_teachers else "no",
    )
    table.caption = (
        "Votes here are a distance: half the lead of the majority, less one.\n"
        "Answered at: from this distance on, by at least half or 95% of the noise.\n"
        "- : the published constants are no guarantee at this eps."
    )
    return table


def _other(rule: Calibration, plan: SvtPlan, run: CheckedRun) -> SvtCalibration | None:
    """Another calibration of the run, with its own T if that is left open; None where it does not hold."""
    from pate_cli.mechanisms.plan import auto_cutoff
    from pate_cli.privacy.svt import calibrate

    c, cutoff = plan.calibration, run.config.mechanism.cutoff
    try:
        if cutoff is None:
            cutoff = auto_cutoff(c.eps, c.delta, c.ell, run.prepared.n_teachers, rule)
        return calibrate(rule, c.eps, c.delta, c.ell, cutoff)
    except ValueError:
        return None


def _share(distance: float, n_teachers: int) -> float | str:
    """Smallest share of the teachers that has a distance, for two classes."""
    share = 0.5 + (2 * math.ceil(distance) + 1) / (2 * n_teachers)
    return share if share <= 1 else "> 1"


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    table.caption_justify = "left"
    for column in columns:
        text = column in ("", "unit")
        table.add_column(column, justify="left" if text else "right", no_wrap=not text)
    return table


def _show(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"
