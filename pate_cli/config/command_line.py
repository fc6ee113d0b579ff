"""Arguments of `pate run`, and the jobs of a sweep."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pate_cli.config.composition import CONFIG, options, own_configs
from pate_cli.config.typed import check_number, in_quotes, unreadable
from pate_cli.errors import ConfigError, InputError, shortened

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

__all__ = ["CommandLine", "jobs", "parse_argv", "refuse_unused"]

_FREE = re.compile(r"^(teacher|student)\.params[.=]")
_OF_A_GROUP = re.compile(r"^(dataset|teacher|student|mechanism|compute)\.")
_SHOWS = ("help", "hydra_help", "cfg", "info", "shell_completion")


@dataclass(frozen=True)
class CommandLine:
    """Parsed arguments of `pate run`.

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
    config_name : str
        The main configuration.
    only_shows : bool
        Whether Hydra is only asked to show something (`--help`, `--cfg`, `--info`, ...).
    force : bool
        Whether what is done already is to be done again (`--force`).
    """

    argv: list[str]
    overrides: list[str]
    multirun: bool
    config_dir: str | None
    config_name: str
    only_shows: bool
    force: bool = False

    @property
    def sweeper(self) -> str | None:
        """Sweeper chosen instead of Hydra's own (`hydra/sweeper=optuna`), which finds points as it goes."""
        chosen = [text.partition("=")[2] for text in self.overrides if text.startswith("hydra/sweeper=")]
        return chosen[-1] if self.multirun and chosen and chosen[-1] != "basic" else None


def parse_argv(argv: Sequence[str]) -> CommandLine:
    """Read the arguments of `pate run` as Hydra will; options and overrides may come in any order.

    Raises
    ------
    InputError
        If an option is not known, or not one of ours.
    """
    force = "--force" in argv  # ours; Hydra has no such option
    # teacher.params holds whatever the learner takes, so its keys need not exist before
    argv = ["++" + arg if _FREE.match(arg) else arg for arg in argv if arg != "--force"]
    parser = _parser()
    args = parser.parse_intermixed_args(argv)
    given = list(argv)
    for override in args.overrides:
        given.remove(override)
    commands = [name.replace("_", "-") for name in ("run", "multirun", *_SHOWS[2:]) if getattr(args, name)]
    if len(commands) > 1:
        parser.error(f"--{' and --'.join(commands)}: give one of them")
    if args.resolve and not (args.cfg or args.help):
        parser.error("--resolve: only with --cfg or --help")
    own_configs(args.config_dir)
    if args.config_name != CONFIG and args.config_name not in (there := options("", args.config_dir)):
        raise ConfigError("--config-name", args.config_name, ", ".join(there))
    # a sweep over the options of a group is composed once without them: their keys need not exist there;
    # every job is checked by `compose` before
    swept = [f"++{text}" if args.multirun and _OF_A_GROUP.match(text) else text for text in args.overrides]
    return CommandLine(
        [*given, *swept],
        list(args.overrides),
        bool(args.multirun),
        args.config_dir,
        args.config_name,
        any(getattr(args, name) for name in _SHOWS),
        force,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see pate run --help")


def _parser() -> _Parser:
    """Parse the options of Hydra's command line that are of use here."""
    parser = _Parser(add_help=False)
    parser.add_argument("overrides", nargs="*")
    for flags in (("--help", "-h"), ("--hydra-help",), ("--run", "-r"), ("--multirun", "-m"), ("--resolve",)):
        parser.add_argument(*flags, action="store_true")
    parser.add_argument("--shell-completion", "-sc", action="store_true")
    parser.add_argument("--cfg", "-c", choices=("job", "hydra", "all"))
    parser.add_argument("--package", "-p")
    shown = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
    parser.add_argument("--info", "-i", nargs="?", const="all", choices=shown)
    parser.add_argument("--config-name", "-cn", default=CONFIG)
    parser.add_argument("--config-dir", "-cd")
    return parser


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


def jobs(line: CommandLine) -> list[list[str]]:
    """Overrides of each job: one list, or one for each point of a sweep.

    Of a sweeper that finds its points as it goes, one point only: the first value of each.

    Raises
    ------
    InputError
        If an override cannot be read.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Glob
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
        value: Any = override.value()
        if isinstance(value, Glob):
            there = options(override.key_or_group, line.config_dir)
            if not (chosen := value.filter(there)):
                raise InputError(f"{text}: holds no value; there are: {', '.join(there) or 'none'}")
            override = parser.parse_override(f"{override.get_key_element()}={','.join(chosen)}")
        if override.is_interval_sweep() and not line.sweeper:
            raise InputError(
                f"{text}: an interval needs a sweeper that searches it, as hydra/sweeper=optuna; "
                "accepted here: values, as in 1,2,4"
            )
        parsed.append(override)
    if not line.multirun:
        return [line.overrides]
    if line.sweeper:
        return [[_first(override) for override in parsed]]
    check_number(parsed)
    points = {override.get_key_element(): _points(override) for override in parsed}
    return [list(job) for job in itertools.product(*points.values())]


def _points(override: Override) -> list[str]:
    """One override for each value of a sweep."""
    key = override.get_key_element()
    if not override.is_sweep_override():
        return [f"{key}={override.get_value_element_as_str()}"]
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def _first(override: Override) -> str:
    value: Any = override.value()
    if override.is_interval_sweep():
        return f"{override.get_key_element()}={value.start}"
    if override.is_discrete_sweep():
        return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"
    return f"{override.get_key_element()}={override.get_value_element_as_str()}"
