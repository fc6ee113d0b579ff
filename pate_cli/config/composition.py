"""From what was typed to composed configurations, with Hydra's errors said in one line."""

from __future__ import annotations

import copy
import difflib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.config import internals
from pate_cli.config.typed import (
    broken_file,
    check_number,
    first_line,
    in_quotes,
    is_plain_number,
    refers,
    unreadable,
)
from pate_cli.errors import ConfigError, InputError, shortened

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

__all__ = ["CommandLine", "base_of", "chosen_directory", "compose", "compose_all", "composed", "conf_dir"]
__all__ += ["jobs", "own_configs", "packaged", "parse_argv", "quoted", "refuse_unused"]

_FREE = re.compile(r"^(teacher|student)\.params[.=]")
_OF_A_GROUP = re.compile(r"^(dataset|teacher|student|mechanism|compute)\.")
_SHOWS = ("help", "hydra_help", "cfg", "info", "shell_completion")
_PLAIN = ("eps", "delta", "seed", "repeats")
"""Keys whose values choose no option: jobs that differ in nothing else are composed once."""

_LAUNCHERS = {
    "joblib": "hydra-joblib-launcher",
    "submitit_local": "hydra-submitit-launcher submitit",
    "submitit_slurm": "hydra-submitit-launcher submitit",
}
_NOT_OURS = ("config_path", "config_name", "experimental_rerun")


@dataclass(frozen=True)
class CommandLine:
    """What `pate run` was given.

    Attributes
    ----------
    argv : list of str
        For Hydra: options first, and free keys (`teacher.params.X`) made appendable; in a sweep
        all keys of groups.
    overrides : list of str
        As given, with free keys made appendable.
    multirun : bool
    config_dir : str or None
        A directory of the user's own configs.
    only_shows : bool
        Whether Hydra is only asked to show something (`--help`, `--cfg`, `--info`, ...).
    force : bool
        Whether what is done already is to be done again (`--force`).
    """

    argv: list[str]
    overrides: list[str]
    multirun: bool
    config_dir: str | None
    only_shows: bool
    force: bool = False

    @property
    def sweeper(self) -> str | None:
        """Sweeper chosen instead of Hydra's own (`hydra/sweeper=optuna`), which finds points as it goes."""
        chosen = [text.partition("=")[2] for text in self.overrides if text.startswith("hydra/sweeper=")]
        return chosen[-1] if self.multirun and chosen and chosen[-1] != "basic" else None


def packaged(name: str) -> Path:
    """Directory `name` (conf, experiments): inside the wheel, or at the top of the checkout."""
    here = Path(__file__).resolve().parent.parent
    inside = here / name
    return inside if inside.is_dir() else here.parent / name


def own_configs(directory: str | None) -> str | None:
    """Check `--config-dir`, and give it back.

    Parameters
    ----------
    directory : str or None
        As typed; None where it was not.

    Returns
    -------
    str or None
        The same.

    Raises
    ------
    ConfigError
        If it is not a directory.
    """
    if directory and not Path(directory).is_dir():
        raise ConfigError("--config-dir", directory, "an existing directory")
    return directory


def conf_dir() -> Path:
    """Directory of the configuration groups."""
    return packaged("conf")


