"""What `PublicKernelPlan` chooses from public numbers: directions, steps, their size, noise; and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pate_cli.mechanisms.baselines.gradients import grain_for
from pate_cli.mechanisms.baselines.public_bins import MOST_BINS
from pate_cli.mechanisms.baselines.public_features import (
    FEW,
    MOST_DIRECTIONS,
    MOST_LANDMARKS,
    SHUFFLED,
)
from pate_cli.mechanisms.baselines.public_model import speed_of
from pate_cli.mechanisms.protocol import NumbersTable, Plan
from pate_cli.privacy.gaussian import calibrate_sigma, mu_of

__all__ = ["PublicKernelRules"]

_STEPS = (20, 100)  # fewest and most steps of gradient descent
_MOMENTUM = 0.8  # a step goes on for 1/(1 - 0.8) = 5 steps in all
_LONGER = 2.0  # times as long, where more steps are asked for than are taken
_ENOUGH = 10  # steps of the rule that pay for directions, and for landmarks of shuffled columns
_FEWEST = 3  # directions at least
_SHARED = (2.0, 0.7)  # of several classes: factor and power of the time, for the directions it pays for
_TIME = 0.5  # of steps with momentum, in the rule for their number
_TRIED = 3  # one in so many steps is taken before it is chosen
_FROM_THERE = 5  # of several classes lines take one in so many of these
_ASKED = 20  # it is asked once for so many steps which has more right
_TELLS = 300.0  # mu n from which it is: below, the noise of the answer is more than 3% of the records
_SEEN = 10.0  # private records of a bin of rare values at least, in noises of a sum of all of the budget
_NEWTON_STEPS = 5
_REACH = 64.0  # standard deviations of the noise that are whole numbers of 52 bits, too


@dataclass(frozen=True)
class PublicKernelRules(Plan):
    """Numbers that follow from public ones alone; see `PublicKernelPlan`, which says what they are."""

    eps: float
    delta: float
    n: int
    n_public: int
    n_classes: int
    solver: Literal["gd", "newton"]
    clip: float
    steps: int | None
    n_features: int

    @property
    def columns(self) -> int:
        """Columns of theta: 1 for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def describe(self) -> dict[str, Any]:
        """Its public numbers, and what was chosen by them, in words."""
        words = {name: f"{value}: {why}" for name, value, why in self.choices()}
        return {**asdict(self), "steps": self.steps or "auto", "sensitivity": 2 * self.clip, "choices": words}

    def numbers_table(self) -> NumbersTable:
        """Show what it chose, and why."""
        rows: list[tuple[Any, ...]] = [("guarantee", self.guarantee.how, ""), *self.choices()]
        caption = (
            "Numbers of features are known once the public points are: what depends on them is at most so."
        )
        return NumbersTable("What is chosen, from public numbers", ("", "value", "why"), rows, caption)

    def choices(self) -> list[tuple[str, str, str]]:
        """Say what is chosen from public numbers, and why: name, value and reason of each."""
        m = self.n_public
        columns = "ranks, or ranges of flags"
        kernel = (
            "kernel",
            "Gaussian, linear and splines",
            "bends of all columns, lines, and each number by itself",
        )
        if not self.bends:
            columns = "scaled by two ranks, or ranges of flags"
            kernel = ("kernel", "linear", f"{m} public points and {self.n} records do not pay for bends")
        if 1 < m < FEW:
            drawn, of = SHUFFLED, f"{m} public points are fewer than {FEW}: columns are shuffled for more"
        else:
            drawn, of = min(m, MOST_LANDMARKS), f"of {m} public points, at most {MOST_LANDMARKS}"
        most = drawn
        if FEW <= m <= self.n_features < SHUFFLED:
            most = SHUFFLED
            of += f"; {most} if all of the {self.n_features} columns are flags, shuffled"
        p = min(most - 1, self.most_directions) + 1 if most > 1 else 1
        spanned = "directions of the kernel at the landmarks, and a constant"
        if self.most_directions < min(most - 1, MOST_DIRECTIONS):
            spanned += "; more would drown in the noise"
        time, steps = self.time_for(p), self.steps_for(p)
        gd = self.solver == "gd"
        choice = (
            "choice",
            "none",
            "the kernel is linear" if gd and not self.bends else "noise would make it",
        )
        paid = ""
        if self.chooses:
            tried, asked = self.trial_for(steps)
            sure = self.sigma_for(p, p) / self.clip / math.sqrt(asked)
            why = f"if columns are numbers: has more records right after {tried} steps, told to ±{sure:.0f}"
            choice = ("choice", "this, or its lines", why)
            most = self.rounds_for(p, chosen=True, learned=True)
            paid = f"; with a choice {self.rounds_for(p, chosen=True)} are paid for, of texts {most}"
        if self.steps is not None:
            counted = "as asked for"
        elif gd:
            counted = f"{time:.3g} are where learning and noise balance, between {_STEPS[0]} and {_STEPS[1]}"
        else:
            counted = "with the Hessian of the public points, few do"
        size = f"{8 * speed_of(self.n_classes) * min(1.0, time / steps):.3g} / curvature"
        turned = "turned to fewer, or to all, as the released gradients say that it had not arrived, or had"
        length = f"momentum {self.momentum_for(p, steps):.3g}, from the time that the steps have to cover"
        return [
            ("columns", columns, f"from {m} public points; if of one unit, with some of their spread"),
            kernel,
            *([choice] if gd else []),
            *self._weights(steps),
            ("landmarks", str(drawn), of),
            ("features", f"at most {p}", spanned),
            *self._bins(),
            ("steps", str(steps), counted + paid),
            ("step size", size if gd else "Newton's", length if gd else "damped by the noise"),
            *([("averaged over", f"the last {(steps + 1) // 2} steps", turned)] if gd else []),
            ("clip of a gradient", f"{self.clip:.4g}", "a share of its size before anything is learnt"),
            (
                "noise on a sum",
                f"{self.sigma_for(p, p * self.chooses):.4g}",
                "what the guarantee needs at so many steps",
            ),
        ]

    def _weights(self, steps: int) -> list[tuple[str, str, str]]:
        """What `choices` says of weights of columns."""
        if not self.chooses:
            return []
        after = f"one each, after {self.trial_for(steps)[0]} steps"
        return [("weights of columns", after, "of a dense table: by how far the model then bends along each")]

    def _bins(self) -> list[tuple[str, str, str]]:
        """What `choices` says of bins."""
        fewest = self.fewest_in_bin
        if 2 * fewest > self.n_public / 2:  # two of them are half of the points, as many as are rare at most
            return []
        why = f"of the rare values of columns that are mostly one: {math.ceil(fewest)} public points in each"
        return [("bins", f"at most {MOST_BINS}", why)]

    @property
    def most_directions(self) -> int:
        """Directions that the noise leaves time for, those of the largest variance.

        For two classes those for which the rule asks for 10 steps. For several, each direction has a column
        of noise a class, and a class is seen in few records: no more than ``2 t^0.7``, t the steps that the
        rule asks for with one direction. Measured with 10, 26 and 50 classes (docs/trials.md).
        """
        if not self.bends:  # all: few public points do not say which lines matter
            return MOST_DIRECTIONS
        time = self.time_for(1)
        paid = (time * math.sqrt(self.columns) / _ENOUGH) ** 2
        if self.columns > 1:
            factor, power = _SHARED
            paid = min(paid, factor * time**power)
        return int(min(max(paid, _FEWEST), MOST_DIRECTIONS))

    @property
    def bends(self) -> bool:
        """Whether the model may bend: few public points say little of it, unless noise leaves time for it."""
        return self.n_public >= FEW or self.time_for(SHUFFLED) >= _ENOUGH

    @property
    def fewest_in_bin(self) -> float:
        """Public points in a bin of rare values at least (`PublicBins`); inf where the model may not bend."""
        if not self.bends:
            return math.inf
        one = calibrate_sigma(self.eps, self.delta, 1, 2.0)
        return max(_SEEN * one * self.n_public / self.n, 1.0)

    @property
    def chooses(self) -> bool:
        """Whether there is a trial: of lines too, where columns are numbers, and columns weighed after it."""
        if self.solver != "gd" or not self.bends or (self.steps or _STEPS[0]) < _TRIED:
            return False
        return math.isinf(self.eps) or mu_of(self.eps, self.delta) * self.n >= _TELLS

    def rounds_for(self, dimension: int, *, chosen: bool, learned: bool = False) -> int:
        """Sums that noise is put on: steps, and those that a choice takes.

        Parameters
        ----------
        dimension : int
            Features.
        chosen : bool
            Whether it is asked if lines have more right.
        learned : bool
            Whether lines are learned for that in steps of their own.
        """
        steps = self.steps_for(dimension)
        tried, asked = self.trial_for(steps)
        return steps + (asked + self.lines_for(tried, learned=learned) if chosen else 0)

    def trial_for(self, steps: int) -> tuple[int, int]:
        """Steps after which lines may be chosen, and how often it is asked whether they have more right."""
        return steps // _TRIED, -(-steps // _ASKED)

    def lines_for(self, tried: int, *, learned: bool) -> int:
        """Steps that lines take before it is asked: as many as the model where they are learned beside it.

        Of several classes a fifth from where those nearest to the model are, as scores that bend to be apart
        are not near those that lines would have; of two classes none.
        """
        if learned:
            return tried
        return max(tried // _FROM_THERE, 1) if self.columns > 1 else 0

    def steps_for(self, dimension: int) -> int:
        """Steps for so many features, from public numbers.

        Gradient descent: noise of N(0, sigma^2) in each of T steps is worth a signal of
        ``kappa = 2 sqrt(p q)/(mu n)`` in the mean gradient's unit, whatever T; a time of about ``2/kappa``
        in steps of one unit is where what is learnt and what is drowned balance. Momentum goes as far in
        a quarter of the steps; where these are more than 100, it goes on for longer (`momentum_for`).
        """
        if self.steps is not None:
            return self.steps
        if self.solver == "newton":
            return _NEWTON_STEPS
        fewest, most = _STEPS
        return math.ceil(min(max(self.time_for(dimension), fewest), most))

    def time_for(self, dimension: int) -> float:
        """Steps that the rule asks for before it bounds them."""
        one = calibrate_sigma(self.eps, self.delta, 1, 2.0)
        drowned = one * math.sqrt(dimension * self.columns) / self.n
        return _TIME / (speed_of(self.n_classes) * drowned) if drowned else math.inf

    def momentum_for(self, dimension: int, steps: int) -> float:
        """Share of a step that the next one repeats: a step goes on as far as the steps left out would."""
        if self.solver == "newton":
            return 0.0
        return 1 - (1 - _MOMENTUM) / min(max(self.time_for(dimension) / steps, 1.0), _LONGER)

    def sigma_for(self, dimension: int, lines: int = 0, *, learned: bool = False) -> float:
        """Standard deviation of the noise on a coordinate of a sum; 0 for eps = inf.

        Parameters
        ----------
        dimension : int
            Features.
        lines : int
            Features of lines alone, where these may be chosen; else 0.
        learned : bool
            Whether lines are learned in steps of their own before that.
        """
        rounds = self.rounds_for(dimension, chosen=lines > 0, learned=learned)
        return calibrate_sigma(self.eps, self.delta, rounds, 2 * self.clip)

    @property
    def grain(self) -> float:
        """Unit of the sums over records, a power of two: they and their noise are whole, or small, in it."""
        steps = self.steps or _STEPS[1]
        twice = 2 * steps  # more than a choice takes
        most = calibrate_sigma(self.eps, self.delta, twice, 2 * self.clip)
        return grain_for(max(self.n * self.clip, _REACH * most))
