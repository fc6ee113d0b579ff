"""How many modules of other packages a command imports: budgets, which the suite checks."""

from __future__ import annotations

import subprocess
import sys
import tempfile

__all__ = ["BUDGETS", "count"]

_SMALL = ("dataset.n_records=2000", "split.public=40", "compute.workers=1")

BUDGETS: dict[tuple[str, ...], int] = {
    ("--help",): 70,
    ("table", "--help"): 120,
    ("predict", "--help"): 290,
    ("data", "list"): 400,
    ("verify", "--help"): 460,
    ("ledger", "--help"): 1_500,
    ("plan", *_SMALL): 1_900,
    ("frontier", "--help"): 1_500,
    ("reproduce", "--help"): 1_650,
    ("run", "--help"): 1_650,
    ("run", *_SMALL): 2_400,
}
"""Most that a command may have imported when it ends, by what is typed after it."""

_COUNT = """
import sys
from pate_cli.cli import main
main(sys.argv[1:])
print("modules", sum(not name.startswith("pate_cli") for name in sys.modules))
"""


def count(command: tuple[str, ...]) -> int:
    """Run a command in a process and a directory of its own, and count what it has imported."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _COUNT, *command], cwd=folder, check=True, capture_output=True, text=True
        )
    return int(done.stdout.split()[-1])
