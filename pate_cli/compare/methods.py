"""Methods and budgets of the command line, and the plan of a frontier: every method at every eps."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pate_cli.compare.baselines import EXACT, with_baselines
from pate_cli.config.command_line import refuse_unused
from pate_cli.config.composition import options
from pate_cli.config.recipes import Recipe, RowSpec
from pate_cli.engine.plan import Plan, make_plan
from pate_cli.errors import ConfigError, InputError

__all__ = ["DEFAULT_METHODS", "Method", "budgets", "methods", "named_overrides", "plan_frontier"]

_PRESETS: dict[str, tuple[str, ...]] = {
    "active-svt": ("mechanism=active", "mechanism.oracle=svt"),
    "svt-liu2021": ("mechanism=svt", "mechanism.calibration=liu2021"),
}
"""Methods with a name that are not an option of the group `mechanism`."""

DEFAULT_METHODS = "best,gaussian,active,svt,svt-liu2021,noisy_gd,output_perturbation"
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
_COMMON = (
    "dataset",
    "eps",
    "delta",
    "repeats",
    "seed",
    "split",
    "compute",
    "cache",
    "release",
    "ledger",
    "purpose",
    "tracking",
)
"""Keys that are the same for all methods: else they are not compared at the same splits and budget."""


@dataclass(frozen=True)
class Method:
    """A line of the frontier."""

    name: str
    overrides: tuple[str, ...]  # as after `pate run`, without eps and keys common to all methods


def methods(names: str, typed: Sequence[str], config_dir: str | None = None) -> list[Method]:
    """Read `--methods` and every `--method`.

    Parameters
    ----------
    names : str
        Separated by commas: options of the group `mechanism`, or presets of this module.
    typed : sequence of str
        As `NAME=OVERRIDE,OVERRIDE`.
    config_dir : str, optional
        Directory whose options are known too.

    Raises
    ------
    InputError
        Names what is not accepted.
    """
    known = _known(config_dir)
    chosen = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name not in known:
            accepted = f"{', '.join(known)}; or --method {name}=OVERRIDE,... for one of your own"
            raise ConfigError("--methods", name, accepted)
        chosen.append(Method(name, known[name]))
    chosen += [_typed(text) for text in typed]
    if not chosen:
        raise ConfigError("--methods", names, f"names separated by commas, of {', '.join(known)}")
    seen: set[str] = set()
    for method in chosen:
        if method.name in seen:
            raise InputError(f"--method {method.name}: there are two of that name; names must differ")
        seen.add(method.name)
    return chosen


def _known(config_dir: str | None = None) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {
        name: (f"mechanism={name}",) for name in options("mechanism", config_dir)
    }
    return found | _PRESETS


def _typed(text: str) -> Method:
    return Method(*named_overrides("--method", text, "trees=mechanism=gaussian,student=tree", _COMMON))


def named_overrides(
    option: str, text: str, example: str, common: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Read `NAME=OVERRIDE,OVERRIDE`.

    Parameters
    ----------
    option : str
        `--method` or `--table`, for messages.
    text : str
    example : str
    common : sequence of str
        Keys that are the same for all of them.

    Raises
    ------
    InputError
    """
    name, _, rest = text.partition("=")
    # a comma within brackets, braces or quotes belongs to a value
    overrides = re.findall(r"""(?:[^,\[{'"]|\[[^\]]*\]|\{[^}]*\}|'[^']*'|"[^"]*")+""", rest)
    if not _NAME.fullmatch(name) or not overrides or not all("=" in one for one in overrides):
        raise ConfigError(option, text, f"NAME=OVERRIDE,OVERRIDE, as in {example}")
    for one in overrides:
        key = one.partition("=")[0].lstrip("+~").partition(".")[0]
        if key in common:
            what = option.removeprefix("--")
            raise InputError(f"{option} {name}: {one}: is the same for all {what}s; give it outside {option}")
    return name, tuple(overrides)


def budgets(text: str) -> list[float]:
    """Read `--eps`: finite numbers above 0, separated by commas; sorted.

    Raises
    ------
    ConfigError
    """
    found = []
    for part in text.split(","):
        try:
            eps = float(part)
        except ValueError:
            eps = math.nan
        if not 0 < eps < math.inf:
            raise ConfigError("--eps", part, "finite numbers > 0 separated by commas, as in 0.5,1,2")
        found.append(eps)
    return sorted(set(found))


def plan_frontier(
    common: Sequence[str],
    chosen: Sequence[Method],
    eps: Sequence[float],
    *,
    repeats: int,
    limit: bool = False,
    config_dir: str | None = None,
) -> Plan:
    """Compose and check every row, before anything is written.

    Parameters
    ----------
    common : sequence of str
        Overrides of every row, as after `pate run`.
    chosen : sequence of Method
    eps : sequence of float
    repeats : int
    limit : bool
        Whether the best model without privacy is among the baselines; it takes seconds a split.
    config_dir : str, optional
        Directory with options of the user's own.

    Returns
    -------
    Plan
        The baselines, and a row for each method and eps. A mechanism that cannot work at these sizes makes
        a row that says so.

    Raises
    ------
    InputError
        If an override is not accepted, or the data are not on this machine.
    """
    refuse_unused(common, _ELSEWHERE)
    if repeats < 1:
        raise ConfigError("--repeats", repeats, "a whole number >= 1")
    specs = [RowSpec(EXACT, EXACT, overrides=(*common, "mechanism=gaussian", "eps=inf"))]
    specs += [
        RowSpec(
            f"{method.name} eps={one:g}", method.name, overrides=(*common, *method.overrides, f"eps={one!r}")
        )
        for method in chosen
        for one in eps
    ]
    recipe = Recipe("frontier", "", "", "", "runs", tuple(specs), repeats=repeats)
    plan = make_plan(recipe, [], quick=False, config_dir=config_dir)
    for row in plan.rows:
        if row.status == "missing":
            raise InputError(row.message)
    return with_baselines(plan, limit=limit)


_ELSEWHERE = {
    "eps": "here it is --eps 0.5,1,2",
    "repeats": "here it is --repeats N",
    "mechanism": "here it is --methods A,B, or --method NAME=OVERRIDE,OVERRIDE",
    "release": "not here: a frontier is an experiment, not a release",
    "ledger": "not here: a frontier is an experiment, not a release",
    "tracking": "not here; pate run tells MLflow",
    "hydra": "not here; the directory is --output DIR",
}