def parse_argv(argv: Sequence[str]) -> CommandLine:
    """Read the arguments of `pate run` as Hydra will; options and overrides may come in any order.

    Raises
    ------
    InputError
        If an option is not known, or not one of ours.
    """

    def refuse(message: str) -> None:
        raise InputError(f"{message}; see pate run --help")

    parser = internals.args_parser()
    parser.error = refuse  # type: ignore[assignment, method-assign]
    force = "--force" in argv  # ours; Hydra has no such option
    # teacher.params holds whatever the learner takes, so its keys need not exist before
    argv = ["++" + arg if _FREE.match(arg) else arg for arg in argv if arg != "--force"]
    args = parser.parse_intermixed_args(argv)
    options = list(argv)
    for override in args.overrides:
        options.remove(override)
    for name in _NOT_OURS:
        if getattr(args, name) is not None:
            refuse(f"--{name.replace('_', '-')}: not an option here; configs of your own: --config-dir")
    commands = [name.replace("_", "-") for name in ("run", "multirun", *_SHOWS[2:]) if getattr(args, name)]
    if len(commands) > 1:
        refuse(f"--{' and --'.join(commands)}: give one of them")
    if args.resolve and not (args.cfg or args.help):
        refuse("--resolve: only with --cfg or --help")
    own_configs(args.config_dir)
    # a sweep over the options of a group is composed once without them: their keys need not exist there;
    # every job is checked by `compose` before
    swept = [f"++{text}" if args.multirun and _OF_A_GROUP.match(text) else text for text in args.overrides]
    return CommandLine(
        [*options, *swept],
        list(args.overrides),
        bool(args.multirun),
        args.config_dir,
        any(getattr(args, name) for name in _SHOWS),
        force,
    )


def refuse_unused(given: Sequence[str], unused: Mapping[str, str]) -> None:
    """Refuse overrides of keys that a command does not use: ignored in silence they would mislead.

    Parameters
    ----------
    given : sequence of str
        Overrides as typed.
    unused : mapping of str to str
        Why each key, and all below it, is of no use here.

    Raises
    ------
    InputError
        Names the override.
    """
    for text in given:
        key = text.partition("=")[0].lstrip("+~")
        for name, why in unused.items():
            if key == name or key.startswith((f"{name}.", f"{name}/", f"{name}@")):
                raise InputError(f"{shortened(text)}: {why}")


def quoted(text: str) -> str:
    """Text as a value of an override, whatever it holds; an interpolation in it is left as it is written."""
    from hydra.core.override_parser.types import Quote, QuotedString

    return QuotedString(text.replace("${", "\\${"), Quote.single).with_quotes()


def jobs(line: CommandLine) -> list[list[str]]:
    """Overrides of each job: one list, or one for each point of a sweep.

    Of a sweeper that finds its points as it goes, one point only: the first value of each.

    Raises
    ------
    InputError
        If an override cannot be read.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser, parsed = OverridesParser.create(), []
    for text in line.overrides:
        try:
            override = parser.parse_override(text)
        except (HydraException, ValueError) as error:  # the latter: more digits than Python reads
            raise unreadable(text, error) from error
        if not override.key_or_group:
            raise InputError(f"{text}: no key; accepted: KEY=VALUE")
        if override.key_or_group == "hydra.mode":
            raise InputError(f"{text}: not here; accepted: pate run -m for a sweep")
        if override.is_sweep_override() and not line.multirun:
            one = in_quotes(text)
            raise InputError(f"{text}: several values need -m (pate run -m ...); one value: {one}")
        parsed.append(override)
    if not line.multirun:
        return [line.overrides]
    if line.sweeper:
        return [[_first(override) for override in parsed]]
    check_number(parsed)
    try:
        return [job for batch in internals.basic_sweeper().split_arguments(parsed, None) for job in batch]
    except HydraException as error:
        raise InputError(first_line(error)) from error


def _first(override: Override) -> str:
    value: Any = override.value()
    if override.is_interval_sweep():
        return f"{override.get_key_element()}={value.start}"
    if override.is_discrete_sweep():
        return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"
    return f"{override.get_key_element()}={override.get_value_element_as_str()}"


def compose(overrides: Sequence[str], config_dir: str | None = None) -> dict[str, Any]:
    """Compose one configuration and resolve it to plain containers.

    Raises
    ------
    InputError
        Names the key or option and lists those that exist.
    """
    return _compose(overrides, config_dir)[0]


def compose_all(jobs: Sequence[Sequence[str]], config_dir: str | None = None) -> Iterator[dict[str, Any]]:
    """Compose the jobs of a sweep as `compose` does each, in a fraction of the time.

    Raises
    ------
    InputError
        As `compose`.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import OverrideType
    from omegaconf import OmegaConf

    parser = OverridesParser.create()
    known: dict[tuple[str, ...], DictConfig] = {}
    bases: dict[tuple[str, ...], dict[str, Any] | None] = {}
    read: dict[str, Any] = {}
    for job in jobs:
        plain = [text for text in job if text.partition("=")[0].lstrip("+~") in _PLAIN]
        changes = [read.get(text) or read.setdefault(text, parser.parse_override(text)) for text in plain]
        if len(jobs) == 1 or any(change.type != OverrideType.CHANGE for change in changes):
            yield compose(job, config_dir)
            continue
        others = tuple(text for text in job if text not in plain)
        if others not in known:
            known[others] = composed(others, config_dir)
            bases[others] = base_of(others, config_dir)
        base = bases[others]
        if base is not None and all(is_plain_number(change.value()) for change in changes):
            container = copy.deepcopy(base)
            container.update((change.key_or_group, change.value()) for change in changes)
            yield container
            continue
        cfg = copy.deepcopy(known[others])
        with _told(others, config_dir):
            for change in changes:  # as Hydra does
                OmegaConf.update(cfg, change.key_or_group, change.value(), merge=True)
            container = _resolve(cfg)[0]
        yield _checked_groups(container, config_dir)


