"""Where work is done: on the cores of this machine, or on a Dask cluster.

Both do a task for each item in worker processes, and return results as they come. The items of a lost worker
are tried once more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pate_cli.config import ComputeConfig
from pate_cli.engine.parallel import dask, local
from pate_cli.engine.parallel.attempts import single_threaded
from pate_cli.engine.parallel.signals import die_with, interrupts_ignored, terminable

__all__ = ["Workers", "die_with", "interrupts_ignored", "open_workers", "single_threaded", "terminable"]


@dataclass(frozen=True)
class Workers:
    """Open workers.

    Attributes
    ----------
    count : int
        1 where there is no worker beside this process.
    spread : callable
        `spread(task, shared, items)` yields pairs of item and `Attempt` at ``task(shared, item)``.
    here : bool
        Whether they see the disk of this process.
    """

    count: int
    spread: Callable[[Any, Any, Iterable[Any]], Iterator[tuple[Any, Any]]]
    here: bool


@contextlib.contextmanager
def open_workers(compute: ComputeConfig) -> Iterator[Workers]:
    """Workers that `compute` names: a Dask cluster, or processes that start when they are first needed."""
    if compute.name == "dask":
        with dask.open_cluster(compute.address, compute.workers) as cluster:
            yield Workers(cluster.count, cluster.spread, here=False)
    else:
        count = local.workers(compute.workers)
        yield Workers(count, partial(local.spread, workers=count), here=True)
