"""`pate data`: list, fetch and check datasets, and describe a file of your own."""

from __future__ import annotations

import argparse
from typing import Any

from pate_cli.commands import describe
from pate_cli.commands.printing import add_output_options, print_grid, print_json, print_line
from pate_cli.datasets import NAMES
from pate_cli.datasets.known_datasets import EMBEDDED, ENTRIES, KnownDataset, download_directory, find
from pate_cli.datasets.known_files import FileStatus, require, status
from pate_cli.errors import ConfigError, DataError

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate data`."""
    parser = argparse.ArgumentParser(
        prog="pate data", description="List, fetch and check datasets; describe your own."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="list|fetch|verify|describe")
    listed = commands.add_parser("list", help="every dataset, its sizes, and where its files are")
    fetch = commands.add_parser("fetch", help="download what is missing, check what is there")
    fetch.add_argument("names", nargs="+", metavar="NAME", help="a dataset, or all")
    verify = commands.add_parser(
        "verify", help="re-check the files that are there; exit code 2 if one is wrong"
    )
    verify.add_argument("names", nargs="*", metavar="NAME", help="a dataset, or all (the default)")
    described = describe.add_parser(commands)
    for command in (listed, fetch, verify, described):
        add_output_options(command, quiet=False)
    options = parser.parse_args(argv)
    if options.command == "list":
        return _list(as_json=options.json)
    if options.command == "describe":
        return describe.main(options)
    if options.command == "fetch":
        return _fetch(_entries(options.names, "fetch"), as_json=options.json)
    entries = _entries(options.names or ["all"], "verify")
    return _verify(entries, named=bool(options.names), as_json=options.json)


def _entries(names: list[str], command: str) -> list[KnownDataset]:
    for name in names:
        if name not in ENTRIES and name != "all":
            raise ConfigError(f"pate data {command}", name, f"{', '.join(ENTRIES)} (they have files), or all")
    return list(ENTRIES.values()) if "all" in names else [ENTRIES[name] for name in dict.fromkeys(names)]


def _list(*, as_json: bool) -> int:
    rows, here = [], dict[str, list[str]]()
    for name in NAMES:
        about = ENTRIES.get(name) or EMBEDDED.get(name)
        if about is None:
            rows.append((name, "", "", "", "dataset.path", "", "your file"))
            continue
        paths = [find(file) or (file, None) for file in about.files]
        files = "\n".join(form.name for form, _ in paths) or "none"
        states = "\n".join("here" if path else "missing" for _, path in paths)
        sizes = (f"{about.n_records:,}", f"{about.n_features:,}", f"{about.n_classes:,}")
        rows.append((name, *sizes, files, states, about.source))
        for form, path in paths:
            if path:
                here.setdefault(str(path.parent.resolve()), []).append(form.name)
    numbers = ("records", "features", "classes")
    if as_json:
        print_json("data list", {"table": [_known(name) for name in NAMES]})
        return 0
    print_grid(("name", *numbers, "files", "state", "source"), rows, right=numbers)
    for directory, names in here.items():
        print_line(f"in {directory}: {', '.join(names)}")
    print_line(f"pate data fetch NAME downloads to {download_directory().resolve()}")
    return 0


def _known(name: str) -> dict[str, Any]:
    """Record of a dataset for JSON; of a reader of files, its name alone."""
    about = ENTRIES.get(name) or EMBEDDED.get(name)
    sizes = {key: getattr(about, f"n_{key}", None) for key in ("records", "features", "classes")}
    needed = about.files if about else ()
    files = [str(here[1]) for file in needed if (here := find(file))]
    return {"name": name, **sizes, "files": files, "missing": len(needed) - len(files)}


def _fetch(entries: list[KnownDataset], *, as_json: bool) -> int:
    records = []
    for entry in entries:
        for file in require(entry):
            records.append(_checked(entry.name, file.path, "ok"))
            if not as_json:
                print_line(f"{entry.name}: {file.path} ok")
    if as_json:
        print_json("data fetch", {"table": records})
    return 0


def _checked(name: str, file: object, state: str) -> dict[str, str]:
    return {"name": name, "file": str(file), "state": state}


def _verify(entries: list[KnownDataset], *, named: bool, as_json: bool) -> int:
    """Print the state of every file; DataError for a wrong one, or one that is missing and was named."""
    bad: list[FileStatus] = []
    records = []
    for entry in entries:
        for file in status(entry):
            records.append(_checked(entry.name, file.path or file.file, file.state))
            if not as_json:
                print_line(f"{entry.name}: {file.path or file.file} {file.state}")
            if file.state == "wrong" or (file.state == "missing" and named):
                bad.append(file)
    if as_json:
        print_json("data verify", {"table": records})
    if bad:
        missing = f"{bad[0].dataset}: {bad[0].file} is missing; run `pate data fetch {bad[0].dataset}`"
        others = f" (and {len(bad) - 1} more, above)" if len(bad) > 1 else ""
        raise DataError((bad[0].detail or missing) + others)
    return 0
