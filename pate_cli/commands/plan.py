"""`pate plan`: the public numbers of a run, before any training."""

from __future__ import annotations

import math
from typing import Any

from pate_cli import mechanisms
from pate_cli.commands import grid, tune
from pate_cli.config import Composer, command_line
from pate_cli.engine.rows import Row, check_rows
from pate_cli.errors import InputError
from pate_cli.mechanisms.base import NumbersTable
from pate_cli.terminal import err

__all__ = ["main"]

_SAME = "not used by pate plan, whose numbers are the same whatever it is"
UNUSED = dict.fromkeys(("seed", "compute", "cache", "ledger", "name", "tags", "hydra"), _SAME)
"""Keys that no public number depends on."""

_USAGE = """\
usage: pate plan [-m] [GROUP=OPTION ...] [KEY=VALUE ...]

Show the public numbers of a run before any training: sizes, teachers, queries,
noise, thresholds and how many teachers they need. Takes the arguments of
`pate run` (see pate run --help), loads the data to count it, writes nothing.

  pate plan mechanism=svt eps=1.0
  pate plan dataset=mushroom mechanism=gaussian eps=0.5 teacher.size=50
  pate plan -m mechanism=svt eps=0.5,1,2 mechanism.cutoff=1,10
  pate plan tune student=logistic,tree eps=1   # with the arguments of pate tune
  pate plan --theory dataset=mushroom eps=1   # the papers' theorems on it

Keys that no public number depends on are refused: seed, compute, cache, ledger
and hydra.*.

Everything shown is computed from sizes and the configuration, never from
records or votes, so showing it costs no privacy. A point of a sweep that cannot
work is shown as infeasible. Exit code 2 where the run would be refused.
"""


def main(argv: list[str]) -> int:
    """Run `pate plan`: refuses what `pate run` refuses, and shows infeasible points of a sweep."""
    if "--theory" in argv:
        from pate_cli.commands import plan_theory

        return plan_theory.main(argv, UNUSED)
    if not {"-h", "--help"}.isdisjoint(argv):
        grid.line(_USAGE.rstrip())
        return 0
    candidates: list[dict[str, Any]] = []
    if argv[:1] == ["tune"]:
        argv, candidates = tune.arguments(argv[1:])
    line = command_line.parse_argv(argv)
    if line.only_shows or line.force:
        raise InputError("pate plan takes overrides and -m only; the rest is for pate run")
    command_line.refuse_unused(line.overrides, UNUSED)
    composer = Composer(line.config_dir, line.config_name, candidates)
    rows = check_rows(composer, command_line.jobs(line), sweep=line.multirun)
    ready = [row for row in rows if row.checked]
    texts = [f"pate: eps {row.config.eps:g}, {text}" for row in ready for text in row.prepared.expectations]
    for text in dict.fromkeys(texts):  # broken between words on a terminal, whole lines in a log
        err().print(text, markup=False, soft_wrap=not err().is_terminal)
    for row in rows:
        for table in _tables(row):
            right = [name for name in table.columns if name not in ("", "unit", "why")]
            cells = [[_show(value) for value in line] for line in table.rows]
            grid.show(table.columns, cells, right=right, title=table.title, caption=table.caption)
            grid.line("")
    return 0


def _tables(row: Row) -> list[NumbersTable]:
    """Tables of one row: sizes, and what its mechanism shows; or why it is infeasible."""
    title = f"{row.label}, eps {row.config.eps:g}"
    if row.checked is None:
        return [NumbersTable(title, ("", "why"), [(row.status, row.message)])]
    sizes = NumbersTable(title, ("", "value", "unit"), _sizes(row))
    return [sizes] if math.isinf(row.config.eps) else [sizes, row.prepared.plan.table()]


def _sizes(run: Row) -> list[tuple[Any, ...]]:
    """Sizes and budget of a run: name, value and unit."""
    p, config = run.prepared, run.config
    sizes = p.sizes
    neighbours, _, assumed = p.protects.rpartition("; ")  # a unit's name may have one of its own
    counted = "records" if p.dataset.unit is None else "persons"
    source = f"probability: 1 / private {counted}" if config.delta is None else "probability"
    rows: list[tuple[Any, ...]] = []
    if p.dataset.unit is None:  # else the number of records is private
        rows.append(("data set", p.dataset.n_records, "records"))
    rows += [
        ("private split", sizes.n_private, counted),
        *_public_points(run),
        ("test split", sizes.n_test, counted),
        *_evaluated(run, counted),
        ("features", p.dataset.n_features, "columns"),
        ("classes", p.dataset.n_classes, "classes"),
        *_teachers(run, counted),
        *_queries(run),
        ("eps, of one repeat", config.eps, "nats (log of a probability ratio)"),
        ("delta, of one repeat", p.delta, source),
        ("protects", neighbours, assumed),
        ("repeats", config.repeats, "random splits; each costs eps"),
    ]
    return rows + [("noise", 0, "votes: no privacy at eps=inf")] * math.isinf(config.eps)


def _public_points(run: Row) -> list[tuple[str, Any, str]]:
    """Number of public points, and the noise on the marginals that they are made of."""
    p, own = run.prepared, run.prepared.whole.marginals
    source = "marginals" if own else "declared ranges"
    made = f", made of {source}" * hasattr(p.dataset.public, "made")
    rows: list[tuple[str, Any, str]] = [("public split", p.sizes.n_public, f"points{made}")]
    return rows + ([("noise of marginals", own.sigma, f"records, on {own.n_bins} counts")] if own else [])


def _evaluated(run: Row, counted: str) -> list[tuple[str, Any, str]]:
    """How many private records are held out for an evaluation, and its noise."""
    own = run.prepared.whole.evaluation
    if own is None:
        return []
    noise = ("noise of the evaluation", own.sigma, f"{counted}, on {own.most} counts at most")
    return [("held out for evaluation", own.n, f"{counted}, of the private ones"), noise]


def _teachers(run: Row, counted: str) -> list[tuple[str, Any, str]]:
    """Number of teachers, and the records (or persons) they are trained on: not always all of them."""
    p, n = run.prepared, run.prepared.sizes.n_private
    if not p.n_teachers:
        return [("teachers", 0, "teachers: it has none")]
    public = p.plan.describe()
    trained_on = next((public[key] for key in ("n_sampled", "n_relabelled") if public.get(key)), n)
    trained_on -= public.get("n_holdout", 0)
    least, remainder = divmod(trained_on, p.n_teachers)
    rows: list[tuple[str, Any, str]] = [("teachers", p.n_teachers, "teachers")]
    if trained_on != n:
        rows.append((f"{counted} for teachers", trained_on, f"{counted}, of the private split"))
    return [*rows, (f"{counted} a teacher", f"{least} to {least + 1}" if remainder else least, counted)]


def _queries(run: Row) -> list[tuple[str, Any, str]]:
    """Number of queries that the guarantee is for, and which they are."""
    public, m = run.prepared.plan.describe(), run.prepared.sizes.n_public
    ell, answers = public.get("ell"), public.get("answers")
    if ell is None:
        return []
    asked = "all public points" if ell >= m else f"of {m:,} public points"
    if mechanisms.picks_queries(run.config.mechanism.name):
        asked = "split.budget, chosen actively"
    rows: list[tuple[str, Any, str]] = [("queries, at most (ell)", ell, f"queries: {asked}")]
    if answers is not None and answers < ell:
        rows.append(("answers, at most", answers, "answers: split.budget; the other queries are checks"))
    return rows


def _show(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"
