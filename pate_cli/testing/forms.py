"""The forms a mechanism runs in: options, classes, sparse records, persons, an experiment or a release."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from pate_cli import features, mechanisms, teachers
from pate_cli.checks import Or, Whole
from pate_cli.errors import ConfigError, InputError
from pate_cli.learners import make_learner
from pate_cli.testing.learners import Fits
from pate_cli.testing.unlike import Columns, MixedRecords, Way
from pate_cli.types import PrivateRecords, PublicPoints, Setting, Votes

__all__ = ["EXTREME", "LABELS", "SEED", "Form", "K", "M", "N", "forms_of", "name_of", "votes_of"]

N, M, K, DELTA = 480, 12, 48, 1e-2
"""Records (or persons), public points, teachers."""

SEED = 7
"""Of a run. Mechanisms that hold records out take the first of a permutation, drawn first."""

EXTREME = (([1e39, -1e308], 1), ([1e308, 1e39], 0), ([5e-324, -0.0], 1))
"""Records that learners refuse, or that overflow or vanish: a record is any finite numbers."""

LABELS = ("by a rule", "at random", "of one class")
"""Labels of the private records; at random, teachers' votes are near ties."""

_TEACHING = 1  # seed of the parts and of the teachers
_USUAL = (([1e3, -1e3], 1), ([0.0, 0.0], 0), ([-4.0, 5.0], 1))


