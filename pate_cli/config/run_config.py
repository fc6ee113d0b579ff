"""Schema of `conf/` as dataclasses, with a check on every value.

`parse` turns a composed Hydra configuration into a `RunConfig`, or raises one `ConfigError` that names the
key and what is accepted. Names of datasets and learners are checked where those are loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from pate_cli import features, mechanisms
from pate_cli.checks import (
    Check,
    CheckedBy,
    Flag,
    Listed,
    OneOf,
    Or,
    Real,
    Text,
    Whole,
    known,
    option,
    option_names,
    read_options,
    read_values,
    take,
)
from pate_cli.config import hydra_composition
from pate_cli.datasets.split_sizes import MODES
from pate_cli.errors import ConfigError

__all__ = [
    "ComputeConfig",
    "DatasetConfig",
    "FeaturesConfig",
    "GenerateConfig",
    "MechanismConfig",
    "RunConfig",
    "SplitConfig",
    "StudentConfig",
    "TeacherConfig",
    "parse",
]


def _as_typed(check: Check) -> Callable[[Any], Any]:
    """Check a number, which keeps its type: 1 record is not a share of 1.0."""
    return lambda value: None if check.take(value) is None else value


def _line_like(form: str) -> Callable[[Any], str]:
    """Check that a text is printable and of a form."""

    def take(value: Any) -> str:
        if not value.isprintable() or not re.fullmatch(form, value):
            raise ValueError
        return str(value)

    return take


def _params(of: str) -> CheckedBy:
    """Check keyword arguments of a learner."""
    return CheckedBy(
        lambda given: {str(name): item for name, item in ({} if given is None else given).items()},
        f"keys of the learner, as in {of}.params.C=10",
    )


# every calibration is exact to the last digits from 1e-6 to 500: e^eps and its square are floats, and so is
# each share of delta from 1e-300 on
_EPS = CheckedBy(
    Real(1e-6, 500, closed_below=True, infinite=True).take,
    "a number from 1e-06 to 500, or inf for no privacy",
)
_DELTA = CheckedBy(
    Or("null", Real(1e-300, 1, closed_below=True, open_above=True)).take,
    "a number from 1e-300 to below 1, or null for 1 / (number of private records, or of persons by"
    " dataset.unit)",
)
_SHARE = CheckedBy(_as_typed(Or("null", Real())), "a number > 0, or null")
_POINTS = CheckedBy(_as_typed(Or("null", Or("auto", Real(), gives="auto"))), "a number > 0, auto or null")
_BUDGET = CheckedBy(_as_typed(Real()), "a number > 0")
_PURPOSE = CheckedBy(_line_like(r"(?=.*\S).{1,200}"), "what a release is for, a line of up to 200 characters")
_NAME = CheckedBy(_line_like(r"(?=.*\S).{1,80}"), "a name of the run, one line of at most 80 characters")
_TAG = CheckedBy(_line_like(r"[\w.+:-]{1,40}"), "a word of letters, digits and . _ + : -")
_THRESHOLD = CheckedBy(
    _line_like(r"youden|(recall|precision):0?\.\d+"), "youden, recall:SHARE or precision:SHARE, as recall:0.8"
)
_ADDRESS = CheckedBy(
    _line_like(r"(tcp|tls|ucx|wss?)://\S+:\d+"), "a scheduler as tcp://HOST:PORT or tls://HOST:PORT"
)


@dataclass(frozen=True)
class DatasetConfig:
    """`dataset`: a name and the options that dataset takes."""

    name: str
    options: dict[str, Any]


_SEES = CheckedBy(Or("auto", Flag()).take, "auto, true or false")


@dataclass(frozen=True)
class FeaturesConfig:
    """`features`: the map that public points make, and how many features it gives at most."""

    name: str = option(None, Text())
    directions: int | None = option("auto", Or("auto", Whole(1)))


@dataclass(frozen=True)
class TeacherConfig:
    """`teacher`: the learner, and records a teacher (`size`) or teachers (`count`, which wins).

    `auto_count` says that the number is to be chosen from public numbers: neither is given, or
    `teacher.count=auto`. `features` says whether it sees the features of the map; None for the rule.
    """

    estimator: str = option(None, Text())
    params: dict[str, Any] = option(None, _params("teacher"))
    size: int | None = option(None, Or("null", Whole(1)))
    count: int | None = option(None, Or("null", Or("auto", Whole(1), gives="auto")))
    auto_count: bool = False
    features: bool | None = option("auto", _SEES)


@dataclass(frozen=True)
class StudentConfig:
    """`student`: the learner, and the treatment of unanswered points."""

    estimator: str = option(None, Text())
    params: dict[str, Any] = option(None, _params("student"))
    unanswered: Literal["drop", "random"] = option(None, OneOf(("drop", "random")))
    features: bool | None = option("auto", _SEES)


@dataclass(frozen=True)
class MechanismConfig:
    """`mechanism`: its name, and its options as its module reads them."""

    name: str  # as chosen, or the import path of a module
    options: Any  # `Options` of that module, checked
    label: str  # name in tables and of directories

    @property
    def oracle(self) -> str:
        """Name of the answering mechanism in tables; some only select the queries of another one."""
        return str(self.options.answered_by(self.name))


@dataclass(frozen=True)
class SplitConfig:
    """`split`: fractions in (0, 1) or whole numbers; checked with the number of records at hand.

    `public_from_private` says that a release may draw its public points from the private file.
    """

    private: float | None = option(None, _SHARE)
    public: float | str | None = option(None, _POINTS)
    budget: float = option(None, _BUDGET)
    mode: str = option("records", OneOf(MODES))
    public_from_private: bool = option(False, Flag())

    @property
    def shares(self) -> dict[str, Any]:
        """Arguments of `datasets.sizes` and `datasets.split`."""
        return {key: getattr(self, key) for key in ("private", "public", "budget", "mode")}

    @property
    def protected(self) -> str:
        """What a guarantee is for, where records are not of persons."""
        return "the label of one record" if self.mode == "label_private" else "one record"

    @property
    def protects(self) -> str:
        """Difference between neighbouring data sets."""
        label = self.mode == "label_private"
        return f"{self.protected}; {'all features are taken as public' if label else 'replaced by any other'}"


@dataclass(frozen=True)
class GenerateConfig:
    """`generate`: public points that a run makes, with dataset.public=ranges or marginals.

    `share` of the budget is for the marginals: of mu^2 where the mechanism's noise is Gaussian, else of eps
    and delta.
    """

    share: float = option(0.1, Real(0, 1, open_above=True))
    points: int | None = option("auto", Or("auto", Whole(1, 1_000_000)))


@dataclass(frozen=True)
class ComputeConfig:
    """`compute`: where the work is done; never changes a number in a result.

    `address` is that of a Dask scheduler; null for a cluster of our own.
    """

    name: str = option(None, OneOf(("local", "dask")))
    workers: int | None = option(None, Or("null", Whole(1)))
    address: str | None = option(None, Or("null", _ADDRESS))


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Checked configuration of a run."""

    dataset: DatasetConfig
    features: FeaturesConfig
    teacher: TeacherConfig
    student: StudentConfig
    mechanism: MechanismConfig
    compute: ComputeConfig
    eps: float = option(None, _EPS)
    delta: float | None = option(None, _DELTA)
    repeats: int = option(None, Whole(1, 1_000_000))
    seed: int = option(None, Whole(0, 2**128 - 1))  # SeedSequence mixes 128 bits: more is a mistake
    split: SplitConfig
    generate: GenerateConfig
    evaluate: float | None = option(None, Or("null", Real(0, 1, open_above=True)))
    threshold: str | None = option(None, Or("null", _THRESHOLD))
    release: bool = option(False, Flag())
    purpose: str | None = option(None, Or("null", _PURPOSE))
    ledger: str | None = option(None, Or("null", Text("a directory")))
    name: str | None = option(None, Or("null", _NAME))
    tags: list[str] = option((), Listed(_TAG, at_least=0))


