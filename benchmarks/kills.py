"""Kill a sweep, a frontier, one of many tables, a recipe at random moments; again, it ends in the same files.

    python -m benchmarks.kills             # 20 kills of each: some minutes
    python -m benchmarks.kills --kills 3 sweep

The process group of a command is killed (SIGKILL) at a moment drawn evenly from the time it takes undisturbed
after its first finished repeat, and started again in the same place. Whenever it comes to its end, its tables
are compared with those of the undisturbed command, and the next kill begins in an empty directory. No repeat
that was finished may ever be done again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

SMALL = ["dataset.n_records=4000", "split.public=100", "teacher=tree", "teacher.size=40", "compute.workers=2"]
RECIPE = f"""\
title: A small recipe
source: nowhere
shows: That it goes on where it was.
kind: runs
repeats: 12
rows:
  - {{name: "gaussian {{eps}}", for: {{eps: [0.5, 2]}}, overrides: [{", ".join(SMALL)}, "eps={{eps}}"]}}
  - {{name: svt, overrides: [{", ".join(SMALL)}, mechanism=svt, eps=4]}}
"""
COMMANDS = {
    "sweep": ["run", "-m", *SMALL, "mechanism=gaussian,svt", "eps=2,4", "repeats=12"],
    "frontier": ["frontier", *SMALL, "--eps", "1,4", "--methods", "gaussian,svt", "--repeats", "12"],
    "tables": [
        *("frontier", *SMALL[2:], "--tables", "synthetic:n_records=4000,digits", "--eps", "4"),
        *("--methods", "gaussian,noisy_gd", "--repeats", "6"),
    ],
    "reproduce": ["reproduce", "./small"],
}


def main() -> int:
    """Kill each command, and print what came of it; exit code 1 if a table differs or work was done twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__.split("\n")[0])
    parser.add_argument("only", nargs="*", choices=[*COMMANDS, []], help="default: all")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    args = parser.parse_args()
    table = Table("command", "kills", "came to its end", "wrong tables", "repeats found", "done again")
    bad = 0
    for name in args.only or COMMANDS:
        tally = disturbed(name, args.kills, random.Random(args.seed))
        bad += tally["wrong"] + tally["redone"]
        print(f"{name}: {dict(tally)}", file=sys.stderr, flush=True)
        table.add_row(name, *(str(tally[key]) for key in ("kills", "ends", "wrong", "found", "redone")))
    Console().print(table)
    return 1 if bad else 0


def disturbed(name: str, kills: int, moments: random.Random) -> Counter[str]:
    """Kill one command so often; counts of what happened."""
    tally = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        place = _empty(Path(folder, "whole"))
        began = time.time()
        _run(name, place)
        taken, expected = time.time() - began, tables(place)
        first = min(stamp for stamp, _ in units(place).values()) / 1e9 - began
        place = _empty(Path(folder, "killed"))
        while True:
            before = units(place)
            ended = _run(name, place, moments.uniform(first, taken) if tally["kills"] < kills else None)
            after = units(place)
            redone = sum(after.get(file) != stamp for file, stamp in before.items())
            tally.update(found=len(before), redone=redone, kills=not ended, ends=ended)
            if ended:
                tally["wrong"] += tables(place) != expected
                if tally["kills"] == kills:
                    return tally
                place = _empty(place)


def units(place: Path) -> dict[Path, tuple[int, bytes]]:
    """Files of the finished repeats: when each was written, and its content."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in place.rglob(".finished/*-*.json")}


def tables(place: Path) -> dict[str, str]:
    """Tables of the last command that came to its end, without wall times."""
    kinds = ("2*/*", "frontier/*", "reproduce/*")
    newest = max(
        (path for kind in kinds for path in place.glob(f"outputs/{kind}")),
        key=lambda path: path.stat().st_mtime_ns,
    )
    return {
        str(path.relative_to(newest)): pd.read_csv(path, dtype=str)
        .drop(columns="seconds", errors="ignore")
        .to_csv(index=False)
        for path in sorted(newest.rglob("*.csv"))
    }


def _empty(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    (place / "small").mkdir(parents=True)
    (place / "small" / "recipe.yaml").write_text(RECIPE)
    return place


def _run(name: str, place: Path, moment: float | None = None) -> bool:
    """Run a command, and kill it after so many seconds; whether it came to its end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pate_cli", *COMMANDS[name]],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent), "HOME": str(place)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, err = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False
    if process.returncode:
        raise RuntimeError(f"{name}: exit code {process.returncode}: {err.decode(errors='replace')[-500:]}")
    return True


if __name__ == "__main__":
    sys.exit(main())
