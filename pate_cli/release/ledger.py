"""What may be spent on one private dataset, and what has been: arithmetic, and the text it is kept as.

Losses compose by addition of eps and of delta, which also holds when a later loss is
chosen in view of earlier releases (Rogers, Roth, Ullman and Vadhan 2016). They are added
exactly, as the decimals they are written as: ten times 0.1 fits into 1. The sum is a guarantee for the
records that are public points of no release, so the first release fixes which are, for all that follow.

The text ends with a checksum. It has no key, so it shows damage, by a disk or an editor, and not a forgery:
whoever can write the file can write its checksum. The directory's permissions are what protects it.

References
----------
.. [1] R. Rogers, A. Roth, J. Ullman, S. Vadhan. Privacy odometers and filters:
   pay-as-you-go composition. NeurIPS 2016.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from pate_cli.errors import ConfigError, InputError
from pate_cli.types import PrivacyLoss

__all__ = ["Entry", "Ledger", "PublicRows", "decode", "encode", "exact", "shown"]

_VERSION = 2
_READ = (1, _VERSION)
"""Version 1 kept no public rows."""

_KINDS = ("open", "raise", "release")


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    kind : {"open", "raise", "release"}
        The first two state a total budget, the last a charge.
    eps, delta : float
        The total from here on, or the charge.
    note : str
        For people.
    time : str
        UTC, ISO 8601.
    """

    kind: str
    eps: float
    delta: float
    note: str
    time: str


@dataclass(frozen=True)
class PublicRows:
    """Records whose features releases make known: the public points, the same in each. PUBLIC.

    Attributes
    ----------
    n_records : int
        Records of the dataset, private, public and test.
    rows : tuple of int
        Numbers of the public records, from 0, ascending. Drawn at random, before any record was looked at.
        None where all public points so far came from files of their own.
    unrecorded : int
        Releases that were charged before public rows were kept, each with rows of its own.
    """

    n_records: int
    rows: tuple[int, ...]
    unrecorded: int = 0

    def __post_init__(self) -> None:
        ascending = all(first < second for first, second in pairwise(self.rows))
        inside = not self.rows or (self.rows[0] >= 0 and self.rows[-1] < self.n_records)
        if not (ascending and inside and self.n_records > 0):
            raise ValueError("not the rows of a dataset")


@dataclass(frozen=True)
class Ledger:
    """The ledger of one private dataset.

    Attributes
    ----------
    fingerprint : str
    name : str
        Of the dataset, for people.
    entries : tuple of Entry
        The first is the opening.
    public : PublicRows or None
        None until the first release is charged.
    """

    fingerprint: str
    name: str
    entries: tuple[Entry, ...]
    public: PublicRows | None = None

    def __post_init__(self) -> None:
        kinds = [entry.kind for entry in self.entries]
        if kinds[:1] != ["open"] or not set(kinds) <= set(_KINDS):
            raise ValueError("not the entries of a ledger")

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """Budget of eps and of delta, as last stated."""
        last = [entry for entry in self.entries if entry.kind != "release"][-1]
        return exact(last.eps), exact(last.delta)

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Sum of the charges: eps and delta."""
        charges = [entry for entry in self.entries if entry.kind == "release"]
        zero = Fraction(0)
        return sum((exact(c.eps) for c in charges), zero), sum((exact(c.delta) for c in charges), zero)

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """What may still be spent: eps and delta."""
        (eps, delta), (eps_spent, delta_spent) = self.total, self.spent
        return eps - eps_spent, delta - delta_spent

    @property
    def unrecorded(self) -> int:
        """Releases whose public rows are not on record: they were charged by an earlier version."""
        if self.public is not None:
            return self.public.unrecorded
        return sum(entry.kind == "release" for entry in self.entries)

    @property
    def unrecorded_note(self) -> str:
        """What to say of them; empty without one."""
        count = self.unrecorded
        if not count:
            return ""
        releases = "1 earlier release" if count == 1 else f"{count} earlier releases"
        return f"{releases} had public points that are not on record: eps and delta do not protect those"

    def check_public(self, n_records: int, n_public: int) -> None:
        """Refuse a release whose public points cannot be those of the releases before it.

        Raises
        ------
        InputError
            Says what was fixed.
        """
        if self.public is None or not self.public.rows:
            return
        if n_records != self.public.n_records:
            raise InputError(
                f"ledger of {self.name}: the first release had {self.public.n_records} records to choose"
                f" its public points from, this one has {n_records}: other rows would be open; accepted:"
                " the options of dataset that it had"
            )
        if n_public != len(self.public.rows):
            accepted = (
                f"{len(self.public.rows)}, the public points that the first release on the ledger of"
                f" {self.name} fixed: with others, the features of more records would be open"
            )
            raise ConfigError("split.public", n_public, accepted)

    def check_room(self, loss: PrivacyLoss) -> None:
        """Refuse a loss that does not fit into what is left.

        Raises
        ------
        InputError
            Says what is left.
        """
        if not (0 <= loss.eps < math.inf and 0 <= loss.delta < 1) or loss.data_dependent:
            raise ValueError(f"not a guarantee to charge: {loss}")
        eps, delta = self.left
        if exact(loss.eps) > eps or exact(loss.delta) > delta:
            raise InputError(
                f"ledger of {self.name}: this release costs eps={loss.eps:g}, delta={loss.delta:.6g}; left:"
                f" eps={shown(eps)}, delta={shown(delta)} (of eps={shown(self.total[0])},"
                f" delta={shown(self.total[1])})"
            )


def encode(ledger: Ledger) -> str:
    """Text of a ledger's file."""
    content = {"version": _VERSION, **asdict(ledger)}
    if ledger.public is not None:  # in one line of text
        content["public"]["rows"] = " ".join(map(str, ledger.public.rows))
    return json.dumps(content | {"sha256": _digest(content)}, indent=2, allow_nan=False) + "\n"


def decode(text: str, fingerprint: str) -> Ledger:
    """Read back what `encode` made.

    Raises
    ------
    ValueError
        If it is anything else, or the ledger of another dataset.
    """
    try:
        content = json.loads(text)
        digest = content.pop("sha256")
        if content["version"] not in _READ:
            raise ValueError(f"version {content['version']!r}, this pate reads {_VERSION}")
        if digest != _digest(content):
            raise ValueError("its checksum does not fit")
        if content["fingerprint"] != fingerprint:
            raise ValueError("another dataset's")
        entries = tuple(Entry(**entry) for entry in content["entries"])
        public = content["public"] if content["version"] == _VERSION else None
        if public is not None:
            rows = tuple(map(int, public.pop("rows").split()))
            public = PublicRows(rows=rows, **public)
        return Ledger(fingerprint, content["name"], entries, public)
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"not a ledger: {error}") from error


def shown(number: Fraction) -> str:
    """Six digits of a number, rounded down."""
    context = Context(prec=6, rounding=ROUND_FLOOR)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def exact(number: float) -> Fraction:
    """The decimal a number is written as, not the binary fraction nearest to it."""
    return Fraction(repr(float(number)))


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()