def parse(raw: Mapping[str, Any]) -> RunConfig:
    """Check a composed configuration, plain containers in which a missing mandatory value is the text "???".

    Raises
    ------
    InputError
        Names the first key that does not exist, or whose value is not accepted.
    """
    known("", raw, tuple(field.name for field in fields(RunConfig)))
    for key in ("repeats", "seed"):
        if isinstance(value := raw.get(key), float) and value.is_integer():
            raise ConfigError(key, value, f"a whole number in digits: {key}={int(value)}")
    dataset = _group(raw, "dataset")
    options = {key: value for key, value in dataset.items() if key != "name" and value != "???"}
    config = RunConfig(
        dataset=DatasetConfig(take("dataset.name", dataset.get("name"), Text()), options),
        features=_features(_group(raw, "features")),
        teacher=_teacher(_group(raw, "teacher")),
        student=read_options(StudentConfig, _group(raw, "student"), "student."),
        mechanism=_mechanism(_group(raw, "mechanism")),
        compute=_compute(_group(raw, "compute")),
        split=read_options(SplitConfig, _group(raw, "split"), "split."),
        generate=read_options(GenerateConfig, _group({"generate": {}, **raw}, "generate"), "generate."),
        **read_values(RunConfig, raw, ""),
    )
    if config.threshold and config.evaluate is None:
        raise ConfigError("threshold", config.threshold, "null without evaluate=0.1, which it is chosen from")
    if config.release:
        _check_release(config)
    elif config.purpose is not None:
        raise ConfigError("purpose", config.purpose, "null without release=true: only a release has one")
    return config


