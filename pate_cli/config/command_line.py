"""Overrides as typed: arguments of `pate run`, the jobs of a sweep, and what a command refuses."""

from __future__ import annotations

import argparse
import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pate_cli.config.hydra_composition import CONFIG, options, own_configs, parsed_override
from pate_cli.config.renamed import current
from pate_cli.errors import ConfigError, InputError, shortened

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

__all__ = ["CommandLine", "checked", "choices", "jobs", "last_wins", "parse_argv", "refuse_unused"]
__all__ += ["without_place"]

_FREE = re.compile(r"^(teacher|student)\.params[.=]")
_OF_A_GROUP = re.compile(r"^(dataset|teacher|student|mechanism|compute)\.")
_INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
_SHOWS = ("help", "hydra_help", "cfg", "info", "shell_completion")
_MOST_JOBS = 10_000
"""All jobs of a sweep are checked before the first one is run."""


@dataclass(frozen=True)
class CommandLine:
    """Parsed arguments of `pate run`."""

    argv: list[str]  # for Hydra: options first; free keys (teacher.params.X) made appendable
    overrides: list[str]  # as given, free keys made appendable
    multirun: bool
    config_dir: str | None  # directory of the user's own configs
    config_name: str
    only_shows: bool  # whether Hydra only shows something (--help, --cfg, --info, ...)
    force: bool  # whether finished repeats are done again
    bare: frozenset[str]  # keys that were typed without a plus

    def as_typed(self, overrides: Sequence[str]) -> list[str]:
        """Overrides without the plus that made a free key appendable."""
        return [text[2:] if text[:2] == "++" and _key(text) in self.bare else text for text in overrides]

    @property
    def sweeper(self) -> str | None:
        """Sweeper chosen instead of Hydra's own (`hydra/sweeper=optuna`), which finds points as it goes."""
        chosen = [text.partition("=")[2] for text in self.overrides if text.startswith("hydra/sweeper=")]
        return chosen[-1] if self.multirun and chosen and chosen[-1] != "basic" else None


def parse_argv(argv: Sequence[str]) -> CommandLine:
    """Read the arguments of `pate run` as Hydra will, in any order; InputError for an unknown option."""
    argv = current(argv)
    bare = frozenset(_key(arg) for arg in argv if arg[:1] not in ("+", "~"))
    argv = ["++" + arg if _FREE.match(arg) else arg for arg in argv]
    argv = [
        "--info=all" if arg in ("--info", "-i") and after not in _INFO else arg
        for arg, after in itertools.zip_longest(argv, argv[1:])
    ]  # what follows is an override, and Hydra would take it for what is to be shown
    parser = _parser()
    args = parser.parse_intermixed_args(argv)
    if args.resolve and not (args.cfg or args.help):
        parser.error("--resolve: only with --cfg or --help")
    own_configs(args.config_dir)
    if args.config_name != CONFIG and args.config_name not in (names := options("", args.config_dir)):
        raise ConfigError("--config-name", args.config_name, ", ".join(names))
    ours = list(argv)
    for text in [*args.overrides, *["--force"] * argv.count("--force")]:  # Hydra has no such option
        ours.remove(text)
    # a sweep over the options of a group is composed once without them: their keys need not exist there
    groups = {_key(text) for text in args.overrides if args.multirun and re.search(r"=.*[,(]", text)}
    swept = [
        f"++{text}" if (key := _OF_A_GROUP.match(text)) and key[1] in groups else text
        for text in args.overrides
    ]
    only_shows = any(getattr(args, name) for name in _SHOWS)
    where = args.config_dir, args.config_name
    return CommandLine([*ours, *swept], args.overrides, args.multirun, *where, only_shows, args.force, bare)


def _key(text: str) -> str:
    return text.partition("=")[0].lstrip("+~")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see pate run --help")


