"""Worker processes: a pool on the cores of this machine, or a Dask cluster. Both return futures.

The private data go to the workers of a cluster, and counts of votes may come back: they travel, and are
kept in the workers' memory. A cluster started here encrypts with certificates made for it, and does not
write to disk; one at an address is its owner's to secure (`tls://`, docs/scale.md).
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Generic, TypeAlias, TypeVar

from pate_cli import terminal
from pate_cli.config import ComputeConfig
from pate_cli.engine.loaded import loaded_code
from pate_cli.errors import ConfigError, InputError
from pate_cli.plugins import contained, named
from pate_cli.signals import exit_with_parent, interrupts_held
from pate_cli.threads import one_thread

__all__ = ["Attempt", "Workers", "check_cluster", "open_workers", "worker_count"]

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741 - of an item
T = TypeVar("T")

Call: TypeAlias = Callable[[S, I], T]
"""Function of the data common to all items and one item; of a module, so that it can be pickled."""

_LOST = "the worker process was killed, twice (out of memory? compute.workers=1 needs least)"

_PATIENCE = 10.0
"""Seconds a Dask scheduler has to answer, and to have a worker."""


class WorkerError(RuntimeError):
    """Error in a worker that cannot be pickled itself; or its traceback, as a cause."""


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """Result of a call in a worker, or the exception and its traceback.

    Returned and never raised there: Dask would log a raised one, and it may quote a record.
    """

    result: T | None
    error: Exception | None = None
    trace: str = ""

    def open(self) -> T:
        """Return the result, or raise the worker's exception; ChildProcessError if it was lost."""
        if self.error is not None:
            raise self.error from (WorkerError(f"in a worker:\n{self.trace}") if self.trace else None)
        return self.result  # type: ignore[return-value]


def _attempt(call: Call[S, I, T], shared: S, item: I, parent: int | None) -> Attempt[T]:
    """Call in a worker; one on this machine ends with the process that started it."""
    if parent is not None:
        exit_with_parent(parent)
    try:
        with one_thread(), contained():  # cores are shared by repeats alone
            return Attempt(call(shared, item))
    except Exception as error:
        trace, error = traceback.format_exc(), named(error)
        with contextlib.suppress(Exception):
            if str(pickle.loads(pickle.dumps(error))) == str(error):
                return Attempt(None, error, trace)
        return Attempt(None, WorkerError(f"{type(error).__name__}: {error}"), trace)


class Workers:
    """Processes of joblib's pool, which start with the first item and end with `close`.

    Large arrays are mapped into their memory, not copied. They do not see Ctrl-C, and end with this process,
    however that ends.
    """

    here = True  # whether they see the disk of this process

    def __init__(self, count: int) -> None:
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        self.count = count
        self._losses: tuple[type[BaseException], ...] = (TerminatedWorkerError,)
        self._executor: Any = None

    def spread(self, call: Call[S, I, T], shared: S, items: Iterable[I]) -> Iterator[tuple[I, Attempt[T]]]:
        """Do `call(shared, item)` for each item in workers; pairs of item and attempt, as they come.

        Items that were sent when a worker is killed are tried once more, each alone.
        """
        left, lost, running = deque(items), deque[I](), dict[Future[Attempt[T]], I]()
        self._renew()
        try:
            while left or lost or running:
                alone = bool(lost) and not running
                source, most = (lost, 1) if alone else (left, 0 if lost else 2 * self.count)
                while source and len(running) < most:  # one at work in each worker, one waiting
                    item = source.popleft()
                    try:
                        future = self._submit(call, shared, item)
                    except self._losses:  # of what is running already, as will be seen below
                        self._renew()
                        future = self._submit(call, shared, item)
                    running[future] = item
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    item = running.pop(future)
                    try:
                        attempt = future.result()
                    except self._losses:
                        self._renew()
                        if not alone:
                            if not lost:
                                text = "a worker process was killed; what it did is done again"
                                terminal.err().print(text, style="dim")
                            lost.append(item)
                            continue
                        attempt = Attempt(None, ChildProcessError(_LOST))
                    yield item, attempt
        finally:
            if running:
                self._stop(running)

    def _submit(self, call: Call[S, I, T], shared: S, item: I) -> Future[Attempt[T]]:
        """Send one item to a worker."""
        from joblib.executor import get_memmapping_executor

        if self._executor is None:
            with interrupts_held(signal.SIGTERM):  # starts loky's tracker, which may unblock them
                self._executor = get_memmapping_executor(max(2, self.count))
        needed = shared.only(item) if hasattr(shared, "only") else shared
        with interrupts_held(signal.SIGTERM):  # we alone answer
            submitted: Future[Attempt[T]] = self._executor.submit(_attempt, call, needed, item, os.getpid())
        return submitted

    def _renew(self) -> None:
        """Prepare to send items, at first or after a worker was killed."""
        self._executor = None

    def _stop(self, running: Iterable[Future[Any]]) -> None:
        """Withdraw the items that are not done."""
        if self._executor is not None:  # a pool that has lost a worker has killed the others
            for _ in range(100):  # joblib's thread fails if it has not yet seen what is withdrawn
                if all(future.running() or future.done() for future in running):
                    break
                time.sleep(0.01)
            self._executor.terminate(kill_workers=True)
            self._executor = None

    def close(self) -> None:
        """End the processes, and remove the files that they mapped."""
        if self._executor is not None:
            self._executor.terminate()
            self._executor = None


