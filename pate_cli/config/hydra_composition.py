"""Composition of configurations by Hydra, with its errors in one line."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.config import renamed
from pate_cli.config.compositions import numbered, ours, resolving, unresolved
from pate_cli.errors import ConfigError, DataError, InputError, did_you_mean, shortened, typed_own

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

__all__ = ["CONFIG", "Composer", "compose", "conf_dir", "options", "own_configs", "packaged", "quoted"]
__all__ += ["parsed_override", "search_path", "version_base", "with_candidates"]

CONFIG = "config"
"""Name of the main configuration, unless `--config-name` names another."""

_PRESETS = "experiment"
"""Group of whole configurations, which only `+experiment=NAME` chooses; it is no key of a run."""

_LAUNCHERS = {
    "joblib": "hydra-joblib-launcher",
    "submitit_local": "hydra-submitit-launcher submitit",
    "submitit_slurm": "hydra-submitit-launcher submitit",
}
_OF_HYDRA = re.compile(r"\$\{hydra:([\w.]+)\}")
_PATH = re.compile(r"/?[A-Za-z_][\w-]*(?:[/.]\w[\w-]*)+")
_DIRECTORIES = ("hydra.run.dir", "hydra.sweep.dir")
"""Keys of Hydra that differ from run to run; a configuration that refers to them is composed whole."""

_USUAL = {"launcher": "basic", "sweeper": "basic", "job_logging": "none", "hydra_logging": "none"}
"""Options of Hydra's own groups with which a run does not need its runtime."""


def packaged(name: str) -> Path:
    """Directory `name` (conf, experiments): inside the wheel, or at the top of the checkout."""
    here = Path(__file__).resolve().parent.parent
    inside = here / name
    return inside if inside.is_dir() else here.parent / name


def conf_dir() -> Path:
    """Directory of the configuration groups."""
    return packaged("conf")


def own_configs(directory: str | None) -> str | None:
    """Return `--config-dir` as typed; a ConfigError if it is not a directory."""
    if directory and not Path(directory).is_dir():
        raise ConfigError("--config-dir", directory, "an existing directory")
    return directory


def options(group: str, config_dir: str | None = None) -> list[str]:
    """Names of the options of a group, ours and those of the user's directory; of group "", of main ones."""
    places = [conf_dir(), *([Path(config_dir)] if config_dir else [])]
    return sorted({path.stem for place in places for path in (place / group).glob("*.yaml")})


def quoted(text: str) -> str:
    """Write any text as a value of an override, a plain path as it is; an interpolation is not resolved."""
    if _PATH.fullmatch(text):
        return text
    from hydra.core.override_parser.types import Quote, QuotedString

    return QuotedString(text.replace("${", "\\${"), Quote.single).with_quotes()


def search_path(config_dir: str | None, config_name: str) -> tuple[Path, list[str]]:
    """Directory of the main configuration, and the override that adds the other to Hydra's search path."""
    main = ours = conf_dir()
    if config_dir is None:
        return main, []
    other = theirs = Path(config_dir).resolve()
    if not (ours / f"{config_name}.yaml").is_file():
        main, other = theirs, ours
    return main, [f"hydra.searchpath=[{quoted(f'file://{other}')}]"]


def version_base() -> dict[str, str]:
    """Argument `version_base` for Hydra 1.3, which warns without it; 1.4 warns of it."""
    import hydra

    return {"version_base": "1.3"} if hydra.__version__.startswith("1.3") else {}


def compose(
    overrides: Sequence[str], config_dir: str | None = None, config_name: str = CONFIG
) -> dict[str, Any]:
    """Compose one configuration as plain containers; an InputError names the key and those that exist."""
    return Composer(config_dir, config_name).compose(overrides)