def _check_release(config: RunConfig) -> None:
    mode, place = config.split.mode, config.compute.name
    for key, value, fits, accepted, why in (
        ("split.mode", mode, mode == "records", "records", ""),  # losses are of records, features are shown
        ("eps", config.eps, math.isfinite(config.eps), "a finite number", ""),
        ("repeats", config.repeats, config.repeats == 1, "1", "; each release is charged by itself"),
        ("compute", place, place == "local", "local", ": records stay on this machine"),
        ("seed", config.seed, config.seed == 0, "nothing", ": it draws its own randomness"),
    ):
        if not fits:
            raise ConfigError(key, value, f"{accepted} with release=true{why}")


def _features(group: Mapping[str, Any]) -> FeaturesConfig:
    config = read_options(FeaturesConfig, group, "features.")
    if config.name != "auto":
        features.check(config.name)
    return config


def _teacher(group: Mapping[str, Any]) -> TeacherConfig:
    known("teacher.", group, option_names(TeacherConfig))
    values = read_values(TeacherConfig, group, "teacher.")
    auto = values["count"] == "auto" or (values["size"] is None and values["count"] is None)
    return TeacherConfig(**values | {"count": None if auto else values["count"], "auto_count": auto})


def _compute(group: Mapping[str, Any]) -> ComputeConfig:
    config = read_options(ComputeConfig, group, "compute.")
    if config.address is not None and config.name != "dask":
        raise ConfigError("compute.address", config.address, "null without compute=dask")
    if config.address is not None and config.workers is not None:
        accepted = "null with compute.address: the cluster has its own"
        raise ConfigError("compute.workers", config.workers, accepted)
    return config


def _mechanism(group: Mapping[str, Any]) -> MechanismConfig:
    name = take("mechanism.name", group.get("name"), Text())
    options = mechanisms.read(name, {key: value for key, value in group.items() if key != "name"})
    return MechanismConfig(name, options, options.label(name))


def _group(raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = raw.get(key)
    if not isinstance(value, dict):
        kinds = {"split": SplitConfig, "generate": GenerateConfig}  # groups without options
        of_kind = [f"{key}.{name}" for name in (option_names(kinds[key]) if key in kinds else ())]
        names = of_kind or hydra_composition.options(key)
        raise ConfigError(key, value, ", ".join(names))
    return value
