"""`python -m pate_cli` is `pate`."""

from pate_cli.cli import entry_point

entry_point()
