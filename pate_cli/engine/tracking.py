"""Report of finished runs to MLflow (`tracking=mlflow`), where `MLFLOW_TRACKING_URI` says.

Figures of an experiment are not differentially private, and go where the URI leads. A release is never
reported: what leaves it are its public files, charged to a ledger, and nothing else.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pate_cli.errors import InputError
from pate_cli.results import RunRecord

__all__ = ["check_tracking", "track"]

_FILES = ("result.json", "repeats.csv", "student.skops")
_FIGURES = ("eps", "delta", "eps_ex_post", "n_teachers", "n_asked", "n_answered")
_LONGEST = 500  # of a parameter, in MLflow


def check_tracking() -> ModuleType:
    """Import MLflow; InputError if it is not installed."""
    try:
        import mlflow
    except ImportError:
        raise InputError(
            "tracking=mlflow: mlflow is not installed; pip install mlflow-skinny; or tracking=null"
        ) from None
    found: ModuleType = mlflow
    return found


def track(record: RunRecord, directory: Path) -> str | None:
    """Report a run with its files, in the experiment `MLFLOW_EXPERIMENT_NAME`, or pate.

    Where that fails, the run is done and its files are written all the same: returns why, in one line.
    """
    mlflow = check_tracking()
    try:
        if "MLFLOW_EXPERIMENT_NAME" not in os.environ and "MLFLOW_EXPERIMENT_ID" not in os.environ:
            mlflow.set_experiment("pate")
        name = f"{record.dataset} {record.mechanism} eps={record.config['eps']}"
        with mlflow.start_run(run_name=name):
            mlflow.set_tags({"pate.status": record.status, "pate.directory": str(directory)})
            mlflow.log_params(dict(_parameters(record.config)))
            mlflow.log_metrics(_metrics(record))
            for file in _FILES:
                if (directory / file).is_file():
                    mlflow.log_artifact(str(directory / file))
    except Exception as error:  # of the network, of the server, of its store: many kinds
        with contextlib.suppress(Exception):
            mlflow.end_run("FAILED")
        lines = str(error).splitlines() or [type(error).__name__]
        return f"tracking=mlflow: not told to {mlflow.get_tracking_uri()}: {lines[0]}"
    return None


def _parameters(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _parameters(value, f"{prefix}{key}.")
        elif key != "tracking":
            yield f"{prefix}{key}", str(value)[:_LONGEST]


def _metrics(record: RunRecord) -> dict[str, float]:
    """Finite numbers of a record, under names that MLflow takes; of accuracy half its interval, too."""
    found: dict[str, Any] = {name: getattr(record, name) for name in _FIGURES}
    if record.accuracy is not None:
        found |= {"accuracy": record.accuracy.mean, "accuracy.ci95": record.accuracy.half_width}
    found |= record.diagnostics
    finite = {name: value for name, value in found.items() if value is not None and math.isfinite(value)}
    return {re.sub(r"[^\w./ -]", "_", name): float(value) for name, value in finite.items()}
