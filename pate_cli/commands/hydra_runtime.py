"""Runs through Hydra's runtime: launchers, sweepers, callbacks, and `--help`, `--cfg`, `--info`."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from pate_cli.config import hydra_composition
from pate_cli.config.command_line import CommandLine
from pate_cli.engine.rows import Row, as_typed
from pate_cli.errors import InputError
from pate_cli.signals import exit_with_parent, start_joblib, terminable

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["Execute", "run_by_hydra"]

Execute = Callable[[Mapping[Path, Row]], list[float | None]]
"""Runs jobs, each in its directory; the mean accuracy of each."""


_DIRNAME = re.compile(r"\$\{hydra[.:]job\.override_dirname\}")


def _without_plus(_: str, *, _root_: Any) -> str:
    """Name of a job's directory, without the plus that lets Hydra append the key of an option."""
    return re.sub(r"(?<![^,])\+\+", "", _root_.hydra.job.override_dirname)


# where this module is imported: a launcher's process, which imports it for the job, asks for it there
OmegaConf.register_new_resolver("as_typed", _without_plus, replace=True)


def _note_as_typed(path: Path, line: CommandLine) -> None:
    """Write the overrides that Hydra has noted as they were typed."""
    if path.is_file():
        OmegaConf.save(OmegaConf.create(line.as_typed(list(OmegaConf.load(path)))), path)


@contextmanager
def _noted(callbacks: list[str]) -> Iterator[None]:
    """Note what callbacks raise, of which Hydra warns each time; other warnings are shown as before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", "Callback .* raised")
        show = warnings.showwarning

        def note(message: Warning | str, *rest: Any, **options: Any) -> None:
            text = str(message)
            if not re.match("Callback .* raised", text):
                show(message, *rest, **options)
            elif text not in callbacks:
                callbacks.append(text)

        warnings.showwarning = note
        yield


def run_by_hydra(
    line: CommandLine,
    execute: Execute,
    target: Path | None = None,
    *,
    candidates: Sequence[Mapping[str, Any]] = (),
    files: bool = True,
) -> list[str]:
    """Hand over to Hydra, which reads `sys.argv`; callbacks that raised, each once.

    The first error of a job is raised at the end.

    `target` is the directory of the run or sweep; `files` says whether Hydra writes its own, which hold
    paths of this machine.
    """
    import hydra
    from hydra.errors import InstantiationException

    raised: list[Exception] = []
    main, search = hydra_composition.search_path(line.config_dir, line.config_name)
    argv = ["pate", *(_DIRNAME.sub("${as_typed:dirname}", text) for text in line.argv)]
    if target is not None:
        key = "hydra.sweep.dir" if line.multirun else "hydra.run.dir"
        argv.append(f"{key}={hydra_composition.quoted(str(target))}")
    if not files:
        argv.append("hydra.output_subdir=null")
    if main != hydra_composition.conf_dir():
        argv += search  # else --config-dir, which is among the arguments, adds the other

    @hydra.main(
        config_path=str(main), config_name=hydra_composition.CONFIG, **hydra_composition.version_base()
    )
    def run_one(cfg: DictConfig) -> float:
        """Run one job; its accuracy for a sweeper that looks for the best, 0 where there is none."""
        from hydra.core.hydra_config import HydraConfig

        raw: Any = OmegaConf.to_container(cfg, resolve=True)
        if multiprocessing.parent_process() is not None:  # of hydra/launcher=joblib
            exit_with_parent(os.getppid())
        try:
            # files are as typed; a job has its directory without being in it (hydra.job.chdir)
            with terminable(), chdir(HydraConfig.get().runtime.cwd):
                directory = Path(HydraConfig.get().runtime.output_dir)
                _note_as_typed(directory / ".hydra" / "overrides.yaml", line)
                config_options = hydra_composition.Composer(line.config_dir, line.config_name).own
                spec = as_typed(config_options, list(HydraConfig.get().overrides.task))
                row = Row.of(hydra_composition.with_candidates(raw, candidates), spec)
                (accuracy,) = execute({directory: row})
            return accuracy or 0.0
        except (InputError, OSError) as error:  # round Hydra, which would say more than one line
            raised.append(error)
            return 0.0

    before = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = argv
    os.environ["HYDRA_FULL_ERROR"] = "1"  # exceptions come back to us
    callbacks: list[str] = []
    if line.multirun:  # perhaps by hydra/launcher=joblib
        start_joblib()
    try:
        with _noted(callbacks):
            run_one()
    except InstantiationException as error:  # of a callback, launcher or sweeper
        why, cause = str(error).partition(", set env")[0].partition("full_key:")[0], error.__cause__
        key = str(error).rpartition("full_key: ")[2] or "hydra"
        raise InputError(f"{key}: {why}" + (f" ({cause})" if cause else "")) from error
    finally:
        sys.argv = before[0]
        if before[1] is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = before[1]
    if raised:
        raise raised[0]
    return callbacks
