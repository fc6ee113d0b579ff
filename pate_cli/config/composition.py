"""Composition of configurations by Hydra, with its errors in one line."""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.config.typed import broken_file, first_line, refers
from pate_cli.errors import ConfigError, InputError

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["CONFIG", "base_of", "chosen_directory", "compose", "conf_dir", "is_plain", "options"]
__all__ += ["own_configs", "packaged", "quoted", "sources"]

CONFIG = "config"
"""Name of the main configuration, unless `--config-name` names another."""


_PRESETS = "experiment"
"""Group of whole configurations, which only `+experiment=NAME` chooses; it is no key of a run."""

_LAUNCHERS = {
    "joblib": "hydra-joblib-launcher",
    "submitit_local": "hydra-submitit-launcher submitit",
    "submitit_slurm": "hydra-submitit-launcher submitit",
}
_USUAL = {"launcher": "basic", "sweeper": "basic", "job_logging": "none", "hydra_logging": "none"}
"""Options of Hydra's own groups under which it does nothing for a run that we do not do."""


def packaged(name: str) -> Path:
    """Directory `name` (conf, experiments): inside the wheel, or at the top of the checkout."""
    here = Path(__file__).resolve().parent.parent
    inside = here / name
    return inside if inside.is_dir() else here.parent / name


def own_configs(directory: str | None) -> str | None:
    """Return `--config-dir` as typed; a ConfigError if it is not a directory."""
    if directory and not Path(directory).is_dir():
        raise ConfigError("--config-dir", directory, "an existing directory")
    return directory


def conf_dir() -> Path:
    """Directory of the configuration groups."""
    return packaged("conf")


def sources(config_dir: str | None, config_name: str) -> tuple[Path, list[str]]:
    """Directory of the main configuration, and the override that adds the other to Hydra's search path."""
    main = ours = conf_dir()
    if config_dir is None:
        return main, []
    other = own = Path(config_dir).resolve()
    if not (ours / f"{config_name}.yaml").is_file():
        main, other = own, ours
    return main, [f"hydra.searchpath=[{quoted(f'file://{other}')}]"]


def quoted(text: str) -> str:
    """Text as a value of an override, whatever it holds; an interpolation in it is left as it is written."""
    from hydra.core.override_parser.types import Quote, QuotedString

    return QuotedString(text.replace("${", "\\${"), Quote.single).with_quotes()


def compose(
    overrides: Sequence[str], config_dir: str | None = None, config_name: str = CONFIG
) -> dict[str, Any]:
    """Compose one configuration and resolve it to plain containers.

    Raises
    ------
    InputError
        Names the key or option and lists those that exist.
    """
    cfg = _composed(overrides, config_dir, config_name)
    with _one_line(overrides, config_dir), _resolving(cfg):
        container = _plain_containers(cfg)
    return _checked_groups(container, config_dir)


def base_of(
    overrides: Sequence[str], config_dir: str | None = None, config_name: str = CONFIG
) -> dict[str, Any] | None:
    """Compose a configuration to set numbers in afterwards; None where a value refers to another.

    Raises
    ------
    InputError
        As `compose`.
    """
    if refers(_composed(overrides, config_dir, config_name)):
        return None
    return compose(overrides, config_dir, config_name)


def chosen_directory(
    overrides: Sequence[str], config_dir: str | None = None, config_name: str = CONFIG, *, multirun: bool
) -> str | None:
    """Directory the user chose for a run (`hydra.run.dir`) or a sweep (`hydra.sweep.dir`), resolved.

    None where it is left to us (`auto`, the default). Raises as `compose` does.
    """
    key = "sweep" if multirun else "run"
    cfg = _composed(overrides, config_dir, config_name)
    with _one_line(overrides, config_dir), _resolving(cfg):
        chosen = str(cfg.hydra[key].dir or "")
    if not chosen.strip():  # it would be the current directory, and whatever is in it
        raise ConfigError(f"hydra.{key}.dir", chosen, "a directory, or auto")
    return None if chosen == "auto" else chosen


