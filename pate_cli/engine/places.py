"""Checks of where a command works and with what code, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable

from pate_cli.config import RunConfig
from pate_cli.engine.loaded import edited
from pate_cli.engine.tracking import check_tracking
from pate_cli.engine.votes import vote_directory
from pate_cli.engine.workers import check_cluster
from pate_cli.errors import ConfigError, InputError

__all__ = ["check_code", "check_places"]


def check_places(configs: Iterable[RunConfig]) -> None:
    """Refuse a cluster, a directory of votes or a tracker that cannot be used.

    Raises
    ------
    InputError
        Also for two of `compute`: what is scheduled together is done in one place.
    """
    places = dict.fromkeys((config.cache, config.compute, config.tracking) for config in configs)
    if len({compute for _, compute, _ in places}) > 1:
        raise ConfigError("compute", "several", "one and the same for all jobs of a sweep")
    for cache, compute, tracking in places:
        if cache:
            vote_directory().check()
        if compute.name == "dask":
            check_cluster(compute.address)
        if tracking is not None:
            check_tracking()


def check_code() -> None:
    """Refuse (InputError) to work with modules that were edited after they were imported."""
    if changed := edited():
        raise InputError(f"{changed[0]}: has been edited since it was imported: start pate again")
