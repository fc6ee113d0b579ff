"""Write down the numbers of about sixty runs, or compare them with those written down before.

    python -m benchmarks.numbers record    # writes benchmarks/numbers.json
    python -m benchmarks.numbers check     # runs all again; exit code 1 if a number is another
    python -m benchmarks.numbers check gaussian frontier    # only those whose name has one of these words

A change that is meant to leave every number as it is (a move, a new protocol, another scheduler) is
checked by this: every mechanism, student and dataset once, with several workers and on Dask, the quick
forms of every recipe and of the frontier, and the files of a release. Wall times and, of a release,
everything drawn by the operating system are left out.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from pate_cli.mechanisms import find, names

HERE = Path(__file__).resolve().parent
RECORD = HERE / "numbers.json"
DATA = HERE.parent.parent / "shared" / "data"

SMALL = ["dataset.n_records=6000", "split.private=5000", "split.public=100", "split.budget=40", "repeats=2"]
"""A small synthetic set: what most mechanisms are tried on."""

ON_THRESHOLDS = [name for name in names() if ".agnostic." in find(name).__name__]
"""Mechanisms that learn a hypothesis class, on a line."""

PLAIN = [name for name in names() if name not in ON_THRESHOLDS]
"""Mechanisms tried with the options they have."""

AGNOSTIC = ["dataset=thresholds", "dataset.n_records=20000", "split.public=200", "repeats=2"]


def runs() -> dict[str, list[str]]:
    """Commands by name, each as after `pate`."""
    mechanisms = {
        **{name: [f"mechanism={name}"] for name in PLAIN},
        "active-svt": ["mechanism=active", "mechanism.oracle=svt"],
        "svt-liu2021": ["mechanism=svt", "mechanism.calibration=liu2021", "eps=8"],
        "svt-bassily2018": ["mechanism=svt", "mechanism.calibration=bassily2018", "eps=8"],
        "svt-private-cutoff": ["mechanism=svt", "mechanism.cutoff=private"],
        "confident_gnmax": ["mechanism=gnmax", "mechanism.confidence=0.75"],
        "gaussian-exact": ["mechanism=gaussian", "eps=inf"],
        "svt-exact": ["mechanism=svt", "eps=inf"],
        "active-exact": ["mechanism=active", "eps=inf"],
        "gaussian-label-private": ["mechanism=gaussian", "split.mode=label_private"],
    }
    few = [*SMALL, "eps=2", "teacher.size=20"]
    found = {f"run {name}": ["run", *few, *given] for name, given in mechanisms.items()}
    for name in ON_THRESHOLDS:
        found[f"run {name}"] = ["run", *AGNOSTIC, f"mechanism={name}", "eps=8"]
    for name in ("mushroom", "a9a", "adult", "digits"):
        found[f"run dataset {name}"] = ["run", f"dataset={name}", "mechanism=gaussian", "eps=2", "repeats=2"]
        found[f"run best {name}"] = ["run", f"dataset={name}", "mechanism=best", "eps=1", "repeats=1"]
    found["run dataset csv"] = [
        *("run", "dataset=csv", f"dataset.path={DATA / 'spambase.csv'}", "dataset.target=target"),
        *("mechanism=gaussian", "eps=4", "repeats=2"),
    ]
    found["run dataset libsvm"] = [
        *("run", "dataset=libsvm", f"dataset.path={DATA / 'mushrooms'}", "mechanism=active", "repeats=2"),
    ]
    for name in ("libsvm", "linear_svm", "permuted_sgd", "soft_targets", "stump", "tree", "voting"):
        found[f"run student {name}"] = ["run", *SMALL, "eps=2", "mechanism=gaussian", f"student={name}"]
    for name in ("libsvm", "linear_svm", "sgd", "permuted_sgd", "stump", "tree"):
        given = ["split.private=1000", "teacher.size=50"]
        found[f"run teacher {name}"] = ["run", *SMALL, *given, "mechanism=gaussian", f"teacher={name}"]
    found["run teacher forest"] = [
        *("run", *SMALL, "mechanism=gaussian", "teacher.estimator=sklearn.ensemble.RandomForestClassifier"),
        *("teacher.params.n_estimators=5", "teacher.count=20", "student=tree"),
    ]
    found["run 2 workers"] = ["run", *SMALL, "mechanism=gaussian", "eps=2", "compute.workers=2", "repeats=4"]
    found["run dask"] = [*found["run 2 workers"][:-2], "compute=dask", "compute.workers=2", "repeats=4"]
    found["sweep"] = ["run", "-m", *SMALL, "mechanism=gaussian,svt,best", "eps=1,2", "teacher.size=20"]
    release = ["release=true", "split.public_from_private=true", "dataset=mushroom"]
    found["release"] = ["run", *release, "mechanism=gaussian", "eps=1.0"]
    common = ["dataset.n_records=6000", "split.private=5000", "split.public=100"]
    found["frontier"] = ["frontier", *common, "--eps", "1,4", "--repeats", "2"]
    for name in sorted(path.parent.name for path in HERE.parent.glob("experiments/*/recipe.yaml")):
        found[f"reproduce {name}"] = ["reproduce", name, "--quick"]
    return found


def main() -> int:
    """Record or check."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numbers", description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("only", nargs="*", help="runs whose name has one of these words")
    parser.add_argument("--file", type=Path, default=RECORD)
    args = parser.parse_args()
    chosen = {
        name: command
        for name, command in runs().items()
        if not args.only or any(word in name for word in args.only)
    }
    console, found = Console(), {}
    for name, command in track(chosen.items(), description="runs", console=Console(stderr=True)):
        found[name] = numbers(command)
    if args.what == "record":
        kept = json.loads(args.file.read_text()) if args.only and args.file.exists() else {}
        args.file.write_text(json.dumps(kept | found, indent=1, sort_keys=True) + "\n")
        console.print(f"{len(found)} runs written to {args.file}")
        return 0
    before = json.loads(args.file.read_text())
    changed = 0
    for name in chosen:
        for line in differences(before.get(name, {}), found[name]):
            changed += 1
            console.print(f"{name}: {line[:600]}", markup=False, soft_wrap=True)
    console.print(f"{len(found)} runs, {changed} differences")
    return 1 if changed else 0


