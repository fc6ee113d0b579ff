"""One random split of a dataset: private, public, test.

The defaults (private 0.8, public 0.02, budget 0.3) are those of Table 3 of
Liu, Zhu, Chaudhuri and Wang (2021).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pate_cli.checks import Real
from pate_cli.datasets.content import fingerprint
from pate_cli.errors import ConfigError
from pate_cli.types import Holdout, PrivateRecords, PublicPoints, Split, without_tiny

if TYPE_CHECKING:
    import numpy as np

    from pate_cli.types import Dataset, IntArray

__all__ = ["MODES", "SplitSizes", "cached_split", "sizes", "sizes_of", "split"]

_PRIVATE, _PUBLIC = 0.8, 0.02
MODES = ("records", "label_private")
"""What `split.mode` may be; see `sizes`."""

_LARGEST = 1e100
"""Numbers of a table end there, so that centring and scaling, by 1e-162 at the least, keep them finite."""


@dataclass(frozen=True)
class SplitSizes:
    """Numbers of records in each part of a split, and of labels that may be asked.

    Where a column says whose a record is, persons are counted. A release with a public file has no test.
    """

    n_private: int
    n_public: int
    n_test: int
    budget: int


def sizes(
    n_records: int,
    private: float | int | None = None,
    public: float | int | None = None,
    budget: float | int = 0.3,
    mode: str = "records",
) -> SplitSizes:
    """Sizes of a split of one file.

    Parameters
    ----------
    n_records : int
        N.
    private : float, int or None
        A fraction f in (0, 1) for floor(f * N) records, or a number of records; None for 0.8.
    public : float, int or None
        A fraction f in (0, 1) for ceil(f * N) points, or a number of points; None for 0.02.
    budget : float or int
        A fraction f in (0, 1) for round(f * n_public) labels, at least 1; or a number of labels.
    mode : {"records", "label_private"}
        `label_private`: only the labels of private records are secret. The public points are then taken out
        of the private records, and their labels dropped, but for measuring (BTT18, section 5: "splitting the
        training set into two parts and discarding the labels in one of them"). What the run's (eps, delta)
        protects is the label of each record, nothing else: neighbours have the same features and differ in
        one label.

    Returns
    -------
    SplitSizes
        The test split is what is left. `n_private` counts the records with a teacher.

    Examples
    --------
    >>> sizes(8124)
    SplitSizes(n_private=6499, n_public=163, n_test=1462, budget=49)
    """
    private = _PRIVATE if private is None else private
    public = _PUBLIC if public is None else public
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
        # The larger part is the one to mend.
        key, got = ("split.private", private) if n_private >= n_public else ("split.public", public)
        left = f"that leave at least 1 of {n_records} records for the test"
        raise ConfigError(key, got, f"private ({n_private}) and public ({n_public}) {left}")
    return SplitSizes(n_private, n_public, n_test, _budget(budget, n_public))


def sizes_of(
    dataset: Dataset,
    *,
    private: float | int | None = None,
    public: float | int | None = None,
    budget: float | int = 0.3,
    mode: str = "records",
    release: bool = False,
) -> SplitSizes:
    """Sizes of the split of a dataset, whose public points or test may have files of their own.

    With a public file, `public` is a part of its rows, all of them if None; with a test file all of its
    records are the test. `private` is a part of the private file: None for all of it, but for the public
    share (0.02) where there is no public file, and the test share (0.2) where there is no test file. A
    release with a public file has no test: nothing is held back that nothing is measured on. Where a
    column says whose a record is, records of the private file are counted by person. With one file it is
    `sizes`. A part that would be empty, or larger than its file, is a ConfigError.
    """
    n = dataset.n_units
    if dataset.units is not None and mode != "records":
        raise ConfigError("split.mode", mode, f"records with dataset.unit={dataset.unit}")
    if dataset.public is None and dataset.test is None:
        return sizes(n, private, public, budget, mode)
    if mode != "records":
        raise ConfigError("split.mode", mode, "records with files of their own for public points or the test")
    if dataset.public is None:
        n_public = _part("split.public", _PUBLIC if public is None else public, n, math.ceil)
        left = n - n_public
    else:
        rows, left = dataset.public.n_records, n
        n_public = rows if public is None else _part("split.public", public, rows, math.ceil)
        if n_public > rows:
            raise ConfigError("split.public", public, f"at most {rows}, the rows of the public file")
    measured = dataset.test is None and not release
    if private is not None:
        n_private = _part("split.private", private, n, math.floor)
    else:
        n_private = math.floor(_PRIVATE * n) if measured else left
    if n_private < 1 or n_private > left - measured:
        whose = "" if dataset.unit is None else f" {dataset.unit}"
        accepted = f"1 to {left - measured} of the {n}{whose} in the private file"
        raise ConfigError("split.private", private, accepted + (", less a test share" if measured else ""))
    n_test = left - n_private if measured else 0 if dataset.test is None else dataset.test.n_records
    return SplitSizes(n_private, n_public, n_test, _budget(budget, n_public))


def _budget(budget: float | int, n_public: int) -> int:
    n_budget = _part("split.budget", budget, n_public, lambda labels: max(1, round(labels)))
    if n_budget > n_public:
        accepted = (
            f"at most {n_public}, for the public split has {n_public} points: not enough for the budget"
        )
        raise ConfigError("split.budget", budget, accepted)
    return n_budget


def _part(key: str, value: Any, whole: int, rounding: Any) -> int:
    accepted = "a fraction in (0, 1), or a whole number of at least 1"
    try:
        Real().take(value)
    except (ValueError, OverflowError):
        raise ConfigError(key, value, accepted) from None
    if 0 < value < 1:
        # repr() gives the decimal that was typed; in binary, floor(0.29 * 100) is 28.
        part = int(rounding(Fraction(repr(float(value))) * whole))
        if part < 1:
            accepted = f"a larger fraction, or a whole number: this one is 0 of {whole} records"
            raise ConfigError(key, value, accepted)
        return part
    # A float may hold a count (a typed config turns 400 into 400.0), but 1.0 may mean "all".
    if value < 1 or value != int(value) or (value == 1 and isinstance(value, float)):
        raise ConfigError(key, value, accepted)
    return int(value)


def split(
    dataset: Dataset,
    *,
    private: float | int | None = None,
    public: float | int | None = None,
    budget: float | int = 0.3,
    rng: np.random.Generator,
    mode: str = "records",
    release: bool = False,
    public_rows: IntArray | None = None,
) -> Split:
    """Split a dataset at random.

    An encoder, where the dataset has one, is fitted on the features of the public
    split alone, then applied to every part: nothing is learned from private records.
    All records of one person, where a column says whose they are, are on one side; where the public points
    are a share of the private file, one record each of the public persons is a point, drawn at random.

    Parameters
    ----------
    dataset : Dataset
    private, public, budget, mode, release
        See `sizes_of`.
    rng : numpy.random.Generator
        Used for one permutation of the records, or of the persons.
    public_rows : ndarray of int64, shape (n_public,), optional
        Numbers of the records that are the public split; drawn too if left out. Only where there is one
        file, and each record is by itself.
    """
    import numpy as np

    parts = sizes_of(dataset, private=private, public=public, budget=budget, mode=mode, release=release)
    order = rng.permutation(dataset.n_units)
    n_shared = parts.n_public if dataset.public is None else 0
    if public_rows is not None:
        if len(public_rows) != n_shared or dataset.units is not None:
            raise ValueError(f"{len(public_rows)} public rows, {n_shared} expected")
        others = order[~np.isin(order, public_rows)]
        order = np.concatenate([others[: parts.n_private], public_rows, others[parts.n_private :]])
    ours, at, rest = np.split(order, [parts.n_private, parts.n_private + n_shared])
    units = None
    if dataset.units is not None:
        by_unit = np.argsort(dataset.units, kind="stable")
        counts = np.bincount(dataset.units)
        starts = np.cumsum(counts) - counts
        units = np.repeat(np.arange(len(ours)), counts[ours])
        at = by_unit[starts[at] + rng.integers(counts[at])]
        ours, rest = (
            np.concatenate([by_unit[starts[u] : starts[u] + counts[u]] for u in side] or [side])
            for side in (ours, rest)
        )
    points: Any = dataset.X
    points_y: IntArray | None = dataset.y
    if dataset.public is not None:
        rows = dataset.public.n_records
        at = np.arange(rows, dtype=np.int64)
        if parts.n_public < rows:
            at = np.sort(rng.permutation(rows)[: parts.n_public])
        points, points_y = dataset.public.X, dataset.public.y
    encoder = dataset.encoder and copy.deepcopy(dataset.encoder).fit(_rows(points, at))

    def features(X: Any, index: Any) -> Any:
        rows = _rows(X, index)
        return rows if encoder is None else _numbers(encoder.transform(rows))

    X_public = features(points, at)
    test: Any = dataset.X
    test_y: Any = dataset.y
    if dataset.test is not None:
        test, test_y, rest = dataset.test.X, dataset.test.y, np.arange(dataset.test.n_records)
    elif not parts.n_test:
        rest = rest[:0]
    if hasattr(dataset.X, "shards"):  # they stay where they lie; each teacher's part is drawn within a shard
        ours = np.sort(ours)
        kept: Any = dataset.X.take(ours)
        private_part = DeferredRecords.of(lambda: kept, dataset.y[ours], None, kept.blocks)
    else:
        private_part = DeferredRecords.of(
            lambda: without_tiny(features(dataset.X, ours)), dataset.y[ours], units
        )
    unlabelled = np.full(len(at), -1, dtype=np.int64)
    return Split(
        private=private_part,
        public=PublicPoints(X_public, at),
        public_labels=Holdout(X_public, unlabelled if points_y is None else points_y[at]),
        test=Holdout(features(test, rest) if len(rest) else X_public[:0], test_y[rest]),
        budget=parts.budget,
        encoder=encoder,
    )


_last: tuple[Hashable, Split] | None = None


def cached_split(dataset: Dataset, rng: np.random.Generator, **given: Any) -> Split:
    """Split as `split` does, or return the last split of this process if nothing it depends on differs.

    It depends on the records' content, what is `given`, and the state of `rng`, which has no other use:
    whether it is advanced is left open. Rows of a frontier ask for the same split one after another.
    """
    global _last
    shares = {key: None if value is None else repr(value) for key, value in given.items()}
    if given.get("public_rows") is not None:
        shares["public_rows"] = given["public_rows"].tobytes().hex()
    key = (fingerprint(dataset), repr(rng.bit_generator.state), repr(sorted(shares.items())))
    if _last is None or _last[0] != key:
        _last = None  # not two of them in memory
        _last = (key, split(dataset, rng=rng, **given))
    return _last[1]


class DeferredRecords(PrivateRecords):
    """Private records whose features are computed when first used: never where votes are known. PRIVATE."""

    @classmethod
    def of(
        cls, features: Callable[[], Any], y: IntArray, units: IntArray | None, blocks: IntArray | None = None
    ) -> DeferredRecords:
        """Records with labels `y`, of `units`, in `blocks`, and the features that `features()` computes."""
        records = object.__new__(cls)
        vars(records).update(_features=features, y=y, units=units, blocks=blocks)
        return records

    @cached_property
    def X(self) -> Any:
        """Features, of shape (n_private, d)."""
        return vars(self)["_features"]()


def _rows(X: Any, index: Any) -> Any:
    """Take rows out of an array, a sparse matrix or a table; numbers of a table are cut off at 1e100.

    Categories of a table become plain text: a column of pandas would list those of all rows, private ones
    among them.
    """
    if not hasattr(X, "iloc"):
        return X[index]
    rows = X.iloc[index].copy()
    for name, dtype in rows.dtypes.items():
        if dtype.name == "category":
            rows[name] = rows[name].astype(object)
    numbers = rows.select_dtypes("number").columns
    rows[numbers] = rows[numbers].clip(-_LARGEST, _LARGEST)
    return rows


def _numbers(X: Any) -> Any:
    import numpy as np
    import scipy.sparse as sp

    return sp.csr_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
