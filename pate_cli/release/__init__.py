"""A real release: exact noise, a ledger that is charged before any of it is drawn, public files only.

Importing this package is cheap; OpenDP is imported when an `ExactNoise` is made.
"""

from pate_cli.release.directory import LedgerDirectory, open_ledgers
from pate_cli.release.files import ReleaseContent, check_disk, needed_bytes, public_config, write_release
from pate_cli.release.ledger import Entry, Ledger, PublicRows
from pate_cli.release.noise import ExactNoise

__all__ = [
    "Entry",
    "ExactNoise",
    "Ledger",
    "LedgerDirectory",
    "PublicRows",
    "ReleaseContent",
    "check_disk",
    "needed_bytes",
    "open_ledgers",
    "public_config",
    "write_release",
]
