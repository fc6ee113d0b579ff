"""How many records each part of a split has.

The defaults (private 0.8, public 0.02, budget 0.3) are those of Table 3 of
Liu, Zhu, Chaudhuri and Wang (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pate_cli.checks import CheckedBy, Real, take
from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.types import Dataset

__all__ = ["MODES", "SplitSizes", "sizes", "sizes_of"]

_PRIVATE, _PUBLIC = 0.8, 0.02
MODES = ("records", "label_private")
"""What `split.mode` may be; see `sizes`."""


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
