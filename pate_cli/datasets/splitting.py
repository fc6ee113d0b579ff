"""One random split of a dataset: private, public, test."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pate_cli.datasets.content import fingerprint
from pate_cli.datasets.labels import BoughtClasses
from pate_cli.datasets.split_sizes import SplitSizes, sizes_of
from pate_cli.matrices import read_only, without_tiny
from pate_cli.types import Holdout, PrivateRecords, PublicPoints, Split

if TYPE_CHECKING:
    import numpy as np

    from pate_cli.features.bought import Bought
    from pate_cli.features.generated import Made, Marginals
    from pate_cli.privacy.door import Door
    from pate_cli.types import Dataset, IntArray

__all__ = ["cached_split", "split"]

_LARGEST = 1e100
"""Numbers of a table end there, so that centring and scaling, by 1e-162 at the least, keep them finite."""


def split(
    dataset: Dataset,
    *,
    rng: np.random.Generator,
    public_rows: IntArray | None = None,
    door: Door | None = None,
    marginals: Marginals | None = None,
    bought: Bought | None = None,
    n_held: int = 0,
    **shares: Any,
) -> Split:
    """Split a dataset at random; `shares` are those of `sizes_of`.

    An encoder, where the dataset has one, is fitted on the features of the public split alone, then applied
    to every part: nothing is learned from private records. All records of one person are on one side; where
    the public points are a share of the private file, one record each of the public persons is a point, drawn
    at random. `public_rows`, numbers of records, are the public split of a file where each record is by
    itself; drawn too if left out. Generated points come through the `door`, of `marginals`; before
    them what is `bought`, levels and bounds of columns, and classes: see `BoughtClasses`.
    The first `n_held` private records (persons) are held out, for an evaluation.
    """
    import numpy as np

    parts = sizes_of(dataset, **shares)
    rows = _deal(dataset, parts, n_held, public_rows, rng)
    public: Any = dataset.public or dataset
    test: Any = dataset.test or dataset
    table, made = public.X, None
    if door is not None:
        dataset, made = _made(dataset, rows, marginals, bought, door, rng)
        table = made.table
    taught, judged = (codes := np.arange(dataset.n_classes)), codes
    if made is not None and made.classes is not None:
        # a label that is none of them counts as wrong; to learn, as the largest
        taught, judged = (made.classes.codes(dataset.labels, to) for to in (made.classes.largest, -1))
    encoder = dataset.encoder and copy.deepcopy(dataset.encoder).fit(_rows(table, rows.public))

    def features(X: Any, index: Any) -> Any:
        chosen = _rows(X, index)
        return chosen if encoder is None else _numbers(encoder.transform(chosen))

    X_public, numbers = features(table, rows.public), rows.public
    if dataset.public is None and dataset.labelled is not None:  # of its file, not of the records that it has
        numbers = np.flatnonzero(dataset.labelled)[rows.public]
    labels = np.full(len(rows.public), -1) if public.y is None else public.y[rows.public]
    X_test = features(test.X, rows.test) if len(rows.test) else X_public[:0]
    held_out = None
    if n_held:
        held_out = _lazy(dataset, rows.held_out, judged, rows.held_persons, features)
    return Split(
        private=_private(dataset, rows, taught, features),
        public=PublicPoints(X_public, numbers),
        public_labels=Holdout(X_public, labels),
        test=Holdout(X_test, judged[test.y[rows.test]]),
        budget=parts.budget,
        encoder=encoder,
        held_out=held_out,
        generated=made,
    )


class _Rows(NamedTuple):
    """Row numbers of the parts of a split, those of public points and test in files of their own, if any."""

    held_out: IntArray
    private: IntArray
    public: IntArray
    test: IntArray
    persons: IntArray | None = None  # of each private row, from 0
    held_persons: IntArray | None = None


def _deal(
    dataset: Dataset, parts: SplitSizes, n_held: int, public_rows: IntArray | None, rng: np.random.Generator
) -> _Rows:
    """Deal records (persons) out at random."""
    import numpy as np

    order = rng.permutation(dataset.n_persons)
    n_shared = parts.n_public if dataset.public is None else 0
    if public_rows is not None:
        if len(public_rows) != n_shared or dataset.persons is not None:
            raise ValueError(f"{len(public_rows)} public rows, {n_shared} expected")
        others = order[~np.isin(order, public_rows)]
        order = np.concatenate([others[: parts.n_private], public_rows, others[parts.n_private :]])
    rows = _Rows(*np.split(order, [n_held, parts.n_private, parts.n_private + n_shared]))
    if dataset.persons is not None:
        rows = _of_persons(dataset.persons, rows, rng)
    if dataset.public is not None:
        at = np.arange(dataset.public.n_records, dtype=np.int64)
        if parts.n_public < len(at):
            at = np.sort(rng.permutation(len(at))[: parts.n_public])
        rows = rows._replace(public=at)
    if dataset.test is not None:
        return rows._replace(test=np.arange(dataset.test.n_records))
    return rows if parts.n_test else rows._replace(test=rows.test[:0])


def _of_persons(persons: IntArray, dealt: _Rows, rng: np.random.Generator) -> _Rows:
    """All records of the persons dealt out; of a public one a single record, drawn at random."""
    import numpy as np

    by_person = np.argsort(persons, kind="stable")
    counts = np.bincount(persons)
    starts = np.cumsum(counts) - counts

    def all_of(side: IntArray) -> IntArray:
        return np.concatenate([by_person[starts[u] : starts[u] + counts[u]] for u in side] or [side])

    return _Rows(
        all_of(dealt.held_out),
        all_of(dealt.private),
        by_person[starts[dealt.public] + rng.integers(counts[dealt.public])],
        all_of(dealt.test),
        *(np.repeat(np.arange(len(side)), counts[side]) for side in (dealt.private, dealt.held_out)),
    )


def _made(
    dataset: Dataset,
    rows: _Rows,
    marginals: Marginals | None,
    bought: Bought | None,
    door: Door,
    rng: np.random.Generator,
) -> tuple[Dataset, Made]:
    """Generate public points, once levels, bounds and classes are bought; and the data set that has these."""
    from pate_cli.features.bought import cells_of
    from pate_cli.features.generated import Made

    public: Any = dataset.public
    cells: Any = None
    accounts: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    classes = None
    if marginals is not None:
        each = PrivateRecords(rows.private[:, None], dataset.y[rows.private], rows.persons).one_each(rng)
        X = _rows(dataset.X, each.X[:, 0])
        if bought is not None:
            labels = [dataset.labels[code] for code in each.y] if bought.target else ()
            counts = bought.release(cells_of(bought, X, labels), door.chapter("schema"))
            accounts["schema"], columns = door.spent, bought.columns(public.columns, counts)
            public = public.with_columns(columns)
            classes = BoughtClasses.of(bought.labels(counts)) if bought.target else None
            names = classes.names if classes else ()
            dataset = replace(dataset, encoder=dataset.encoder.with_bought(columns, names))
        cells = PrivateRecords(public.codes(X), each.y)
    table = public.made(cells, marginals, door.chapter("points"), rng)
    return dataset, Made(table, accounts | {"points": door.spent}, columns, classes)


def _private(dataset: Dataset, rows: _Rows, taught: IntArray, features: Any) -> DeferredRecords:
    """The private records; those in shards stay where they lie, each teacher's part within one of them."""
    import numpy as np

    if not hasattr(dataset.X, "shards"):
        return _lazy(dataset, rows.private, taught, rows.persons, features)
    ours = np.sort(rows.private)
    kept: Any = dataset.X.take(ours)
    return DeferredRecords.of(lambda: kept, taught[dataset.y[ours]], None, kept.blocks)


