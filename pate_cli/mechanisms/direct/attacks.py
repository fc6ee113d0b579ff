"""Base of learners that clip sums over persons, with their worst-case neighbours."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pate_cli.mechanisms.base import Mechanism, SampledAttack, no_answers
from pate_cli.privacy.door import Door
from pate_cli.types import FloatArray, PrivateRecords, PublicPoints, Released

__all__ = ["PUBLIC", "PersonSums"]

_Side: TypeAlias = list[tuple[float, int]]
"""Records of one side that the other has not: where on the line, and of which class."""

PUBLIC = PublicPoints(np.array([[-1.0], [0.0], [1.0]]))
"""The public set of all pairs."""

_FAR = 1e300
_MANY = 30  # records of a person that has many


class PersonSums(Mechanism):
    """A learner on the private records that clips the sum of a person's gradients.

    Its attacks are on few records on a line, of any size. Its n, and with it noise and steps, stays as it is:
    the other persons have no gradient.
    """

    persons = "sums"
    n: int
    """Private persons."""

    @abstractmethod
    def outputs(self, private: PrivateRecords, public: PublicPoints, door: Door, runs: int) -> FloatArray:
        """All that independent runs release, for an audit, shape (runs, k)."""

    def released(self, model: Any) -> Released:
        """A model, and no labels of points."""
        return Released(model, no_answers(), self.guarantee)

    @property
    def runs_on_persons(self) -> int:
        """Runs of each side of an attack on persons: some seconds' worth."""
        return 10_000

    def attacks(self) -> list[SampledAttack]:
        """Replace one record: its label, or where it is, in and out of bounds, alone and against a crowd."""
        pairs: dict[str, tuple[_Side, _Side]] = {
            "one label against another": ([(1.0, 1)], [(1.0, 0)]),
            "the same, far out of bounds": ([(_FAR, 1)], [(_FAR, 0)]),
            "a record and its mirror image, far out of bounds": ([(_FAR, 1)], [(-_FAR, 1)]),
            "a record far out of bounds against one in the middle": ([(_FAR, 1)], [(0.0, 1)]),
        }
        return self._with_crowd(pairs, 20_000, persons=False)

    def attacks_on_persons(self) -> list[SampledAttack]:
        """Replace all records of one person by others, as many or not."""
        spread = np.linspace(-2.0, 2.0, _MANY).tolist()
        pairs: dict[str, tuple[_Side, _Side]] = {
            "all labels of a person against others": ([(x, 1) for x in spread], [(x, 0) for x in spread]),
            "the same, at one place": ([(1.0, 1)] * _MANY, [(1.0, 0)] * _MANY),
            "many records far out of bounds, and their mirror images": (
                [(_FAR, 1)] * _MANY,
                [(-_FAR, 1)] * _MANY,
            ),
            "many records against one": ([(1.0, 1)] * _MANY, [(1.0, 0)]),
            "records that cancel against ones that add up": ([(1.0, 1), (1.0, 0)] * 3, [(1.0, 1)] * 6),
        }
        return self._with_crowd(pairs, self.runs_on_persons, persons=True)

    def _with_crowd(
        self, pairs: dict[str, tuple[_Side, _Side]], runs: int, *, persons: bool
    ) -> list[SampledAttack]:
        """Each pair alone, the first among records of one class, and one that would move a private median."""

        def sample_of(
            sides: tuple[_Side, _Side], crowd: FloatArray
        ) -> Callable[[bool, np.random.Generator, int], FloatArray]:
            def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
                door = Door.seeded(int(rng.integers(2**63)))
                x, labels = zip(*sides[neighbour], strict=True)
                X = np.concatenate([x, crowd])[:, None]
                y = np.concatenate([labels, np.ones(len(crowd), dtype=np.int64)])
                units = np.concatenate([np.zeros(len(x), dtype=np.int64), 1 + np.arange(len(crowd))])
                return self.outputs(PrivateRecords(X, y, units if persons else None), PUBLIC, door, runs)

            return sample

        found = {name: sample_of(pair, np.zeros(0)) for name, pair in pairs.items()}
        name, pair = next(iter(pairs.items()))
        one_class = np.linspace(-1.0, 1.0, min(8, self.n - 1))
        found[f"{name}, among records of one class"] = sample_of(pair, one_class)
        # 3 records at one end and 6 at the other: most pairs are close, or far, by where one more is
        crowd = np.concatenate([-1 + 1e-3 * np.arange(3), 1 - 1e-3 * np.arange(6)])[: self.n - 1]
        found["a record that moves the median distance"] = sample_of(([(-1.01, 1)], [(1.01, 1)]), crowd)
        return [SampledAttack(name, sample, runs) for name, sample in found.items()]
