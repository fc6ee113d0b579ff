"""How many modules each command imports: a budget that the suite checks, the same on a slow machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile

__all__ = ["BUDGETS", "count"]

_SMALL = ("dataset.n_records=2000", "split.public=40", "compute.workers=1")

BUDGETS: dict[tuple[str, ...], int] = {
    ("--help",): 75,
    ("table", "--help"): 120,
    ("predict", "--help"): 330,
    ("data", "list"): 460,
    ("verify", "--help"): 520,
    ("ledger", "--help"): 800,
    ("plan", *_SMALL): 1_950,
    ("frontier", "--help"): 1_950,
    ("reproduce", "--help"): 1_950,
    ("run", "--help"): 1_950,
    ("run", *_SMALL): 2_450,
}
"""Most modules that a command may have imported when it ends, by what is typed after it; a tenth is slack."""

_COUNT = """
import sys
from pate_cli.cli import main
main(sys.argv[1:])
print("modules", len(sys.modules))
"""


def count(command: tuple[str, ...]) -> int:
    """Run a command in a process and a directory of its own, and count the modules it has imported."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _COUNT, *command], cwd=folder, check=True, capture_output=True, text=True
        )
    return int(done.stdout.split()[-1])
