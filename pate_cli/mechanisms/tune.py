"""Choose between candidates on held-out private records, and pay for the choice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import Real, option
from pate_cli.errors import ConfigError, InfeasibleError, with_part
from pate_cli.mechanisms.base import UNPROVED, Mechanism, NumbersTable, SampledAttack
from pate_cli.mechanisms.candidates import Labelling, fitted, n_right, read_candidate
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy import gaussian, selection
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Apart, Gdp
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.types import (
    FloatArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "Tune", "calibrate"]

_TRIES = 4
"""Mean number of trials for each labelling: so each is tried at least once with probability 4/5 or more."""


@dataclass(frozen=True)
class _Candidates:
    """Candidates as the configuration lists them."""

    def take(self, value: object) -> tuple[dict[str, Any], ...]:
        if not isinstance(value, list | tuple) or len(value) < 2:
            raise ValueError
        for candidate in value:
            if not isinstance(candidate, Mapping) or "label" not in candidate:
                raise ValueError
        return tuple(dict(candidate) for candidate in value)

    def describe(self) -> str:
        return "a list of two or more, each with a label and a mechanism, teacher or student; see pate tune"


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=tune`."""

    checked = (
        {  # three labellings, one of which has no mu
            "candidates": (
                {"label": "logistic"},
                {"label": "svt", "mechanism": {"name": "svt"}},
                {"label": "tree", "student": {"estimator": "tree"}},
                {"label": "best", "mechanism": {"name": "best", "steps": 10}},
            )
        },
        {  # two: at a large eps, a random number of trials leaves each more
            "candidates": tuple(
                {"label": f"{K}", "teacher": {"estimator": "logistic", "count": K}} for K in (20, 30)
            )
        },
    )

    holdout: float = option(0.1, Real(0, 1, open_above=True))
    candidates: tuple[dict[str, Any], ...] = option(
        tuple({"label": name, "student": {"estimator": name}} for name in ("logistic", "tree")),
        _Candidates(),
    )


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Group the candidates by labelling, and divide the budget; see `Tune.divided`."""
    n_held_out = int(options.holdout * setting.n_private)
    if n_held_out < 1:
        accepted = f"a share of at least one of {setting.n_private} records"
        raise ConfigError("mechanism.holdout", options.holdout, accepted)
    K = max(1, setting.n_teachers * (setting.n_private - n_held_out) // setting.n_private)
    inner = replace(setting, n_private=setting.n_private - n_held_out, n_teachers=K)
    labellings: dict[str, Labelling] = {}
    left_out = []
    for candidate in options.candidates:
        labelling, student = read_candidate(candidate, inner)
        key = repr(labelling)
        if labelling.learns_alone:
            key = repr((labelling.mechanism, labelling.options))
            if key in labellings:
                same = f"mechanism={labelling.mechanism} takes neither teacher nor student"
                left_out.append(f"{student.label}: left out: as {labellings[key].labels}, for {same}")
                continue
        labelling = labellings.get(key, labelling)
        labellings[key] = replace(labelling, students=(*labelling.students, student))
    tune = Tune(setting.eps, setting.delta, setting.n_private, n_held_out, tuple(labellings.values()))
    return replace(tune, left_out=tuple(left_out)).divided()


@dataclass(frozen=True)
class Tune(Mechanism):
    """The candidate with the largest noisy number of held-out records right, and its student.

    A random share of the private records (persons whole) is held out, by a permutation that does not look at
    them; the labellings learn from the others. Candidates that differ in the student alone share a labelling.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one record (or person), replaced.

    1. *The choice.* c_i is the number of held-out records (one a person) that candidate i has right. Given
       the candidates, replacing one held-out record moves each c_i by at most 1, so the k of them by
       sqrt(k) in L2; with N(0, s^2) on each they are (sqrt(k)/s)-GDP, and the largest is post-processing.
    2. *The labellings*, each mu_i-GDP on the other records, are sqrt(sum mu_i^2)-GDP (Dong, Roth, Su 2022,
       Corollary 2). Where one has no such mu, each of the L has eps/L and delta/L of the whole, those with a
       mu take their shares together, and all add up (basic composition). Students are post-processing.
    3. *Both.* Whether a record is held out does not depend on its values, so replacing one changes one
       of the two sides. If a labelling's, the choice is post-processing of what they release and of records
       that stay; if the choice's, the candidates are equal on both sides. So the whole costs the larger of
       the two losses, not their sum (parallel composition: McSherry 2009).
    4. *Integer noise.* The counts are integers; a labelling has its own proof. With several, mu^2 and the
       numbers that got noise add up (`pate_cli.privacy.gaussian`), for which some of eps is kept.

    With `trials` the labellings are not each run once: K times, K geometric of mean `trials`, a random one
    runs on the records not held out and its own students are scored as in 1; the best score of all trials
    decides. A trial with its score is max(mu_labelling, mu_choice)-GDP as in 3, and the whole is (eps,
    delta)-DP by `pate_cli.privacy.selection`. K is not released.

    The list of candidates is assumed to be chosen without looking at the private records.
    """

    persons = "parts"
    adds_mu = False  # its accounts are apart
    eps: float
    delta: float
    n: int  # private records, or persons
    n_holdout: int  # of them
    labellings: tuple[Labelling, ...]
    trials: float = 0.0  # mean number of trials; 0 where each labelling runs once
    left_out: tuple[str, ...] = field(default=(), kw_only=True)  # candidates that cannot work, and why
    exact: bool = field(default=False, kw_only=True)  # whether all noise is of integers, for a release

    def divided(self) -> Tune:
        """Calibrate the labellings for their shares of the budget; those that cannot work are left out.

        InfeasibleError if fewer than two candidates can work.
        """
        labellings, left_out, trials = list(self.labellings), list(self.left_out), 0.0
        shares = [(self.eps, self.delta)] * len(labellings)  # at first all of it, to see which have a mu
        while True:
            calibrated = []
            for labelling, (eps, delta) in zip(labellings, shares, strict=True):
                try:
                    with with_part(eps, self.eps):
                        calibrated.append(labelling.at(eps, delta, self.exact))
                except InfeasibleError as error:
                    left_out.append(f"{labelling.labels}: left out: {error}")
            again = self._shares(calibrated)
            if (trials, shares) == again:
                break
            labellings, (trials, shares) = calibrated, again
        if sum(len(labelling.students) for labelling in calibrated) < 2:
            raise InfeasibleError(f"tune: fewer than two candidates can work; {'; '.join(left_out)}")
        return replace(self, labellings=tuple(calibrated), trials=trials, left_out=tuple(left_out))

    def _shares(self, labellings: list[Labelling]) -> tuple[float, list[tuple[float, float]]]:
        """Mean number of trials (0: each labelling runs once), and (eps, delta) of each labelling.

        By composition or by a random number of trials, whichever leaves a labelling more.
        """
        L, gdp, eps, delta = len(labellings), sum(each.gdp for each in labellings), self.eps, self.delta
        if L <= 1 or math.isinf(eps):
            return 0.0, [(eps, delta)] * L
        trials, shared = 0.0, (0.0, 0.0)
        if gdp:
            share = eps * gdp / L
            spared = (
                labelling.calibrated.integer_loss(labelling.setting, share)
                for labelling in labellings
                if labelling.gdp
            )
            c = sum(spared) if self.exact else 0.0
            if 4 * c > share:
                raise ValueError(f"no integer noise is calibrated for {gdp} labellings at eps={eps:g}")
            together = gaussian.mu_of(share - 2 * c, math.exp(-c) * delta * gdp / L)
            mu = together / math.sqrt(gdp)
            if gdp == L and (of_trials := selection.trials_mu(eps, delta, _TRIES * L)) > mu:
                trials, mu = float(_TRIES * L), of_trials
            shared = gaussian.point_of(mu, delta)
        return trials, [shared if each.gdp else (eps / L, delta / L) for each in labellings]

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for labellings, students and choice."""
        how = "labellings on some records, the choice on the others"
        if math.isinf(self.eps):
            return PrivacyLoss(math.inf, 0.0, how)
        gdp = not self.trials and not self.exact and all(labelling.gdp for labelling in self.labellings)
        return PrivacyLoss(
            self.eps, self.delta, how, mu=gaussian.mu_of(self.eps, self.delta) if gdp else None
        )

    def sigma(self, k: int) -> float:
        """Noise on each of k counts, in records."""
        if math.isinf(self.eps):
            return 0.0
        if self.trials:
            mu = selection.trials_mu(self.eps, self.delta, self.trials)
        elif self.exact:
            mu = gaussian.vector_mu(self.eps, self.delta, k)
        else:
            mu = gaussian.mu_of(self.eps, self.delta)
        return gaussian.vector_sigma(math.sqrt(k), mu) if self.exact else math.sqrt(k) / mu

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return len(self.labellings) == 1

    @property
    def n_held_out(self) -> int:
        """See `Mechanism`."""
        return self.n_holdout

    def that_answered(self, chosen: str | None) -> Mechanism:
        """See `Mechanism`."""
        of = (each for each in self.labellings if chosen in [student.label for student in each.students])
        return next((each.calibrated for each in of), self)

    def drawn_inside(self) -> Counter[tuple[str, float]]:
        """The number of trials."""
        return Counter({("exponential", -1 / math.log1p(-1 / self.trials)): 1} if self.trials else {})

    @property
    def choice_apart(self) -> bool:
        """See `Mechanism`: the held-out records, where there are no others that judge a trial."""
        return len(self.labellings) == 1

    def loss(self, spent: Account) -> PrivacyLoss:
        """Larger of two losses: of the labellings together, and of the choice; see the class."""
        if not spent.only(Apart) or not spent:
            return UNPROVED
        if math.isinf(self.eps):
            return self.guarantee
        if self.trials:
            if not all(side.only(Gdp) for side in spent.apart):
                return UNPROVED
            mu = max(Gdp.sum(each).mu for each in spent.apart)
            return PrivacyLoss(selection.trials_eps(mu, self.trials, self.delta), self.delta, "the trials")
        *sides, choice = spent.apart
        if len(sides) != len(self.labellings) or not choice.only(Gdp):
            return UNPROVED
        labels = self._loss_of_labels(sides)
        chosen = Gdp.sum(choice).eps(self.delta)
        return PrivacyLoss(max(labels.eps, chosen), max(labels.delta, self.delta), "the larger side")

    def _loss_of_labels(self, sides: list[Account]) -> PrivacyLoss:
        if len(sides) == 1:
            alone: PrivacyLoss = self.labellings[0].calibrated.loss(sides[0])
            return alone
        eps = delta = 0.0
        together = Account()
        for labelling, side in zip(self.labellings, sides, strict=True):
            if not labelling.gdp:
                loss = labelling.calibrated.loss(side)
                eps, delta = eps + loss.eps, delta + loss.delta
            elif not side.only(Gdp):
                return UNPROVED
            else:
                together += side
        if delta_left := self.delta * sum(labelling.gdp for labelling in self.labellings) / len(sides):
            eps += Gdp.sum(together).eps(delta_left)
        return PrivacyLoss(eps, delta + delta_left, "all labellings")

    def with_exact_noise(self) -> Mechanism:
        """Calibrate for integer noise."""
        return replace(self, exact=True).divided()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Label with each labelling (or in each trial), and choose; see the class."""
        held_out, kept = _held_out(private.records, self.n_holdout, rng)
        counts = dict.fromkeys(self.labels, math.nan)
        best: tuple[float, str, Any, Any] = (-math.inf, "", None, None)
        for labellings, doors, choice in self._rounds(door, rng):
            candidates: list[tuple[str, Any, Released]] = []
            for labelling, way in zip(labellings, doors, strict=True):
                candidates += fitted(labelling, kept, public, way, rng)
            right = np.array([[n_right(student, held_out) for _, student, _ in candidates]])
            counts |= {label: count for (label, *_), count in zip(candidates, right[0], strict=True)}
            noisy = self.noisy(right, choice)[0]
            if (score := float(noisy.max())) > best[0]:
                best = (score, *candidates[int(noisy.argmax())])
        _, chosen, student, released = best
        shown = {f"chosen {label}": float(label == chosen) for label in counts}
        shown |= {f"held-out accuracy {label}": n / self.n_holdout for label, n in counts.items()}
        return Released(student, released.answers, shown, chosen)

    def _rounds(
        self, door: Door, rng: np.random.Generator
    ) -> Iterator[tuple[Sequence[Labelling], list[Door], Door]]:
        """Labellings that are scored together, a door for each, and one for their scores."""
        if not self.trials:
            *doors, choice = door.apart(len(self.labellings) + 1)
            yield self.labellings, doors, choice
            return
        (secret,) = door.noise.spawn(1)
        further_trials = int(secret.exponential(-1 / math.log1p(-1 / self.trials), 1)[0])  # geometric, from 0
        for _ in range(1 + further_trials):
            labels, choice = door.apart(2)
            yield [self.labellings[int(rng.integers(len(self.labellings)))]], [labels], choice

    def noisy(self, counts: FloatArray, door: Door) -> FloatArray:
        """Release counts of shape (runs, k) with noise."""
        runs, k = counts.shape
        grain = 1.0 if self.exact else None
        kind = GaussianNoise(sensitivity=math.sqrt(k), sigma=self.sigma(k), grain=grain)
        noisy: FloatArray = door.release(counts, kind, runs)
        return noisy

    @property
    def labels(self) -> tuple[str, ...]:
        """Candidates, in order."""
        return tuple(student.label for labelling in self.labellings for student in labelling.students)

    @property
    def n_teachers(self) -> int:
        """Teachers of the first labelling that has any."""
        counts = (labelling.calibrated.n_teachers for labelling in self.labellings)
        return next(filter(None, counts), 0)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {
            **{name: getattr(self, name) for name in ("eps", "delta", "n_holdout")},
            "candidates": list(self.labels),
            "left_out": list(self.left_out),
            "labelling_eps": [labelling.setting.eps for labelling in self.labellings],
            "expected_trials": self.trials or None,
            "choice_sigma": self.sigma(len(self.labels)),
            "integer_noise": self.exact,
        }

    def table(self) -> NumbersTable:
        """Show each candidate with the mechanism that labels for it, and that one's budget."""
        rows: list[tuple[Any, ...]] = [
            (label, each.calibrated.name, f"{each.setting.eps:.4g}", f"{each.setting.delta:.3g}")
            for each in self.labellings
            for label, *_ in each.students
        ]
        how = f"{self.trials:g} random labellings on average" if self.trials else "each labelling runs once"
        caption = f"Candidates with one mechanism and teacher share a labelling; {how}. {self._worth}."
        return NumbersTable("Candidates", ("candidate", "labelled by", "eps", "delta"), rows, caption)

    @property
    def _worth(self) -> str:
        noise = f"{self.sigma(len(self.labels)):.3g} records"
        return f"They are chosen on {self.n_holdout} of {self.n} records; the noise is worth {noise}"

    def unanswered(self) -> str | None:
        """Say which candidates are left out, and where noise hides a difference of five points."""
        warnings = list(self.left_out)
        if math.sqrt(2) * self.sigma(len(self.labels)) > 0.05 * self.n_holdout:
            warnings.append(f"{self._worth}: too many candidates to tell apart those within 5 points")
        return "; ".join(warnings) or None

    def attacks(self) -> list[SampledAttack]:
        """Attack the choice: one candidate has the replaced record right on D', all others on D.

        The labellings are attacked as mechanisms of their own.
        """
        first = np.arange(len(self.labels)) == 0

        def chosen(right: Any, door: Door, rng: np.random.Generator, runs: int) -> Any:
            counts = np.tile(self.n_holdout // 2 + right, (runs, 1))
            return self.noisy(counts.astype(np.float64), door).argmax(axis=1)

        name = "a record that one candidate has right, or all others"
        return [SampledAttack.on(name, (~first, first), chosen)]


def _held_out(
    records: PrivateRecords, n_holdout: int, rng: np.random.Generator
) -> tuple[PrivateRecords, PrivateRecords]:
    """Hold out random records, or one record each of random persons; the others keep all of theirs."""
    held_out = np.zeros(records.n_persons, dtype=bool)
    held_out[rng.permutation(records.n_persons)[:n_holdout]] = True
    mine = held_out if (owners := records.persons) is None else held_out[owners]

    def of(rows: Any) -> PrivateRecords:
        left = None if owners is None else np.unique(owners[rows], return_inverse=True)[1]
        return PrivateRecords(records.X[rows], records.y[rows], left, features=records.features)

    others = ~mine
    return of(mine).one_each(rng), of(others)
