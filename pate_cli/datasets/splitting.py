"""One random split of a dataset: private, public, test.

The defaults (private 0.8, public 0.02, budget 0.3) are those of Table 3 of
Liu, Zhu, Chaudhuri and Wang (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pate_cli.datasets.options import is_real
from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

    from pate_cli.types import Dataset, IntArray, Split

__all__ = ["MODES", "SplitSizes", "sizes", "split"]

MODES = ("records", "label_private")
"""What `split.mode` may be; see `sizes`."""

_LARGEST = 1e100
"""Numbers of a table end there, so that centring and scaling, by 1e-162 at the least, keep them finite."""


@dataclass(frozen=True)
class SplitSizes:
    """Numbers of records in each part of a split, and the labels that may be asked.

    Attributes
    ----------
    n_private, n_public, n_test : int
        All at least 1; they sum to the number of records.
    budget : int
        In [1, n_public].
    """

    n_private: int
    n_public: int
    n_test: int
    budget: int


def sizes(
    n_records: int,
    private: float | int = 0.8,
    public: float | int = 0.02,
    budget: float | int = 0.3,
    mode: str = "records",
) -> SplitSizes:
    """Sizes of a split.

    Parameters
    ----------
    n_records : int
        N.
    private : float or int
        A fraction f in (0, 1) for floor(f * N) records, or a number of records.
    public : float or int
        A fraction f in (0, 1) for ceil(f * N) points, or a number of points.
    budget : float or int
        A fraction f in (0, 1) for round(f * n_public) labels, at least 1; or a number of labels.
    mode : {"records", "label_private"}
        `label_private`: nothing but the private records is at hand, and of them only the labels are
        secret. The public points are then taken out of the private records, and their labels dropped
        (BTT18, section 5: "splitting the training set into two parts and discarding the labels in one
        of them"); `public` is the size of that part, still as a fraction of N or a number.

        What the run's (eps, delta) then protects is the label of each record, nothing else: two data
        sets are neighbours if they have the same features and differ in one label. Features are taken
        as public: those of the points asked are shown, those of the teachers are not, but which record
        is of which kind is a matter of chance. A dropped label is used for measuring only.

    Returns
    -------
    SplitSizes
        The test split is what is left. `n_private` counts the records with a teacher.

    Raises
    ------
    ConfigError
        If a part would be empty, or the parts need more than there is.

    Examples
    --------
    >>> sizes(8124)
    SplitSizes(n_private=6499, n_public=163, n_test=1462, budget=49)
    """
    n_private = _part("split.private", private, n_records, math.floor)
    n_public = _part("split.public", public, n_records, math.ceil)
    if mode == "label_private":
        if n_public >= n_private:
            accepted = f"less than the {n_private} private records it is taken from (split.mode={mode})"
            raise ConfigError("split.public", public, accepted)
        n_private -= n_public
    elif mode != "records":
        raise ConfigError("split.mode", mode, ", ".join(MODES))
    n_test = n_records - n_private - n_public
    if n_test < 1:
        problem = (
            f"private ({n_private}) and public ({n_public}) that leave at least 1 of {n_records} records"
            " for the test"
        )
        # The larger part is the one to mend.
        key, got = ("split.private", private) if n_private >= n_public else ("split.public", public)
        raise ConfigError(key, got, problem)
    n_budget = _part("split.budget", budget, n_public, lambda labels: max(1, round(labels)))
    if n_budget > n_public:
        raise ConfigError(
            "split.budget",
            budget,
            f"at most {n_public}, for the public split has {n_public} points: not enough for the budget",
        )
    return SplitSizes(n_private, n_public, n_test, n_budget)


def _part(key: str, value: Any, whole: int, rounding: Any) -> int:
    accepted = "a fraction in (0, 1), or a whole number of at least 1"
    if not is_real(value):
        raise ConfigError(key, value, accepted)
    if 0 < value < 1:
        # repr() gives the decimal that was typed; in binary, floor(0.29 * 100) is 28.
        part = int(rounding(Fraction(repr(float(value))) * whole))
        if part < 1:
            raise ConfigError(
                key, value, f"a larger fraction, or a whole number: this one is 0 of {whole} records"
            )
        return part
    # A float may hold a count (a typed config turns 400 into 400.0), but 1.0 may mean "all".
    if value < 1 or value != int(value) or (value == 1 and isinstance(value, float)):
        raise ConfigError(key, value, accepted)
    return int(value)


def split(
    dataset: Dataset,
    *,
    private: float | int,
    public: float | int,
    budget: float | int,
    rng: np.random.Generator,
    mode: str = "records",
    public_rows: IntArray | None = None,
) -> Split:
    """Split a dataset at random.

    An encoder, where the dataset has one, is fitted on the features of the public
    split alone, then applied to every part: nothing is learned from private records.

    Parameters
    ----------
    dataset : Dataset
    private, public, budget : float or int
        See `sizes`.
    rng : numpy.random.Generator
        Used for one permutation of the records.
    mode : {"records", "label_private"}
        See `sizes`.
    public_rows : ndarray of int64, shape (n_public,), optional
        Numbers of the records that are the public split; drawn too if left out. The other parts are drawn
        from the other records.

    Returns
    -------
    Split

    Raises
    ------
    ConfigError
        As `sizes`.
    ValueError
        If `public_rows` are not as many as `public` says.
    """
    import numpy as np

    from pate_cli.datasets.deferred import DeferredRecords
    from pate_cli.types import Holdout, PublicPoints, Split

    parts = sizes(dataset.n_records, private, public, budget, mode)
    order = rng.permutation(dataset.n_records)
    if public_rows is not None:
        if len(public_rows) != parts.n_public:
            raise ValueError(f"{len(public_rows)} public rows, {parts.n_public} expected")
        others = order[~np.isin(order, public_rows)]
        order = np.concatenate([others[: parts.n_private], public_rows, others[parts.n_private :]])
    ours, theirs, rest = (
        order[: parts.n_private],
        order[parts.n_private : parts.n_private + parts.n_public],
        order[parts.n_private + parts.n_public :],
    )
    encoder = None
    if dataset.encoder is not None:
        from sklearn.base import clone

        encoder = clone(dataset.encoder).fit(_rows(dataset.X, theirs))

    def features(index: Any) -> Any:
        rows = _rows(dataset.X, index)
        return rows if encoder is None else _numbers(encoder.transform(rows))

    X_public = features(theirs)
    return Split(
        private=DeferredRecords.of(lambda: features(ours), dataset.y[ours]),
        public=PublicPoints(X_public, theirs),
        public_labels=Holdout(X_public, dataset.y[theirs]),
        test=Holdout(features(rest), dataset.y[rest]),
        budget=parts.budget,
        encoder=encoder,
    )


def _rows(X: Any, index: Any) -> Any:
    """Take rows out of an array, a sparse matrix or a table; numbers of a table are cut off at 1e100."""
    if not hasattr(X, "iloc"):
        return X[index]
    import numpy as np

    rows = X.iloc[index].copy()
    numbers = rows.select_dtypes(np.number).columns
    rows[numbers] = rows[numbers].clip(-_LARGEST, _LARGEST)
    return rows


def _numbers(X: Any) -> Any:
    import numpy as np
    import scipy.sparse as sp

    return sp.csr_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
