"""Encoder of tables: numbers are clipped and scaled, categories one-hot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from pate_cli.datasets.new_records import ranges_of
from pate_cli.datasets.schema import ColumnSchema, Schema
from pate_cli.matrices import deviations

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DeclaredNumbers", "TableEncoder"]


class DeclaredNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Clip numbers to declared bounds and standardise them, with a second column for missing ones.

    `low` and `high` are the bounds of each column, -inf and inf for none; mean and standard deviation are
    those of the public records it is fitted on, clipped. A column that is constant there is not divided.
    Missing numbers become 0, the mean; a column of
    which `missing` is true gets a second one, 1 where it is missing and 0 elsewhere.
    """

    def __init__(self, low: Sequence[float], high: Sequence[float], missing: Sequence[bool]) -> None:
        self.low = low
        self.high = high
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> DeclaredNumbers:
        """Compute the mean and the deviation of public records."""
        values = self._clipped(X)
        self.n_features_in_ = values.shape[1]
        self.mean_, self.scale_ = np.zeros(self.n_features_in_), np.ones(self.n_features_in_)
        for at, column in enumerate(values.T):
            present = column[~np.isnan(column)]
            if len(present):
                self.mean_[at], self.scale_[at] = present.mean(), deviations(present) or 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Compute the numbers, then a column for each that may be missing: ndarray of float64."""
        scaled = (self._clipped(X) - self.mean_) / self.scale_
        absent = np.isnan(scaled)
        scaled[absent] = 0.0
        return np.hstack([scaled, absent[:, np.asarray(self.missing, dtype=bool)].astype(np.float64)])

    def _clipped(self, X: Any) -> Any:
        return np.asarray(X, dtype=np.float64).clip(self.low, self.high)


@dataclass(frozen=True)
class TableEncoder:
    """Encoder of a table with a schema, not fitted yet; `words` are cells that stand for a missing value.

    Categories are one column each, and all zeros is the code of one that is not listed. Numbers have mean 0
    and deviation 1 on the public records.
    """

    schema: Schema
    words: Sequence[str] = ()

    def get_params(self) -> dict[str, Any]:
        """Parameters that the encoding depends on."""
        return {"columns": self.schema.plain()["columns"]}

    def fit(self, X: pd.DataFrame) -> Any:
        """Fit a ColumnTransformer: means, deviations and undeclared categories are those of public rows.

        Its attribute `profile_` is for new records: see `new_records.training_table`.
        """
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        columns = self.schema.columns
        numeric, categories = self.schema.of_kind("numeric"), self.schema.of_kind("category")
        stated = [name for name in numeric if columns[name].low is not None or columns[name].missing]
        listed = [name for name in categories if columns[name].values is not None]
        unlisted = [name for name in categories if name not in listed]
        low = [-math.inf if (v := columns[name].low) is None else v for name in stated]
        high = [math.inf if (v := columns[name].high) is None else v for name in stated]
        missing = [columns[name].missing for name in stated]
        lists = [np.array(_values(columns[name]), dtype=object) for name in listed]
        parts: list[tuple[str, Any, list[str]]] = [
            ("numbers", StandardScaler(), [name for name in numeric if name not in stated]),
            ("declared", DeclaredNumbers(low, high, missing), stated),
            ("categories", OneHotEncoder(handle_unknown="ignore"), unlisted),
            ("listed", OneHotEncoder(categories=lists, handle_unknown="ignore"), listed),
        ]
        used = [part for part in parts if part[2]]
        fitted = ColumnTransformer(used, sparse_threshold=1.0).fit(X)
        ranges = ranges_of(X[numeric])
        fitted.profile_ = {"target": self.schema.target, "missing": list(self.words), "columns": ranges}
        return fitted


def _values(column: ColumnSchema) -> list[str]:
    values = list(column.values or [])
    return [*values, ""] if column.missing and "" not in values else values
