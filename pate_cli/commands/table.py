"""`pate table`: collect runs into one table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.commands.printing import add_output_options, print_table, print_text
from pate_cli.errors import DataError, InputError, one_line
from pate_cli.results.record_files import RECORD_NAME, read_record
from pate_cli.terminal import check_file, err, write_output

if TYPE_CHECKING:
    import pandas as pd

    from pate_cli.release.card import Card
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
    if (release := find_release(options.paths)) is not None:
        table = _quality(release, options)
    elif options.paired is not None:
        table = paired(collect(options.paths), options.paired)
    else:
        table = overview(collect(options.paths), by=by, pivot=options.pivot, metrics=options.metrics)
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
    from pate_cli.results.record_files import find_files
    from pate_cli.results.repeats import find_repeats

    if "" in names:  # as an unset variable of the shell is; to Path, the current directory
        raise DataError("'': no path; give the directory of a run, or one above it (. for this one)")
    paths = list(map(find, names))
    repeats, unreadable = find_repeats(paths, constant=True)
    reports = [f"{path}: {reason}" for path, reason in unreadable]
    if repeats.empty:
        where = ", ".join(map(str, paths))
        releases = [str(path.parent) for path in find_files(paths, (RECORD_NAME,), [])]
        one_by_one = f"a release measures nothing; of one: pate page {', '.join(releases[:3])}"
        reports = reports or [one_by_one if releases else _NONE]
        raise DataError(f"{where}: {nothing} ({'; '.join(reports)})")
    for report in reports:
        err().print(one_line(f"left out: {report}"), markup=False, soft_wrap=True)
    return repeats


def find_release(names: Sequence[str]) -> Path | None:
    """Directory of the release, finished or not, that is named; None if it is anything else."""
    from pate_cli.release.certificates import CERTIFICATE
    from pate_cli.results.listing import find

    if len(names) != 1 or not names[0]:
        return None
    place = find(names[0])
    if place.is_file() and place.name in (RECORD_NAME, CERTIFICATE):
        place = place.parent
    if (place / CERTIFICATE).is_file():
        return place
    with suppress(DataError):
        if read_record(place / RECORD_NAME).config.get("release"):
            return place
    return None


def card_of(directory: Path) -> Card:
    """What the certificate of a release says; DataError, in one line, if that is not one of ours."""
    from pate_cli.release.card import Card
    from pate_cli.release.certificates import read_certificate

    _, facts, about = read_certificate(directory)
    try:
        card = Card({**facts, "files": about}, str(directory))
        card.report()
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError):
        lacks = "its certificate lacks what a page says; accepted: one of pate"
        raise DataError(f"{directory}: {lacks}") from None
    return card


def _quality(directory: Path, options: argparse.Namespace) -> Table:
    """The figures of a release that was evaluated."""
    if options.by is not None or options.pivot or options.metrics or options.paired:
        raise InputError("--by, --pivot, --metrics, --paired: not with a release, which has one table")
    table = card_of(directory).report().table
    if not table.cells:
        raise DataError(f"{directory}: released without evaluate=, so nothing was measured; see pate page")
    return table


def _render(table: Table, form: str) -> str:
    if form != "console":
        return {"csv": table.to_csv, "markdown": table.to_markdown, "latex": table.to_latex}[form]()
    import io

    from rich.console import Console

    page = io.StringIO()
    table.show(Console(file=page, width=_WIDTH, color_system=None))
    return page.getvalue()
