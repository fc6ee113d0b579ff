"""Many configurations that differ in a few numbers, composed faster than one by one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pate_cli.config import command_line, composition
from pate_cli.errors import ConfigError, InputError

__all__ = ["Composer", "checked", "choices", "compose_all", "last_wins", "without_place"]


class Composer:
    """`composition.compose` for lists of overrides of which many share all but numbers.

    Hydra takes about 0.1 s a configuration; here that is paid once for each choice of
    groups, and numbers are set afterwards. The result is the same.

    Parameters
    ----------
    config_dir : str, optional
        Directory with options of the user's own.
    config_name : str
        The main configuration.
    """

    def __init__(self, config_dir: str | None = None, config_name: str = composition.CONFIG) -> None:
        self._where = config_dir, config_name
        self._bases: dict[tuple[str, ...], dict[str, Any] | None] = {}

    def compose(self, given: Sequence[str]) -> dict[str, Any]:
        """Compose one configuration.

        Raises
        ------
        InputError
            As `composition.compose`.
        """
        numbers = {text: value for text in given if (value := _number(text)) is not None}
        rest = tuple(text for text in given if text not in numbers)
        keys = [_key(text) for text in given]
        if len(set(keys)) < len(keys) or any("{" in text for text in rest):
            return composition.compose(given, *self._where)  # what comes later may undo what comes before
        if rest not in self._bases:
            self._bases[rest] = composition.base_of(rest, *self._where)
        base = self._bases[rest]
        if base is None:
            return composition.compose(given, *self._where)
        config = copy.deepcopy(base)
        for text, value in numbers.items():
            *path, name = _key(text).split(".")
            node: Any = config
            for part in path:
                node = node.get(part) if isinstance(node, dict) else None
            if not isinstance(node, dict) or isinstance(node.get(name, {}), dict):
                return composition.compose(given, *self._where)  # no key of a value: Hydra says what it is
            node[name] = value
        return config


def compose_all(lists: Sequence[Sequence[str]], line: command_line.CommandLine) -> Iterator[dict[str, Any]]:
    """Compose the jobs of a command.

    Raises
    ------
    InputError
        As `composition.compose`.
    """
    composer = Composer(line.config_dir, line.config_name)
    for job in lists:
        # of a single job no base is needed
        yield (
            composer.compose(job)
            if len(lists) > 1
            else composition.compose(job, line.config_dir, line.config_name)
        )


def last_wins(given: Sequence[str]) -> list[str]:
    """Drop overrides whose key comes again: a group can be chosen only once."""
    kept: dict[str, str] = {}
    for text in given:
        key = _key(text)
        kept.pop(key, None)
        kept[key] = text
    return list(kept.values())


def without_place(given: Sequence[str]) -> list[str]:
    """Leave out what only says where the work is done, or kept: no number depends on it."""
    return [text for text in given if not text.startswith(("compute", "cache"))]


def checked(given: Sequence[str], unused: Mapping[str, str] | None = None) -> list[str]:
    """Check that overrides can be read, refuse those of no use here, and make free keys appendable.

    Raises
    ------
    InputError
        Names the override.
    """
    command_line.refuse_unused(given, unused or {})
    line = command_line.parse_argv(list(given))
    if line.argv != line.overrides:
        raise InputError(f"{line.argv[0]}: not an option of pate reproduce; see pate reproduce --help")
    return command_line.jobs(line)[0]


def choices(given: Sequence[str]) -> tuple[dict[str, list[Any]], list[str]]:
    """Split what chooses rows from the other overrides.

    `dataset=NAME`, `dataset=[NAME,NAME]` and `eps=[0.5,1]` choose rows; `eps=0.5` sets it in every row.

    Returns
    -------
    chosen : dict of str to list
        Values by key; the last of a key counts.
    rest : list of str

    Raises
    ------
    ConfigError
        If a list is empty or holds what cannot be a value of its key.
    """
    chosen: dict[str, list[Any]] = {}
    rest = []
    for text in given:
        key, _, value = text.partition("=")
        listed = value.startswith("[") and value.endswith("]")
        if key != "dataset" and not (key == "eps" and listed):
            rest.append(text)
            continue
        items = [item.strip(" '\"") for item in value.removeprefix("[").removesuffix("]").split(",")]
        example = "[mushroom,a9a]" if key == "dataset" else "[0.5,1,inf]"
        try:
            chosen[key] = [item if key == "dataset" else float(item) for item in items]
        except ValueError as error:
            raise ConfigError(key, value, f"a list as in {key}={example}") from error
        if not all(items):
            raise ConfigError(key, value, f"a list as in {key}={example}")
    return chosen, rest


def _key(text: str) -> str:
    return text.partition("=")[0].lstrip("+~")


@lru_cache(maxsize=10_000)
def _number(text: str) -> float | None:
    """Value of an override that sets a number, else None."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if text[:1] in "+~" or text.startswith("hydra."):
        return None
    try:
        value = OverridesParser.create().parse_override(text).value()
    except HydraException:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
