"""Ledgers: the total budget of a private dataset, and every charge against it.

Losses compose by addition of eps and of delta, also when a later loss is chosen in view of earlier
releases [1]_, if all are of the same neighbours: so a ledger is of single records, or of the persons of one
column, and refuses releases that protect anything else. They are added exactly, as the decimals they are
written as: ten times 0.1 fits into 1. The sum is a guarantee for the records that are public points of no
release, so the first release fixes the public rows of all that follow.

Entries form a SHA-256 chain, which by itself shows accidents only: whoever can write the file can rewrite
the chain. The certificate of each release carries the hash of its entry, so a release no longer fits a
ledger that was rolled back, shortened, rewritten or begun anew.

References
----------
.. [1] R. Rogers, A. Roth, J. Ullman, S. Vadhan. Privacy odometers and filters:
   pay-as-you-go composition. NeurIPS 2016.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import secrets
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.checks import Check, OneOf, Real, Whole
from pate_cli.errors import ConfigError, InputError, shortened
from pate_cli.types import Dataset, PrivacyLoss

__all__ = ["RECORD", "Entry", "Ledger", "Protected", "PublicRows", "exact", "shown"]

_CHAIN = 4
"""First number in the chain of hashes; it is of the version that began it."""

_KINDS = ("open", "raise", "release", "certificate")


@dataclass(frozen=True)
class PublicRows:
    """Row numbers, from 0 and ascending, whose features releases publish; drawn from `n_records` alone."""

    n_records: int
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        _take("n_records", self.n_records, Whole())
        if not all(map(operator.lt, (-1, *self.rows), (*self.rows, self.n_records))):
            raise ValueError(f"public rows that are not ascending, or not below {self.n_records}")


_LABELLED = "replace, among records that have a label"


@dataclass(frozen=True)
class Protected:
    """What a loss is of: neighbouring data sets differ in one record, or in all records of one person."""

    unit: str | None = None  # column that names the persons; None: each record by itself
    neighbours: str = "replace"  # by any other record, or by any records of a person, as many or not

    @classmethod
    def by(cls, dataset: Dataset) -> Protected:
        """What releases of a data set protect; where others are left out, records that have a label alone."""
        return cls(dataset.person_column, "replace" if dataset.labelled is None else _LABELLED)

    @property
    def whole(self) -> Protected:
        """The same for any record, with a label or without."""
        return replace(self, neighbours="replace") if self.neighbours == _LABELLED else self

    def __str__(self) -> str:
        protected = "one record" if self.unit is None else f"one {self.unit}, all of its records"
        return f"{protected}, among those that have a label" if self.neighbours == _LABELLED else protected


RECORD = Protected()


@dataclass(frozen=True)
class Entry:
    """One entry of a ledger.

    "open" and "raise" state the total budget from here on, "release" charges a release, and "certificate"
    records the SHA-256 of a release's certificate, before its files are written. All but certificates say
    what is protected; an earlier version of pate did not.
    """

    kind: str
    eps: float
    delta: float
    note: str = ""  # for people; of a certificate its SHA-256, hex
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    id: str = field(default_factory=lambda: secrets.token_hex(8))  # a certificate has that of its release
    purpose: str = ""
    public: PublicRows | None = None  # of the first release with public points from the private file
    protects: Protected | None = None
    most_records: int | None = None  # of one person, declared with the total
    records: str | None = None  # with the total: `multiset.record_digests` under the ledger's salt

    def __post_init__(self) -> None:
        _take("kind", self.kind, OneOf(_KINDS))
        _take("eps", self.eps, Real(0, closed_below=True))
        _take("delta", self.delta, Real(0, 1, closed_below=True, open_above=True))
        if self.most_records is not None:
            _take("most_records", self.most_records, Whole())

    def plain(self) -> dict[str, Any]:
        """Content in plain types, without what version 4 did not have where it is not there."""
        since = ("protects", "most_records", "records")
        return {key: value for key, value in asdict(self).items() if value is not None or key not in since}


@dataclass(frozen=True)
class Ledger:
    """The ledger of one private dataset; its fingerprint is the HMAC-SHA256 of its checksum under `salt`."""

    fingerprint: str
    salt: str
    name: str
    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        kinds = [entry.kind for entry in self.entries]
        if kinds[:1] != ["open"]:
            raise ValueError("not the entries of a ledger")
        if len({entry.protects.whole for entry in self.entries if entry.protects}) > 1:
            raise ValueError("entries that protect different things")

    @property
    def hashes(self) -> list[str]:
        """SHA-256 (hex) of each entry and all before it."""
        chain = [_sha256([_CHAIN, self.fingerprint, self.salt, self.name])]
        for entry in self.entries:
            chain.append(_sha256([chain[-1], entry.plain()]))
        return chain[1:]

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """Budget of eps and of delta, as last stated."""
        last = [entry for entry in self.entries if entry.kind in ("open", "raise")][-1]
        return exact(last.eps), exact(last.delta)

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Sum of the charges: eps and delta."""
        charges = [entry for entry in self.entries if entry.kind == "release"]
        zero = Fraction(0)
        return sum((exact(c.eps) for c in charges), zero), sum((exact(c.delta) for c in charges), zero)

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """Unspent eps and delta."""
        (eps, delta), (eps_spent, delta_spent) = self.total, self.spent
        return eps - eps_spent, delta - delta_spent

    @property
    def public(self) -> PublicRows | None:
        """Public rows of every release; None until a release has drawn them."""
        return next((entry.public for entry in self.entries if entry.public), None)

    @property
    def protects(self) -> Protected | None:
        """What all losses are of; None where an earlier version of pate did not write it down.

        What holds for any record holds for labelled ones, too; a sum with a loss of these is one of these.
        """
        every = [entry.protects for entry in self.entries if entry.protects]
        return max(every, key=lambda protects: protects.neighbours == _LABELLED, default=None)

    @property
    def most_records(self) -> int | None:
        """Largest number of records of one person, as last declared."""
        return next((entry.most_records for entry in reversed(self.entries) if entry.most_records), None)

    @property
    def records(self) -> str | None:
        """Digest of the multiset of records; None where an earlier version of pate kept none."""
        return next((entry.records for entry in self.entries if entry.records), None)

    def check_protects(self, protects: Protected, loss: PrivacyLoss | None = None) -> None:
        """Raise InputError unless the losses here are of what a release, of a loss, protects."""
        if self.protects is None:
            raise InputError(
                f"ledger of {self.name}: an earlier pate did not write down what its releases protect (their"
                " certificates say it, under guarantee.unit); accepted: pate ledger init --raise with its"
                " total, and with the dataset.unit that they had"
            )
        if protects.whole == self.protects.whole:
            return
        why = "nothing proved makes one of the other"
        if loss is not None and protects.unit is None and self.protects.unit is not None:
            why = f"{self.protects.unit} with k records would lose k times its eps"
            if k := self.most_records:
                from pate_cli.privacy.composition import group_loss  # imports scipy

                eps, delta = group_loss(loss.eps, loss.delta, k)
                cost = f"delta={delta:.6g}" if delta < 1 else "delta=1, which promises nothing"
                why = f"{self.protects.unit} with {k} records, the most there may be, would lose eps={eps:g},"
                why += f" {cost}"
            why = f"a {why}, if as many replace them; their number is not protected"
        accepted = f"dataset.unit={'null' if self.protects.unit is None else self.protects.unit}"
        raise InputError(
            f"ledger of {self.name}: its losses are of {self.protects}, not of {protects}: {why};"
            f" accepted: {accepted}"
        )

    def check_public(self, records: NDArray[np.bool_], n_public: int) -> None:
        """Raise InputError if a release cannot have the public rows that are fixed.

        `records` says which records of the file it has, and `n_public` how many it makes public.
        """
        if self.public is None:
            return
        n_records, accepted = len(records), "accepted: the options of dataset that it had"
        if n_records != self.public.n_records:
            raise InputError(
                f"ledger of {self.name}: the first release had {self.public.n_records} records to choose"
                f" its public points from, this one has {n_records}: other rows would be open; {accepted}"
            )
        if without := int((~records[list(self.public.rows)]).sum()):
            raise InputError(
                f"ledger of {self.name}: {without} of the records whose features the first release opened"
                f" have no label here, and are left out: other rows would be open; {accepted}"
            )
        if n_public != len(self.public.rows):
            accepted = (
                f"{len(self.public.rows)}, the public points that the first release on the ledger of"
                f" {self.name} fixed: with others, the features of more records would be open"
            )
            raise ConfigError("split.public", n_public, accepted)

    def check_room(self, loss: PrivacyLoss) -> None:
        """Raise InputError, saying what is left, if a loss does not fit."""
        if not (0 <= loss.eps < math.inf and 0 <= loss.delta < 1) or loss.data_dependent:
            raise ValueError(f"not a guarantee to charge: {loss}")
        eps, delta = self.left
        if exact(loss.eps) > eps or exact(loss.delta) > delta:
            raise InputError(
                f"ledger of {self.name}: this release costs eps={loss.eps:g}, delta={loss.delta:.6g}; left:"
                f" eps={shown(eps)}, delta={shown(delta)} (of eps={shown(self.total[0])},"
                f" delta={shown(self.total[1])}); accepted: no more than is left, or a larger total"
                " (pate ledger init --raise)"
            )


def shown(number: Fraction, *, spent: bool = False) -> str:
    """Six digits of a number, rounded down; up, where that much is spent."""
    context = Context(prec=6, rounding=ROUND_CEILING if spent else ROUND_FLOOR)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def exact(number: float) -> Fraction:
    """The decimal a number is written as, not the binary fraction nearest to it."""
    return Fraction(repr(float(number)))


def _take(name: str, value: object, check: Check) -> None:
    """Refuse a value that no ledger of ours has, as one that was written by hand: ValueError."""
    try:
        check.take(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{name}={shortened(repr(value))}; accepted: {check.describe()}") from None


def _sha256(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()
