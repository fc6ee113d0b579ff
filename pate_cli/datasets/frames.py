"""DataFrames with texts among their columns, encoded as tables of a file are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.datasets.encoding import TableEncoder
from pate_cli.datasets.inference import infer
from pate_cli.datasets.new_records import training_table
from pate_cli.datasets.reading import Table, columns_of
from pate_cli.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["encoder_of", "has_texts", "new_records", "records"]


def has_texts(X: Any) -> bool:
    """Whether X is a DataFrame with a column that is not of numbers."""
    return hasattr(X, "dtypes") and hasattr(X, "iloc") and any(d.kind not in "biuf" for d in X.dtypes)


def encoder_of(public: pd.DataFrame) -> TableEncoder:
    """Unfitted encoder, by the schema proposed from public records; a missing number has a code."""
    schema = infer(_table(public, "X_public"), target=None, words=(), source="inferred from X_public")
    if not (schema.of_kind("numeric") or schema.of_kind("category")):
        raise DataError(f"X_public: no column is used; {schema.brief()}")
    columns = {
        name: replace(column, missing=True) if column.kind == "numeric" else column
        for name, column in schema.columns.items()
    }
    return TableEncoder(replace(schema, columns=columns))


def records(frame: pd.DataFrame, encoder: TableEncoder, name: str) -> pd.DataFrame:
    """Bring a DataFrame under an encoder's schema; `name` is for messages."""
    return encoder.schema.apply(_table(frame, name), ())


def new_records(frame: pd.DataFrame, encoder: Any) -> Any:
    """Encode a DataFrame by a fitted encoder."""
    return encoder.transform(training_table(encoder, "X").read(_table(frame, "X"))[0])


def _table(frame: pd.DataFrame, name: str) -> Table:
    """A DataFrame as a reader of files returns one."""
    import pandas as pd

    if not hasattr(frame, "iloc"):
        raise DataError(f"{name}: got {type(frame).__name__}; accepted: a DataFrame, as X of fit was")
    dates = frozenset(str(column) for column, dtype in frame.dtypes.items() if dtype.kind in "mM")
    cells = pd.DataFrame(columns_of(frame), index=pd.RangeIndex(len(frame)))
    return Table(cells, Path(name), "", "row", dates)
