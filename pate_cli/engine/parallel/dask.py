"""A Dask cluster: one at an address, or one started on this machine for as long as it is needed.

The private data go to its workers, and counts of votes may come back: they travel, and are kept in
the workers' memory. A cluster started here encrypts with certificates made for it, and does not
write to disk; one at an address is its owner's to secure (`tls://`, docs/scale.md).
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import uuid
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from pate_cli.engine.parallel import local
from pate_cli.engine.parallel.attempts import Attempt, Call, attempt, two_tries
from pate_cli.engine.parallel.signals import interrupts_ignored
from pate_cli.errors import ConfigError, InputError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Cluster", "check", "open_cluster"]

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741 - of an item
T = TypeVar("T")

_PATIENCE = 10.0
"""Seconds a scheduler has to answer, and to have a worker."""

_VERSIONED = ("pate_cli", "numpy", "scipy", "sklearn")
"""Packages whose version may change a number."""


def check(address: str | None) -> None:
    """Refuse what cannot work before anything is written.

    Raises
    ------
    InputError
        If Dask is not installed, or no scheduler with a worker of our versions answers.
    """
    if find_spec("distributed") is None:
        raise InputError("compute=dask: Dask is not installed; pip install distributed cryptography")
    if address is not None:
        with _client(address) as client:
            _check_workers(client, address)


@dataclass(frozen=True)
class Cluster:
    """The workers of an open cluster."""

    client: Client
    count: int

    def spread(self, task: Call[S, I, T], shared: S, items: Iterable[I]) -> Iterator[tuple[I, Attempt[T]]]:
        """Do `task(shared, item)` for each item on the cluster; pairs of item and attempt as they come.

        `shared` is sent once to every worker.

        Raises
        ------
        ConnectionError
            If the scheduler is lost.
        """
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        def once(left: Iterator[tuple[int, I]]) -> Generator[Attempt[T], None, None]:
            futures: list[Any] = []
            try:
                futures += self.client.scatter([shared], broadcast=True, hash=False)
                run = uuid.uuid4().hex[:12]
                submit = partial(self.client.submit, attempt, task, futures[0], pure=False)
                submitted = (submit(item, number, key=f"pate-{run}-{number}") for number, item in left)
                futures += islice(submitted, 2 * self.count)  # one at work, one waiting
                running = as_completed(futures[1:], loop=self.client.loop)
                for future in running:
                    yield future.result()
                    for following in islice(submitted, 1):
                        futures.append(following)
                        running.add(following)
            except OSError as error:  # of the connection: those of tasks are in what they return
                why = " ".join(str(error).split()) or type(error).__name__
                raise ConnectionError(f"compute=dask: the scheduler was lost ({why})") from error
            finally:
                with contextlib.suppress(Exception):  # a scheduler that is gone has nothing to cancel
                    self.client.cancel(futures, force=True)

        return two_tries(once, items, (KilledWorker, FutureCancelledError))


@contextlib.contextmanager
def open_cluster(address: str | None, workers: int | None) -> Iterator[Cluster]:
    """Connect to a cluster, or start one with so many workers (None: as many as there are cores).

    Raises
    ------
    ConfigError
        If no scheduler answers.
    """
    if address is not None:
        with _client(address) as client:
            yield Cluster(client, _check_workers(client, address))
        return
    with _own(workers) as client:
        yield Cluster(client, len(client.scheduler_info(-1)["workers"]))


def _quiet() -> None:
    """Say nothing but what we say ourselves: Dask logs tracebacks when a connection is lost."""
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)


@contextlib.contextmanager
def _client(address: str) -> Iterator[Client]:
    from distributed import Client

    _quiet()
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # not there, no TLS, another protocol
        why = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError("compute.address", address, f"a Dask scheduler that answers ({why})") from error
    try:
        yield client
    finally:
        client.close(timeout=_PATIENCE)


@contextlib.contextmanager
def _own(workers: int | None) -> Iterator[Client]:
    """A cluster on this machine: TLS, no dashboard, nothing spilled to disk."""
    from distributed import Client, LocalCluster
    from distributed.security import Security

    _quiet()
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="pate-dask-"))
        with interrupts_ignored():  # the new processes inherit it: Ctrl-C is answered here, and only here
            cluster = LocalCluster(
                n_workers=local.workers(workers),
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,
                worker_dashboard_address=None,
                scheduler_kwargs={
                    "dashboard_address": "127.0.0.1:0",  # else 8787 is tried, dashboard or not
                    "allowed_failures": 0,  # `two_tries` tries again, alone
                },
                local_directory=scratch,
                security=Security.temporary(),
                silence_logs=logging.CRITICAL,
            )
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, set_as_default=False))


def _check_workers(client: Client, address: str) -> int:
    """Count the workers, once they are known to be like us."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ConfigError("compute.address", address, "a Dask scheduler with at least one worker") from error
    ours = versions()
    try:
        theirs: dict[str, dict[str, str]] = client.run(versions)
    except Exception as error:
        why = " ".join(str(error).split())
        accepted = f"a cluster whose workers have pate-cli installed ({type(error).__name__}: {why})"
        raise ConfigError("compute.address", address, accepted) from error
    for found in theirs.values():
        for name in _VERSIONED:
            if found[name] != ours[name]:
                accepted = f"workers with {name} {ours[name]}, as here; one has {found[name]}"
                raise ConfigError("compute.address", address, accepted)
    return len(theirs)


def versions() -> dict[str, str]:
    """Versions, here or on a worker, of what numbers may depend on."""
    return {name: str(import_module(name).__version__) for name in _VERSIONED}