def base_of(overrides: Sequence[str], config_dir: str | None = None) -> dict[str, Any] | None:
    """Compose what numbers may be set in afterwards; None where a value refers to another.

    Raises
    ------
    InputError
        As `compose`.
    """
    cfg = composed(overrides, config_dir)
    with _told(overrides, config_dir):
        return None if refers(cfg) else _checked_groups(_resolve(cfg)[0], config_dir)


def chosen_directory(
    overrides: Sequence[str], config_dir: str | None = None, *, multirun: bool
) -> str | None:
    """Directory the user chose for a run (`hydra.run.dir`) or a sweep (`hydra.sweep.dir`), resolved.

    None where it is left to us (`auto`, the default). Raises as `compose` does.
    """
    _, run_dir, sweep_dir = _compose(overrides, config_dir)
    chosen = sweep_dir if multirun else run_dir
    if not chosen.strip():  # it would be the current directory, and whatever is in it
        raise ConfigError(f"hydra.{'sweep' if multirun else 'run'}.dir", chosen, "a directory, or auto")
    return None if chosen == "auto" else chosen


def _compose(overrides: Sequence[str], config_dir: str | None) -> tuple[dict[str, Any], str, str]:
    """Resolved configuration, directory of the run, directory of the sweep."""
    cfg = composed(overrides, config_dir)
    with _told(overrides, config_dir):
        container, run_dir, sweep_dir = _resolve(cfg)
    return _checked_groups(container, config_dir), run_dir, sweep_dir


def composed(overrides: Sequence[str], config_dir: str | None) -> DictConfig:
    """Compose, with Hydra's own configuration, unless it is what was composed last; only to be copied."""
    files = sorted(Path(config_dir).rglob("*.yaml")) if config_dir else []
    try:
        state = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    except OSError:  # which composing says better
        state = [("", time.monotonic_ns(), 0)]
    return _compose_new(tuple(overrides), config_dir, os.getcwd(), tuple(state))


@lru_cache(maxsize=1)
def _compose_new(given: tuple[str, ...], config_dir: str | None, cwd: str, state: Any) -> DictConfig:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    extra = [f"hydra.searchpath=[{quoted(f'file://{Path(config_dir).resolve()}')}]"] if config_dir else []
    with _told(given, config_dir), initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return hydra_compose("config", [*given, *extra], return_hydra_config=True)


