"""`pate plot`: draw runs or a frontier for a paper."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from pate_cli.commands.named_results import collect
from pate_cli.errors import DataError, InputError
from pate_cli.terminal import checked_output, err, notice, write_output

__all__ = ["main"]

_ENDINGS = (".pdf", ".svg", ".png")
_DEFAULT = Path("plot.pdf")
_SYNONYMS = {"auc": "roc_auc"}
_FONT_SIZE = 8  # points


def main(argv: list[str]) -> int:
    """Run `pate plot`."""
    options = _parser().parse_args(argv)
    output = checked_output(options.output, _DEFAULT, _ENDINGS)
    paths, repeats = collect(options.paths or [_newest()], "no runs or frontier found")

    from pate_cli.results.figures import image
    from pate_cli.results.lines import check_columns, draw, notes, points
    from pate_cli.results.means import rows_of

    rows = rows_of(repeats)
    x, y = (_SYNONYMS.get(name, name) for name in (options.x, options.y))
    by = [key.strip() for key in options.by.split(",")] if options.by is not None else []
    check_columns(rows, x, y, by)
    drawn = points(rows, x, y, by)
    finite = sorted({point.x for point in drawn if math.isfinite(point.x)})
    if len(finite) < 2:
        only = f"{finite[0]:g} alone" if finite else "no finite value"
        raise InputError(f"--x {x}: {only}; a line takes at least two, as of pate run -m eps=0.5,1,2")

    write_output(output, image(lambda: draw(drawn, x, y), output.suffix.lower()[1:], _FONT_SIZE))
    if failed := sum(row.status not in ("ok", "infeasible") for row in rows):
        notice(f"{failed} of the rows did not finish: drawn without what is missing")
    for note in notes(rows, x, y, by):
        notice(note)
    text = f"written to {output}, from {', '.join(map(str, paths))}"
    err().print(text, style="dim", markup=False, soft_wrap=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate plot",
        description="Accuracy against eps with 95% bands, a line a method and a panel a dataset; non-private "
        "baselines are horizontal lines, and points that cannot run are marked below the axis.",
        epilog="Example: pate plot outputs/frontier/mushroom-1a2b3c --output mushroom.pdf",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="DIR",
        help="of a sweep, runs or a frontier, or a name or an id of pate list; default: the "
        "newest below outputs",
    )
    ends = f"{', '.join(_ENDINGS)}; default: {_DEFAULT}, if it is not there"
    parser.add_argument("--output", type=Path, metavar="FILE", help=ends)
    parser.add_argument("--x", default="eps", metavar="COLUMN", help="default: eps")
    columns = "accuracy (default), auc, eps_ex_post or a column of pate table --metrics --format csv"
    parser.add_argument("--y", default="accuracy", metavar="COLUMN", help=columns)
    lines = "a line for each value; default: mechanism, and what else differs"
    parser.add_argument("--by", metavar="COLUMN,...", help=lines)
    return parser


def _newest() -> str:
    """Directory of the newest sweep, frontier or recipe; a single run has no line to draw."""
    from pate_cli.results.listing import entries

    listing, _ = entries(["outputs"] if Path("outputs").is_dir() else [])
    for entry in listing:
        if entry.kind not in ("run", "release"):
            return str(entry.directory)
    raise DataError("outputs: no sweep or frontier in it; name a directory")
