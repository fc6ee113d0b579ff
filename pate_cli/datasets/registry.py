"""The datasets that are known by name: sizes, sources and checksums. Data, not code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["EMBEDDED", "ENTRIES", "Embedded", "Entry", "SourceFile"]

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"


@dataclass(frozen=True)
class SourceFile:
    """One official file.

    Attributes
    ----------
    name : str
        File name, on the site and here.
    url : str
        Where it is served; empty for a file that is accepted but not fetched.
    sha256 : str or None
        Digest (hex); None where none is published, then `labels` is what is checked.
    labels : mapping of float to int or None
        How many records carry each label.
    n_features : int or None
        Largest feature index of the file; checked with `labels`.
    instead : SourceFile or None
        Another form of the same file, accepted in its place and looked for first.
    """

    name: str
    url: str
    sha256: str | None
    labels: Mapping[float, int] | None = None
    n_features: int | None = None
    instead: SourceFile | None = None


@dataclass(frozen=True)
class Entry:
    """A known dataset: all of `files`, joined in order.

    Attributes
    ----------
    name : str
    n_records, n_features, n_classes : int
    files : tuple of SourceFile
    source : str
        For people.
    """

    name: str
    n_records: int
    n_features: int
    n_classes: int
    files: tuple[SourceFile, ...]
    source: str


@dataclass(frozen=True)
class Embedded:
    """A dataset that needs no file; sizes are those of its default options.

    Attributes
    ----------
    n_records, n_features, n_classes : int
    source : str
        For people.
    """

    n_records: int
    n_features: int
    n_classes: int
    source: str


EMBEDDED: dict[str, Embedded] = {
    "synthetic": Embedded(75_000, 5, 2, "made on the spot"),
    "digits": Embedded(1_797, 64, 10, "bundled with scikit-learn"),
    "thresholds": Embedded(75_000, 1, 2, "made on the spot"),
}

ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "mushroom",
            8_124,
            112,
            2,
            (SourceFile("mushrooms", _LIBSVM + "mushrooms", None, {1.0: 3_916, 2.0: 4_208}, 112),),
            "LIBSVM site",
        ),
        Entry(
            "a9a",
            48_842,
            123,
            2,
            (
                SourceFile(
                    "a9a",
                    _LIBSVM + "a9a",
                    "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
                ),
                SourceFile(
                    "a9a.t",
                    _LIBSVM + "a9a.t",
                    "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
                ),
            ),
            "LIBSVM site",
        ),
        Entry(
            "real-sim",
            72_309,
            20_958,
            2,
            (
                SourceFile(
                    "real-sim.bz2",
                    _LIBSVM + "real-sim.bz2",
                    "7cd52374f55ce62e803ef33ca1c44689427c23d481eff64026f8ba9f53b8cc27",
                    instead=SourceFile(
                        "real-sim",
                        "",
                        "0fd9b12b6dc60dab7885a7367b286a53aac5d92057dc1083ab13ade275120270",
                    ),
                ),
            ),
            "LIBSVM site",
        ),
        Entry(
            "adult",
            48_842,
            108,
            2,
            (
                SourceFile(
                    "adult.data",
                    _UCI + "adult.data",
                    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                ),
                SourceFile(
                    "adult.test",
                    _UCI + "adult.test",
                    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                ),
            ),
            "UCI repository",
        ),
    )
}
