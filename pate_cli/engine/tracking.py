"""Runs told to MLflow (`tracking=mlflow`): settings, figures and files, where `MLFLOW_TRACKING_URI` says.

Figures of an experiment are not differentially private, and go where the URI leads. A release is never
told: what leaves it are its public files, charged to a ledger, and nothing else.
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
from pate_cli.report import RunRecord

__all__ = ["check_tracking", "track"]

_FILES = ("result.json", "repeats.csv", "student.skops")
_EXPERIMENT = "pate"
_LONGEST = 500  # of a parameter, in MLflow


def check_tracking() -> ModuleType:
    """Import MLflow.

    Raises
    ------
    InputError
        If it is not installed; says what to install.
    """
    try:
        import mlflow
    except ImportError:
        raise InputError(
            "tracking=mlflow: mlflow is not installed; pip install mlflow-skinny; or tracking=null"
        ) from None
    found: ModuleType = mlflow
    return found


def track(record: RunRecord, directory: Path) -> str | None:
    """Tell MLflow of a run that is done, as a run of the experiment `MLFLOW_EXPERIMENT_NAME`, or pate.

    Parameters
    ----------
    record : RunRecord
        Its configuration becomes parameters, its means metrics.
    directory : Path
        The run's files.

    Returns
    -------
    str or None
        Why it could not be told, in one line: the run is done and its files are written all the same.
    """
    mlflow = check_tracking()
    try:
        if "MLFLOW_EXPERIMENT_NAME" not in os.environ and "MLFLOW_EXPERIMENT_ID" not in os.environ:
            mlflow.set_experiment(_EXPERIMENT)
        name = f"{record.dataset} {record.mechanism} eps={record.config['eps']}"
        with mlflow.start_run(run_name=name):
            mlflow.set_tags({"pate.status": record.status, "pate.directory": str(directory)})
            mlflow.log_params(dict(_flat(record.config)))
            mlflow.log_metrics(dict(_figures(record)))
            for file in _FILES:
                if (directory / file).is_file():
                    mlflow.log_artifact(str(directory / file))
    except Exception as error:  # of the network, of the server, of its store: many kinds
        with contextlib.suppress(Exception):
            mlflow.end_run("FAILED")
        lines = str(error).splitlines() or [type(error).__name__]
        return f"tracking=mlflow: not told to {mlflow.get_tracking_uri()}: {lines[0]}"
    return None


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if key == "tracking":
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)[:_LONGEST]


def _figures(record: RunRecord) -> Iterator[tuple[str, float]]:
    """Finite numbers of a record, under names that MLflow takes; of accuracy half its interval, too."""
    found: dict[str, Any] = {
        name: getattr(record, name)
        for name in ("eps", "delta", "eps_ex_post", "n_teachers", "n_asked", "n_answered")
    }
    if record.accuracy is not None:
        found |= {"accuracy": record.accuracy.mean, "accuracy.ci95": record.accuracy.half_width}
    for name, value in {**found, **record.diagnostics}.items():
        if value is not None and math.isfinite(value):
            yield re.sub(r"[^\w./ -]", "_", name), float(value)
