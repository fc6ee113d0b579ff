"""The teachers of LZCW21 Appendix E on Adult: how far they agree, with each other and with h*.

36,631 private records, 10,211 public ones, 2,000 queries of these, 250 logistic
regressions, and h*, one logistic regression on all private records. The 2,000 records
left over measure accuracy (36,631 + 10,211 + 2,000 = 48,842, all there are).

For one query let p be the share of teachers that say 1. Three margins:

- ``Delta = |p - 1/2|``, agreement with one another (equation 4, estimated);
- ``|q - 1/2|``, q the share that differs from h*, which Figure 3 and its text name;
- ``1/2 - q``, the same with its sign: positive where the vote agrees with h*.

q is p or 1 - p, so the second is *identical* to the first, whatever h* is: only the
signed margin knows anything of h*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli import datasets, learners, teachers
from pate_cli.checks import Check, Whole
from pate_cli.results.findings import Progress
from pate_cli.types import Dataset, FloatArray, IntArray

from .tools import SAMPLING, seeded

CHECKS: dict[str, Check] = {
    "n_private": Whole(2),
    "n_public": Whole(2),
    "n_queries": Whole(2),
    "teachers": Whole(1),
    **SAMPLING,
}
"""Parameters of `measure`."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Votes and h* of one split, not differentially private."""

    votes_for_1: IntArray  # teachers that predict 1 on each query, shape (q,)
    n_teachers: int
    best: IntArray  # class predicted by h* on each query
    accuracy: dict[str, float]  # on the records left over: "teacher" (mean), "vote", "h*"

    @property
    def agreement(self) -> FloatArray:
        """Delta, in [0, 1/2]."""
        return np.abs(self.votes_for_1 / self.n_teachers - 0.5)

    @property
    def differing(self) -> FloatArray:
        """q, the share of teachers that differ from h*, in [0, 1]."""
        for_best = np.where(self.best == 1, self.votes_for_1, self.n_teachers - self.votes_for_1)
        return np.asarray(1 - for_best / self.n_teachers)

    @property
    def signed(self) -> FloatArray:
        """``1/2 - q``, in [-1/2, 1/2]."""
        return 0.5 - self.differing

    @property
    def vote_is_best(self) -> Any:
        """Whether the vote, 1 where at least half of the teachers say so, is h*'s class; shape (q,)."""
        return (2 * self.votes_for_1 >= self.n_teachers) == (self.best == 1)


def of_split(
    dataset: Dataset, *, n_private: int, n_public: int, n_queries: int, n_teachers: int, seed: Any
) -> Margins:
    """Split a dataset of two classes, train the teachers and h*, and let them vote on the queries."""
    dealing, teaching = (np.random.default_rng(child) for child in seed.spawn(2))
    split = datasets.split(dataset, private=n_private, public=n_public, budget=n_queries, rng=dealing)
    learner = learners.make_learner("logistic", {}, seed=0, n_classes=2)
    ensemble = teachers.train(
        split.private, n_teachers=n_teachers, learner=learner, rng=teaching, n_classes=2
    )
    best = learners.make_learner("logistic", {}, seed=0, n_classes=2).fit(split.private.X, split.private.y)
    queries = split.public.X[: split.budget]  # the split is a random permutation
    left = ensemble.votes(split.test.X).counts
    truth = split.test.y
    accuracy = {
        "teacher": float(np.mean(left[np.arange(len(truth)), truth]) / n_teachers),
        "vote": float(np.mean((left[:, 1] >= left[:, 0]) == (truth == 1))),
        "h*": float(np.mean(best.predict(split.test.X) == truth)),
    }
    return Margins(
        ensemble.votes(queries).counts[:, 1],
        n_teachers,
        np.asarray(best.predict(queries)).astype(np.int64),
        accuracy,
    )


def measure(p: Mapping[str, Any], progress: Progress) -> list[Margins]:
    """Do `of_split` on Adult for each repeat; `p` as `CHECKS` took it."""
    dataset = datasets.load("adult")
    sizes = {key: p[key] for key in ("n_private", "n_public", "n_queries")} | {"n_teachers": p["teachers"]}
    repeats = seeded(range(p["repeats"]), p["seed"], progress)
    return [of_split(dataset, **sizes, seed=seed) for _, seed in repeats]


def sizes_text(p: Mapping[str, Any]) -> str:
    """Sizes, for a note of a study."""
    parts = f"{p['n_private']:,} private records, {p['n_public']:,} public"
    return f"{parts}, {p['n_queries']:,} queries of these"


PRIVATE = "Everything here is computed from private records without a mechanism: not differentially private."
"""A note of both studies."""
