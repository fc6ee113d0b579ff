"""`pate ledger`: state a privacy budget for a private dataset, and see what is left of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.commands.printing import print_grid
from pate_cli.commands.reporting import say, show_next
from pate_cli.errors import ConfigError, count_of, one_line
from pate_cli.release import Ledger, Protected, open_ledgers
from pate_cli.release.ledger import exact, shown
from pate_cli.terminal import err, notice, out

if TYPE_CHECKING:
    from pate_cli.types import Dataset

__all__ = ["main"]

_KINDS = {"open": "total", "raise": "total raised", "release": "charge"}


def main(argv: list[str]) -> int:
    """Run `pate ledger`."""
    options = _parser().parse_args(argv)
    if options.command == "init":
        return _init(options)
    if options.json:
        return _show_json(options.ledger)
    return _show(options.ledger, all_rows=options.rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate ledger",
        description="Privacy budget of a private dataset for `pate run release=true`, and its charges.",
        epilog="Ledgers are kept in the directory PATE_LEDGER names, else in your data directory.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="init|show")
    init = commands.add_parser("init", help="state the total budget of a dataset, once")
    init.add_argument("overrides", nargs="+", metavar="dataset=NAME", help="the dataset, as for `pate run`")
    init.add_argument("--eps", type=float, required=True, help="total over all releases ever, > 0")
    init.add_argument("--delta", type=float, required=True, help="total over all releases ever, in [0, 1)")
    init.add_argument(
        "--most-records",
        metavar="K",
        type=int,
        help="declare in public how many records one person has at most (with dataset.unit)",
    )
    init.add_argument("--raise", dest="higher", action="store_true", help="raise the total of a ledger")
    init.add_argument(
        "--second-ledger",
        dest="second",
        action="store_true",
        help="begin one although the same records, in another file, have one",
    )
    show = commands.add_parser("show", help="totals, what is left, whose features are open, and every entry")
    show.add_argument("--rows", action="store_true", help="list all rows whose features are open")
    show.add_argument("--json", action="store_true", help="everything, for a program to read")
    for command in (init, show):
        command.add_argument("--ledger", metavar="DIR", help="look here, not in PATE_LEDGER")
    init.add_argument("--config-dir", metavar="DIR", help="options of your own, as for `pate run`")
    return parser


def _init(options: argparse.Namespace) -> int:
    from pate_cli import datasets  # heavy: `show` needs none of it
    from pate_cli.config import command_line, parse
    from pate_cli.config.hydra_composition import compose, own_configs
    from pate_cli.datasets.multiset import record_digests
    from pate_cli.release.verification import charged_elsewhere
    from pate_cli.results.settings import dataset_name

    config = compose(command_line.checked(options.overrides), own_configs(options.config_dir))
    chosen = parse(config).dataset
    dataset = datasets.load(chosen.name, **chosen.options)
    directory = open_ledgers(options.ledger or config.get("ledger"))
    name = dataset_name(config, dataset.name)  # a ledger of a file is known by the file's name
    ledger = directory.init(
        dataset.checksum,
        name,
        options.eps,
        options.delta,
        higher=options.higher,
        protects=Protected.by(dataset),
        most_records=_most_records(options.most_records, dataset),
        digests=partial(record_digests, dataset),
        second=options.second,
    )
    say(_summary(ledger))
    say(one_line(f"It is kept in {directory.path}"))
    if unknown := [ledger_there.name for ledger_there in directory.ledgers() if not ledger_there.records]:
        text = f"an earlier pate began the ledger of {', '.join(unknown)}: whether these are its records"
        text += " shows only after pate ledger init --raise, with its file and its total"
        notice(text)
    if elsewhere := charged_elsewhere(Path(), directory):
        names = ", ".join(map(str, elsewhere))
        text = f"releases here are charged to no ledger in {directory.path}: {names}; give a ledger of"
        text += " the same records no more than theirs had left, and know that it may open other public rows"
        notice(text)
    ledger_option = ["--ledger", options.ledger] if options.ledger else []
    show_next("see what is left of it, at any time", [["pate", "ledger", "show", *ledger_option]])
    return 0


def _most_records(declared: int | None, dataset: Dataset) -> int | None:
    """Check the number of records of one person that is declared; ConfigError if one has more."""
    if declared is None:
        return None
    if dataset.persons is None:
        raise ConfigError(
            "--most-records", declared, "nothing without dataset.unit: each record is by itself"
        )
    import numpy as np

    if declared < (most := int(np.bincount(dataset.persons).max())):
        raise ConfigError(
            "--most-records", declared, f"at least {most}, the records of one {dataset.person_column}"
        )
    return declared


def _show(path: str | None, *, all_rows: bool) -> int:
    directory = open_ledgers(path)
    ledgers = directory.ledgers()
    if not ledgers:
        err().print(
            f"no ledger in {directory.path}; pate ledger init starts one", soft_wrap=True, markup=False
        )
    for number, ledger in enumerate(ledgers):
        if number:
            out().print()
        say(_summary(ledger))
        say(_open(ledger, all_rows=all_rows))
        out().print()
        heads = ("time (UTC)", "entry", "release", "eps", "delta", "what for")
        print_grid(heads, list(_entries(ledger)), right=("eps", "delta"))
    return 0


def _entries(ledger: Ledger) -> Iterator[tuple[str, ...]]:
    """A line for each total and each charge."""
    certified = {entry.id for entry in ledger.entries if entry.kind == "certificate"}
    for entry in ledger.entries:
        if entry.kind == "certificate":
            continue
        charge = entry.kind == "release"
        note = [entry.note, entry.purpose]
        note += ["no certificate: it was not finished"] if charge and entry.id not in certified else []
        id = entry.id[:8] if charge else ""
        cost = [shown(exact(number), spent=charge) for number in (entry.eps, entry.delta)]
        time = entry.time[:16].replace("T", " ")
        yield time, _KINDS[entry.kind], id, *cost, one_line("; ".join(filter(None, note)))


def _show_json(path: str | None) -> int:
    import json
    from dataclasses import asdict

    directory, content = open_ledgers(path), []
    for ledger in directory.ledgers():
        sums = {"total": ledger.total, "spent": ledger.spent, "left": ledger.left}
        shares = {
            name: {"eps": shown(eps, spent=name == "spent"), "delta": shown(delta, spent=name == "spent")}
            for name, (eps, delta) in sums.items()
        }
        about = {name: value for name, value in asdict(ledger).items() if name != "salt"}
        about |= {name: (field := getattr(ledger, name)) and asdict(field) for name in ("public", "protects")}
        content.append({**about, **shares, "most_records": ledger.most_records, "hashes": ledger.hashes})
    text = json.dumps({"directory": str(directory.path), "ledgers": content}, indent=2)
    out().out(text, highlight=False)
    return 0


def _summary(ledger: Ledger) -> str:
    (eps, delta), (eps_left, delta_left) = ledger.total, ledger.left
    return one_line(
        f"Ledger {ledger.fingerprint[:12]} of {ledger.name}: eps {shown(eps_left)} of {shown(eps)} and delta "
        f"{shown(delta_left)} of {shown(delta)} are left. {_protects(ledger)}"
    )


def _protects(ledger: Ledger) -> str:
    """What losses are of, for people."""
    if ledger.protects is None:
        return "It protects what its releases say: an earlier pate did not write it down."
    most = f" (at most {ledger.most_records})" if ledger.most_records else ""
    return f"It protects {ledger.protects}{most}."


def _open(ledger: Ledger, *, all_rows: bool) -> str:
    """Say whose columns the releases of a ledger publish."""
    if ledger.public is None:
        if any(entry.kind == "release" for entry in ledger.entries):
            return "No record's columns are public: no release took public points from these records."
        return "No record's columns are public: the first release decides."
    rows, n_records = ledger.public.rows, ledger.public.n_records
    numbers = f"first is 0: {', '.join(map(str, rows))}" if all_rows else "first is 0: --rows"
    return (
        f"The columns of {len(rows):,} of the {count_of(n_records, 'record')} are public, in this and every "
        f"later release; eps protects the other {n_records - len(rows):,}. (Row numbers, the {numbers}.)"
    )
