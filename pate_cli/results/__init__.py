"""Records of runs, their files, and tables of many runs.

Nothing heavy is imported here: a command may import this room at start-up.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pate_cli.results.interval import Interval
from pate_cli.results.record import RunRecord, read_record
from pate_cli.results.repeats import read_repeats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Interval", "RunRecord", "read_record", "read_repeats"]


class _Room(ModuleType):
    """Lets the module be called: `pate_cli.results("outputs")`."""

    def __call__(self, *paths: str | Path) -> pd.DataFrame:
        """Collect results, as ``pate table`` does: a row a configuration, every number in full.

        Parameters
        ----------
        *paths : path-like
            Directories that are searched, or files; default: ``outputs``.

        Raises
        ------
        InputError
            If a file cannot be read.
        """
        import pandas as pd

        from pate_cli.results.means import rows_of
        from pate_cli.results.overview import overview

        rows = rows_of(read_repeats(paths or ("outputs",), constant=True))
        return pd.DataFrame(overview(rows, metrics=True).records)


sys.modules[__name__].__class__ = _Room
