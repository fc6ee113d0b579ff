"""The machine and the versions a measurement was taken with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

__all__ = ["describe", "load"]


def describe() -> dict[str, str]:
    """Processor, cores, load, system and versions, as text."""
    packages = ("numpy", "scipy", "scikit-learn", "hydra-core")
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "load at start": load(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def load() -> str:
    """Processes that wanted a core over the last minute; at the end of a quiet measurement, about 1."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
