"""`pate table`: collect runs into one table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.commands.printing import add_output_options, print_table, print_text
from pate_cli.errors import DataError, InputError, one_line
from pate_cli.terminal import check_file, err, write_output

if TYPE_CHECKING:
    import pandas as pd

    from pate_cli.results.tables import Table

FORMATS = ("console", "csv", "markdown", "latex")
_BY_EXTENSION = {".csv": "csv", ".md": "markdown", ".tex": "latex"}


_NONE = "no result.json or repeats.csv in it"
_WIDTH = 120  # of a terminal's table in a file


def main(argv: list[str]) -> int:
    """Run `pate table`."""
    options = _parser().parse_args(argv)

    from pate_cli.results.overview import overview
    from pate_cli.results.paired import paired

    outputs = _outputs(options.output, options.format)
    by = [key.strip() for key in options.by.split(",")] if options.by is not None else []
    terminal = not outputs and options.format in (None, "console")
    if options.json and not terminal:
        raise InputError("--json: not with --format or --output; give one of them")
    if options.paired is not None and (by or options.pivot or options.metrics):
        raise InputError("--paired: not with --by, --pivot or --metrics; give one of them")
    repeats = collect(options.paths)
    if options.paired is not None:
        table = paired(repeats, options.paired)
    else:
        table = overview(repeats, by=by, pivot=options.pivot, metrics=options.metrics)
    if terminal:
        print_table(table, options, "table")
    elif not outputs:
        print_text(_render(table, options.format))
    for path, form in outputs:
        write_output(path, _render(table, form))
    if table.remarks and "left out" in table.remarks[0] and (outputs or options.format == "csv"):
        # CSV has no place for it, and a file does not show it at the terminal
        err().print(table.remarks[0], markup=False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate table",
        description="Collect runs, sweeps, frontiers and recipes into one table: dataset, "
        "mechanism, teachers, labels given of those asked for, eps, eps used (eps_ex_post), accuracy and its "
        "95% confidence interval (Student's t), accuracy of the same student on exact votes, and every "
        "setting in which the runs differ.",
        epilog="Example: pate table outputs multirun --output runs.csv --output runs.tex",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="directory searched for results, a result.json or repeats.csv, or a name or an id of pate list",
    )
    parser.add_argument("--format", choices=FORMATS, help="default: console, or the extension of FILE")
    parser.add_argument(
        "--by",
        metavar="KEY,...",
        help="a row for each value of these settings (dataset, mechanism, teacher, student, eps, seed, data, "
        "or a dotted name as split.public), averaged over the repeats of the rows that agree in them, "
        "each counted once",
    )
    parser.add_argument(
        "--pivot", metavar="KEY", help="a column for each value of this setting, as in --pivot eps"
    )
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="balanced accuracy, ROC AUC, log loss, calibration, and recall and precision of each class, too",
    )
    parser.add_argument(
        "--paired",
        metavar="METHOD",
        help="the difference in accuracy of every other row to this method's, repeat by repeat at the same "
        "splits, with its 95%% interval",
    )
    add_output_options(parser)
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="write to FILE (.csv, .md or .tex) instead of the terminal; may be given several times",
    )
    return parser


def _outputs(paths: list[Path], form: str | None) -> list[tuple[Path, str]]:
    """Pair each file with its format; all are checked before any is written."""
    outputs = []
    for path in paths:
        named = _BY_EXTENSION.get(path.suffix.lower())
        if named and form and named != form:
            raise InputError(f"--output {path}: the extension says {named}, --format says {form}; give one")
        chosen = named or form
        if chosen is None:
            raise InputError(
                f"--output {path}: unknown extension; accepted: {', '.join(_BY_EXTENSION)}, or add --format"
            )
        check_file(path)
        outputs.append((path, chosen))
    return outputs


def collect(names: Sequence[str], nothing: str = "no run found") -> pd.DataFrame:
    """Repeats in and below directories, with every setting; what cannot be read is named on stderr."""
    from pate_cli.results.listing import find
    from pate_cli.results.record_files import find_records
    from pate_cli.results.repeats import find_repeats

    if "" in names:  # as an unset variable of the shell is; to Path, the current directory
        raise DataError("'': no path; give the directory of a run, or one above it (. for this one)")
    paths = list(map(find, names))
    repeats, unreadable = find_repeats(paths, constant=True)
    reports = [f"{path}: {reason}" for path, reason in unreadable]
    if repeats.empty:
        where = ", ".join(map(str, paths))
        measured = (
            "a release measures nothing; its model_card.md says what it is"
            if find_records(paths).records
            else _NONE
        )
        reports = reports or [measured]
        raise DataError(f"{where}: {nothing} ({'; '.join(reports)})")
    for report in reports:
        err().print(one_line(f"left out: {report}"), markup=False, soft_wrap=True)
    return repeats


def _render(table: Table, form: str) -> str:
    if form != "console":
        return {"csv": table.to_csv, "markdown": table.to_markdown, "latex": table.to_latex}[form]()
    import io

    from rich.console import Console

    page = io.StringIO()
    table.show(Console(file=page, width=_WIDTH, color_system=None))
    return page.getvalue()
