"""One random split of a dataset: private, public, test.

The defaults (private 0.8, public 0.02, budget 0.3) are those of Table 3 of
Liu, Zhu, Chaudhuri and Wang (2021).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pate_cli.checks import CheckedBy, Real, take
from pate_cli.datasets.content import fingerprint
from pate_cli.datasets.labels import BoughtClasses
from pate_cli.errors import ConfigError
from pate_cli.matrices import read_only, without_tiny
from pate_cli.types import Holdout, PrivateRecords, PublicPoints, Split

if TYPE_CHECKING:
    import numpy as np

    from pate_cli.features.bought import Bought
    from pate_cli.features.generated import Marginals
    from pate_cli.privacy.door import Door
    from pate_cli.types import Dataset, IntArray

__all__ = ["MODES", "SplitSizes", "cached_split", "sizes", "sizes_of", "split"]

_PRIVATE, _PUBLIC = 0.8, 0.02
MODES = ("records", "label_private")
"""What `split.mode` may be; see `sizes`."""

_LARGEST = 1e100
"""Numbers of a table end there, so that centring and scaling, by 1e-162 at the least, keep them finite."""


@dataclass(frozen=True)
class SplitSizes:
    """Numbers of records in each part of a split (persons, if named), and of labels to ask for."""

    n_private: int  # records with a teacher
    n_public: int
    n_test: int  # what is left
    budget: int


def sizes(
    n_records: int,
    private: float | int | None = None,
    public: float | int | None = None,
    budget: float | int = 0.3,
    mode: str = "records",
    *,
    public_file: int | None = None,
    test_file: int | None = None,
    measured: bool = True,
    counted: str = "records",
) -> SplitSizes:
    """Sizes of a split; ConfigError if a part would be empty, or larger than its file.

    A share is a fraction f in (0, 1) or a number: floor(f N) `private` records of N, ceil(f N) `public`
    points, and a `budget` of round(f n_public) labels, at least 1. `private=None` is 0.8, or all that are
    left where no test share is needed; `public=None` is 0.02. Public points and test records may have files
    of their own (their numbers of records `public_file`, `test_file`); `public` is then a part of its rows,
    None for all. A release with a public file is not `measured`, so it needs no test share. `counted` is the
    word for what is counted, for messages.

    `mode="label_private"`: only the labels of private records are secret. The public points are then taken
    out of the private records, and their labels dropped, but for measuring (BTT18, section 5: "splitting the
    training set into two parts and discarding the labels in one of them"). What the run's (eps, delta)
    protects is the label of each record, nothing else: neighbours have the same features and differ in one
    label.

    Examples
    --------
    >>> sizes(8124)
    SplitSizes(n_private=6499, n_public=163, n_test=1462, budget=49)
    """
    if mode not in MODES:
        raise ConfigError("split.mode", mode, ", ".join(MODES))
    if mode != "records" and not public_file is test_file is None:
        raise ConfigError("split.mode", mode, "records with files of their own for public points or the test")
    if public_file is None:
        public = _PUBLIC if public is None else public
        n_public = _part("split.public", public, n_records, math.ceil)
        left = n_records - n_public
    else:
        n_public = public_file if public is None else _part("split.public", public, public_file, math.ceil)
        left = n_records
        if n_public > public_file:
            raise ConfigError("split.public", public, f"at most {public_file}, the rows of the public file")
    n_held_out = int(measured and test_file is None)  # at least
    if private is None and not n_held_out:
        n_private = left
    else:
        private = _PRIVATE if private is None else private
        n_private = _part("split.private", private, n_records, math.floor)
    if mode == "label_private":
        if n_public >= n_private:
            accepted = f"less than the {n_private} private records it is taken from (split.mode={mode})"
            raise ConfigError("split.public", public, accepted)
        n_private -= n_public
    spare = left - n_private - n_held_out
    if spare < 0 or n_private < 1:
        key, got, part = "split.private", private, n_private
        if public_file is None and n_public > n_private:
            key, got, part = "split.public", public, n_public
        accepted = f"at most {max(0, part + spare)} of the {n_records} {counted} in the private file"
        if n_held_out:
            accepted += (
                f", for the test needs some; {_advice(n_records, n_public if public_file is None else 0)}"
            )
        raise ConfigError(key, got, accepted)
    n_budget = _part("split.budget", budget, n_public, lambda labels: max(1, round(labels)))
    if n_budget > n_public:
        accepted = f"at most {n_public} points, those of the public split: not enough for the budget"
        raise ConfigError("split.budget", budget, accepted)
    return SplitSizes(n_private, n_public, left - n_private if n_held_out else test_file or 0, n_budget)


def _advice(n_records: int, n_public: int) -> str:
    """Sizes that work, in the words of a command line: a fifth of what is not public is for the test."""
    if 2 * n_public >= n_records:
        n_public = math.ceil(_PUBLIC * n_records)
    n_private = math.floor(_PRIVATE * (n_records - n_public))
    public = f" split.public={n_public}" if n_public else ""
    return f"split.private={n_private}{public} leaves {n_records - n_public - n_private} of them for it"


def sizes_of(dataset: Dataset, *, release: bool = False, mode: str = "records", **shares: Any) -> SplitSizes:
    """Sizes of the split of a dataset, see `sizes`; named persons are counted, not records.

    A release with a public file has no test: nothing is held back that nothing is measured on.
    """
    if dataset.person_column is not None and mode != "records":
        raise ConfigError("split.mode", mode, f"records with dataset.unit={dataset.person_column}")
    if hasattr(dataset.public, "made") and shares.get("public") is not None:
        accepted = "null with generated points; their number is generate.points"
        raise ConfigError("split.public", shares["public"], accepted)
    return sizes(
        dataset.n_persons,
        mode=mode,
        public_file=None if dataset.public is None else dataset.public.n_records,
        test_file=None if dataset.test is None else dataset.test.n_records,
        measured=not release or dataset.public is None,
        counted=f"persons ({person})" if (person := dataset.person_column) else "records",
        **shares,
    )


def _share(value: Any) -> Any:
    """A fraction, or a number of records: 400.0 is one, but 1.0 may mean "all"."""
    Real().take(value)
    if value >= 1 and (value != int(value) or (value == 1 and isinstance(value, float))):
        raise ValueError
    return value


def _part(key: str, value: Any, whole: int, rounding: Any) -> int:
    """Number of records that a fraction or a number stands for."""
    value = take(key, value, CheckedBy(_share, "a fraction in (0, 1), or a whole number of at least 1"))
    if value >= 1:
        return int(value)
    # repr() gives the decimal that was typed; in binary, floor(0.29 * 100) is 28.
    part = int(rounding(Fraction(repr(float(value))) * whole))
    if part < 1:
        accepted = f"a larger fraction, or a whole number: this one is 0 of {whole} records"
        raise ConfigError(key, value, accepted)
    return part


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

    from pate_cli.features.bought import cells_of
    from pate_cli.features.generated import Made

    parts = sizes_of(dataset, **shares)
    order = rng.permutation(dataset.n_persons)
    n_shared = parts.n_public if dataset.public is None else 0
    if public_rows is not None:
        if len(public_rows) != n_shared or dataset.persons is not None:
            raise ValueError(f"{len(public_rows)} public rows, {n_shared} expected")
        others = order[~np.isin(order, public_rows)]
        order = np.concatenate([others[: parts.n_private], public_rows, others[parts.n_private :]])
    held_out, ours, at, for_test = np.split(order, [n_held, parts.n_private, parts.n_private + n_shared])
    persons = held_persons = None
    if dataset.persons is not None:
        by_person = np.argsort(dataset.persons, kind="stable")
        counts = np.bincount(dataset.persons)
        starts = np.cumsum(counts) - counts
        persons, held_persons = (np.repeat(np.arange(len(side)), counts[side]) for side in (ours, held_out))
        at = by_person[starts[at] + rng.integers(counts[at])]
        held_out, ours, for_test = (
            np.concatenate([by_person[starts[u] : starts[u] + counts[u]] for u in side] or [side])
            for side in (held_out, ours, for_test)
        )
    public: Any = dataset.public or dataset
    test: Any = dataset.test or dataset
    if dataset.public is not None:
        at = np.arange(dataset.public.n_records, dtype=np.int64)
        if parts.n_public < len(at):
            at = np.sort(rng.permutation(len(at))[: parts.n_public])
    if dataset.test is not None:
        for_test = np.arange(dataset.test.n_records)
    elif not parts.n_test:
        for_test = for_test[:0]
    table, released, classes = public.X, None, None
    if door is not None:
        cells: Any = None
        accounts: dict[str, Any] = {}
        bought_columns: dict[str, Any] = {}
        if marginals is not None:
            each = PrivateRecords(ours[:, None], dataset.y[ours], persons).one_each(rng)
            X = _rows(dataset.X, each.X[:, 0])
            if bought is not None:
                labels = [dataset.labels[code] for code in each.y] if bought.target else ()
                counts = bought.release(cells_of(bought, X, labels), door.chapter("schema"))
                accounts["schema"], bought_columns = door.spent, bought.columns(public.columns, counts)
                public = public.with_columns(bought_columns)
                classes = BoughtClasses.of(bought.labels(counts)) if bought.target else None
                names = classes.names if classes else ()
                dataset = replace(dataset, encoder=dataset.encoder.with_bought(bought_columns, names))
            cells = PrivateRecords(public.codes(X), each.y)
        table = public.made(cells, marginals, door.chapter("points"), rng)
        released = Made(table, accounts | {"points": door.spent}, bought_columns, classes)
    taught, judged = (codes := np.arange(dataset.n_classes)), codes
    if classes is not None:  # a label that is none of them counts as wrong; to learn, as the largest
        taught, judged = (classes.codes(dataset.labels, others) for others in (classes.largest, -1))
    encoder = dataset.encoder and copy.deepcopy(dataset.encoder).fit(_rows(table, at))

    def features(X: Any, index: Any) -> Any:
        rows = _rows(X, index)
        return rows if encoder is None else _numbers(encoder.transform(rows))

    X_public, numbers = features(table, at), at
    if dataset.public is None and dataset.labelled is not None:  # of its file, not of the records that it has
        numbers = np.flatnonzero(dataset.labelled)[at]
    if hasattr(dataset.X, "shards"):  # they stay where they lie; each teacher's part is drawn within a shard
        ours = np.sort(ours)
        kept: Any = dataset.X.take(ours)
        records = DeferredRecords.of(lambda: kept, taught[dataset.y[ours]], None, kept.blocks)
    else:
        records = _lazy(dataset, ours, taught, persons, features)
    return Split(
        private=records,
        public=PublicPoints(X_public, numbers),
        public_labels=Holdout(X_public, np.full(len(at), -1) if public.y is None else public.y[at]),
        test=Holdout(features(test.X, for_test) if len(for_test) else X_public[:0], judged[test.y[for_test]]),
        budget=parts.budget,
        encoder=encoder,
        held_out=_lazy(dataset, held_out, judged, held_persons, features) if n_held else None,
        generated=released,
    )


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
