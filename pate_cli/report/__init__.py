"""The record of a run, where it is kept, and the tables made of many.

Nothing heavy is imported here: a command may import this room at start-up.
"""

from pate_cli.report.provenance import collect_provenance, config_hash, plain, versions
from pate_cli.report.record import STATUSES, MeanAccuracy, RunRecord, Summary, summarise
from pate_cli.report.renderers import to_console, to_csv, to_latex, to_markdown
from pate_cli.report.store import Found, find_records, read_record, write_record, write_repeats
from pate_cli.report.tables import RunTable, TableRow, run_table

__all__ = [
    "STATUSES",
    "Found",
    "MeanAccuracy",
    "RunRecord",
    "RunTable",
    "Summary",
    "TableRow",
    "collect_provenance",
    "config_hash",
    "find_records",
    "plain",
    "read_record",
    "run_table",
    "summarise",
    "to_console",
    "to_csv",
    "to_latex",
    "to_markdown",
    "versions",
    "write_record",
    "write_repeats",
]
