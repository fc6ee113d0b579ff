"""The datasets known by name: sizes and sources, and where their files are on this machine.

A file is looked for in the directory `PATE_DATA` names, then in `./data`, then in the user's cache.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pate_cli.errors import ConfigError
from pate_cli.terminal import typed_path

__all__ = ["EMBEDDED", "ENTRIES", "KnownDataset", "SourceFile", "download_directory", "find", "missing"]

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"


@dataclass(frozen=True)
class SourceFile:
    """One official file; its content is checked where no digest is published."""

    name: str  # on the site and here
    url: str  # empty for a file that is accepted but not fetched
    sha256: str | None  # hex
    labels: Mapping[str, int] | None = None  # number of records with each label
    n_features: int | None = None  # largest feature index
    instead: SourceFile | None = None  # another form, accepted in its place and looked for first


@dataclass(frozen=True)
class KnownDataset:
    """A dataset known by name: all of `files`, joined in order; `source` is for people."""

    name: str
    n_records: int
    n_features: int
    n_classes: int
    files: tuple[SourceFile, ...]
    source: str


def _places() -> list[Path]:
    """Directories where files are looked for, in order."""
    value = os.environ.get("PATE_DATA")
    named = [typed_path(value)] if value else []
    if named and named[0].exists() and not named[0].is_dir():
        raise ConfigError("PATE_DATA", value, "a directory")
    try:
        return [*named, Path("data"), _cache()]
    except RuntimeError:  # no home directory
        return [*named, Path("data")]


def _cache() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("pate"))  # as pooch has it, which need not be imported


def find(file: SourceFile) -> tuple[SourceFile, Path] | None:
    """Find the first place that holds the file or its accepted other form; returns that form and its path."""
    for directory in _places():
        for form in filter(None, (file.instead, file)):
            if (directory / form.name).is_file():
                return form, directory / form.name
    return None


def download_directory() -> Path:
    """`PATE_DATA` if set, else `./data` if it exists, else the user's cache."""
    places = _places()
    return places[0] if os.environ.get("PATE_DATA") or places[0].is_dir() else places[-1]


def missing(name: str) -> str:
    """Name the files of a dataset that are not on this machine and how to get them; empty if all are here."""
    absent = [file for file in ENTRIES[name].files if find(file) is None] if name in ENTRIES else []
    if not absent:
        return ""
    get = " and ".join(f"{file.name} ({file.url})" for file in absent)
    return f"{get} is not on this machine: pate data fetch {name}, or put it where PATE_DATA points"


EMBEDDED: dict[str, KnownDataset] = {
    "synthetic": KnownDataset("synthetic", 75_000, 5, 2, (), "made on the spot"),
    "digits": KnownDataset("digits", 1_797, 64, 10, (), "bundled with scikit-learn"),
    "thresholds": KnownDataset("thresholds", 75_000, 1, 2, (), "made on the spot"),
}
"""Datasets without files; sizes are those of their default options."""

_MUSHROOM = SourceFile("mushrooms", _LIBSVM + "mushrooms", None, {"1": 3_916, "2": 4_208}, 112)
_A9A = (
    SourceFile("a9a", _LIBSVM + "a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
    SourceFile(
        "a9a.t", _LIBSVM + "a9a.t", "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"
    ),
)
_REAL_SIM = SourceFile(
    "real-sim.bz2",
    _LIBSVM + "real-sim.bz2",
    "7cd52374f55ce62e803ef33ca1c44689427c23d481eff64026f8ba9f53b8cc27",
    instead=SourceFile("real-sim", "", "0fd9b12b6dc60dab7885a7367b286a53aac5d92057dc1083ab13ade275120270"),
)
_ADULT = (
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
)

ENTRIES: dict[str, KnownDataset] = {
    "mushroom": KnownDataset("mushroom", 8_124, 112, 2, (_MUSHROOM,), "LIBSVM site"),
    "a9a": KnownDataset("a9a", 48_842, 123, 2, _A9A, "LIBSVM site"),
    "real-sim": KnownDataset("real-sim", 72_309, 20_958, 2, (_REAL_SIM,), "LIBSVM site"),
    "adult": KnownDataset("adult", 48_842, 108, 2, _ADULT, "UCI repository"),
}
