"""`pate cache`: the votes kept on disk by `cache=true`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pate_cli import datasets
from pate_cli.console import out
from pate_cli.engine.cache import Listing, Store, find_place, size_limit
from pate_cli.errors import ConfigError

__all__ = ["main"]

_UNKNOWN = "?"


def main(argv: list[str]) -> int:
    """Run `pate cache`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate cache`.

    Returns
    -------
    int
        0.

    Raises
    ------
    InputError
        If a dataset is not known, or others can get at the directory.
    """
    parser = argparse.ArgumentParser(
        prog="pate cache",
        description="The votes that `pate run cache=true` keeps, so that the same teachers are trained once."
        " They are private: nobody but you can read them.",
        epilog="They are in the directory PATE_CACHE names, else in your cache directory, and take"
        " PATE_CACHE_LIMIT at most (2GB); the least recently used go first.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="show|clear")
    commands.add_parser("show", help="where they are, and how much of them, by dataset")
    clear = commands.add_parser("clear", help="remove them")
    clear.add_argument("dataset", nargs="?", metavar="DATASET", help="only those of this dataset")
    options = parser.parse_args(argv)
    return _show() if options.command == "show" else _clear(options.dataset)


def _show() -> int:
    from datetime import datetime

    from rich.table import Table

    store = Store(find_place(), size_limit())
    groups: dict[str, list[Listing]] = {}
    for listing in sorted(store.listings(), key=lambda found: found.dataset or _UNKNOWN):
        groups.setdefault(listing.dataset or _UNKNOWN, []).append(listing)
    every = [listing for group in groups.values() for listing in group]
    summary = f"{_entries(every)}, {_size(every)} of {_bytes(store.limit)}"
    out().print(f"{store.place.path}: {summary}", soft_wrap=True, markup=False)
    if every:
        table = Table("dataset", box=None, pad_edge=False)
        for heading in ("entries", "size"):
            table.add_column(heading, justify="right")
        table.add_column("last used")
        for name, group in groups.items():
            used = datetime.fromtimestamp(max(listing.used for listing in group))
            table.add_row(name, f"{len(group):,}", _size(group), f"{used:%Y-%m-%d %H:%M}")
        out().print(table)
    return 0


def _clear(dataset: str | None) -> int:
    store = Store(find_place(), size_limit())
    if dataset is None:
        removed = store.clear()
    else:
        removed = store.clear(lambda listing: (listing.dataset or _UNKNOWN) == dataset)
        if not removed and dataset not in datasets.NAMES:
            there = {listing.dataset or _UNKNOWN for listing in store.listings()}
            raise ConfigError("pate cache clear", dataset, ", ".join(sorted(there | set(datasets.NAMES))))
    text = f"{store.place.path}: removed {_entries(removed)}, {_size(removed)}"
    out().print(text, soft_wrap=True, markup=False)
    return 0


def _entries(listings: Sequence[Listing]) -> str:
    return f"{len(listings):,} entr{'y' if len(listings) == 1 else 'ies'}"


def _size(listings: Sequence[Listing]) -> str:
    return _bytes(sum(listing.size for listing in listings))


def _bytes(size: int) -> str:
    for unit, power in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size} B"
