"""The schema of `conf/` as dataclasses, and every check on a value, by name.

`parse` turns a composed Hydra configuration into a `RunConfig` or raises one
`ConfigError` that names the key and what is accepted. Names that belong to a room
(datasets, learners) are checked by that room.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from pate_cli import mechanisms
from pate_cli.checks import OneOf, Or, known, take
from pate_cli.datasets.splitting import MODES
from pate_cli.errors import ConfigError

__all__ = [
    "ComputeConfig",
    "DatasetConfig",
    "MechanismConfig",
    "RunConfig",
    "SplitConfig",
    "StudentConfig",
    "TeacherConfig",
    "parse",
]

_TOP = (
    *("dataset", "teacher", "student", "mechanism", "compute"),
    *("eps", "delta", "repeats", "seed", "split", "release", "purpose", "ledger", "tracking", "cache"),
)
_SPLIT = ("private", "public", "budget", "mode", "public_from_private")
_COMPUTE_KEYS = {"local": ("name", "workers"), "dask": ("name", "workers", "address")}
_EPS = 1e-6, 500.0
"""Between these every calibration is exact to the last digits: e^eps and its square are floats."""

_REPEATS = 1_000_000
_PURPOSE = 200
_SEED = 2**128 - 1
"""NumPy's `SeedSequence` mixes 128 bits; a longer seed is a mistake."""

_ORACLES = {"active": "gaussian", "active-svt": "svt"}
_ADDRESS = re.compile(r"(tcp|tls|ucx|wss?)://\S+:\d+")


@dataclass(frozen=True)
class DatasetConfig:
    """`dataset`: a name and the options that dataset takes."""

    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class TeacherConfig:
    """`teacher`: the learner, and records a teacher (`size`) or teachers (`count`, which wins).

    `auto_count` says that the number is to be chosen from public numbers (`teacher.count=auto`).
    """

    estimator: str
    params: dict[str, Any]
    size: int | None
    count: int | None
    auto_count: bool = False


@dataclass(frozen=True)
class StudentConfig:
    """`student`: the learner, and what becomes of unanswered points."""

    estimator: str
    params: dict[str, Any]
    unanswered: Literal["drop", "random"]


@dataclass(frozen=True)
class MechanismConfig:
    """`mechanism`: its name, and its options as its module reads them.

    Attributes
    ----------
    name : str
        As chosen, or the import path of a module.
    options : Any
        `Options` of that module; every value is checked.
    label : str
        Name in tables and of directories.
    """

    name: str
    options: Any
    label: str

    @property
    def oracle(self) -> str:
        """What answers, by its name in tables: the mechanism itself, unless it only chooses what is asked."""
        return _ORACLES.get(self.label, self.label)


@dataclass(frozen=True)
class SplitConfig:
    """`split`: fractions in (0, 1) or whole numbers; checked with the number of records at hand.

    `public_from_private` says that a release may draw its public points from the private file.
    """

    private: float | None
    public: float | None
    budget: float
    mode: str = "records"
    public_from_private: bool = False

    @property
    def shares(self) -> dict[str, Any]:
        """What `datasets.sizes` and `datasets.split` take."""
        return {key: getattr(self, key) for key in ("private", "public", "budget", "mode")}

    @property
    def protects(self) -> str:
        """What neighbouring data sets differ in."""
        if self.mode == "label_private":
            return "the label of one record; all features are taken as public"
        return "one record; replaced by any other"


@dataclass(frozen=True)
class ComputeConfig:
    """`compute`: where the work is done; never changes a number in a result."""

    name: str
    workers: int | None
    address: str | None = None


@dataclass(frozen=True)
class RunConfig:
    """Everything `pate run` was told, checked."""

    dataset: DatasetConfig
    teacher: TeacherConfig
    student: StudentConfig
    mechanism: MechanismConfig
    compute: ComputeConfig
    split: SplitConfig
    eps: float
    delta: float | None
    repeats: int
    seed: int
    release: bool = False
    purpose: str | None = None
    ledger: str | None = None
    tracking: str | None = None
    cache: bool = False


def parse(raw: Mapping[str, Any]) -> RunConfig:
    """Check a composed configuration.

    Parameters
    ----------
    raw : mapping
        Plain containers, as `OmegaConf.to_container(cfg, resolve=True)` gives them
        (a missing mandatory value is the text "???").

    Raises
    ------
    InputError
        Names the first key that does not exist, or whose value is not accepted.
    """
    known("", raw, _TOP)
    dataset, teacher, student = (_group(raw, key) for key in ("dataset", "teacher", "student"))
    compute, split = _group(raw, "compute"), _group(raw, "split")
    known("teacher.", teacher, ("estimator", "params", "size", "count"))
    known("student.", student, ("estimator", "params", "unanswered"))
    known("split.", split, _SPLIT)
    options = {key: value for key, value in dataset.items() if key != "name" and value != "???"}
    config = RunConfig(
        dataset=DatasetConfig(_text("dataset.name", dataset.get("name")), options),
        teacher=TeacherConfig(
            estimator=_text("teacher.estimator", teacher.get("estimator")),
            params=_mapping("teacher.params", teacher.get("params")),
            size=_whole(
                "teacher.size", teacher.get("size"), low=1, nullable=teacher.get("count") is not None
            ),
            count=None
            if teacher.get("count") == "auto"
            else _whole("teacher.count", teacher.get("count"), low=1, nullable=True, otherwise="auto, or "),
            auto_count=teacher.get("count") == "auto",
        ),
        student=StudentConfig(
            estimator=_text("student.estimator", student.get("estimator")),
            params=_mapping("student.params", student.get("params")),
            unanswered=_choice("student.unanswered", student.get("unanswered"), ("drop", "random")),
        ),
        mechanism=_mechanism(_group(raw, "mechanism")),
        compute=_compute(compute),
        split=SplitConfig(
            **{key: _share(f"split.{key}", split.get(key)) for key in ("private", "public")},
            budget=_number("split.budget", split.get("budget")),
            mode=_choice("split.mode", split.get("mode", "records"), MODES),
            public_from_private=_flag("split.public_from_private", split.get("public_from_private", False)),
        ),
        eps=_eps(raw.get("eps")),
        delta=_delta(raw.get("delta")),
        repeats=_required("repeats", raw.get("repeats"), low=1, high=_REPEATS),
        seed=_required("seed", raw.get("seed"), low=0, high=_SEED),
        release=_flag("release", raw.get("release", False)),
        purpose=_purpose(raw.get("purpose")),
        ledger=_directory("ledger", raw.get("ledger")),
        tracking=take("tracking", raw.get("tracking"), Or("null", OneOf(("mlflow",)))),
        cache=_flag("cache", raw.get("cache", False)),
    )
    if config.release:
        _check_release(config)
    elif config.purpose is not None:
        raise ConfigError("purpose", config.purpose, "null without release=true: only a release has one")
    return config


