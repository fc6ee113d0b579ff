"""What is composed already is not composed again by Hydra: a single run, and the jobs of a sweep.

Hydra's own launcher composes each job anew and copies its own configuration several times for it, about a
quarter of a second a job. Where a sweep uses none of what Hydra does round a job (callbacks, a log, another
working directory), the same files are written without that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.config import composition, internals
from pate_cli.config.composition import CommandLine

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["Job", "composed_once", "launched_directly"]

Job = Callable[[int, Path], None]
"""Does a job of a sweep: its number, and the directory for its files."""

_OF_A_JOB = ("job", "overrides", "runtime")
"""Keys of Hydra's configuration that differ between jobs."""


@contextmanager
def composed_once(line: CommandLine, given: Sequence[str]) -> Iterator[None]:
    """Spare Hydra what was done by now: composing a single run, and a rehearsal of every job of a sweep.

    Parameters
    ----------
    line : CommandLine
    given : sequence of str
        What Hydra is called with: `line.argv`, and where to write. Where it may hold a mode (`hydra.mode`,
        files of the user's) Hydra is asked.
    """
    from hydra.types import RunMode

    hydra_class, sweeper_class = internals.hydra_class(), internals.basic_sweeper()
    ask, compose_anew = hydra_class.get_mode, hydra_class.compose_config
    rehearse = sweeper_class.validate_batch_is_legal
    plain = not any(
        text.startswith(("hydra.mode", "--config-dir", "-cd", "--experimental")) for text in given
    )

    def compose_config(asked: Any, *args: Any, **options: Any) -> DictConfig:
        overrides, n = options.get("overrides", []), len(line.overrides)
        known = overrides[:n] == line.overrides and all(text.startswith("hydra.") for text in overrides[n:])
        if plain and known and not args and options.get("run_mode") == RunMode.RUN:
            return _composed_with(overrides[:n], overrides[n:], log=options["with_log_configuration"])
        composed: DictConfig = compose_anew(asked, *args, **options)
        return composed

    def unless_done(sweeper: Any, batch: Any) -> None:
        if sweeper.params:  # jobs we have not seen, from a configuration of the user's
            rehearse(sweeper, batch)

    if plain:
        hydra_class.get_mode = lambda *_, **__: None
    if not (line.multirun or line.only_shows):
        hydra_class.compose_config = compose_config
    sweeper_class.validate_batch_is_legal = unless_done
    try:
        yield
    finally:
        sweeper_class.validate_batch_is_legal = rehearse
        hydra_class.compose_config = compose_anew
        hydra_class.get_mode = ask


