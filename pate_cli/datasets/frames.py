"""DataFrames with texts among their columns, encoded as tables of a file are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.column import is_missing
from pate_cli.datasets.describing import describe
from pate_cli.datasets.encoding import TableEncoder
from pate_cli.datasets.labels import Labels, one_person
from pate_cli.datasets.names import alike, normal
from pate_cli.datasets.new_records import read_new, training_schema
from pate_cli.datasets.reading import RecordTable, columns_of
from pate_cli.datasets.schema import read_schema
from pate_cli.errors import DataError
from pate_cli.features.generated import Generated
from pate_cli.types import IntArray, Part

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["encoder_of", "has_texts", "labels_alone", "new_records", "persons", "public_part", "records"]
__all__ += ["refuse_alike", "text_of"]


def has_texts(X: Any) -> bool:
    """Whether X is a DataFrame with a column that is not of numbers."""
    return hasattr(X, "dtypes") and hasattr(X, "iloc") and any(d.kind not in "biuf" for d in X.dtypes)


def encoder_of(public: Any, declared: str | Path | None = None) -> TableEncoder:
    """Unfitted encoder, by a declared schema or one that public records decide."""
    if declared is not None:
        return TableEncoder(read_schema(declared))
    described = describe(_table(public, "X_public"), public=True, source="inferred from X_public")
    schema = described.schema
    if not (schema.numbers or schema.of_kind("category")):
        raise DataError(f"X_public: no column is used; {schema.brief()}")
    return TableEncoder(schema)


def records(frame: pd.DataFrame, encoder: TableEncoder, name: str) -> pd.DataFrame:
    """Bring a DataFrame under an encoder's schema; `name` is for messages."""
    return encoder.schema.read(_table(frame, name))[0]


def public_part(public: Any, X: pd.DataFrame, encoder: TableEncoder, *, bought: bool = False) -> Part:
    """Public points under an encoder's schema; or those that a run makes of it, for records X.

    `bought` says whether the classes are, too.
    """
    if isinstance(public, str):
        target = (encoder.schema.target or "y") if bought else None
        if target in X:
            raise DataError(f"the schema: its target {target!r} is a column of X; accepted: another name")
        return Generated.of(public, encoder.schema.columns, X, target)
    return Part(records(public, encoder, "X_public"), None)


def new_records(frame: pd.DataFrame, encoder: Any) -> Any:
    """Encode a DataFrame by a fitted encoder."""
    return encoder.transform(read_new(training_schema(encoder, "X"), _table(frame, "X"))[0])


def refuse_alike(names: Any, codes: Any) -> None:
    """Refuse labels of which two are one, see `Labels.distinct`; warn of two that look alike."""
    written = list(map(str, names.tolist()))
    Labels(written, codes).distinct("the label", "y, row {}".format)
    if pair := alike(written):
        warnings.warn(f"y: {pair}; if they are one class, write them in one way", stacklevel=4)


def persons(groups: Any, *, warn: bool = True) -> IntArray:
    """Number of the person of each record, see `Labels.persons`; refuses one without a name.

    Names that look alike are private, so a release does not `warn` of them.
    """
    values = np.asarray(groups)
    if values.dtype.kind == "O":  # a missing name beside texts
        values = np.array(["" if v is None else str(v) for v in values.tolist()])
    distinct, numbers = np.unique(values, return_inverse=True)
    names = [str(value) for value in distinct.tolist()]
    if absent := [code for code, name in enumerate(names) if is_missing(normal(name))]:
        row = int(np.argmax(numbers == absent[0]))
        raise DataError(f"groups, row {row}: {names[absent[0]]!r}; accepted: a name for each record")
    if warn and (pair := one_person(names)):
        warnings.warn(f"groups: {pair}", stacklevel=3)
    if warn and (pair := alike(dict.fromkeys(map(normal, names)))):
        half = "if they are one person, eps and delta hold for a part of one"
        warnings.warn(f"groups: {pair}; {half}", stacklevel=3)
    return Labels(names, numbers).persons()


def text_of(label: Any) -> str:
    """Text of a label, empty where it is missing."""
    text = str(_whole(label))
    return "" if label is None or text in ("nan", "NaT", "<NA>") else text


def labels_alone(labels: Sequence[Any]) -> Any:
    """Array of some of the labels: the longest of all, or a missing one, decides nothing of its type."""
    return np.array([_whole(label) for label in labels])


def _whole(label: Any) -> Any:
    """A label, a whole number without a point: one that is missing makes floats of all others."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _table(frame: pd.DataFrame, name: str) -> RecordTable:
    """A DataFrame as a reader of files returns one."""
    import pandas as pd

    if not hasattr(frame, "iloc"):
        raise DataError(f"{name}: got {type(frame).__name__}; accepted: a DataFrame, as X of fit was")
    cells = pd.DataFrame(columns_of(frame), index=pd.RangeIndex(len(frame)))
    return RecordTable(cells, Path(name), "", "row")