def _check_release(config: RunConfig) -> None:
    if config.split.mode != "records":  # the ledger's losses are of records, and the features would be shown
        raise ConfigError("split.mode", config.split.mode, "records with release=true")
    if math.isinf(config.eps):
        raise ConfigError("eps", config.eps, "a finite number with release=true")
    if config.repeats != 1:
        raise ConfigError("repeats", config.repeats, "1 with release=true; each release is charged by itself")
    if config.compute.name != "local":
        raise ConfigError(
            "compute", config.compute.name, "local with release=true: records stay on this machine"
        )
    if config.seed != 0:
        raise ConfigError("seed", config.seed, "nothing with release=true: it draws its own randomness")
    if config.tracking is not None:
        raise ConfigError(
            "tracking", config.tracking, "null with release=true: nothing but its files leaves it"
        )
    if config.cache:
        raise ConfigError("cache", True, "false with release=true: what is kept there are exact votes")


def _compute(group: Mapping[str, Any]) -> ComputeConfig:
    name = _choice("compute.name", group.get("name"), tuple(_COMPUTE_KEYS))
    known("compute.", group, _COMPUTE_KEYS[name])
    workers = _whole("compute.workers", group.get("workers"), low=1, nullable=True)
    address = group.get("address")
    if address is not None and (not isinstance(address, str) or not _ADDRESS.fullmatch(address)):
        accepted = "a scheduler as tcp://HOST:PORT or tls://HOST:PORT, or null for a cluster of our own"
        raise ConfigError("compute.address", address, accepted)
    if address is not None and workers is not None:
        raise ConfigError("compute.workers", workers, "null with compute.address: the cluster has its own")
    return ComputeConfig(name, workers, address)


def _mechanism(group: Mapping[str, Any]) -> MechanismConfig:
    name = _text("mechanism.name", group.get("name"))
    known("mechanism.", group, ("name", *(field.name for field in fields(mechanisms.find(name).Options))))
    options = mechanisms.read(name, {key: value for key, value in group.items() if key != "name"})
    return MechanismConfig(name, options, mechanisms.label(name, options))


def _group(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    if not isinstance(value, Mapping):
        if key == "split":  # the one group without options
            raise ConfigError(key, value, "its keys: " + ", ".join(f"split.{name}" for name in _SPLIT))
        raise ConfigError(key, value, f"the name of an option of the group (conf/{key}/)")
    return value


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or value == "???":
        raise ConfigError(key, value, "a name")
    return value


def _mapping(key: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(key, value, f"keys of the learner, as in {key}.C=10")
    return {str(name): item for name, item in value.items()}


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(key, value, "true, false")
    return value


def _directory(key: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigError(key, value, "a directory, or null")
    return value


def _purpose(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > _PURPOSE or not value.isprintable():
        raise ConfigError(
            "purpose", value, f"what a release is for, one line of at most {_PURPOSE} characters"
        )
    return value


def _choice(key: str, value: Any, accepted: tuple[str, ...]) -> Any:
    if value not in accepted:
        raise ConfigError(key, value, ", ".join(accepted))
    return value


def _number(key: str, value: Any, low: float = 0, *, zero: bool = False) -> float:
    accepted = f"a number {'>=' if zero else '>'} {low:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(key, value, accepted)
    # written so that nan is refused, and integers that no float holds
    if not low <= value <= sys.float_info.max or (value == low and not zero):
        raise ConfigError(key, value, accepted)
    return value


def _share(key: str, value: Any) -> float | None:
    return None if value is None else _number(key, value)


def _eps(value: Any) -> float:
    low, high = _EPS
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not known or not (low <= value <= high or value == math.inf):
        raise ConfigError("eps", value, f"a number from {low:g} to {high:g}, or inf for no privacy")
    number: float = value
    return number


def _delta(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise ConfigError(
            "delta",
            value,
            "a number in (0, 1), or null for 1 / (number of private records, of persons with dataset.unit)",
        )
    return float(value)


def _whole(key: str, value: Any, *, low: int, nullable: bool = False, otherwise: str = "") -> int | None:
    if value is None and nullable:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ConfigError(
            key, value, f"{otherwise}a whole number >= {low}" + (", or null" if nullable else "")
        )
    return value


def _required(key: str, value: Any, *, low: int, high: int) -> int:
    accepted = f"a whole number from {low} to {high}"
    if isinstance(value, float) and low <= value <= high and value.is_integer():
        # taken as it is, the same run would have two hashes
        raise ConfigError(key, value, f"{accepted}, in digits: {key}={int(value)}")
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(key, value, accepted)
    return value
