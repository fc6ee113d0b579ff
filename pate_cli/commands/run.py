"""`pate run`: from a config to an accuracy and epsilon table."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError
from pate_cli.overrides import CommandLine, compose, conf_dir, jobs, parse_argv

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Check everything first, then let Hydra run the job or the sweep."""
    line = parse_argv(argv)
    if line.only_shows:
        _hydra(line.argv)
        return 0
    from pate_cli import execution

    runs = [execution.checked(compose(overrides, line.config_dir)) for overrides in jobs(line)]
    target = _target(line, [run.config_hash for run in runs], runs[0].label)
    existed = target.exists()
    _check_writable(target)
    key = "hydra.sweep.dir" if line.multirun else "hydra.run.dir"
    try:
        _hydra([*line.argv, f"{key}='{target}'"])
    except InputError:
        if not existed:  # nothing is left of a run refused late
            shutil.rmtree(target, ignore_errors=True)
        raise
    return execution.report(target, sweep=line.multirun)


def job(cfg: DictConfig) -> None:
    """One job, as Hydra calls it."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    from pate_cli import execution

    raw: Any = OmegaConf.to_container(cfg, resolve=True)
    hydra_config = HydraConfig.get()
    sweep = hydra_config.mode == RunMode.MULTIRUN
    execution.execute(raw, Path(hydra_config.runtime.output_dir), sweep=sweep)


def _hydra(argv: Sequence[str]) -> None:
    """Hand over to Hydra, which reads `sys.argv`."""
    import hydra

    before = sys.argv
    sys.argv = ["pate", *argv]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # exceptions come back to us
    try:
        hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="config")(job)()
    finally:
        sys.argv = before


def _target(line: CommandLine, hashes: list[str], label: str) -> Path:
    """Directory of the run or the sweep: named by the user, or by time and configuration."""
    key = "hydra.sweep.dir=" if line.multirun else "hydra.run.dir="
    for override in reversed(line.overrides):
        if override.startswith(key):
            return Path(override[len(key) :].strip("'\"")).absolute()
    now = datetime.now()
    name = f"sweep-{len(hashes)}" if line.multirun else f"{label}-{hashes[0]}"
    return Path("outputs", f"{now:%Y-%m-%d}", f"{now:%H-%M-%S-%f}-{name}").absolute()


def _check_writable(target: Path) -> None:
    """Refuse a directory that cannot be written, and leave no trace of having tried."""
    base = target
    while not base.exists() and base != base.parent:
        base = base.parent
    try:
        if not base.is_dir():
            raise NotADirectoryError(20, "not a directory")
        with tempfile.TemporaryDirectory(dir=base, prefix=".pate-"):
            pass
    except OSError as error:
        where = f"{base}: {error.strerror or error}"
        raise InputError(
            f"hydra.run.dir: {target} cannot be written ({where}); accepted: a writable directory"
        ) from error
