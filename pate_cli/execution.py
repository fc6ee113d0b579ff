"""Doing a configured run: repeats, files, the table at the end.

Between the pipeline (one repeat, no files) and the commands.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli import console, results
from pate_cli.config import ComputeConfig, DatasetConfig, RunConfig, parse
from pate_cli.errors import InputError
from pate_cli.types import Dataset, RepeatResult

if TYPE_CHECKING:
    from pate_cli.pipeline import Outcome, Prepared

__all__ = ["CheckedRun", "checked", "execute", "report"]


@dataclass(frozen=True)
class CheckedRun:
    """A configuration that has passed every check there is before training."""

    config: RunConfig
    config_hash: str
    prepared: Prepared

    @property
    def label(self) -> str:
        """Dataset and mechanism, for the name of a directory."""
        return f"{self.config.dataset.name}-{self.config.mechanism.label}"


def checked(raw: dict[str, Any]) -> CheckedRun:
    """Check a composed configuration, its data and its mechanism.

    Raises
    ------
    InputError
    """
    config = parse(raw)
    dataset = _dataset(config.dataset)
    from pate_cli.pipeline import prepare

    return CheckedRun(config, results.config_hash(raw), prepare(config, dataset))


def execute(raw: dict[str, Any], directory: Path, *, sweep: bool) -> None:
    """Run one configuration and leave its files in `directory`.

    Files: `result.json`, `repeats.csv`, `student.skops` (of the first repeat).

    Raises
    ------
    InputError
        Outside a sweep. Within one no failure is raised: it is recorded, and the other jobs go on.
    """
    started = datetime.now()
    done: list[RepeatResult] = []
    run: CheckedRun | None = None

    def write(status: str, message: str | None = None) -> None:
        results.write_record(directory, _record(raw, run, done, started, status, message))

    try:
        run = checked(raw)
        write("running")
        for outcome in _progress(run, _outcomes(run.prepared)):
            if not done:
                _save_student(directory, run.prepared, outcome)
            done.append(outcome.result)
        results.write_repeats(directory, done)
        write("ok")
    except KeyboardInterrupt:
        if done:
            results.write_repeats(directory, done)
        write("interrupted", f"interrupted after {len(done)} repeats")
        raise
    except InputError as error:
        write("error", str(error))
        if not sweep:
            raise
    except Exception as error:
        console.err().print(traceback.format_exc(), markup=False)
        write("error", f"{type(error).__name__}: {error}")


def report(directory: Path, *, sweep: bool) -> int:
    """Print the table of what a run or a sweep left, and give the exit code."""
    found = results.find_records([directory])
    results.to_console(results.run_table(found.records), console.out())
    bad = [record for record in found.records if record.status != "ok"]
    for path, reason in found.unreadable:
        console.err().print(f"pate: {path}: {reason}", markup=False)
    shown = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    console.err().print(f"written to {shown}", style="dim", markup=False, soft_wrap=True)
    if sweep and bad:
        console.err().print(f"pate: {len(bad)} of {len(found.records)} jobs failed", markup=False)
    return 1 if bad or found.unreadable else 0


def _dataset(config: DatasetConfig) -> Dataset:
    return _load(config.name, json.dumps(config.options, sort_keys=True))


@lru_cache(maxsize=2)
def _load(name: str, options: str) -> Dataset:
    from pate_cli import datasets

    return datasets.load(name, **json.loads(options))


def _outcomes(prepared: Prepared) -> Iterator[Outcome]:
    """Repeats in order, on as many processes as the configuration says; the numbers do not depend on it."""
    repeats = prepared.config.repeats
    workers = _workers(prepared.config.compute, repeats)
    if workers == 1:
        yield from (_one(prepared, repeat) for repeat in range(repeats))
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=workers, return_as="generator")(
        delayed(_one)(prepared, repeat) for repeat in range(repeats)
    )


def _one(prepared: Prepared, repeat: int) -> Outcome:
    from threadpoolctl import threadpool_limits

    from pate_cli.pipeline import run_repeat

    # one BLAS thread: the same sums in the same order, however many workers there are
    with threadpool_limits(limits=1):
        return run_repeat(prepared, repeat)


def _workers(compute: ComputeConfig, repeats: int) -> int:
    if compute.workers is not None:
        return min(compute.workers, repeats)
    if repeats < 4:  # starting processes would take longer than it saves
        return 1
    from joblib import cpu_count

    return min(int(cpu_count()), repeats)


def _progress(run: CheckedRun, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """A bar on a terminal, nothing otherwise."""
    if not console.err().is_terminal:
        yield from outcomes
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.err(), transient=True) as bar:
        task = bar.add_task(f"{run.label} eps={run.config.eps:g}", total=run.config.repeats)
        for outcome in outcomes:
            yield outcome
            bar.advance(task)


def _save_student(directory: Path, prepared: Prepared, outcome: Outcome) -> None:
    from pate_cli.students import save_student

    guarantee = prepared.plan.guarantee
    save_student(
        directory / "student.skops",
        outcome.student,
        classes=prepared.dataset.classes,
        n_features=prepared.dataset.n_features,
        encoder=outcome.encoder,
        meta={"dataset": prepared.dataset.name, "eps": guarantee.eps, "delta": guarantee.delta},
    )


def _record(
    raw: dict[str, Any],
    run: CheckedRun | None,
    done: list[RepeatResult],
    started: datetime,
    status: str,
    message: str | None,
) -> results.RunRecord:
    sizes: dict[str, int | None] = {}
    plan: dict[str, Any] = {}
    checksum = ""
    if run is not None:
        p = run.prepared
        sizes = {
            "n_records": p.dataset.n_records,
            "n_private": p.sizes.n_private,
            "n_public": p.sizes.n_public,
            "n_test": p.sizes.n_test,
            "n_features": p.dataset.n_features,
            "n_classes": p.dataset.n_classes,
            "budget": p.sizes.budget,
        }
        plan, checksum = p.plan.describe(), p.dataset.checksum
    summary: dict[str, Any] = dict(vars(results.summarise(done)))
    if run is not None and not done:
        guarantee = run.prepared.plan.guarantee
        summary |= {"eps": guarantee.eps, "delta": run.prepared.delta, "n_teachers": run.prepared.n_teachers}
    seed = raw.get("seed")
    return results.RunRecord(
        status=status,
        dataset=str(raw.get("dataset", {}).get("name")),
        mechanism=run.config.mechanism.label if run else str(raw.get("mechanism", {}).get("name")),
        config=raw,
        sizes=sizes,
        plan=plan,
        provenance=results.collect_provenance(
            seed=seed if isinstance(seed, int) else 0,
            dataset_checksum=checksum,
            started=started,
            seconds=(datetime.now() - started).total_seconds(),
            command=["pate", *sys.argv[1:]],
        ),
        message=message,
        **summary,
    )