def _parser() -> _Parser:
    """Parser of `--force` and the options of Hydra that are of use here."""
    parser = _Parser(add_help=False)
    parser.add_argument("overrides", nargs="*")
    for flags in (["--help", "-h"], ["--hydra-help"], ["--resolve"], ["--force"]):
        parser.add_argument(*flags, action="store_true")
    parser.add_argument("--package", "-p")
    parser.add_argument("--config-name", "-cn", default=CONFIG)
    parser.add_argument("--config-dir", "-cd")
    modes = parser.add_mutually_exclusive_group()
    for flags in (["--run", "-r"], ["--multirun", "-m"], ["--shell-completion", "-sc"]):
        modes.add_argument(*flags, action="store_true")
    modes.add_argument("--cfg", "-c", choices=("job", "hydra", "all"))
    modes.add_argument("--info", "-i", choices=_INFO)
    return parser


def refuse_unused(overrides: Sequence[str], unused: Mapping[str, str]) -> None:
    """Refuse overrides (InputError) of keys that a command would ignore, or of keys below them.

    `unused` says why, by key; the first that fits counts.
    """
    for text in overrides:
        key = text.partition("=")[0].lstrip("+~")
        for name, why in unused.items():
            if key == name or key.startswith((f"{name}.", f"{name}/", f"{name}@")):
                raise InputError(f"{shortened(text)}: {why}")


def checked(overrides: Sequence[str], unused: Mapping[str, str] | None = None) -> list[str]:
    """Check overrides of one run, without options, and make free keys appendable; raises InputError."""
    refuse_unused(overrides, unused or {})
    line = parse_argv(overrides)
    if line.argv != line.overrides:
        raise InputError(f"{line.argv[0]}: an option of pate run; accepted here: KEY=VALUE")
    return jobs(line)[0]


def jobs(line: CommandLine) -> list[list[str]]:
    """Overrides of each job: one list, or one for each point of a sweep; raises InputError.

    Of a sweeper that finds its points as it goes, one point only: the first value of each.
    """
    parsed = [_parsed(text, line) for text in line.overrides]
    if not line.multirun:
        return [line.overrides]
    count, points = 1, dict[str, list[str]]()
    for text, override in zip(line.as_typed(line.overrides), parsed, strict=True):
        points[override.get_key_element()] = values = _points(text, override)
        count *= 1 if line.sweeper else len(values)
        if count > _MOST_JOBS:
            raise InputError(f"{text}: makes more than {_MOST_JOBS:,} jobs, the most of one sweep")
    if line.sweeper:
        return [[values[0] for values in points.values()]]
    return [list(job) for job in itertools.product(*points.values())]


def _parsed(text: str, line: CommandLine) -> Override:
    """Parse an override, a glob replaced by the options that fit; refuse what this command line cannot do."""
    from hydra.core.override_parser.types import Glob
    from hydra.errors import HydraException

    try:
        override = parsed_override(text)
    except (HydraException, ValueError) as error:  # the latter: more digits than Python reads
        raise _unreadable(line.as_typed([text])[0], error) from error
    text = line.as_typed([text])[0]
    if not override.key_or_group:
        raise InputError(f"{text}: no key; accepted: KEY=VALUE")
    if override.key_or_group == "hydra.mode":
        raise InputError(f"{text}: not here; accepted: pate run -m for a sweep")
    if override.is_sweep_override() and not line.multirun:
        raise InputError(f"{text}: several values need -m (pate run -m ...); one value: {_in_quotes(text)}")
    if override.is_interval_sweep() and not line.sweeper:
        raise InputError(
            f"{text}: an interval needs a sweeper that searches it, as hydra/sweeper=optuna; "
            "accepted here: values, as in 1,2,4"
        )
    value: Any = override.value()
    if isinstance(value, Glob):
        names = options(override.key_or_group, line.config_dir)
        if not (chosen := value.filter(names)):
            raise InputError(f"{text}: holds no value; there are: {', '.join(names) or 'none'}")
        return parsed_override(f"{override.get_key_element()}={','.join(chosen)}")
    return override


