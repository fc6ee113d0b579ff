"""`pate plan`: the public numbers of a run, before any training."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from pate_cli.commands import plan_report
from pate_cli.commands.printing import print_grid, print_json, print_line, print_table, split_output_options
from pate_cli.commands.reporting import show_report
from pate_cli.commands.tune_arguments import arguments
from pate_cli.config import Composer, command_line
from pate_cli.engine.rows import Row, check_rows
from pate_cli.errors import InputError
from pate_cli.features.bought import SHARE
from pate_cli.mechanisms.base import NumbersTable
from pate_cli.results.settings import differing
from pate_cli.results.tables import ABSENT, Head, Table, number
from pate_cli.terminal import err

__all__ = ["main"]

_WORDS = {
    "cutoff": "unstable answers, at most (T)",
    "delta_comp": "delta: composition",
    "delta_stab": "delta: unstable label released",
    "redraw": "threshold drawn anew",
    "rule": "calibration",
    "sigma": "noise (sigma), votes",
    "threshold_scale": "noise of the threshold, votes",
    "query_scale": "noise of a query, votes",
}
"""Numbers of a mechanism in words; `result.json` has the names."""

_ABOVE = ("ell", "eps", "delta", "n_teachers", "n_classes")
"""Numbers of a mechanism that stand among the sizes."""

_MEANING = (
    "eps is the guarantee, of one repeat. noise share: noise on the votes of a query, as a share of all "
    "votes. answered: queries, on average, if all votes were two to one. fewest teachers: with which half of "
    "the labels of such votes are right, apart from chance; with fewer, only a student that averages "
    "labels learns. All from public numbers."
)

_USAGE = """\
usage: pate plan [-m] [GROUP=OPTION ...] [KEY=VALUE ...]

Show the public numbers of a run before any training: sizes, teachers, queries,
noise, thresholds and how many teachers they need. Takes the arguments of
`pate run` (see pate run --help), loads the data to count it, writes nothing.

  pate plan mechanism=svt eps=1.0
  pate plan dataset=mushroom mechanism=gaussian eps=0.5 teacher.size=50
  pate plan -m mechanism=svt eps=0.5,1,2 mechanism.cutoff=1,10
  pate plan tune student=logistic,tree eps=1   # with the arguments of pate tune

With -m one table has a line for each point: noise as a share of the votes, how
many queries are answered, the fewest teachers, feasible or what would do.
--json and --format csv print it for programs; -q leaves out the text below it.
pate run --dry-run is the same command.

