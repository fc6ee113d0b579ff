"""Compositions of Hydra: our part of one, the one of a job, and values that refer to Hydra's own."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["numbered", "ours", "resolving", "unresolved"]


def unresolved(cfg: DictConfig) -> str:
    """Text of our part of a composition, interpolations as they are written."""
    from omegaconf import OmegaConf

    return repr(OmegaConf.to_container(ours(cfg)))


def ours(cfg: DictConfig) -> DictConfig:
    """Our part of a composition."""
    from omegaconf import OmegaConf

    return OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"])


def numbered(cfg: DictConfig, number: int) -> DictConfig:
    """Copy of a composition, of the job with this number in its sweep."""
    from omegaconf import open_dict, read_write

    cfg = copy.deepcopy(cfg)
    with read_write(cfg.hydra), open_dict(cfg.hydra.job):
        cfg.hydra.job.num, cfg.hydra.job.id = number, str(number)
    return cfg


@contextmanager
def resolving(cfg: DictConfig) -> Iterator[None]:
    """Let `${hydra:...}` find Hydra's configuration."""
    from hydra.core.hydra_config import HydraConfig

    holder = HydraConfig.instance()
    before = holder.cfg
    holder.set_config(cfg)
    try:
        yield
    finally:
        holder.cfg = before
