"""A callback of Hydra's that logs each run to MLflow."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from pate_cli import __version__
from pate_cli.results.record import RECORD_NAME, RunRecord, read_record

__all__ = ["MLflow"]

_MOST = 500  # characters of a parameter, which every server takes


class MLflow(Callback):
    """Log settings, means by name, `result.json`, `repeats.csv` and the page of each run to MLflow.

    Chosen by ``+hydra.callbacks.mlflow._target_=pate_cli.commands.tracking.MLflow``. What is logged comes
    from private records, without protection: the server has to be one that may hold them.

    Parameters
    ----------
    uri : str, optional
        Address of the server or store; default: MLflow's own, MLFLOW_TRACKING_URI.
    experiment : str
        Name of the experiment that the runs are put into.
    """

    def __init__(self, uri: str | None = None, experiment: str = "pate") -> None:
        self.uri, self.experiment = uri, experiment

    def on_job_end(self, config: DictConfig, job_return: Any, **kwargs: Any) -> None:
        """Log one run; none where it was refused."""
        place = Path(config.hydra.runtime.output_dir)
        if not (place / RECORD_NAME).is_file():
            return
        import mlflow

        record = read_record(place / RECORD_NAME)
        if self.uri is not None:
            mlflow.set_tracking_uri(self.uri)
        mlflow.set_experiment(self.experiment)
        tags = {"pate": __version__, "status": record.status}
        with mlflow.start_run(run_name=record.config.get("name") or place.name, tags=tags):
            mlflow.log_params({key: str(value)[:_MOST] for key, value in _flat(record.config).items()})
            mlflow.log_metrics(_means(record))
            for name in (RECORD_NAME, "repeats.csv"):
                if (place / name).is_file():
                    mlflow.log_artifact(str(place / name))
            if record.accuracy is not None:
                mlflow.log_text(_page(place), "page.html")


def _flat(config: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Keys of a configuration, dotted as typed."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return flat


def _means(record: RunRecord) -> dict[str, float]:
    """Figures of a run by name, without those that are not defined."""
    figures: dict[str, float | None] = {
        name: getattr(record, name)
        for name in ("eps", "delta", "eps_ex_post", "n_teachers", "n_asked", "n_answered")
    }
    if record.accuracy is not None:
        figures |= {"accuracy": record.accuracy.mean, "accuracy_ci95": record.accuracy.half_width}
    figures |= record.diagnostics
    return {
        re.sub(r"[^\w./ -]", "_", name): float(value)
        for name, value in figures.items()
        if value is not None and math.isfinite(value)
    }


def _page(place: Path) -> str:
    from pate_cli.results import read_repeats
    from pate_cli.results.report import report, sources_of

    repeats = read_repeats([place])
    return report(repeats, ["pate", "page", str(place)], sources_of([place], repeats)).html()