Everything shown is computed from sizes and the configuration, never from
records or votes, so showing it costs no privacy. A point of a sweep that cannot
work is shown as infeasible. Exit code 2 where the run would be refused.
"""


def main(argv: list[str]) -> int:
    """Run `pate plan`: refuses what `pate run` refuses, and shows infeasible points of a sweep."""
    if not {"-h", "--help"}.isdisjoint(argv):
        print_line(_USAGE.rstrip())
        return 0
    options, argv = split_output_options(argv, csv=True)
    candidates: list[dict[str, Any]] = []
    typed, tune = argv, argv[:1] == ["tune"]
    if tune:
        argv, candidates = arguments(argv[1:])
    line = command_line.parse_argv(argv)
    if line.only_shows or line.force:
        raise InputError("pate plan takes overrides, -m and how to print; the rest is for pate run")
    composer = Composer(line.config_dir, line.config_name, candidates)
    rows = check_rows(composer, command_line.jobs(line), sweep=line.multirun)
    if line.multirun or options.csv or options.json:
        return _print_points(rows, options, argv, multirun=line.multirun)
    (row,) = rows
    for text in () if options.quiet else row.prepared.public_warnings:  # broken between words on a terminal
        err().print(f"pate: eps {row.config.eps:g}, {text}", markup=False, soft_wrap=not err().is_terminal)
    report = plan_report.one(row, _trained_on(row))
    report = replace(report, next_step=("run it", [["pate", *typed]])) if tune else report
    show_report(report, options, "plan")
    for table in _tables(row) if options.explain else ():
        right = [name for name in table.columns if name not in ("", "unit", "why")]
        cells = [
            [_WORDS.get(name, name), *map(_show, values)]
            for name, *values in table.rows
            if name not in _ABOVE
        ]
        print_line("")
        print_grid(table.columns, cells, right=right, title=table.title, caption=table.caption)
    if (better := row.prepared.mechanism.better(row.prepared.setting)) and not options.quiet:
        print_line(f"mechanism={better} is nearly always better with such teachers.")
    return 0


def _print_points(
    rows: Sequence[Row], options: argparse.Namespace, argv: Sequence[str], *, multirun: bool
) -> int:
    """Print a line for each point; of one point JSON has its sizes and numbers, too."""
    table = _points(rows)
    if options.csv or (options.json and multirun):
        print_table(table, options, "plan")
    elif options.json:
        shown = {"table": table.records}
        for name, of in zip(("sizes", "numbers"), _tables(rows[0]), strict=False):
            heads = ("name", *of.columns[1:])
            shown[name] = [dict(zip(heads, values, strict=True)) for values in of.rows]
        print_json("plan", shown, rows[0].prepared.public_warnings)
    else:
        show_report(plan_report.points(table, argv), options, "plan")
    return 0


def _points(rows: Sequence[Row]) -> Table:
    """Table with a line for each row: what its noise does to votes, and whether it works."""
    columns = [row.columns() for row in rows]
    names = dict.fromkeys(name for row in columns for name in takewhile(lambda name: name != "eps", row))
    extras = [name for name in differing(columns, names) if name not in ("dataset", "method")]
    heads = ["dataset", "mechanism", *extras]
    shown = [Head(head, numeric=False, detail=head in extras) for head in heads]
    shown += [Head("eps"), Head("teachers"), Head("records a teacher"), Head("noise share")]
    shown += [Head("answered of"), Head("fewest teachers"), Head("feasible", numeric=False)]
    cells, records, footnotes = [], [], list[str]()
    for row, values in zip(rows, columns, strict=True):
        point = _point(row)
        records.append(
            {name: values.get("method" if name == "mechanism" else name) for name in heads} | point
        )
        texts = [str(records[-1][name] or ABSENT) for name in heads]
        texts += [number(point["eps"], "g"), number(point["teachers"] or None, ",d")]
        texts += [number(point["records_a_teacher"], ",d"), number(point["noise_share"], ".0%")]
        asked = " of ".join(number(point[name], ",.0f") for name in ("answered", "queries"))
        texts += [ABSENT if point["answered"] is None else asked, number(point["fewest_teachers"], ",d")]
        cells.append([*texts, point["feasible"]])
        if point["status"] != "ready":
            where = " ".join([*texts[1 : len(heads)], f"eps {point['eps']:g}"])
            status = "cannot run" if point["status"] == "infeasible" else point["status"]
            footnotes.append(f"{where}: {status}; what would do: {point['remedy']}")
    return Table(shown, cells, records, _MEANING, footnotes, _MEANING.partition(". ")[0] + ".")


def _point(row: Row) -> dict[str, Any]:
    """Numbers of one row, None where there are none."""
    p, eps = row.checked, row.config.eps
    point: dict[str, Any] = {"eps": eps, "delta": p.delta if p else row.config.delta}
    names = (
        "teachers",
        "records_a_teacher",
        "noise",
        "noise_share",
        "answered",
        "queries",
        "fewest_teachers",
    )
    point |= dict.fromkeys(names)
    if p is None:
        _, _, remedy = row.message.rpartition("what would do: ")
        return point | {"feasible": "no", "status": row.status, "message": row.message, "remedy": remedy}
    expected, n = p.mechanism.expected_answers(), p.n_teachers
    point |= {"teachers": n, "queries": p.mechanism.asks_at_most}
    if n:
        point["records_a_teacher"] = _trained_on(row) // n
    if expected and n:
        point |= {"noise": expected.noise, "noise_share": expected.noise / n, "answered": expected.answered}
        point["fewest_teachers"] = expected.fewest_teachers
    return point | {"feasible": "yes", "status": "ready", "message": "", "remedy": ""}


def _tables(row: Row) -> list[NumbersTable]:
    """Tables of one row: sizes, and what its mechanism shows."""
    title = f"{row.label}, eps {row.config.eps:g}"
    sizes = NumbersTable(title, ("", "value", "unit"), _sizes(row))
    return [sizes] if math.isinf(row.config.eps) else [sizes, row.prepared.mechanism.table()]


def _sizes(run: Row) -> list[tuple[Any, ...]]:
    """Sizes and budget of a run: name, value and unit."""
    p, config = run.prepared, run.config
    sizes = p.sizes
    neighbours, _, assumed = p.protects.rpartition("; ")  # a unit's name may have one of its own
    counted = "records" if p.dataset.person_column is None else "persons"
    source = f"probability: 1 / private {counted}" if config.delta is None else "probability"
    rows: list[tuple[Any, ...]] = []
    if p.dataset.person_column is None:  # else the number of records is private
        rows.append(("data set", p.dataset.n_records, "records"))
    rows += [
        ("private split", sizes.n_private, counted),
        *_public_points(run),
        ("test split", sizes.n_test, counted),
        *_evaluated(run, counted),
        ("features", p.dataset.n_features, "columns"),
        _classes(run),
        *_teachers(run, counted),
        *_queries(run),
        ("eps, of one repeat", config.eps, "the smaller, the stronger"),
        ("delta, of one repeat", p.delta, source if p.delta else "probability: eps holds without exception"),
        ("protects", neighbours, assumed),
        ("repeats", config.repeats, "random splits; each costs eps"),
    ]
    return rows + [("noise", 0, "votes: no privacy at eps=inf")] * math.isinf(config.eps)


def _classes(run: Row) -> tuple[str, Any, str]:
    """Number of classes, or that they are bought: then the other numbers are those for two."""
    p = run.prepared
    if p.dataset.labels:
        return ("classes, at least", p.setting.n_classes, "bought; all numbers here are for so many")
    return ("classes", p.dataset.n_classes, "classes")


def _public_points(run: Row) -> list[tuple[str, Any, str]]:
    """Number of public points, and the noise on the marginals that they are made of."""
    p, marginals = run.prepared, run.prepared.whole.marginals
    source = "marginals" if marginals else "declared ranges"
    origin = f", made of {source}" * hasattr(p.dataset.public, "made")
    if run.config.split.public == "auto":
        best = p.config.mechanism.options.best_points(p.sizes.n_private, p.dataset.n_features, run.config.eps)
        origin = f": half of those left; m* = {best:,.0f}" * (best > p.sizes.n_public + 1)
    rows: list[tuple[str, Any, str]] = [("public split", p.sizes.n_public, f"points{origin}")]
    if marginals:
        rows.append(("noise of marginals", marginals.sigma, f"records, on {marginals.n_bins} counts"))
    if (bought := p.whole.bought) and math.isfinite(bought.mu):
        share = f"columns, for {SHARE:g} of mu squared; eps of the rest {bought.eps_left:.3g}"
        rows.append((f"{bought.what} bought", len(bought.names), share))
        if bought.texts:
            of_all = f"records, {bought.least / bought.n:.2g} of all: of fewer, a text is an unseen one"
            rows.append(("a text is found from", bought.least, of_all))
    return rows


def _evaluated(run: Row, counted: str) -> list[tuple[str, Any, str]]:
    """How many private records are held out for an evaluation, and its noise."""
    evaluation = run.prepared.whole.evaluation
    if evaluation is None:
        return []
    noise = ("noise of the evaluation", evaluation.sigma, f"{counted}, on {evaluation.most} counts at most")
    return [("held out for evaluation", evaluation.n, f"{counted}, of the private ones"), noise]


def _teachers(run: Row, counted: str) -> list[tuple[str, Any, str]]:
    """Number of teachers, and the records (or persons) they are trained on: not always all of them."""
    p, n = run.prepared, run.prepared.sizes.n_private
    if not p.n_teachers:
        return [("teachers", 0, "teachers: it has none")]
    trained_on = _trained_on(run)
    least, remainder = divmod(trained_on, p.n_teachers)
    rows: list[tuple[str, Any, str]] = [("teachers", p.n_teachers, "teachers")]
    if trained_on != n:
        rows.append((f"{counted} for teachers", trained_on, f"{counted}, of the private split"))
    return [*rows, (f"{counted} a teacher", f"{least} to {least + 1}" if remainder else least, counted)]


def _trained_on(run: Row) -> int:
    """Number of private records (or persons) that teachers are trained on."""
    mechanism = run.prepared.mechanism
    chosen = mechanism.relabelling.n_records if mechanism.relabelling else run.prepared.sizes.n_private
    return chosen - mechanism.n_held_out


def _queries(run: Row) -> list[tuple[str, Any, str]]:
    """Number of queries that the guarantee is for, and which they are."""
    mechanism, m = run.prepared.mechanism, run.prepared.sizes.n_public
    ell, answers = mechanism.asks_at_most, mechanism.answers_at_most
    if ell is None:
        return []
    asked = "all public points" if ell >= m else f"of {m:,} public points"
    if run.config.mechanism.options.picks_queries:
        asked = "split.budget, chosen actively"
    rows: list[tuple[str, Any, str]] = [("queries, at most", ell, f"queries: {asked}")]
    if answers is not None and answers < ell:
        rows.append(("answers, at most", answers, "answers: split.budget; the other queries are checks"))
    return rows


def _show(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"
