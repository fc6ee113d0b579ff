"""Error messages for overrides and configuration files that cannot be read, and the size of a sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import DataError, InputError, shortened

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

__all__ = ["broken_file", "check_number", "first_line", "in_quotes", "refers", "unreadable"]

_MOST_JOBS = 10_000
"""All jobs of a sweep are checked before the first one is run."""


def unreadable(text: str, error: Exception) -> InputError:
    """Error for an override that Hydra's grammar does not accept."""
    key, _, value = text.partition("=")
    if value == ",":  # a separator or a decimal comma: the grammar takes it for one between two values
        why, hint = "nothing next to a comma", in_quotes(text)
    elif any(part.strip() == "" for part in value.split(",")) and "," in value:
        why, hint = "nothing next to a comma", f"{key}={','.join(part for part in value.split(',') if part)}"
    else:
        why = first_line(error)
        hint = (
            f"KEY=VALUE, or {in_quotes(text)} for a value with special characters" if value else "KEY=VALUE"
        )
    return InputError(f"{shortened(text)}: cannot be read ({shortened(why)}); accepted: {shortened(hint)}")


def in_quotes(text: str) -> str:
    """Write an override for the shell, its value in quotes."""
    key, _, value = text.partition("=")
    return f"""'{key}="{value}"'"""


def check_number(parsed: Sequence[Override]) -> None:
    """Refuse a sweep of no jobs, or of too many, before they are listed."""
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep

    count = 1.0
    for override in parsed:
        sweep: Any = override.value()
        text, values = str(override.input_line), 1.0
        if isinstance(sweep, RangeSweep) and override.is_sweep_override():
            start, stop, step = (_float(x) for x in (sweep.start or 0, sweep.stop or 0, sweep.step))
            if step == 0 or not all(math.isfinite(x) for x in (start, stop, step)):
                accepted = "range(START,STOP,STEP), finite numbers, STEP not 0"
                raise InputError(f"{shortened(text)}: without an end; accepted: {accepted}")
            values = max(0.0, math.ceil((stop - start) / step))
        elif isinstance(sweep, ChoiceSweep):
            values = float(len(sweep.list))
        if values == 0:
            raise InputError(f"{text}: holds no value, so there is nothing to run")
        count *= values
        if count > _MOST_JOBS:
            raise InputError(
                f"{text}: makes a sweep of {count:.3g} jobs; accepted: at most {_MOST_JOBS:,} in one sweep"
            )


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number that no float holds
        return math.inf


def first_line(error: Exception) -> str:
    """First line of an error's message, or of its cause's, or its type."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines and isinstance(error.__cause__, Exception):
        return first_line(error.__cause__)
    return lines[0] if lines else type(error).__name__


def broken_file(config_dir: str) -> InputError | None:
    """Error for the first of the user's files that is not YAML; Hydra seldom names the file."""
    import yaml

    for path in sorted(Path(config_dir).rglob("*.yaml")):
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            return DataError(f"{path}: cannot be read ({error.strerror})")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            return DataError(f"{path}, line {line}: not UTF-8 text")
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}" if mark else ""
            reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "malformed"
            return DataError(f"{path}{where}: not YAML ({reason})")
        if not (content is None or isinstance(content, dict)):
            return DataError(f"{path}: holds a {type(content).__name__}; keys and values are needed")
    return None


def refers(cfg: DictConfig) -> bool:
    """Whether a value of a run, not of Hydra's own, is an interpolation, which may refer to any other."""
    from omegaconf import OmegaConf

    held: Any = OmegaConf.to_container(cfg, resolve=False)
    return any("${" in str(value) for key, value in held.items() if key != "hydra")
