"""The agnostic private learners side by side, each made and run by the room it lives in.

BTT18's is Algorithm 2 (A_binClas) with a teacher's learner of the class, and a student of the class on
its answers (Algorithm 3, A_priv); the others are `pate_cli.mechanisms.agnostic`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pate_cli import mechanisms, queries
from pate_cli.errors import InfeasibleError
from pate_cli.learners.hypotheses import CLASSES
from pate_cli.mechanisms.agnostic.common import Classroom, answer
from pate_cli.mechanisms.base import Mechanism
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.mechanisms.teaching import fit_student
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.types import (
    UNANSWERED,
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

from .tools import streams

Key = TypeVar("Key")
Sample: TypeAlias = tuple[Any, ...]

_STUDENTS = {
    "thresholds": "pate_cli.learners.hypotheses.ThresholdClassifier",
    "stumps": "pate_cli.learners.hypotheses.StumpClassifier",
}


@dataclass(frozen=True)
class Sizes:
    """Public numbers of one run: n private records, m public points."""

    eps: float
    delta: float
    n: int
    m: int
    hypotheses: str
    features: int = 1

    def setting(self, n_teachers: int) -> Setting:
        """As a learner takes it."""
        return Setting(
            eps=self.eps,
            delta=self.delta,
            n_private=self.n,
            n_public=self.m,
            budget=self.m,
            n_features=self.features,
            n_classes=2,
            n_teachers=n_teachers,
            sparse=False,
            teacher=("logistic", {}),  # not used: teachers are of the class
            student=(_STUDENTS[self.hypotheses], {}),
            unanswered="drop",
        )


@dataclass(frozen=True)
class BinClas(Mechanism):
    """BTT18 Algorithms 2 and 3: the sparse vector technique over teachers of the class, then a student.

    **Guarantee.** That of its `SparseVector`: (eps, delta)-DP for neighbours that differ in one private
    record, as teachers are trained on disjoint parts.
    """

    setting: Setting
    mechanism: SparseVector
    classroom: Classroom

    @property
    def guarantee(self) -> PrivacyLoss:
        """Of all answers."""
        return self.mechanism.guarantee

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.setting.n_teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {"n_teachers": self.n_teachers} | self.mechanism.describe()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Teach, answer in random order, fit the student on the answers."""
        records, used = private.records, self.n_teachers
        deal = rng.permutation(records.n_records)
        counts = np.ones(records.n_records, dtype=np.int64)
        votes = self.classroom.votes(records.X[deal], records.y[deal], counts, used, public, 0)
        answers = answer(self.mechanism, votes, queries.passive_order(public.n_points, rng), door)
        return Released(fit_student(self.setting, public, answers, rng), answers)


def theorem_cutoff(gamma: float, alpha: float, m: int, beta: float) -> int:
    """T of BTT18 Theorem 3.2 (`pate_cli.privacy.svt.printed_cutoff`), at most m."""
    return min(m, math.ceil(svt.printed_cutoff(gamma + alpha, m, beta)))


def enough_teachers(c: svt.SvtCalibration, agreement: float, failure: float) -> int:
    """K so that all queries of a run on which a share `agreement` of K agree are answered, but for `failure`.

    There ``n1 - n2 >= (2 agreement - 1) K``, so ``dist >= (agreement - 1/2) K - 1``.
    """
    return math.ceil((c.margin(failure / c.ell) + 1) / (agreement - 0.5))


def binclas(sizes: Sizes, rule: svt.Calibration, cutoff: int, agreement: float, failure: float) -> BinClas:
    """BTT18's with K as in `enough_teachers`; InfeasibleError where there are fewer records."""
    c = svt.calibrate(rule, sizes.eps, sizes.delta, sizes.m, cutoff)
    teachers = enough_teachers(c, agreement, failure)
    if teachers > sizes.n:
        raise InfeasibleError(f"{teachers} teachers, {sizes.n} records")
    setting = sizes.setting(teachers)
    return BinClas(setting, SparseVector(c, ell=c.ell), Classroom(CLASSES[sizes.hypotheses], setting))


def learner(name: str, sizes: Sizes, **options: Any) -> Mechanism:
    """A learner of `pate_cli.mechanisms.agnostic` that needs no number of teachers."""
    return mechanisms.calibrate(name, {"hypotheses": sizes.hypotheses, **options}, sizes.setting(1))


def with_teachers(
    name: str, sizes: Sizes, agreement: float, failure: float, size: int | None = None, **options: Any
) -> Mechanism:
    """AgPrivCl or Universal with K as in `enough_teachers`, or with teachers of `size` records.

    InfeasibleError where the sample is too small.
    """

    def calibrated(n_teachers: int) -> Mechanism:
        chosen = {"hypotheses": sizes.hypotheses, **options}
        return mechanisms.calibrate(name, chosen, sizes.setting(n_teachers))

    # teachers of one record show how large the sample is and what its sparse vector needs
    made: Any = calibrated(sizes.n)
    answering = getattr(made, "answering", made)
    needed, sampled = (
        enough_teachers(answering.mechanism.calibration, agreement, failure),
        answering.n_sampled,
    )
    if needed > sampled // (size or 1):
        raise InfeasibleError(f"{needed} teachers of {size or 1} records, {sampled} records in the sample")
    return calibrated(sizes.n // (size or sampled // needed))


def feasible(make: Callable[..., Mechanism], *sizes: Any, **options: Any) -> Mechanism | None:
    """Calibrate by one of the functions above; None where it is infeasible at these sizes."""
    with suppress(InfeasibleError):
        return make(*sizes, **options)
    return None


def run(
    mechanism: Mechanism, X: FloatArray, y: Any, points: FloatArray, seed: np.random.SeedSequence
) -> Released:
    """Run it on records and public points; noise and everything else from different streams."""
    noise, other = seed.spawn(2)
    private = Private(PrivateRecords(X, y))
    return mechanism.release(private, PublicPoints(points), Door.seeded(noise), np.random.default_rng(other))


def repeated(
    calibrated: Mapping[Key, Mechanism | None],
    draw: Callable[[np.random.Generator], Sample],
    seed: np.random.SeedSequence,
    repeats: int,
) -> Iterator[tuple[Sample, dict[Key, Released]]]:
    """Draw a sample (X, y, public points, and more) and run every mechanism on it; repeatedly.

    The same samples whenever it is called with the same seed. A mechanism that is None is left out.
    """
    for own in streams(seed, repeats):
        data, *noise = own.spawn(1 + len(calibrated))
        sample = draw(np.random.default_rng(data))
        X, y, points, *_ = sample
        each = [
            (name, made, one) for (name, made), one in zip(calibrated.items(), noise, strict=True) if made
        ]
        yield sample, {name: run(made, X, y, points, one) for name, made, one in each}


def public_labels(released: Released, n_points: int) -> IntArray:
    """Labels of all public points, `UNANSWERED` where none was given."""
    labels = np.full(n_points, UNANSWERED)
    labels[released.answers.asked] = released.answers.labels
    return labels
