"""Releases with exact noise, charged to a ledger; cheap to import (OpenDP is imported by `ExactNoise`)."""

from pate_cli.release.exact_noise import ExactNoise
from pate_cli.release.ledger import Entry, Ledger, Protected, PublicRows
from pate_cli.release.ledger_directory import LedgerDirectory, NoLedgerError, open_ledgers

__all__ = ["Entry", "ExactNoise", "Ledger", "LedgerDirectory", "NoLedgerError", "Protected", "PublicRows"]
__all__ += ["open_ledgers"]
