"""Records of runs, their files, and tables of many runs.

Nothing heavy is imported here: a command may import this room at start-up.
"""

from pate_cli.report.interval import Interval
from pate_cli.report.provenance import collect_provenance, config_hash, plain, versions
from pate_cli.report.record import STATUSES, RunRecord, Summary, summarise
from pate_cli.report.store import Found, find_records, read_record, write_record, write_repeats

__all__ = [
    "STATUSES",
    "Found",
    "Interval",
    "RunRecord",
    "Summary",
    "collect_provenance",
    "config_hash",
    "find_records",
    "plain",
    "read_record",
    "summarise",
    "versions",
    "write_record",
    "write_repeats",
]