def is_plain(overrides: Sequence[str], config_dir: str | None = None, config_name: str = CONFIG) -> bool:
    """Whether a run needs none of Hydra's launchers, sweepers, callbacks, logs or directories.

    Raises
    ------
    InputError
        If a file of the user's sets `hydra.mode`.
    """
    from omegaconf import OmegaConf

    cfg = _composed(overrides, config_dir, config_name).hydra
    if cfg.mode is not None:
        raise InputError(f"hydra.mode: got {cfg.mode.name} in a file; accepted: pate run -m for a sweep")
    held: Any = OmegaConf.to_container(cfg, resolve=False, enum_to_str=True)
    sweeper, job, sweep = held["sweeper"], held["job"], held["sweep"]
    asked = (held["callbacks"], held["verbose"], sweeper.get("params"), sweeper.get("max_batch_size"))
    return (
        all(held["runtime"]["choices"][f"hydra/{group}"] == usual for group, usual in _USUAL.items())
        and not any((*asked, job["chdir"], job["env_set"], job["env_copy"]))
        and (sweep["subdir"], held["output_subdir"]) == ("${hydra.job.num}", ".hydra")
    )


def _composed(overrides: Sequence[str], config_dir: str | None, config_name: str) -> DictConfig:
    """Compose, with Hydra's own configuration; the last one is remembered, so callers must not change it."""
    files = sorted(Path(config_dir).rglob("*.yaml")) if config_dir else []
    try:
        state = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    except OSError:  # which composing says better
        state = [("", time.monotonic_ns(), 0)]
    return _compose_new(tuple(overrides), config_dir, config_name, os.getcwd(), tuple(state))


@lru_cache(maxsize=1)
def _compose_new(
    given: tuple[str, ...], config_dir: str | None, config_name: str, cwd: str, state: Any
) -> DictConfig:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    main, more = sources(config_dir, config_name)
    with _one_line(given, config_dir), initialize_config_dir(str(main), version_base="1.3"):
        return hydra_compose(config_name, [*given, *more], return_hydra_config=True)


@contextmanager
def _one_line(overrides: Sequence[str], config_dir: str | None) -> Iterator[None]:
    """Turn Hydra's errors into an `InputError` of one line."""
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
            raise ConfigError(group, container.get(group), ", ".join(options(group, config_dir)))
    return container


def _plain_containers(cfg: DictConfig) -> dict[str, Any]:
    from omegaconf import OmegaConf

    ours = OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"])
    container: Any = OmegaConf.to_container(ours, resolve=True)
    return {str(key): value for key, value in container.items()}


@contextmanager
def _resolving(cfg: DictConfig) -> Iterator[None]:
    """Let `${hydra:...}` find Hydra's configuration."""
    from hydra.core.hydra_config import HydraConfig

    holder = HydraConfig.instance()
    before = holder.cfg
    holder.set_config(cfg)
    try:
        yield
    finally:
        holder.cfg = before


def _explained(error: Exception, overrides: Sequence[str], config_dir: str | None) -> InputError:
    from hydra.errors import MissingConfigException

    for override in overrides:
        group, _, option = override.lstrip("+").partition("=")
        if group == _PRESETS and not override.startswith("+"):
            return InputError(f"{override}: a preset is added; accepted: +{override}")
        if group in _groups() and (override.startswith("+") or option == "null"):
            got = None if option == "null" else option
            hint = f"{group}=OPTION, of {', '.join(options(group, config_dir))}"
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
    # the options and presets chosen on the same line decide which keys there are
    choosing = (*_groups(), f"+{_PRESETS}")
    node: Any = compose([o for o in overrides if o.partition("=")[0] in choosing], config_dir)
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
    return sorted(path.name for path in conf_dir().iterdir() if path.is_dir() and path.name != _PRESETS)


def options(group: str, config_dir: str | None) -> list[str]:
    """Names of the options of a group, ours and those of the user's directory; of group "", of main ones."""
    places = [conf_dir(), *([Path(config_dir)] if config_dir else [])]
    return sorted({path.stem for place in places for path in (place / group).glob("*.yaml")})