@dataclass(frozen=True)
class Form:
    """A mechanism with options, on records of one kind, as an experiment runs it or as a release does."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    exact: bool = False
    n_classes: int = 2
    sparse: bool = False
    persons: bool = False
    n_features: int = 2
    few: tuple[tuple[str, Any], ...] = ()  # options whose numbers a rule chooses, and that are small here
    mapped: bool = False  # teachers and students see features made from public points
    changes: tuple[tuple[str, Any], ...] = field(default=(), repr=False)  # of the setting
    n_public: int = M
    retrained: bool = field(default=False, repr=False)  # all teachers, whichever record changed
    fits: Fits | None = field(default=None, repr=False, compare=False)  # of forms that share them

    def __str__(self) -> str:
        kinds = [f"{key}={value}"[:40] for key, value in self.options + self.few]
        kinds += [f"{self.n_classes} classes"] * (self.n_classes > 2)
        kinds += [kind for kind in ("exact", "sparse", "persons", "mapped") if getattr(self, kind)]
        return ", ".join([self.name.rpartition(".")[2], *kinds])

    @functools.cached_property
    def setting(self) -> Setting:
        """Public numbers that it is calibrated from."""
        learner: tuple[str, Any] = ("tree" if self.sparse else "logistic", {})
        eps = 2.0 if self.exact else 24.0
        sizes = (min(6, self.n_public), self.n_features, self.n_classes, K)
        setting = Setting(eps, DELTA, N, self.n_public, *sizes, self.sparse, learner, learner, "drop", "auto")
        if self.mapped:
            setting = replace(setting, features="kernel", teacher_mapped=True, student_mapped=True)
        return replace(setting, **dict(self.changes))

    def mechanism(self) -> mechanisms.Mechanism:
        """Calibrate: anew in each check, as a bug may be in that."""
        mechanism = mechanisms.calibrate(self.name, dict(self.options + self.few), self.setting)
        return mechanism.with_exact_noise() if self.exact else mechanism

    def works(self) -> bool:
        """Whether the mechanism takes such a form, or refuses it."""
        try:
            self.mechanism()
        except InputError:
            return False
        return True

    def _features(self, X: Any) -> Any:
        return sp.csr_matrix(X) if self.sparse else X

    @functools.cached_property
    def _map(self) -> Any:
        if not self.mapped:
            return None
        return features.fit("kernel", self._points, np.random.default_rng(5), 5)

    @functools.cached_property
    def _points(self) -> Any:
        return self._features(np.random.default_rng(3).normal(size=(self.n_public, self.n_features)))

    @functools.cached_property
    def public(self) -> PublicPoints:
        """Public points."""
        return PublicPoints(self._points, features=self._map)

    def records(self, labels: str = LABELS[0], other: bool = False) -> PrivateRecords:
        """Make private records, with labels of a kind; or another set altogether."""
        rng = np.random.default_rng(4 + other)
        persons = np.repeat(np.arange(N), rng.integers(1, 4, N)) if self.persons else None
        X = rng.normal(size=(N if persons is None else len(persons), self.n_features))
        y = np.argmax(np.column_stack([X[:, 0], X[:, -1], -X[:, 0]])[:, : self.n_classes], axis=1)
        y = y if self.n_features > 1 else (X[:, 0] > 0).astype(np.int64)
        if labels == "at random":
            y = rng.integers(0, self.n_classes, len(y))
        elif labels == "of one class":
            y = np.zeros_like(y)
        if other:
            X, y = 5.0 + 3.0 * X, (y + 1) % self.n_classes
        return PrivateRecords(self._features(X), y, persons, features=self._map)

    def unlike(self, records: PrivateRecords, way: Way) -> PrivateRecords | None:
        """Make private records of another kind; None where these have no columns to differ so."""
        X = records.X.toarray() if self.sparse else records.X
        owners = np.arange(len(X)) if records.persons is None else records.persons
        columns = Columns(self.n_classes, persons=self.persons, most=500)
        other = way(MixedRecords(X, np.zeros((len(X), 0), dtype=np.int64), records.y, owners), columns)
        if other is None:
            return None
        persons = other.persons if self.persons else None
        return PrivateRecords(self._features(other.numbers), other.y, persons, features=self._map)

    def neighbours(self, records: PrivateRecords, extreme: bool = False) -> list[PrivateRecords]:
        """Replace one record, or all of one person by more of them, in turn; then one's label alone.

        An extreme one is a teacher's in one of them, and held out in another where the mechanism holds any.
        """
        mechanism = self.mechanism()
        # few of them are held out
        many = mechanism.choice_apart and extreme and not (self.exact or self.sparse or self.persons)
        step, times = (5, 32) if many else (31, 5 if mechanism.relabelling else 1)
        changes = list(zip(range(3, N, step), _USUAL * times, strict=False))
        if extreme:
            dealt = np.random.default_rng(SEED).permutation(N).tolist()
            roles = (dealt[0], dealt[-1]) if mechanism.n_held_out else (dealt[-1],)
            changes += product(roles, EXTREME)
            # one of the first part, which all teachers might have been given
            first = int(np.random.default_rng(_TEACHING).permutation(N)[0])
            changes.append((first, _USUAL[0]))
        y = records.y.copy()
        chosen = 5 if records.persons is None else records.persons == 5
        y[chosen] = (y[chosen] + 1) % self.n_classes
        relabelled = PrivateRecords(records.X, y, records.persons, features=self._map)
        return [
            *(self._replaced(records, chosen, row, label) for chosen, (row, label) in changes),
            relabelled,
        ]

    def _replaced(self, records: PrivateRecords, one: int, row: list[float], label: int) -> PrivateRecords:
        X, y, persons = records.X.toarray() if self.sparse else records.X, records.y, records.persons
        where = np.flatnonzero((np.arange(N) if persons is None else persons) == one)
        first, last, times = int(where[0]), int(where[-1]) + 1, 1 if persons is None else 40
        X = np.concatenate([X[:first], np.tile(row[: self.n_features], (times, 1)), X[last:]])
        y = np.concatenate([y[:first], np.full(times, label), y[last:]])
        if persons is not None:
            persons = np.concatenate([persons[:first], np.full(times, one), persons[last:]])
        return PrivateRecords(self._features(X), y, persons, features=self._map)

    def votes(self, records: PrivateRecords) -> Votes:
        """Train the teachers of the configuration, as the pipeline does, and let them vote."""
        s = self.setting
        learner = make_learner(*s.teacher, seed=None, n_classes=self.n_classes)
        points, seen = (side.seen(self.mapped) for side in (self.public, records))
        ensemble = teachers.train(
            seen,
            n_teachers=s.n_teachers,
            learner=learner,
            rng=np.random.default_rng(_TEACHING),
            n_classes=self.n_classes,
            strict=False,
        )
        return ensemble.votes_and_failures(points.X)[0]


def votes_of(rng: np.random.Generator, queries: int, n_classes: int) -> Votes:
    """Random votes of K teachers."""
    shares = rng.dirichlet(np.ones(n_classes), queries)
    return Votes(np.array([rng.multinomial(K, row) for row in shares]).reshape(queries, n_classes), K)


def name_of(mechanism: str | ModuleType | type) -> str:
    """Name or import path of a mechanism, given so, or by its module or its class."""
    if isinstance(mechanism, str):
        return mechanism
    path = mechanism.__name__ if isinstance(mechanism, ModuleType) else mechanism.__module__
    short = path.rpartition(".")[2]
    if path.startswith(f"{mechanisms.__name__}.") and short in mechanisms.names():
        return short
    return path


def forms_of(name: str, given: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> list[Form]:
    """List the forms of a mechanism that are checked: with options given, or its defaults and those it names.

    As experiments run it, and as a release does; with two classes, or three and sparse records; of persons:
    with its first options every two of these together, and with features made from public points; with
    further ones the first and the last of them. A number that a rule chooses is chosen so in the first form,
    and few in the others.
    """
    if math.isinf(changes.get("eps", 1.0)):
        raise ConfigError("eps", changes["eps"], "a finite number: without noise nothing is claimed")
    fits: Fits = {}
    listed = [{}, *mechanisms.find(name).Options.checked] if given is None else [given]
    forms = []
    for i, options in enumerate(listed):
        form = Form(name, tuple(options.items()), changes=tuple(changes.items()), fits=fits)
        form = form if form.works() else replace(form, n_features=1)
        persons = form.mechanism().persons != "one record"  # an InputError if it takes no form at all
        exact, three = (replace(form, **kind).works() for kind in ({"exact": True}, {"n_classes": 3}))
        kinds = list(product([False, True][: 1 + exact], [False, True], [False, True][: 1 + persons]))
        if exact and persons:  # four of eight have every two kinds together
            kinds = [kind for kind in kinds if sum(kind) % 2 == 0]
        small = replace(form, few=_few(mechanisms.find(name).Options, options))
        small = small if small.works() else form
        mapped = replace(small, mapped=True)
        forms += [mapped] * (i == 0 and mapped.works())
        for release, sparse, of_persons in kinds if i == 0 else (kinds[0], kinds[-1]):
            n_classes = 3 if sparse and three else 2
            plain = not (release or sparse or of_persons)
            kind = replace(form if plain else small, exact=release, sparse=sparse, persons=of_persons)
            forms.append(replace(kind, n_classes=n_classes, retrained=plain and i == 0))
    return forms


def _few(options: type, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Two in place of each whole number that is `auto` by default."""
    checks = [(field.name, field.metadata["check"]) for field in fields(options) if field.name not in given]
    autos = [(name, check) for name, check in checks if isinstance(check, Or) and check.word == "auto"]
    return tuple((name, 2) for name, check in autos if isinstance(check.other, Whole))