class _Cluster(Workers):
    """Workers of a Dask client; shared data is sent once to each."""

    here = False

    def __init__(self, client: Any, count: int) -> None:
        from distributed.scheduler import KilledWorker

        super().__init__(count)
        self._losses = (KilledWorker, CancelledError)
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._sent: Any = None

    def _submit(self, call: Call[S, I, T], shared: S, item: I) -> Future[Attempt[T]]:
        try:
            if self._sent is None:
                (self._sent,) = self._client.scatter([shared], broadcast=True, hash=False)
            submitted: Future[Attempt[T]] = self._executor.submit(_attempt, call, self._sent, item, None)
        except OSError as error:  # errors of the task are in its attempt
            why = " ".join(str(error).split()) or type(error).__name__
            raise ConnectionError(f"compute=dask: the scheduler was lost ({why})") from error
        return submitted

    def _renew(self) -> None:
        self._sent = None

    def _stop(self, running: Iterable[Future[Any]]) -> None:
        with contextlib.suppress(Exception):  # a scheduler that is gone has nothing to cancel
            self._executor.shutdown(wait=False)


@contextlib.contextmanager
def open_workers(compute: ComputeConfig) -> Iterator[Workers]:
    """Workers that `compute` names; ConfigError if no scheduler answers, ConnectionError if it is lost."""
    if compute.name != "dask":
        workers = Workers(worker_count(compute.workers))
        try:
            yield workers
        finally:
            workers.close()
    elif compute.address is not None:
        with _client(compute.address) as client:
            yield _Cluster(client, _check_workers(client, compute.address))
    else:
        with _own_cluster(worker_count(compute.workers)) as client:
            yield _Cluster(client, len(client.scheduler_info(-1)["workers"]))


def worker_count(asked: int | None) -> int:
    """Number of processes: as asked, else one a core; 1 where the jobs of a sweep are processes already."""
    if multiprocessing.parent_process() is not None:  # of hydra/launcher=joblib
        return 1
    if asked is not None:
        return asked
    if os.environ.get("SUBMITIT_EXECUTOR") == "local":  # which starts all jobs of a sweep at once
        return 1
    from joblib import cpu_count

    cores = int(cpu_count())
    allotted = os.environ.get("SLURM_CPUS_PER_TASK", "")  # not every Slurm binds a job to its cores
    return min(cores, int(allotted)) if allotted.isdigit() and int(allotted) else cores


def check_cluster(address: str | None) -> None:
    """Refuse (InputError) a Dask that is not installed, or a scheduler without a worker of our versions."""
    if find_spec("distributed") is None:
        raise InputError("compute=dask: Dask is not installed; pip install distributed cryptography")
    if address is not None:
        with _client(address) as client:
            _check_workers(client, address)


def _quiet() -> None:
    """Silence Dask's log, which has tracebacks when a connection is lost or Ctrl-C comes."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)  # of its tasks that nobody waits for then
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    """Client of the scheduler at an address."""
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
def _own_cluster(count: int) -> Iterator[Any]:
    """Client of a new cluster on this machine: TLS, no dashboard, nothing spilled to disk."""
    from distributed import Client, LocalCluster
    from distributed.security import Security

    _quiet()
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="pate-dask-"))
        with interrupts_held():  # Ctrl-C is answered here, and only here
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,
                worker_dashboard_address=None,
                scheduler_kwargs={
                    "dashboard_address": "127.0.0.1:0",  # else 8787 is tried, dashboard or not
                    "allowed_failures": 0,  # `Workers.spread` tries again, alone
                },
                local_directory=scratch,
                security=Security.temporary(),
                silence_logs=logging.CRITICAL,
            )
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, set_as_default=False))


def _check_workers(client: Any, address: str) -> int:
    """Count the workers; InputError unless there is one and all have our versions."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ConfigError("compute.address", address, "a Dask scheduler with at least one worker") from error
    try:
        checked: dict[str, None] = client.run(loaded_code().check)
    except InputError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())
        accepted = f"a cluster whose workers have pate-cli installed ({type(error).__name__}: {why})"
        raise ConfigError("compute.address", address, accepted) from error
    return len(checked)
