"""One measured row, timing in turn, and watching a whole command."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pate_cli.version import versions

__all__ = ["PATE", "REPO", "Row", "Watched", "alternate", "machine", "ratio", "watch"]

REPO = Path(__file__).resolve().parent.parent
PATE = [sys.executable, "-m", "pate_cli"]

_WATCHER = """
import os, resource, sys, time
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print()
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Run from a small process: a child's peak is counted from what its parent had when it was started."""


@dataclass(frozen=True)
class Row:
    """One measured number."""

    part: str  # of the benchmarks, as `--only` names it
    name: str  # the work that was measured
    value: float
    unit: str = "times"  # where it is a ratio to `beside`
    beside: str = ""  # the work it was measured side by side with
    details: dict[str, Any] = field(default_factory=dict)  # numbers behind the value, as medians in seconds

    @property
    def shown(self) -> str:
        """The value with its unit."""
        text = f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"
        return f"{text} {self.unit}"


class Watched(NamedTuple):
    """What a command printed, wall and processor time in seconds, and megabytes of its largest process."""

    printed: str
    seconds: float
    busy: float
    megabytes: float


def watch(command: Sequence[str], folder: str | Path, **environment: str) -> Watched:
    """Run a command in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", _WATCHER, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPO)} | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-500:]}")
    printed, _, last = done.stdout.rstrip().rpartition("\n")
    seconds, busy, peak = map(float, last.split())
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kibibytes on Linux
    return Watched(printed, seconds, busy, peak * unit / 1e6)


def alternate(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time each contestant once a round, in turn, after a round that does not count.

    Whatever else the machine does meanwhile falls on all of them alike; every other round goes backwards.
    A contestant that returns a float has taken that many seconds; of others, the wall time counts.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name in list(contestants)[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            result = contestants[name]()
            if number:
                taken = time.perf_counter() - start
                times[name].append(result if isinstance(result, float) else taken)
    return times


def ratio(part: str, name: str, times: Mapping[str, Sequence[float]], beside: str) -> Row:
    """Make the row of the ratio of "ours" to "bare": the median of the ratios within a round."""
    value = statistics.median(a / b for a, b in zip(times["ours"], times["bare"], strict=True))
    details = {f"{key}_s": round(statistics.median(values), 4) for key, values in times.items()}
    return Row(part, name, value, "times", beside, details | {"rounds": len(times["ours"])})


def machine() -> dict[str, str | None]:
    """Cores, load, system and versions, as text."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    system = f"{platform.system()} {platform.machine()}"
    return {"cores": str(os.cpu_count()), "load": load, "system": system, **versions()}