def _points(text: str, override: Override) -> list[str]:
    """One override for each value, of an interval for its start; of too many values not all."""
    from hydra.errors import HydraException

    key, value = override.get_key_element(), override.value()
    if override.is_interval_sweep():
        return [f"{key}={getattr(value, 'start', '')}"]
    if not override.is_sweep_override():
        return [f"{key}={override.get_value_element_as_str()}"]
    try:
        values = list(itertools.islice(override.sweep_string_iterator(), _MOST_JOBS + 1))
    except (HydraException, ValueError, ArithmeticError) as error:
        accepted = "range(START,STOP,STEP), finite numbers, STEP not 0"
        raise InputError(f"{shortened(text)}: {error}; accepted: {accepted}") from error
    if not values:
        raise InputError(f"{text}: holds no value, so there is nothing to run")
    return [f"{key}={each}" for each in values]


def _unreadable(text: str, error: Exception) -> InputError:
    """Error for an override that Hydra's grammar does not accept."""
    key, _, value = text.partition("=")
    parts = value.split(",")
    if len(parts) > 1 and "" in map(str.strip, parts):
        kept = ",".join(filter(str.strip, parts))
        why, hint = "nothing next to a comma", f"{key}={kept}" if kept else _in_quotes(text)
    else:
        why = str(error).splitlines()[0].strip() if str(error).strip() else type(error).__name__
        hint = f"KEY=VALUE, or {_in_quotes(text)} for a value with special characters" * bool(value)
    hint = shortened(hint or "KEY=VALUE")
    return InputError(f"{shortened(text)}: cannot be read ({shortened(why)}); accepted: {hint}")


def _in_quotes(text: str) -> str:
    """Write an override for the shell, its value, or each of a list, in quotes."""
    from hydra.core.override_parser.types import Quote, QuotedString

    key, _, value = text.partition("=")
    listed = re.fullmatch(r"\[(.*)\]", value)
    words = listed[1].split(",") if listed else [value]
    inner = ",".join(QuotedString(word.strip(), Quote.double).with_quotes() for word in words)
    return shlex.quote(f"{key}=[{inner}]" if listed else f"{key}={inner}")


def last_wins(overrides: Sequence[str]) -> list[str]:
    """Drop overrides whose key comes again: a group can be chosen only once."""
    kept: dict[str, str] = {}
    for text in overrides:
        key = text.partition("=")[0].lstrip("+~")
        kept.pop(key, None)
        kept[key] = text
    return list(kept.values())


def without_place(overrides: Sequence[str]) -> list[str]:
    """Leave out overrides of where work is done: no number depends on them."""
    return [text for text in overrides if not text.startswith("compute")]


def choices(overrides: Sequence[str]) -> tuple[dict[str, list[Any]], list[str]]:
    """Separate overrides that select rows of a recipe (values by key) from the others; raises ConfigError.

    `dataset=NAME`, `dataset=[NAME,NAME]` and `eps=[0.5,1]` choose rows, the last of a key counts; `eps=0.5`
    sets eps in every row.
    """
    chosen: dict[str, list[Any]] = {}
    others = []
    for text in overrides:
        key, _, value = text.partition("=")
        listed = value.startswith("[") and value.endswith("]")
        if key != "dataset" and not (key == "eps" and listed):
            others.append(text)
            continue
        items = [item.strip(" '\"") for item in value.removeprefix("[").removesuffix("]").split(",")]
        example = "[mushroom,a9a]" if key == "dataset" else "[0.5,1,inf]"
        try:
            chosen[key] = [item if key == "dataset" else float(item) for item in items]
        except ValueError as error:
            raise ConfigError(key, value, f"a list as in {key}={example}") from error
        if not all(items):
            raise ConfigError(key, value, f"a list as in {key}={example}")
    return chosen, others
