"""What may be spent on one private dataset, and what has been: arithmetic, and the text it is kept as.

Losses compose by addition of eps and of delta, which also holds when a later loss is
chosen in view of earlier releases (Rogers, Roth, Ullman and Vadhan 2016). They are added
exactly, as the decimals they are written as: ten times 0.1 fits into 1. The sum is a guarantee for the
records that are public points of no release, so the first release fixes which are, for all that follow.

The text is keyed: each entry has a code that depends on all entries before it, and the whole text has one
(HMAC-SHA256, with a key its owner keeps). Whoever has not got the key can neither change nor remove a charge
unnoticed. An older copy of the whole text has a good code; `directory` keeps the last one of each ledger
beside the key, and refuses what is older.

References
----------
.. [1] R. Rogers, A. Roth, J. Ullman, S. Vadhan. Privacy odometers and filters:
   pay-as-you-go composition. NeurIPS 2016.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from pate_cli.errors import ConfigError, InputError
from pate_cli.types import PrivacyLoss

__all__ = ["Entry", "Ledger", "PublicRows", "chain", "decode", "encode", "exact"]
__all__ += ["is_unkeyed", "keyed", "shown"]

_VERSION = 3
_READ = (1, 2, _VERSION)
"""Version 1 kept no public rows; 2 had a checksum without a key, and entries without an id."""

_KINDS = ("open", "raise", "release", "files")
_STATE_TOTAL = ("open", "raise")


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    kind : {"open", "raise", "release", "files"}
        The first two state a total budget, the third a charge; the last says that the files of a release
        were written.
    eps, delta : float
        The total from here on, or the charge; 0 for files.
    note : str
        For people; of files, the SHA-256 (hex) of their certificate.
    time : str
        UTC, ISO 8601.
    id : str
        Of the release, 16 hex digits; of files, that of the release they belong to. Else empty.
    purpose : str
        What the release is for, in its owner's words; may be empty.
    """

    kind: str
    eps: float
    delta: float
    note: str
    time: str
    id: str = ""
    purpose: str = ""


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
        last = [entry for entry in self.entries if entry.kind in _STATE_TOTAL][-1]
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

    def release(self, id: str) -> tuple[int, Entry] | None:
        """Give the charge of a release, and its place among the entries; None if there is none."""
        found = ((i, entry) for i, entry in enumerate(self.entries) if entry.kind == "release")
        return next(((i, entry) for i, entry in found if entry.id == id), None)

    def certificate(self, id: str) -> str | None:
        """Give the SHA-256 of the certificate that was written for a release; None if none was."""
        found = (entry.note for entry in self.entries if entry.kind == "files" and entry.id == id)
        return next(found, None)

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


def keyed(key: bytes, content: Any) -> str:
    """Compute the code (HMAC-SHA256, hex) of a value in JSON's own types."""
    return hmac.new(key, _canonical(content), hashlib.sha256).hexdigest()


def chain(entries: Sequence[Entry], fingerprint: str, key: bytes) -> list[str]:
    """Compute the code of each entry, which depends on it and on all before it.

    Parameters
    ----------
    entries : sequence of Entry
    fingerprint : str
        Of the dataset: entries of one ledger do not fit into another.
    key : bytes
    """
    codes = [keyed(key, fingerprint)]
    for entry in entries:
        codes.append(keyed(key, [codes[-1], asdict(entry)]))
    return codes[1:]


def encode(ledger: Ledger, key: bytes) -> str:
    """Write a ledger as the text of its file."""
    content = {"version": _VERSION, **asdict(ledger)}
    for entry, code in zip(content["entries"], chain(ledger.entries, ledger.fingerprint, key), strict=True):
        entry["mac"] = code
    if ledger.public is not None:  # in one line of text
        content["public"]["rows"] = " ".join(map(str, ledger.public.rows))
    return json.dumps(content | {"mac": keyed(key, content)}, indent=2, allow_nan=False) + "\n"


def decode(text: str, fingerprint: str, key: bytes) -> Ledger:
    """Read back what `encode` made, or an earlier version of it.

    Raises
    ------
    ValueError
        If it is anything else, was changed by who has not got the key, or is the ledger of another dataset.
    """
    try:
        content = json.loads(text)
        version = content["version"]
        if version not in _READ:
            raise ValueError(f"version {version!r}, this pate reads up to {_VERSION}")
        if version == _VERSION:
            code = content.pop("mac")
            if not hmac.compare_digest(code, keyed(key, content)):
                raise ValueError("changed by hand, or another key's: its code does not fit")
        elif content.pop("sha256") != hashlib.sha256(_canonical(content)).hexdigest():
            raise ValueError("its checksum does not fit")
        if content["fingerprint"] != fingerprint:
            raise ValueError("another dataset's")
        codes = [entry.pop("mac", None) for entry in content["entries"]]
        entries = tuple(Entry(**entry) for entry in content["entries"])
        if version == _VERSION and codes != chain(entries, fingerprint, key):
            raise ValueError("the code of an entry does not fit")
        public = content["public"] if version > 1 else None
        if public is not None:
            rows = tuple(map(int, public.pop("rows").split()))
            public = PublicRows(rows=rows, **public)
        return Ledger(fingerprint, content["name"], entries, public)
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"not a ledger: {error}") from error


def is_unkeyed(text: str) -> bool:
    """Whether a text is of a version that had no key, or of none.

    Raises
    ------
    ValueError
        If it is not JSON.
    """
    content = json.loads(text)
    return not isinstance(content, dict) or content.get("version") != _VERSION


def shown(number: Fraction) -> str:
    """Six digits of a number, rounded down."""
    context = Context(prec=6, rounding=ROUND_FLOOR)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def exact(number: float) -> Fraction:
    """The decimal a number is written as, not the binary fraction nearest to it."""
    return Fraction(repr(float(number)))


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, allow_nan=False).encode()
