"""From the columns of a table to the numbers that models see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from pate_cli.datasets.schema import Column, Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DeclaredNumbers", "TableEncoder", "encoder_for"]


class DeclaredNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scale numbers by what is declared of them, and give missing ones a column of their own.

    Parameters
    ----------
    low, high : list of float
        Bounds of each column: it is clipped to them and scaled to [0, 1]. NaN for none: then it is centred
        and scaled by the mean and the standard deviation of the records it is fitted on, public ones.
    missing : list of bool
        Whether a column gets a second one, 1 where it is missing and 0 elsewhere; it is 0 itself there.
    """

    def __init__(self, low: Sequence[float], high: Sequence[float], missing: Sequence[bool]) -> None:
        self.low = low
        self.high = high
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> DeclaredNumbers:
        """Take the mean and the deviation of public records, where nothing is declared."""
        values = np.asarray(X, dtype=np.float64)
        low, high = np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)
        self.bounded_ = ~np.isnan(low)
        centre, scale = np.where(self.bounded_, low, 0.0), np.where(self.bounded_, high - low, 1.0)
        for column in np.flatnonzero(~self.bounded_):
            held = values[~np.isnan(values[:, column]), column]
            if len(held):
                centre[column], spread = held.mean(), held.std()
                scale[column] = spread if spread > 0 else 1.0
        self.centre_, self.scale_ = centre, scale
        self.n_features_in_ = values.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """Give the numbers, then a column for each that may be missing: ndarray of float64."""
        values = np.asarray(X, dtype=np.float64)
        absent = np.isnan(values)
        scaled = (values - self.centre_) / self.scale_
        scaled[:, self.bounded_] = scaled[:, self.bounded_].clip(0.0, 1.0)
        scaled[absent] = 0.0
        coded = np.asarray(self.missing, dtype=bool)
        return np.hstack([scaled, absent[:, coded].astype(np.float64)])


@dataclass(frozen=True)
class TableEncoder:
    """Encoder of a table with a schema, not fitted yet.

    Categories are one column each, and all zeros is the code of one that is not listed. Numbers without
    bounds and without a code for missing ones have mean 0 and deviation 1 on the public records.
    """

    schema: Schema

    def get_params(self) -> dict[str, Any]:
        """What it depends on."""
        return {"columns": self.schema.plain()["columns"]}

    def fit(self, X: pd.DataFrame) -> Any:
        """Give a fitted ColumnTransformer: on public rows, of which it takes what is not declared."""
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        numeric = self._of("numeric")
        plain = [name for name, c in numeric.items() if c.low is None and not c.missing]
        stated = [name for name in numeric if name not in set(plain)]
        categories = self._of("category")
        open_ones = [name for name, c in categories.items() if c.values is None]
        listed = [name for name in categories if name not in set(open_ones)]
        parts: list[tuple[str, Any, list[str]]] = [("numbers", StandardScaler(), plain)]
        if stated:
            bounds = [
                [float("nan") if v is None else v for v in (c.low, c.high)]
                for c in map(numeric.get, stated)
                if c
            ]
            low, high = ([bound[side] for bound in bounds] for side in (0, 1))
            parts.append(
                ("declared", DeclaredNumbers(low, high, [numeric[name].missing for name in stated]), stated)
            )
        parts.append(("categories", OneHotEncoder(handle_unknown="ignore"), open_ones))
        if listed:
            lists = [np.array(_values(categories[name]), dtype=object) for name in listed]
            parts.append(("listed", OneHotEncoder(categories=lists, handle_unknown="ignore"), listed))
        return ColumnTransformer(parts, sparse_threshold=1.0).fit(X)

    def _of(self, kind: str) -> dict[str, Column]:
        return {name: self.schema.columns[name] for name in self.schema.of_kind(kind)}


def encoder_for(X: pd.DataFrame) -> TableEncoder:
    """Unfitted encoder of a table whose columns have their types and nothing declared."""
    kinds = {
        str(name): Column("numeric" if X[name].dtype == np.float64 else "category") for name in X.columns
    }
    return TableEncoder(Schema(kinds, "its types"))


def _values(column: Column) -> list[str]:
    values = list(column.values or [])
    return [*values, ""] if column.missing and "" not in values else values
