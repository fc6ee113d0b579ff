"""Encoder of tables: numbers are clipped and scaled, categories one-hot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from pate_cli.datasets.column import Column, levels_of
from pate_cli.datasets.describing import merged
from pate_cli.datasets.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DeclaredNumbers", "Levels", "TableEncoder"]

_LAST = 0.99999
"""A day that is the upper bound of dates ends so late."""


class DeclaredNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Clip numbers to declared bounds and standardise them, with a second column for missing ones.

    `low` and `high` are the bounds of each column, -inf and inf for none; mean and standard deviation are
    those of the public records it is fitted on, clipped. Missing numbers become 0, the mean; a column of
    which `missing` is true gets a second one, 1 where it is missing and 0 elsewhere; where it is None, if
    one is missing among the public records: a student learns nothing else of it.
    """

    def __init__(self, low: Sequence[float], high: Sequence[float], missing: Sequence[bool | None]) -> None:
        self.low = low
        self.high = high
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> DeclaredNumbers:
        """Compute the mean and the deviation of public records."""
        from sklearn.preprocessing import StandardScaler

        values = self._clipped(X)
        absent = np.isnan(values)
        scaler = StandardScaler().fit(np.where(absent.all(axis=0), 0.0, values))
        self.n_features_in_ = values.shape[1]
        self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        pairs = zip(self.missing, absent.any(axis=0).tolist(), strict=True)
        self.coded_ = [seen if coded is None else bool(coded) for coded, seen in pairs]
        return self

    def transform(self, X: Any) -> Any:
        """Compute the numbers, then a column for each that may be missing: ndarray of float64."""
        scaled = (self._clipped(X) - self.mean_) / self.scale_
        absent = np.isnan(scaled)
        scaled[absent] = 0.0
        return np.hstack([scaled, absent[:, self.coded_].astype(np.float64)])

    def _clipped(self, X: Any) -> Any:
        return np.asarray(X, dtype=np.float64).clip(self.low, self.high)


class Levels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A column of 0 and 1 for each level of each category; of an unseen one all are 0.

    `levels` are those declared, None for the ones of public records; `kept` says where capitals count.
    """

    def __init__(
        self, levels: Sequence[Sequence[str] | None], kept: Sequence[bool], missing: Sequence[bool]
    ) -> None:
        self.levels = levels
        self.kept = kept
        self.missing = missing

    def fit(self, X: pd.DataFrame, y: Any = None) -> Levels:
        """Find the levels that are not declared."""
        self.categories_ = []
        for (_, cells), levels, kept, missing in zip(
            X.items(), self.levels, self.kept, self.missing, strict=True
        ):
            categories = merged(cells, kept=kept) if levels is None else list(levels)
            empty = missing or (levels is None and (cells == "").any())
            self.categories_.append([*([""] if empty and "" not in categories else []), *categories])
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """Compute the columns: a csr_matrix."""
        import pandas as pd
        import scipy.sparse as sp

        parts = []
        for (_, cells), names, kept in zip(X.items(), self.categories_, self.kept, strict=True):
            at = {name: number for number, name in enumerate(names)}
            find = levels_of([name for name in names if name], kept=kept)
            codes, texts = pd.factorize(cells.astype(object))
            numbers = np.array([at.get(find(str(text)), -1) for text in texts], dtype=np.int64)[codes]
            rows = np.flatnonzero(numbers >= 0)
            ones = np.ones(len(rows))
            parts.append(sp.csr_matrix((ones, (rows, numbers[rows])), shape=(len(codes), len(names))))
        return sp.hstack(parts, format="csr")


@dataclass(frozen=True)
class TableEncoder:
    """Encoder of a table with a schema, not fitted yet.

    Categories are one column each, and all zeros is the code of one that is not listed. Numbers have mean 0
    and deviation 1 on the public records.
    """

    schema: Schema

    def with_bought(self, columns: Mapping[str, Column], classes: Sequence[str]) -> TableEncoder:
        """The encoder of a schema some of whose columns, or the classes, were bought."""
        every = {**self.schema.columns, **columns}
        schema = replace(self.schema, columns=every)
        if classes:
            schema = replace(schema, classes=list(classes), classes_bought=False)
        return replace(self, schema=schema)

    def get_params(self) -> dict[str, Any]:
        """Parameters that the encoding depends on."""
        return {"columns": self.schema.plain()["columns"]}

    def fit(self, X: pd.DataFrame) -> Any:
        """Fit a ColumnTransformer: means, deviations and undeclared categories are those of public rows.

        Its attribute `profile_` is for new records: see `new_records.training_schema`.
        """
        from sklearn.compose import ColumnTransformer

        numbers, categories = self.schema.numbers, self.schema.of_kind("category")
        of_numbers, of_texts = ([self.schema.columns[n] for n in names] for names in (numbers, categories))
        low = [-math.inf if column.low is None else column.low for column in of_numbers]
        high = [
            math.inf if column.high is None else column.high + _LAST * (column.kind == "date")
            for column in of_numbers
        ]
        # a code is declared, or the public records decide
        coded = [column.missing if isinstance(column.missing, bool) else None for column in of_numbers]
        levels = [column.levels for column in of_texts]
        kept = [column.case == "kept" for column in of_texts]
        missing = [column.missing is True for column in of_texts]
        parts: list[tuple[str, Any, list[str]]] = [
            ("declared", DeclaredNumbers(low, high, coded), numbers),
            ("levels", Levels(levels, kept, missing), categories),
        ]
        used = [part for part in parts if part[2]]
        fitted = ColumnTransformer(used, sparse_threshold=1.0).fit(X)
        least, most = X[numbers].min(), X[numbers].max()
        fitted.profile_ = {
            "columns": {
                name: {"low": float(least[name]), "high": float(most[name])}
                for name in numbers
                if not math.isnan(least[name])
            },
            "schema": replace(self.schema, data=None).plain(),  # not where the private file lies
        }
        return fitted
