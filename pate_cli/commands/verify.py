"""`pate verify`: check the folder of a release against its certificate and the ledger that paid for it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pate_cli.commands.printing import add_output_options, print_json
from pate_cli.commands.reporting import say, show_next
from pate_cli.errors import InputError, one_line
from pate_cli.release import open_ledgers
from pate_cli.terminal import notice, out

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate verify`; 1 if something does not fit."""
    options = _parser().parse_args(argv)
    from rich.table import Table
    from rich.text import Text

    from pate_cli.release.certificates import page_command
    from pate_cli.release.verification import verify
    from pate_cli.results.listing import find

    ledgers = open_ledgers(options.ledger)
    if not ledgers.check() and (options.ledger or "PATE_LEDGER" in os.environ):
        named = "--ledger" if options.ledger else "PATE_LEDGER"
        raise InputError(
            f"{named}: there is no directory {ledgers.path}; without it the files alone are checked"
        )
    options.directory = find(str(options.directory))
    checks = verify(options.directory, ledgers, options.trust)
    failed = sum(check.passed is False for check in checks)
    if options.json:
        print_json("verify", {"table": [check._asdict() for check in checks]})
        return 1 if failed else 0
    words = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("not checked", "yellow")}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        word, style = words[check.passed]
        text = one_line(f"{check.title}: {check.problem}" if check.problem else check.title)
        table.add_row(Text(word, style), Text(text))
    if failed:
        say(one_line(f"Do not trust {options.directory}: it is not what was released."))
    elif not ledgers.check():
        say(one_line(f"{options.directory} fits its certificate; there is no ledger here to check that by."))
    else:
        say(one_line(f"{options.directory} is what was released, and the ledger has paid for it."))
    out().print()
    out().print(table)
    if failed:
        notice(f"{failed} of {len(checks)} checks failed")
    elif not ledgers.check():
        notice("without the ledger, a forgery of all files would not show")
    else:
        show_next("see what it is", [page_command(options.directory)])
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate verify",
        description="Check the folder of a release: its files against the certificate, the certificate "
        "against the ledger that was charged. Exit code 1 if something does not fit.",
        epilog="Ledgers are looked for in the directory PATE_LEDGER names, else in your data directory.",
    )
    parser.add_argument(
        "directory", metavar="DIR", type=Path, help="directory of a release, or its name or id in pate list"
    )
    parser.add_argument("--ledger", metavar="DIR", help="look for ledgers here, not in PATE_LEDGER")
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="a plug-in's type in the model: run its code",
    )
    add_output_options(parser, quiet=False)
    return parser