def with_candidates(raw: dict[str, Any], candidates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the candidates of `pate tune` into a composed configuration."""
    if candidates:
        raw["mechanism"]["candidates"] = copy.deepcopy(list(candidates))
    return raw


class _Compositions:
    """Configurations as Hydra composes them, each once: it takes about 0.1 s."""

    def __init__(self, config_dir: str | None, config_name: str) -> None:
        self._config_dir, self._config_name = config_dir, config_name
        self.by_hydra = lru_cache(maxsize=100)(self._by_hydra)
        self.depends = lru_cache(maxsize=100)(lambda overrides: "${" in unresolved(self.by_hydra(overrides)))
        self.plain = lru_cache(maxsize=100)(self._plain)

    def _by_hydra(self, overrides: tuple[str, ...]) -> DictConfig:
        """Compose, with Hydra's own configuration."""
        from hydra import compose as hydra_compose
        from hydra import initialize_config_dir

        main, search = search_path(self._config_dir, self._config_name)
        with initialize_config_dir(str(main), **version_base()):
            return hydra_compose(self._config_name, [*overrides, *search], return_hydra_config=True)

    def _plain(self, overrides: tuple[str, ...], number: int | None) -> Any:
        """Our part of a composition as plain containers."""
        from omegaconf import OmegaConf

        cfg = self.by_hydra(overrides)
        cfg = copy.deepcopy(cfg) if number is None else numbered(cfg, number)
        with resolving(cfg):
            for name in _OF_HYDRA.findall(unresolved(cfg)):
                if OmegaConf.select(cfg.hydra, name, throw_on_missing=False) is None:
                    raise InputError(
                        f"${{hydra:{name}}}: has no value here; hydra:job.num is of a sweep (-m)"
                    )
            return OmegaConf.to_container(ours(cfg), resolve=True)


@lru_cache
def _of_packaged(config_name: str) -> _Compositions:
    """Compositions of the packaged options, kept for all commands of this process."""
    return _Compositions(None, config_name)


class Composer:
    """Composes the jobs of one command: those that differ in single values share a composition by Hydra.

    Values are set afterwards, where nothing refers to others. Every method raises an `InputError` that names
    the key or option and lists those that exist. `candidates` are of `pate tune`, which no text has to hold.
    """

    def __init__(
        self,
        config_dir: str | None = None,
        config_name: str = CONFIG,
        candidates: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.config_dir, self.config_name = config_dir, config_name
        self._candidates = candidates
        self._made = _Compositions(config_dir, config_name)

    @property
    def own(self) -> tuple[str, ...]:
        """Options, as typed, by which the user's own configurations are found."""
        place = ("--config-dir", self.config_dir) if self.config_dir else ()
        return (*place, *(("--config-name", self.config_name) if self.config_name != CONFIG else ()))

    def compose(self, overrides: Sequence[str], number: int | None = None) -> dict[str, Any]:
        """Compose a configuration and resolve it to plain containers, without Hydra's own part.

        `number` is that of the job in its sweep, `${hydra:job.num}`.
        """
        with self._one_line(overrides):
            others, values = self._apart(overrides)
            values = {key: value for key, value in values.items() if key not in _DIRECTORIES}
            if not self._of(others).depends(others):
                raw = copy.deepcopy(self._of(others).plain(others, None))
                if all(_is_set(raw, key, value) for key, value in values.items()):
                    return with_candidates(raw, self._candidates)
            raw = copy.deepcopy(self._of(overrides).plain(tuple(overrides), number))
            return with_candidates(raw, self._candidates)

    def directory(self, overrides: Sequence[str], *, multirun: bool) -> str | None:
        """Directory that `hydra.run.dir` or `hydra.sweep.dir` chooses; None for `auto`, our own choice."""
        key = "sweep" if multirun else "run"
        cfg, typed = self._hydra(overrides), self._apart(overrides)[1]
        with self._one_line(overrides), resolving(cfg):
            chosen = typed.get(f"hydra.{key}.dir", cfg.hydra[key].dir)
        chosen = "" if chosen is None else str(chosen)
        if not chosen.strip():  # it would be the current directory
            raise ConfigError(f"hydra.{key}.dir", chosen, "a directory, or auto")
        return None if chosen == "auto" else chosen

    def names(self, lists: Sequence[Sequence[str]], *, more: bool) -> list[str]:
        """Directory in its sweep of each job, `hydra.sweep.subdir`; twice if `more` are to have the same."""
        from omegaconf import OmegaConf

        names = []
        for number, overrides in enumerate(lists):
            cfg = self._hydra(overrides)
            sweep: Any = OmegaConf.to_container(cfg.hydra.sweep, resolve=False)
            if (text := str(sweep["subdir"])) == "${hydra.job.num}":
                return [str(number) for number in range(len(lists))]
            cfg = numbered(cfg, number)
            with self._one_line(overrides), resolving(cfg):
                name = os.path.normpath(str(cfg.hydra.sweep.subdir))
            names += [name, name] if more and "${" not in text else [name]
        return names

    def is_plain(self, overrides: Sequence[str]) -> bool:
        """Whether a run needs none of Hydra's launchers, sweepers, callbacks, logs or directories."""
        from omegaconf import OmegaConf

        cfg = self._hydra(overrides).hydra
        if cfg.mode is not None:
            raise InputError(f"hydra.mode: got {cfg.mode.name} in a file; accepted: pate run -m for a sweep")
        hydra: Any = OmegaConf.to_container(cfg, resolve=False, enum_to_str=True)
        sweeper, job = hydra["sweeper"], hydra["job"]
        asked = [hydra["callbacks"], hydra["verbose"], sweeper.get("params"), sweeper.get("max_batch_size")]
        asked += [job["chdir"], job["env_set"], job["env_copy"]]
        return (
            all(hydra["runtime"]["choices"][f"hydra/{group}"] == usual for group, usual in _USUAL.items())
            and not any(asked)
            and (hydra["sweep"]["subdir"], hydra["output_subdir"]) == ("${hydra.job.num}", ".hydra")
        )

    def _of(self, overrides: Sequence[str]) -> _Compositions:
        """Compositions kept for the process; of this command alone where files or surroundings may change."""
        if self.config_dir or any("${" in text.replace("\\", "") for text in overrides):
            return self._made
        return _of_packaged(self.config_name)

    def _hydra(self, overrides: Sequence[str]) -> DictConfig:
        """Composition with Hydra's part, which refers to values of ours only where a user has it do so."""
        with self._one_line(overrides):
            compositions = self._of(overrides)
            return compositions.by_hydra(
                tuple(overrides) if compositions is self._made else self._apart(overrides)[0]
            )

    @staticmethod
    def _apart(overrides: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Overrides that Hydra composes, and single values that can be set afterwards, by key."""
        keys = [text.partition("=")[0].lstrip("+~") for text in overrides]
        values = {text: parsed[0] for text in overrides if (parsed := _value(text))}
        others = tuple(text for text in overrides if text not in values)
        # a key that comes twice, or within {...}: a later override may undo an earlier one
        if len(set(keys)) < len(keys) or any("{" in text for text in others):
            return tuple(overrides), {}
        return others, {text.partition("=")[0]: value for text, value in values.items()}

    @contextmanager
    def _one_line(self, overrides: Sequence[str]) -> Iterator[None]:
        """Convert Hydra's errors to an `InputError` of one line."""
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException
        from yaml import YAMLError

        try:
            yield
        except (HydraException, OmegaConfBaseException, ValueError, YAMLError) as error:
            raise self._explained(error, overrides) from error
        except (AssertionError, AttributeError, KeyError, TypeError) as error:  # not expected by Hydra
            keys = {text: text.partition("=")[0].lstrip("+~") for text in overrides}
            own = [text for text, key in keys.items() if key.startswith("hydra.") and key not in _DIRECTORIES]
            if not own:
                raise
            why = f"{type(error).__name__}: {_words(error)}"
            raise InputError(f"{' '.join(own)}: Hydra cannot take it ({why})") from error

    def _explained(self, error: Exception, overrides: Sequence[str]) -> InputError:
        from hydra.errors import MissingConfigException

        if mark := getattr(error, "problem_mark", None):
            return DataError(f"{mark.name}, line {mark.line + 1}: not YAML ({getattr(error, 'problem', '')})")
        if isinstance(error, UnicodeDecodeError):
            return DataError(f"--config-dir {self.config_dir}: a file is not UTF-8 text ({error.reason})")
        for override in overrides:
            key, _, option = override.partition("=")
            if key == _PRESETS:
                return InputError(f"{override}: a preset is added; accepted: +{override}")
            if (group := key.lstrip("+")) in _groups():
                names = options(group, self.config_dir)
                if key != group:
                    return ConfigError(key, option, f"{group}=OPTION, of {', '.join(names)}")
                if now := renamed.now(override):
                    accepted = f"{' '.join(now)}, as it is called now, in a command of its own"
                    return ConfigError(key, option, accepted)
                if option not in names:
                    own_hint = typed_own(group, option, self.config_dir)
                    if group == "dataset" and Path(option).is_file():
                        own_hint = f"pate data describe {option} --target COLUMN"
                    return ConfigError(key, option, names, own_hint)
        if isinstance(error, MissingConfigException):
            group, _, option = str(error.missing_cfg_file).rpartition("/")
            if group == "hydra/launcher" and option in _LAUNCHERS:
                return InputError(f"{group}={option}: not installed; pip install {_LAUNCHERS[option]}")
            return ConfigError(group or option, option, sorted(error.options or []))
        deleted = r"delete from config\."
        if match := re.match(
            rf"(?:In '[^']*': )?Could not (?:override|find|{deleted}) '([^'@]+)'", str(error)
        ):
            return self._unknown_key(match.group(1), overrides)
        if match := re.match(r"Could not append to config\. An item is already at '([^']+)'", str(error)):
            return InputError(f"+{match[1]}: the key is there; accepted: {match[1]}=VALUE")
        if match := re.match(r"Error merging override \+*([^=]+)=(.*)", str(error)):
            if "Cannot merge DictConfig with ListConfig" in str(error.__cause__):
                return ConfigError(match[1], match[2], f"keys below it, as {match[1]}.KEY=VALUE")
            return InputError(f"{match[1]}: got {shortened(match[2])}: {_words(error.__cause__ or error)}")
        where = getattr(error, "full_key", None)
        return InputError(f"{where}: {_words(error)}" if where else _words(error))

    def _unknown_key(self, key: str, overrides: Sequence[str]) -> InputError:
        """Name the keys that exist beside an unknown one, and the nearest of them."""
        if key.startswith("hydra."):
            return InputError(f"{key}: no such key; pate run --cfg hydra shows those there are")
        # the options and presets chosen on the same line decide which keys there are
        choosing = (*_groups(), f"+{_PRESETS}")
        node = self.compose([text for text in overrides if text.partition("=")[0] in choosing])
        *above, name = key.split(".")
        for depth, part in enumerate(above):
            if not isinstance(node.get(part), dict):
                above, name = above[:depth], part
                break
            node = node[part]
        before = "".join(f"{part}." for part in above)
        if name in node and f"~{key}" in (text.partition("=")[0] for text in overrides):
            return InputError(f"~{key}: it is null, so there is nothing to take away; accepted: {key}=VALUE")
        hint = did_you_mean(name, node, before)
        accepted = ", ".join(before + other for other in node) or f"none in {before.rstrip('.')}"
        return InputError(f"{key}: no such key{hint}; there are: {accepted}")


def _is_set(raw: dict[str, Any], key: str, value: Any) -> bool:
    """Set a single value in place of another; False if there is none: Hydra says why, or makes the key."""
    *above, name = key.split(".")
    node: Any = raw
    for part in above:
        node = node.get(part) if isinstance(node, dict) else None
    if not isinstance(node, dict) or isinstance(node.get(name, {}), dict | list):
        return False
    node[name] = value
    return True


@lru_cache(maxsize=10_000)
def parsed_override(text: str) -> Override:
    """Parse an override by Hydra's grammar, each text once: rows of a recipe have most of theirs alike."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_override(text)


@lru_cache(maxsize=10_000)
def _value(text: str) -> tuple[Any] | None:
    """Value of an override that sets a single one, else None: of a group, a container, most of Hydra."""
    from hydra.errors import HydraException

    key = text.partition("=")[0]
    hydras = key.startswith("hydra.") and key not in _DIRECTORIES
    if text[:1] in "+~" or "/" in key or hydras or key in _groups() or "${" in text:
        return None
    try:
        override = parsed_override(text)
        value = override.value()
    except (HydraException, ValueError):
        return None
    single = value is None or (isinstance(value, str | int | float) and "${" not in str(value))
    return (value,) if single and value != "???" and not override.is_sweep_override() else None


def _groups() -> list[str]:
    return sorted(path.name for path in conf_dir().iterdir() if path.is_dir() and path.name != _PRESETS)


def _words(error: BaseException) -> str:
    """Message of an error on one line; of its cause, or its type, where it has none."""
    text = " ".join(str(error).partition("full_key:")[0].split())
    if not text and isinstance(error.__cause__, Exception):
        return _words(error.__cause__)
    return shortened(text) or type(error).__name__