def _composed_with(done: Sequence[str], more: Sequence[str], *, log: bool) -> DictConfig:
    """Give what was composed last with some of Hydra's own keys set afterwards, as Hydra would compose it."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.utils import configure_log
    from omegaconf import OmegaConf, open_dict

    cfg: DictConfig = copy.deepcopy(composition.composed(done, None))
    OmegaConf.set_readonly(cfg.hydra, None)  # as composing for others, not for itself, has left it
    with open_dict(cfg):
        for change in OverridesParser.create().parse_overrides(list(more)):
            OmegaConf.update(cfg, change.key_or_group, change.value(), merge=True)
        cfg.hydra.overrides.hydra.extend(more)
    if log:
        configure_log(cfg.hydra.hydra_logging, cfg.hydra.verbose)
    return cfg


@contextmanager
def launched_directly(raws: Sequence[Mapping[str, Any]], job: Job) -> Iterator[None]:
    """Let Hydra's basic launcher do plain jobs by `job`, with the files that Hydra would leave.

    Parameters
    ----------
    raws : sequence of mapping
        The composed configuration of each job, resolved.
    job : function
    """
    launcher_class = internals.basic_launcher()
    launch_anew = launcher_class.launch

    def launch(launcher: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Any:
        from hydra.core.utils import JobReturn, JobStatus

        hydra = launcher.config.hydra
        if not _is_plain(hydra) or initial_job_idx + len(job_overrides) > len(raws):
            return launch_anew(launcher, job_overrides, initial_job_idx)
        files = _HydraFiles(hydra)
        Path(hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
        returns = []
        for number, overrides in enumerate(job_overrides, start=initial_job_idx):
            directory = Path(hydra.sweep.dir, str(number)).absolute()
            files.write(directory, number, raws[number], overrides)
            done = JobReturn(overrides=list(overrides))
            try:
                job(number, directory)
                done.return_value = None
                done.status = JobStatus.COMPLETED
            except Exception as error:  # raised where Hydra raises it: after the other jobs
                done.return_value = error
                done.status = JobStatus.FAILED
            returns.append(done)
        return returns

    launcher_class.launch = launch
    try:
        yield
    finally:
        launcher_class.launch = launch_anew


def _is_plain(hydra: DictConfig) -> bool:
    """Whether Hydra would do nothing round a job but to write its configuration down."""
    from omegaconf import OmegaConf

    held: Any = OmegaConf.to_container(hydra, resolve=False, enum_to_str=True)
    choices, job, sweep = held["runtime"]["choices"], held["job"], held["sweep"]
    quiet = all(choices[f"hydra/{name}"] == "none" for name in ("job_logging", "hydra_logging"))
    return bool(
        quiet
        and held["sweeper"]["_target_"].endswith(".BasicSweeper")  # another one chooses its own jobs
        and not (held["callbacks"] or held["verbose"] or held["sweeper"]["params"])
        and not (job["chdir"] or job["env_set"] or job["env_copy"])
        and sweep["subdir"] == "${hydra.job.num}"
        and "${" not in sweep["dir"]
        and held["output_subdir"] == ".hydra"
    )


class _HydraFiles:
    """What Hydra leaves in `.hydra` of a job; what all jobs share is put into text once."""

    def __init__(self, hydra: DictConfig) -> None:
        from omegaconf import OmegaConf

        held: Any = OmegaConf.to_container(hydra, resolve=False, enum_to_str=True)
        self._of_a_job = {key: held.pop(key) for key in _OF_A_JOB}
        self._shared = _yaml({"hydra": held})

    def write(self, directory: Path, number: int, raw: Mapping[str, Any], overrides: Sequence[str]) -> None:
        from hydra.core.utils import filter_overrides

        task = list(filter_overrides(overrides))
        held = self._of_a_job
        choices = dict(held["runtime"]["choices"])
        for key, _, option in (text.lstrip("+").partition("=") for text in task):
            if key in choices:
                choices[key] = option
        own = {
            "job": {
                **held["job"],
                "id": str(number),
                "num": number,
                "override_dirname": ",".join(sorted(task)),
            },
            "overrides": {"hydra": held["overrides"]["hydra"], "task": task},
            "runtime": {**held["runtime"], "choices": choices, "output_dir": str(directory)},
        }
        place = directory / ".hydra"
        place.mkdir(parents=True, exist_ok=True)
        rest = _yaml({"hydra": own}).removeprefix("hydra:\n")
        for name, text in (
            ("config.yaml", _yaml(raw)),
            ("hydra.yaml", self._shared + rest),
            ("overrides.yaml", _yaml(task)),
        ):
            (place / name).write_text(text, encoding="utf-8")


def _yaml(content: Any) -> str:
    """Write as OmegaConf does, with libyaml where there is one: ten times faster."""
    import yaml

    text: str = yaml.dump(
        content, Dumper=_dumper(), default_flow_style=False, allow_unicode=True, sort_keys=False
    )
    return text


@cache
def _dumper() -> Any:
    import yaml
    from omegaconf._utils import OmegaConfDumper

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Strings that look like numbers in quotes, nothing said twice by reference."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(str, OmegaConfDumper.str_representer)
    return Dumper
