"""Labels, and names of persons: texts as they stand in a file, of which no two are taken for one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.datasets.names import normal, shown
from pate_cli.errors import DataError
from pate_cli.types import IntArray

__all__ = ["MANY", "NUMBER", "BoughtClasses", "Labels", "classes_of", "identity", "in_order", "most_classes"]
__all__ += ["number_in", "one_person", "spellings", "texts_of"]

NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
"""A decimal number; Python's `float` takes 1_0, inf, nan and digits of any script, too."""

MANY = 50
"""Classes above which a run is warned."""

_is_number = re.compile(NUMBER).fullmatch


def number_in(text: str) -> float | None:
    """Convert a text to a number; None if it is none, see `NUMBER`."""
    return float(text) if _is_number(text) else None


def texts_of(values: NDArray[Any]) -> list[str]:
    """Values as texts, all different where the values are; whole numbers without a point or sign."""
    whole = values.dtype.kind == "f"
    return [str(int(value)) if whole and value.is_integer() else str(value) for value in values]


def identity(text: str, decimal: str = ".") -> Hashable:
    """What two texts share that may mean the same: 7, 7.0 and +7, True and 1, or texts that read alike.

    Names in hexadecimal digits, as 0e12 and 0e34, are no numbers.
    """
    plain = normal(text)
    if (truth := plain.casefold()) in ("true", "false"):
        return Decimal(truth == "true")
    pointed = plain if decimal == "." else plain.replace(".", "?").replace(decimal, ".")
    value = number_in(pointed)
    is_number = value is not None and math.isfinite(value) and (value or "e" not in pointed.lower())
    return Decimal(pointed) if is_number else plain


@dataclass(frozen=True, eq=False)
class Labels:
    """A text for each record: the different ones, and the number of each record's (-1: it has none)."""

    names: list[str]
    codes: IntArray

    @classmethod
    def of(cls, values: NDArray[Any]) -> Labels:
        """Labels of an array, see `texts_of`."""
        distinct, codes = np.unique(values, return_inverse=True)
        return cls(texts_of(distinct), codes.astype(np.int64))

    @classmethod
    def joined(cls, parts: Iterable[Labels]) -> Labels:
        """Labels of several files, one after another."""
        numbers: dict[str, int] = {}
        codes = [
            np.array([numbers.setdefault(name, len(numbers)) for name in part.names])[part.codes]
            for part in parts
        ]
        return cls(list(numbers), np.concatenate(codes))

    def distinct(self, what: str, place: Callable[[int], str], decimal: str = ".") -> Labels:
        """Remove blanks around the texts; refuse two that are equal as numbers or read alike, naming both."""
        first: dict[Hashable, int] = {}
        for code, name in enumerate(self.names):
            other = first.setdefault(identity(name, decimal), code)
            if other != code:
                rows = sorted(int(np.argmax(self.codes == number)) for number in (other, code))
                before, here = (shown(self.names[self.codes[row]]) for row in rows)
                raise DataError(
                    f"{place(rows[1])}: {what} is {here}, and {before} in {place(rows[0])}, which may be the"
                    " same; accepted: one way of writing it"
                )
        return Labels([name.strip() for name in self.names], self.codes)

    def persons(self, decimal: str = ".") -> IntArray:
        """Number of the person of each record, in the order of their names.

        Names that may be one person's are taken for one. Two persons taken for one are both protected; one
        person taken for two would lose twice eps.
        """
        people = {name: identity(name, decimal) for name in sorted(self.names)}
        number = {person: at for at, person in enumerate(dict.fromkeys(people.values()))}
        return np.array([number[people[name]] for name in self.names])[self.codes]

    def among(self, classes: tuple[str, ...], place: Callable[[int], str]) -> IntArray:
        """Number of each record's class, but for blanks; refuses a label that is none of the classes."""
        at = {name: code for code, name in enumerate(classes)}
        codes = np.array([at.get(name.strip(), -1) for name in self.names], dtype=np.int64)[self.codes]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            name = self.names[self.codes[row]]
            accepted = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
            same = [other for other in classes if identity(other) == identity(name)]
            as_written = (
                f", in quotes and as the file has them: {shown(name)} is not {shown(same[0])}" if same else ""
            )
            raise DataError(
                f"{place(row)}: the label {shown(name)} is none of the classes {accepted};"
                f" dataset.classes=[...] says which there are{as_written}"
            )
        return codes


@dataclass(frozen=True)
class BoughtClasses:
    """Classes made of labels that were bought, and their noisy counts. PUBLIC.

    Labels that differ in capitals alone, or are equal as numbers, are one class, spelled as the one of the
    largest count. That with the largest count stands for each label that was not bought, to learn from.
    """

    names: tuple[str, ...]
    largest: int  # its code; 0 if none was bought

    @classmethod
    def of(cls, counts: Mapping[str, float]) -> BoughtClasses:
        """Put spellings together."""
        spelled, sums = spellings(counts, _class_of), dict[str, float]()
        for text, count in counts.items():
            name = spelled[_class_of(text)]
            sums[name] = sums.get(name, 0.0) + count
        names = in_order(sums)
        return cls(names, int(np.argmax([sums[name] for name in names])) if names else 0)

    def codes(self, labels: Sequence[str], others: int) -> IntArray:
        """Code of the class of each label: a function of it and of these classes; `others` of no class."""
        at = {_class_of(name): code for code, name in enumerate(self.names)}
        return np.array([at.get(_class_of(label), others) for label in labels], dtype=np.int64)


def one_person(names: Iterable[str], decimal: str = ".") -> str:
    """Two names that are taken for one person's, for a message; empty where there are none."""
    first: dict[Hashable, str] = {}
    for name in names:
        if (other := first.setdefault(identity(name, decimal), name)) != name:
            return f"{shown(other)} and {shown(name)} are one person, as they are equal or read alike"
    return ""


def spellings(
    counts: Mapping[str, float], shared: Callable[[str], Hashable] = str.casefold
) -> dict[Hashable, str]:
    """The most frequent spelling of each text, by what spellings share: all but capitals."""
    best: dict[Hashable, str] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        best.setdefault(shared(text), text)
    return best


def _class_of(label: str) -> Hashable:
    return identity(label.casefold())


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Sort labels, by value where all of them are numbers."""
    numbers: dict[str, Any] = {name: identity(name) for name in names}
    all_numbers = all(isinstance(number, Decimal) for number in numbers.values())
    return tuple(sorted(names, key=numbers.__getitem__ if all_numbers else None))


def most_classes(n_records: int) -> int:
    """Most classes accepted: 50, or the square root of the records; more may be numbers to predict."""
    return max(MANY, math.isqrt(n_records))


def classes_of(labels: Labels, where: str, n_private: int) -> tuple[str, ...]:
    """All labels, in the order of their values where all of them are numbers; refuses one, and too many."""
    names, n = labels.names, len(labels.codes)
    if len(names) == 1:
        raise DataError(f"{where}: every label is {shown(names[0])}; at least two classes are needed")
    most = min(max(2, n // 2), most_classes(n_private))
    if len(names) > most:
        raise DataError(
            f"{where}: {len(names):,} different labels on {n:,} records, at most {most:,} are accepted;"
            " classes are needed, not a number to predict: make a column of classes, as low and high,"
            " by a limit that is known without the records"
        )
    return in_order(names)