def numbers(command: list[str]) -> dict[str, Any]:
    """Run one command in an empty directory; its exit code and the numbers in its files, by file."""
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | {"PATE_DATA": str(DATA), "HOME": place}
        pate = [sys.executable, "-m", "pate_cli"]
        if "release=true" in command:
            ledger = [*pate, "ledger", "init", "dataset=mushroom", "--eps", "1", "--delta", "2e-4"]
            subprocess.run(ledger, cwd=place, env=environment, check=True, capture_output=True)
        done = subprocess.run([*pate, *command], cwd=place, env=environment, capture_output=True, text=True)
        found: dict[str, Any] = {"exit": done.returncode}
        if done.returncode:
            found["message"] = done.stderr.strip().splitlines()[-1:]
        if command[0] == "plan":
            found["printed"] = done.stdout.splitlines()
        secret = "release=true" in command
        for path in sorted(Path(place).glob("outputs/**/*.*")):
            if ".hydra" in path.parts or "units" in path.parts or not path.is_file():
                continue
            name = _stable(path.relative_to(place))
            if path.suffix == ".csv":
                found[name] = _csv(path.read_text(), columns_only=secret)
            elif path.name == "result.json":
                found[name] = _record(json.loads(path.read_text()), keys_only=secret)
        return found


def _stable(path: Path) -> str:
    """Path below outputs/, without the date and time of the run and the hash of its configuration."""
    parts = [re.sub(r"^\d\d-\d\d-\d\d-\d+-|-[0-9a-f]{12}$", "", part) for part in path.parts[1:]]
    return "/".join(part for part in parts if not re.fullmatch(r"\d{4}-\d\d-\d\d", part))


def _csv(text: str, *, columns_only: bool) -> list[str]:
    """Lines of a file without the columns that are wall times."""
    rows = list(csv.reader(io.StringIO(text)))
    times = {i for row in rows[:1] for i, name in enumerate(row) if "seconds" in name or "time" in name}
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([cell for i, cell in enumerate(row) if i not in times] for row in rows)
    return lines.getvalue().splitlines()[: 1 if columns_only else None]


def _record(record: dict[str, Any], *, keys_only: bool) -> Any:
    """What a result says that is a number of the run: not its versions, times, command."""
    if keys_only:
        return sorted(record)
    names = ("status", "sizes", "n_teachers", "eps", "delta", "eps_ex_post", "accuracy", "plan")
    return {name: record[name] for name in names if name in record}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Say what differs between two of `numbers`, a line each; a new file or column is no difference."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old and new and name.endswith(".csv"):
            new = _columns_of(old, new)
        if old == new or (old is None and name != "message"):
            continue
        if name.endswith(".csv") and old and new and len(old) == len(new):
            columns, *before_rows = csv.reader(old)
            for i, (was, now) in enumerate(zip(before_rows, list(csv.reader(new))[1:], strict=True)):
                cells = zip(columns, was, now, strict=True)
                shown = [f"{column} {one} -> {two}" for column, one, two in cells if one != two]
                found += [f"{name}, line {i + 1}: {', '.join(shown)}"] * bool(shown)
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            found += [f"{name}: {one} -> {two}" for one, two in zip(old, new, strict=True) if one != two]
        else:
            found.append(f"{name}: {old} -> {new}")
    return found


def _columns_of(old: list[str], new: list[str]) -> list[str]:
    """Lines of a file without the columns that it did not have before."""
    (header, *_), rows = csv.reader(old), list(csv.reader(new))
    kept = [i for i, column in enumerate(rows[0]) if column in header]
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([row[i] for i in kept] for row in rows)
    return lines.getvalue().splitlines()


if __name__ == "__main__":
    sys.exit(main())
