"""Results that a command names: the repeats in and below directories, or a release."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.errors import DataError, one_line
from pate_cli.results.record import RECORD_NAME, read_record
from pate_cli.terminal import err

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["collect", "find_release"]

_NONE = "no result.json or repeats.csv in it"


def collect(names: Sequence[str], nothing: str = "no run found") -> tuple[list[Path], pd.DataFrame]:
    """Directories that are named, and the repeats in and below them, with every setting.

    What cannot be read is named on stderr.
    """
    from pate_cli.results.listing import find
    from pate_cli.results.record import find_files
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
    return paths, repeats


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
