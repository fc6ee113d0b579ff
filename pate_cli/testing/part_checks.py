"""Checks of a loader and of a query strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from pate_cli import datasets
from pate_cli.datasets.contract import fault
from pate_cli.errors import ConfigError, InputError
from pate_cli.queries import Strategy, Stream
from pate_cli.testing.failure import CheckFailed, require
from pate_cli.types import Answer, Answers, Dataset, PublicPoints

__all__ = ["again", "answers", "budget", "dataset", "exhausted", "no_answer", "refused", "splits"]


def refused(options: type, read: Callable[[dict[str, Any]], Any], prefix: str) -> str:
    """Unknown options and wrong values are refused in one line that names the key, before anything is run."""
    names = list(options.__dataclass_fields__)  # type: ignore[attr-defined]
    for key, wrong in [("nonsense", 1), *((name, [["?"]]) for name in names)]:
        try:
            read({key: wrong})
        except InputError as error:
            message = str(error)
            named = message.startswith(f"{prefix}{key}: ") and "\n" not in message
            require(named, f"refused, but not in one line that names {prefix}{key}: {message}")
        else:
            raise CheckFailed(f"{prefix}{key}: {wrong!r} is taken")
    return f"{len(names) + 1} refused"


# -- loaders ----------------------------------------------------------------------------------


def dataset(load: Callable[[], Dataset]) -> str:
    """Records, codes, class names, persons, parts and warnings are what a `Dataset` says they are."""
    try:
        data = load()
    except ConfigError as error:  # one of another package is refused where it is loaded
        raise CheckFailed(str(error)) from error
    require(not (wrong := fault(data)), wrong)
    return f"{data.n_records:,} records, {data.n_features} columns, {data.n_classes} classes"


def again(load: Callable[[], Dataset]) -> str:
    """Loading again gives the same records, whatever the state of numpy's generator."""
    first = load()
    state = np.random.get_state()  # noqa: NPY002 - of a loader that should not use it
    np.random.seed(12345)  # noqa: NPY002
    second = load()
    np.random.set_state(state)  # noqa: NPY002
    require(first.checksum == second.checksum, "another checksum")
    require(first.classes == second.classes and np.array_equal(first.y, second.y), "other labels")
    require(_content(first.X) == _content(second.X), "other records")
    return f"the same {first.n_records:,} records"


def _content(X: Any) -> Any:
    """Values as bytes or texts; a number that is missing is equal to itself."""
    if sp.issparse(X):
        return [part.tobytes() for part in (X.data, X.indices, X.indptr)]
    return X.to_csv() if hasattr(X, "to_csv") else np.asarray(X).tobytes()


def splits(load: Callable[[], Dataset]) -> str:
    """It is split, and encoded by what public points are: persons whole, each part as large as planned."""
    data = load()
    rng = np.random.default_rng(0)
    sizes = datasets.sizes_of(data)
    split = datasets.split(data, rng=rng)
    sizes_found = split.private.n_persons, split.public.n_points, len(split.test.y)
    tested = sizes.n_test if data.persons is None else sizes_found[2]  # of persons, all records
    planned = sizes.n_private, sizes.n_public, tested
    require(sizes_found == planned, f"parts of {sizes_found}, planned {planned}")
    X = split.public.X
    require(np.isfinite(X.data if sp.issparse(X) else X).all(), "public points that are not finite")
    return f"{sizes_found[0]:,} private, {sizes_found[1]:,} public, {sizes_found[2]:,} test"


# -- query strategies -------------------------------------------------------------------------


@dataclass
class _Oracle:
    """Answers by a rule until it is exhausted, and logs what it was asked."""

    most: int
    rule: Callable[[int], Answer]
    asked: list[int] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        return len(self.asked) >= self.most

    def answer(self, index: int) -> Answer:
        require(not self.exhausted, "a question to an oracle that is exhausted")
        self.asked.append(int(index))
        return self.rule(int(index))

    def answer_all(self, order: Any) -> list[Answer]:
        taken = [int(index) for index in order][: self.most - len(self.asked)]
        self.asked += taken
        return [self.rule(index) for index in taken]


POINTS = 60


def _ask(
    strategy: Strategy,
    n_features: int,
    *,
    budget: int = POINTS,
    most: int = POINTS,
    none: bool = False,
    sparse: bool = False,
) -> tuple[Answers, _Oracle]:
    """Let a strategy ask about points on either side of a plane, and check what it returns."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(POINTS, n_features))

    def rule(index: int) -> Answer:
        label = int(X[index, 0] > 0)
        return Answer(-1) if none else Answer(label, np.eye(2)[label] * 10)

    oracle = _Oracle(most, rule)
    stream = Stream(PublicPoints(csr_matrix(X) if sparse else X), rng.permutation(POINTS), 2, budget)
    answers, _ = strategy.ask(stream, oracle, np.random.default_rng(1))
    require(answers.asked.tolist() == oracle.asked, "answers to other questions than were asked")
    labels = [rule(index).label for index in oracle.asked]
    require(answers.labels.tolist() == labels, "other labels than were answered")
    require(len(set(oracle.asked)) == len(oracle.asked), "a point asked twice")
    require(set(oracle.asked) <= set(range(POINTS)), "a point that there is not")
    return answers, oracle


def answers(strategy: Strategy, n_features: int) -> str:
    """It asks through the oracle alone, no point twice, and the same at equal answers and draws."""
    _ask(strategy, n_features, sparse=n_features > 1)
    first, oracle = _ask(strategy, n_features)
    second, _ = _ask(strategy, n_features)
    require(np.array_equal(first.asked, second.asked), "other questions at equal answers and draws")
    require(oracle.asked, "it asks nothing")
    return f"{len(oracle.asked)} of {POINTS} points asked"


def budget(strategy: Strategy, n_features: int) -> str:
    """It stops at its budget, where it picks points: with 7 questions, and with 1."""
    seen = []
    for most in (7, 1):
        _, oracle = _ask(strategy, n_features, budget=most)
        require(len(oracle.asked) <= most, f"{len(oracle.asked)} questions, its budget is {most}")
        seen.append(len(oracle.asked))
    return f"{', '.join(map(str, seen))} asked"


def exhausted(strategy: Strategy, n_features: int) -> str:
    """It stops where the oracle does, with the answers that there are."""
    for most in (5, 1, 0):
        _, oracle = _ask(strategy, n_features, most=most)
        require(len(oracle.asked) <= most, "more questions than the oracle takes")
    return "after 5, 1 and 0 answers"


def no_answer(strategy: Strategy, n_features: int) -> str:
    """It goes on where questions have no answer."""
    got, _ = _ask(strategy, n_features, none=True)
    require(got.n_answered == 0, "labels that nobody gave")
    return f"{got.n_asked} asked, none answered"
