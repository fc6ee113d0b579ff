"""Worker processes of this machine: they are lost, but no result is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pate_cli.engine.parallel import attempts, interrupts_ignored, local, terminable
from pate_cli.errors import ConfigError, Terminated


def double(shared: int, item: int) -> int:
    return shared * item


def die_once(directory: str, item: int) -> int:
    """Item 3 kills its worker, the first time."""
    mark = Path(directory, "died")
    with open(Path(directory, f"tried-{item}"), "a") as file:
        file.write("x")
    if item == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * 10


def die(directory: str, item: int) -> int:
    """Item 1 kills its worker, always."""
    with open(Path(directory, str(item)), "a") as file:
        file.write("x")
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def refuse(_: Any, item: int) -> int:
    raise ConfigError("teacher.size", item, "a dragon")


def fault(_: Any, item: int) -> int:
    class Local(Exception):  # cannot be sent
        pass

    raise Local("lost a sock")


def surroundings(_: Any, __: int) -> Any:
    from threadpoolctl import threadpool_info

    return (
        {info["num_threads"] for info in threadpool_info()},
        signal.getsignal(signal.SIGINT),
        signal.getsignal(signal.SIGTERM),
    )


def test_a_killed_worker_loses_no_result(tmp_path, capsys):
    spread = local.spread(die_once, str(tmp_path), range(6), workers=2)
    assert sorted((item, attempt.open()) for item, attempt in spread) == [(i, 10 * i) for i in range(6)]
    assert (tmp_path / "tried-3").read_text() == "xx"
    assert "a worker process was killed; what it did is done again" in capsys.readouterr().err


def test_a_task_that_kills_two_workers_has_failed_and_the_others_go_on(tmp_path):
    attempts = dict(local.spread(die, str(tmp_path), range(12), workers=2))
    with pytest.raises(ChildProcessError, match=r"was killed, twice \(out of memory"):
        attempts.pop(1).open()
    assert {item: attempt.open() for item, attempt in attempts.items()} == {i: i for i in (0, *range(2, 12))}
    assert (tmp_path / "1").read_text() == "xx"


def test_the_user_s_error_comes_back_as_it_was():
    with pytest.raises(ConfigError) as caught:
        next(local.spread(refuse, None, [7], workers=2))[1].open()
    assert str(caught.value) == "teacher.size: got 7; accepted: a dragon"
    assert caught.value.key == "teacher.size"


def test_an_error_that_cannot_be_sent_is_told():
    with pytest.raises(attempts.WorkerError, match="Local: lost a sock") as caught:
        next(local.spread(fault, None, [7], workers=2))[1].open()
    assert "in fault" in str(caught.value.__cause__)  # the worker's traceback


def test_workers_use_one_thread_and_leave_signals_to_us():
    started = signal.signal(signal.SIGINT, signal.default_int_handler)  # who started us may have ignored it
    try:
        ((_, attempt),) = local.spread(surroundings, None, [0], workers=2)
        threads, interrupt, terminate = attempt.open()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, started)
    assert threads == {1}
    assert interrupt == terminate == signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


def test_stopping_early_is_not_a_warning():
    """Warnings are errors here; a user would see one after Ctrl-C."""
    results = local.spread(double, 2, range(50), workers=2)
    next(results)
    results.close()


def test_joblibs_own_thread_may_miss_what_was_withdrawn(capsys):
    """Nothing is printed of it, as was seen once in a thousand times; of other threads it is."""

    class ExecutorManagerThread(threading.Thread):
        def run(self):
            raise KeyError(4)

    with local._silent_manager():
        thread = ExecutorManagerThread()
        thread.start()
        thread.join()
    assert capsys.readouterr().err == ""
    heard = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", heard.append)
        with local._silent_manager():
            thread = threading.Thread(target=lambda: {}[4])
            thread.start()
            thread.join()
    assert [one.exc_type for one in heard] == [KeyError]


def test_workers_end_with_a_killed_parent(tmp_path):
    program = (
        "import time, os, joblib\n"
        "from pate_cli.engine.parallel import local\n"
        "from tests_local_tasks import sleep\n"
        "list(local.spread(sleep, None, [0, 1], workers=2))\n"
    )
    (tmp_path / "tests_local_tasks.py").write_text(
        "import os, time\n"
        "def sleep(_, item):\n"
        "    open(f'pid-{item}', 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    repo = Path(__file__).resolve().parents[3]
    env = {**os.environ, "PYTHONPATH": f"{repo}{os.pathsep}{tmp_path}"}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=env)
    files = [tmp_path / "pid-0", tmp_path / "pid-1"]
    until(lambda: all(file.exists() and file.read_text() for file in files))
    pids = [int(file.read_text()) for file in files]
    process.kill()
    process.wait()
    until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids))


def until(condition: Any) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("asked", "env", "expected"),
    [
        (None, {}, 8),
        (3, {}, 3),
        (20, {}, 20),
        (None, {"SLURM_CPUS_PER_TASK": "4"}, 4),
        (None, {"SLURM_CPUS_PER_TASK": "16"}, 8),
        (6, {"SLURM_CPUS_PER_TASK": "4"}, 6),
        (None, {"SUBMITIT_EXECUTOR": "local"}, 1),
        (2, {"SUBMITIT_EXECUTOR": "local"}, 2),
    ],
)
def test_how_many_workers(monkeypatch, asked, env, expected):
    for name in ("SLURM_CPUS_PER_TASK", "SUBMITIT_EXECUTOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert local.workers(asked) == expected


def workers_within(_: Any, asked: int) -> int:
    return local.workers(asked)


def test_a_worker_starts_no_workers():
    ((_, attempt),) = local.spread(workers_within, None, [4], workers=2)
    assert attempt.open() == 1


def test_sigterm_is_raised_where_it_is_wanted_only():
    before = signal.getsignal(signal.SIGTERM)

    def terminated() -> None:
        with terminable():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)

    with pytest.raises(Terminated):
        terminated()
    assert signal.getsignal(signal.SIGTERM) is before
    assert issubclass(Terminated, KeyboardInterrupt)  # answered wherever Ctrl-C is


@pytest.mark.parametrize("context", [interrupts_ignored, terminable])
def test_signals_are_left_alone_outside_the_main_thread(context):
    errors = []

    def enter() -> None:
        try:
            with context():
                pass
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert errors == []
