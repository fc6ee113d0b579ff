"""Checks of where a command keeps votes, works, and reports to, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable

from pate_cli.config import RunConfig
from pate_cli.engine.store import VoteStore
from pate_cli.engine.tracking import check_tracking
from pate_cli.engine.workers import check_cluster
from pate_cli.errors import ConfigError

__all__ = ["check_places"]


def check_places(configs: Iterable[RunConfig]) -> None:
    """Refuse (InputError) a cluster, directory of votes or tracker that is of no use; or two of `compute`."""
    places = dict.fromkeys((config.cache, config.compute, config.tracking) for config in configs)
    if len({compute for _, compute, _ in places}) > 1:
        raise ConfigError("compute", "several", "one and the same for all jobs of a sweep")
    for cache, compute, tracking in places:
        if cache:
            votes = VoteStore()
            votes.check()
            votes.trim()
        if compute.name == "dask":
            check_cluster(compute.address)
        if tracking is not None:
            check_tracking()