@contextmanager
def _told(overrides: Sequence[str], config_dir: str | None) -> Iterator[None]:
    """Say Hydra's errors in one line."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        yield
    except (HydraException, OmegaConfBaseException, ValueError, YAMLError) as error:
        unread = isinstance(error, (YAMLError, UnicodeDecodeError)) or "composing config" in str(error)
        broken = broken_file(config_dir) if config_dir and unread else None
        raise broken or _explained(error, overrides, config_dir) from error


def _checked_groups(container: dict[str, Any], config_dir: str | None) -> dict[str, Any]:
    for group in _groups():
        if not isinstance(container.get(group), dict):
            raise ConfigError(group, container.get(group), _options(group, config_dir))
    return container


def _resolve(cfg: DictConfig) -> tuple[dict[str, Any], str, str]:
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf, open_dict, read_write

    ours = copy.deepcopy(cfg)
    with read_write(ours), open_dict(ours):
        del ours["hydra"]
    holder = HydraConfig.instance()
    before = holder.cfg
    holder.set_config(cfg)  # for ${hydra:runtime.cwd}
    try:
        container: Any = OmegaConf.to_container(ours, resolve=True)
        return (
            {str(key): value for key, value in container.items()},
            str(cfg.hydra.run.dir or ""),
            str(cfg.hydra.sweep.dir or ""),
        )
    finally:
        holder.cfg = before


def _explained(error: Exception, overrides: Sequence[str], config_dir: str | None) -> InputError:
    from hydra.errors import MissingConfigException

    for override in overrides:
        group, _, option = override.lstrip("+").partition("=")
        if group in _groups() and (override.startswith("+") or option == "null"):
            got = None if option == "null" else option
            hint = f"{group}=OPTION, of {_options(group, config_dir)}"
            return ConfigError(override if override.startswith("+") else group, got, hint)
    if isinstance(error, MissingConfigException):
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        if group == "hydra/launcher" and option in _LAUNCHERS:
            return InputError(f"{group}={option}: not installed; pip install {_LAUNCHERS[option]}")
        return ConfigError(group or option, option, ", ".join(sorted(error.options or [])) or "none")
    message = str(error)
    key = re.match(r"(?:In '[^']*': )?Could not (?:override|find) '([^'@]+)'", message)
    if key:
        return _unknown_key(key.group(1), overrides, config_dir)
    where = getattr(error, "full_key", None)
    return InputError(f"{where}: {first_line(error)}" if where else first_line(error))


def _unknown_key(key: str, overrides: Sequence[str], config_dir: str | None) -> InputError:
    """The keys that exist next to an unknown one, the nearest first."""
    parent, _, name = key.rpartition(".")
    if key.startswith("hydra."):
        return InputError(f"{key}: no such key; pate run --cfg hydra shows those there are")
    # the group options chosen on the same line decide which keys there are
    node: Any = compose([o for o in overrides if o.partition("=")[0] in _groups()], config_dir)
    prefix = f"{parent}." if parent else ""
    for part in parent.split(".") if parent else []:
        if not isinstance(node, dict) or part not in node:
            break
        node = node[part]
    else:
        if not isinstance(node, dict):
            return InputError(f"{key}: no such key; {parent} is a value, as in {parent}={node}")
        near = difflib.get_close_matches(name, list(node), n=1)
        hint = f"; did you mean {prefix}{near[0]}" if near else ""
        there = ", ".join(prefix + other for other in node) or f"none in {parent}"
        return InputError(f"{key}: no such key{hint}; there are: {there}")
    return InputError(f"{key}: no such key, nor {parent}; pate run --help shows those there are")


def _groups() -> list[str]:
    return sorted(path.name for path in conf_dir().iterdir() if path.is_dir())


def _options(group: str, config_dir: str | None) -> str:
    places = [conf_dir(), *([Path(config_dir)] if config_dir else [])]
    return ", ".join(sorted({path.stem for place in places for path in (place / group).glob("*.yaml")}))
