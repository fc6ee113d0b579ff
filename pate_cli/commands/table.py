"""`pate table`: collect runs into one table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.commands.named_results import collect, find_release
from pate_cli.commands.printing import add_output_options, print_table, print_text
from pate_cli.errors import DataError, InputError
from pate_cli.terminal import check_file, err, write_output

if TYPE_CHECKING:
    from pate_cli.results.tables import Table

FORMATS = ("console", "csv", "markdown", "latex")
_BY_EXTENSION = {".csv": "csv", ".md": "markdown", ".tex": "latex"}


_WIDTH = 120  # of a terminal's table in a file


def main(argv: list[str]) -> int:
    """Run `pate table`."""
    options = _parser().parse_args(argv)

    from pate_cli.results.means import rows_of
    from pate_cli.results.overview import overview
    from pate_cli.results.paired import paired
    from pate_cli.results.repeats import REPEATS

    read = [Path(path, name) for path in options.paths for name in ("", REPEATS)]
    outputs = _outputs(options.output, options.format, read)
    by = [key.strip() for key in options.by.split(",")] if options.by is not None else []
    terminal = not outputs and options.format in (None, "console")
    if options.json and not terminal:
        raise InputError("--json: not with --format or --output; give one of them")
    if options.paired is not None and (by or options.pivot or options.metrics):
        raise InputError("--paired: not with --by, --pivot or --metrics; give one of them")
    if (release := find_release(options.paths)) is not None:
        table = _quality(release, options)
    else:
        _, repeats = collect(options.paths)
        rows, left_out = rows_of(repeats), repeats.attrs.get("left_out", 0)
        if options.paired is not None:
            table = paired(rows, options.paired)
        else:
            table = overview(rows, by=by, pivot=options.pivot, metrics=options.metrics, left_out=left_out)
    if terminal:
        print_table(table, options, "table")
    elif not outputs:
        print_text(_render(table, options.format))
    for path, form in outputs:
        write_output(path, _render(table, form))
    if table.footnotes and "left out" in table.footnotes[0] and (outputs or options.format == "csv"):
        # CSV has no place for it, and a file does not show it at the terminal
        err().print(table.footnotes[0], markup=False)
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


def _outputs(paths: list[Path], form: str | None, read: list[Path]) -> list[tuple[Path, str]]:
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
        check_file(path, read)
        outputs.append((path, chosen))
    return outputs


def _quality(directory: Path, options: argparse.Namespace) -> Table:
    """The figures of a release that was evaluated."""
    if options.by is not None or options.pivot or options.metrics or options.paired:
        raise InputError("--by, --pivot, --metrics, --paired: not with a release, which has one table")

    from pate_cli.release.certificates import made_of
    from pate_cli.release.quality import Quality

    def printed(facts: Mapping[str, Any]) -> Table | None:
        quality = Quality.stated(facts)
        return quality.printed() if quality else None

    if (table := made_of(directory, printed)) is None:
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