def _lazy(
    dataset: Dataset, rows: Any, codes: IntArray, persons: Any, features: Callable[[Any, Any], Any]
) -> DeferredRecords:
    """Records of a dataset, of other codes, whose features are computed when first used."""
    return DeferredRecords.of(
        lambda: without_tiny(features(dataset.X, rows)), codes[dataset.y[rows]], persons
    )


_last: tuple[Hashable, Split] | None = None


def cached_split(dataset: Dataset, rng: np.random.Generator, **given: Any) -> Split:
    """Split as `split` does, or return the last split of this process if nothing it depends on differs.

    Rows of a frontier need the same split one after another. `rng` may or may not be advanced.
    """
    global _last
    stated = {name: value for name, value in given.items() if name != "door"}  # of one seed with `rng`
    written = repr(getattr(dataset.encoder, "schema", None))  # a student keeps how its file is written
    key = (fingerprint(dataset), written, repr(rng.bit_generator.state), repr(sorted(stated.items())))
    if _last is None or _last[0] != key:
        _last = None  # not two of them in memory
        _last = (key, split(dataset, rng=rng, **given))
    return _last[1]


class DeferredRecords(PrivateRecords):
    """Private records whose features are computed when first used: not where workers teach. PRIVATE."""

    @classmethod
    def of(
        cls,
        features: Callable[[], Any],
        y: IntArray,
        persons: IntArray | None,
        blocks: IntArray | None = None,
    ) -> DeferredRecords:
        """Records with labels `y`, of `persons`, in `blocks`, and the features that `features()` computes."""
        records = object.__new__(cls)
        vars(records).update(_features=features, y=read_only(y), persons=persons, blocks=blocks)
        return records

    def with_features(self, features: Any) -> DeferredRecords:
        """Return the same with a map; X is not computed for it."""
        records = DeferredRecords.of(lambda: self.X, self.y, self.persons, self.blocks)
        vars(records).update(features=features)
        return records

    @cached_property
    def X(self) -> Any:
        """Features, of shape (n_private, d)."""
        return read_only(vars(self)["_features"]())


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
