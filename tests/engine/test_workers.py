"""Worker processes of this machine: they are lost, but no result is."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pate_cli import plugins
from pate_cli.config import ComputeConfig
from pate_cli.engine.workers import WorkerError, open_workers, worker_count
from pate_cli.errors import ConfigError, Terminated
from pate_cli.signals import interrupts_held, terminable


def spread(call: Any, shared: Any, items: Any) -> Iterator[Any]:
    with open_workers(ComputeConfig(name="local", workers=2)) as workers:
        yield from workers.spread(call, shared, items)


def die(directory: str, item: int) -> int:
    """Item 7 kills its worker the first time, item 1 always."""
    mark = Path(directory, str(item))
    with mark.open("a") as file:
        file.write("x")
    while item in (1, 7) and not all(Path(directory, name).exists() for name in "17"):
        time.sleep(0.01)  # where one worker dies the pool ends the other, which may not have begun its item
    if item == 1 or (item == 7 and mark.read_text() == "x"):
        os.kill(os.getpid(), signal.SIGKILL)
    return item * 10


def refuse(_: Any, item: int) -> int:
    raise ConfigError("teacher.size", item, "a dragon")


def fault(_: Any, item: int) -> int:
    class Local(Exception):  # cannot be pickled
        pass

    plugins.OURS.append(str(Path(__file__).parent))  # as in the first process
    raise Local("lost a sock")


def surroundings(_: Any, __: int) -> Any:
    from threadpoolctl import threadpool_info

    threads = {info["num_threads"] for info in threadpool_info()}
    return threads, signal.pthread_sigmask(signal.SIG_BLOCK, []), worker_count(4)


def test_a_killed_worker_loses_no_result_and_an_item_that_kills_two_fails_alone(tmp_path, capsys):
    attempts = dict(spread(die, str(tmp_path), range(12)))
    with pytest.raises(ChildProcessError, match=r"was killed, twice \(out of memory"):
        attempts.pop(1).open()
    assert {item: attempt.open() for item, attempt in attempts.items()} == {
        i: 10 * i for i in range(12) if i != 1
    }
    assert [(tmp_path / name).read_text() for name in "17"] == ["xx", "xx"]
    assert "a worker process was killed; what it did is done again" in capsys.readouterr().err


def test_an_error_comes_back_as_it_was_or_in_words():
    with pytest.raises(ConfigError) as caught:
        next(spread(refuse, None, [7]))[1].open()
    assert (str(caught.value), caught.value.key) == (
        "teacher.size: got 7; accepted: a dragon",
        "teacher.size",
    )
    with pytest.raises(WorkerError, match="Local: lost a sock") as lost:
        next(spread(fault, None, [7]))[1].open()
    assert "in fault" in str(lost.value.__cause__)  # the worker's traceback


@pytest.mark.parametrize(
    ("where", "unseen"),
    [
        ("local", {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}),
        ("dask", {signal.SIGINT, signal.SIGHUP}),  # which ends its workers by SIGTERM
    ],
)
def test_workers_use_one_thread_leave_signals_to_us_and_start_no_workers(where, unseen, caplog):
    with open_workers(ComputeConfig(name=where, workers=2)) as workers:
        attempts = dict(workers.spread(surroundings, None, range(4)))
    for attempt in attempts.values():
        threads, blocked, count = attempt.open()
        assert (threads, count) == ({1}, 1)
        assert blocked >= unseen
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & unseen
    if where == "dask":  # one of its tasks, that Ctrl-C has cut off
        loop = asyncio.new_event_loop()
        loop.call_exception_handler({"message": "Task exception was never retrieved"})
        loop.close()
    assert "asyncio" not in {record.name for record in caplog.records}


def test_a_terminal_that_closes_does_not_end_the_process_in_which_joblib_tidies_up():
    """Its successor printed a traceback for each file and semaphore."""
    code = (
        "from pate_cli.signals import start_joblib; start_joblib()\n"
        "from joblib.externals.loky.backend.resource_tracker import _resource_tracker as tracker\n"
        "print(open(f'/proc/{tracker._pid}/status').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    blocked = int(re.search(r"SigBlk:\s*(\w+)", done.stdout)[1], 16)
    assert blocked >> (signal.SIGHUP - 1) & 1


def test_stopping_early_is_not_a_warning():
    """Warnings are errors here; a user would see one after Ctrl-C."""
    results = spread(pow, 2, range(50))
    next(results)
    results.close()


@pytest.mark.parametrize(
    ("asked", "env", "expected"),
    [
        (None, {}, 8),
        (20, {}, 20),
        (None, {"SLURM_CPUS_PER_TASK": "4"}, 4),
        (6, {"SLURM_CPUS_PER_TASK": "4"}, 6),
        (None, {"SUBMITIT_EXECUTOR": "local"}, 1),
    ],
)
def test_how_many_workers(monkeypatch, asked, env, expected):
    for name in ("SLURM_CPUS_PER_TASK", "SUBMITIT_EXECUTOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert worker_count(asked) == expected


def test_sigterm_is_raised_where_it_is_wanted_only():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), terminable():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
    assert issubclass(Terminated, KeyboardInterrupt)  # answered wherever Ctrl-C is


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_a_process_starts_is_answered_then(number, elsewhere):
    """Whichever thread is told; a run went on after a Ctrl-C that came then."""
    reached, waiting = [], threading.Event()

    def start() -> None:
        with terminable(), interrupts_held(signal.SIGTERM):
            os.kill(os.getpid(), number)
            time.sleep(0.05)
            reached.append(1)

    thread = threading.Thread(target=waiting.wait)  # holds no signal back
    if elsewhere:
        thread.start()
    before = signal.signal(number, signal.default_int_handler)  # who started us may have ignored it
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        signal.signal(number, before)
        waiting.set()
    assert reached == [1]


@pytest.mark.parametrize("context", [interrupts_held, terminable])
def test_signals_are_left_alone_outside_the_main_thread(context):
    entered = []

    def enter() -> None:
        with context():
            entered.append(1)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [1]
