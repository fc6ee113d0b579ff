"""Checks of a run by its door: history replayed, values moved, cost paid, noise drawn, and what left."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from pate_cli.errors import count_of
from pate_cli.mechanisms import Mechanism
from pate_cli.privacy.events import Account, Gdp, Inner, Pure
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing.doors import Recorder, Replay
from pate_cli.testing.failure import CheckFailed, require
from pate_cli.testing.forms import LABELS, SEED, Form, N
from pate_cli.testing.kind_checks import hidden
from pate_cli.testing.learners import Fits, fits_kept
from pate_cli.testing.unlike import Way
from pate_cli.types import Private, PrivateRecords, Released, Votes

__all__ = ["CHECKS", "Run", "drawn", "moved", "output", "paid", "replayed", "unlike"]


class Log(Counter[tuple[str, float]]):
    """How many numbers were drawn, by kind and scale: one log, also of copies of a source."""

    def __deepcopy__(self, memo: Any) -> Log:
        return self


class Logged(SeededNoise):
    """Noise that logs what is drawn, from the sources that it spawns too."""

    def __init__(self, seed: np.random.SeedSequence, drawn: Log | None = None) -> None:
        super().__init__(seed)
        self.drawn = Log() if drawn is None else drawn

    def gaussian(self, scale: float, size: int) -> Any:
        """See `SeededNoise`."""
        self.drawn["gaussian", scale] += size
        return super().gaussian(scale, size)

    def laplace(self, scale: float, size: int) -> Any:
        """See `SeededNoise`."""
        self.drawn["laplace", scale] += size
        return super().laplace(scale, size)

    def exponential(self, scale: float, size: int) -> Any:
        """See `SeededNoise`."""
        self.drawn["exponential", scale] += size
        return super().exponential(scale, size)

    def spawn(self, count: int) -> list[Any]:
        """See `SeededNoise`."""
        return [Logged(child, self.drawn) for child in self._seed.spawn(count)]


class Run:
    """One run of a form on labels of a kind: all that passed its door, and what left."""

    def __init__(self, form: Form, labels: str = LABELS[0]) -> None:
        self.form, self.labels, self.mechanism, self.records = (
            form,
            labels,
            form.mechanism(),
            form.records(labels),
        )
        self.noise = Logged(np.random.SeedSequence(5))
        self.door = Recorder(self.noise)
        self.fits: Fits | None = None if form.retrained else {} if form.fits is None else form.fits
        with fits_kept(self.fits):
            self.votes = form.votes(self.records) if self.mechanism.asks_votes else None
        self.rng = np.random.default_rng(SEED)
        self.out = self._of(self.records, self.door, self.votes, self.rng)

    def _of(
        self, records: PrivateRecords, door: Any, votes: Votes | None, rng: np.random.Generator
    ) -> Released:
        vote = (lambda: votes or self.form.votes(records)) if self.mechanism.asks_votes else None
        private = Private(records, vote)
        try:
            with fits_kept(self.fits):
                return self.mechanism.release(private, self.form.public, door, rng)
        except CheckFailed:
            raise
        except Exception as error:  # whether there is one, private records decide
            raise CheckFailed(f"release raises {type(error).__name__}: {error}") from error

    def again(
        self, records: PrivateRecords, votes: Votes | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Released, Replay]:
        """Run with other private records and the same history: what leaves, and the door."""
        door = self.door.replay(SeededNoise(np.random.SeedSequence(5)))
        return self._of(records, door, votes, rng or np.random.default_rng(SEED)), door

    def same(self, records: PrivateRecords) -> int:
        """With other private records, what leaves is equal but for what passed the door; its bytes."""
        rng = np.random.default_rng(SEED)
        out, door = self.again(records, rng=rng)
        first, second = (
            pickle.dumps((outcome.model, outcome.answers, self.mechanism.after(passed.spent)))
            for outcome, passed in ((self.out, self.door), (out, door))
        )
        require(first == second, "what leaves depends on private records")
        require(not door.history, "fewer releases than recorded")
        same = rng.bit_generator.state == self.rng.bit_generator.state
        require(same, "how many random numbers are drawn depends on private records")
        return len(first)


def replayed(run: Run) -> str:
    """Nothing but what passed the door depends on private records: with others, equal bytes."""
    require(run.door.released, "nothing passed the door")
    size = run.same(run.form.records(other=True))
    return f"{count_of(len(run.door.released), 'release')}, {size:,} equal bytes"


def unlike(run: Run, way: Way) -> str:
    """Private records of another kind change nothing but what passed the door."""
    others = run.form.unlike(run.records, way)
    if others is None:
        return ""
    try:
        run.same(others)
    except CheckFailed as error:
        raise CheckFailed(f"{run.form}, {way.__name__}: {error}") from error
    return str(run.form)


def moved(run: Run) -> str:
    """One record, or person, moves a release by at most the sensitivity stated."""
    if run.mechanism.draws_copies:
        return "draws with replacement: left to the proof"
    with _without_relabelling(run.mechanism):
        run = Run(run.form, run.labels) if run.mechanism.relabelling else run
        extreme = run.labels == LABELS[0]
        pairs: list[tuple[PrivateRecords, Votes | None]] = [
            (near, None) for near in run.form.neighbours(run.records, extreme)
        ]
        if run.votes is not None:  # and one teacher that says otherwise everywhere
            second, most = run.votes.counts.argsort(axis=1)[:, -2:].T
            for leaves, joins in ((most, second), (second, most)):
                counts = run.votes.counts.copy()
                rows = np.flatnonzero(counts[np.arange(len(counts)), leaves])
                counts[rows, leaves[rows]] -= 1
                counts[rows, joins[rows]] += 1
                pairs.append((run.records, Votes(counts, run.votes.n_teachers)))
        sizes = []
        for near, votes in pairs:
            sizes.append([by for _, by in run.again(near, votes)[1].moved])
            require(bool(sizes[-1]), "nothing passed the door")
            worst = max(sizes[-1])
            require(worst <= 1 + 1e-9, f"a release is moved by {worst:.3g} times its sensitivity")
    if run.mechanism.choice_apart:
        require(not any(max(labels) and choice for *labels, choice in sizes), "a record on both sides")
    worst = max(map(max, sizes))
    one_query = run.mechanism.asks_at_most == 1  # of teachers none of whom may change
    require(worst > 0 or not extreme or one_query, "nothing was moved")
    return f"{len(pairs)} neighbours, moved by {worst:.3g} times it"


@contextmanager
def _without_relabelling(mechanism: Mechanism) -> Iterator[None]:
    """Keep the labels, as a choice inside may move all that follows; count the records it is made from."""
    if not mechanism.relabelling:
        yield
        return
    function, n_records = mechanism.relabelling

    def kept(hypotheses: Any, X: Any, labels: Any, *_: Any, **__: Any) -> Any:
        others = labels if isinstance(labels, tuple) else None  # records by which these are relabelled
        sizes = (X.shape[0], len(others[1]) if others else len(labels))
        proof = (n_records, N - n_records if others else n_records)
        require(sizes == proof, "not as many records as the proof is for")
        if others is None:
            return labels
        return (np.asarray(X.todense() if sp.issparse(X) else X)[:, 0] > 0).astype(np.int64)

    with mock.patch(f"{function.__module__}.{function.__name__}", kept):
        yield


def paid(run: Run) -> str:
    """The releases cost, by their scales, what the door counted, and in all what is promised."""
    spent = run.door.spent
    counted = Account()
    for release, _ in run.door.released:
        counted.pay(release.event, release.releases)
    paid_for = Account({event: n for event, n in spent.flat().items() if event in counted or not event.once})
    require(paid_for.without(Inner) == counted, "releases that are not counted")
    loss, promised, asked = run.mechanism.loss(spent), run.mechanism.guarantee, run.form.setting
    require(promised.eps <= asked.eps * (1 + 1e-9), "more promised than asked")
    require(promised.delta <= asked.delta * (1 + 1e-9), "more promised than asked")
    require(loss.eps <= promised.eps * (1 + 1e-9), "more spent than promised")
    require(loss.delta <= promised.delta * (1 + 1e-9), "more spent than promised")
    if run.mechanism.spends_all:
        require(loss.eps >= promised.eps * (1 - 1e-6), "less spent than promised")
        require(loss.delta >= promised.delta * (1 - 1e-6), "less spent than promised")
    for other in (Gdp(1e4), Pure(50.0), Inner(Pure(50.0))):
        free = run.mechanism.loss(spent + Account([other])).eps <= promised.eps
        require(not free, "a release of another kind that costs nothing")
    return f"spent eps {loss.eps:.6g} of {promised.eps:.6g}, delta {loss.delta:.3g} of {promised.delta:.3g}"


def drawn(run: Run) -> str:
    """Each number released had noise of its own, of the scale stated."""
    stated: Counter[tuple[str, float]] = Counter()
    used = []
    for (kind, value, _), out in run.door.released:
        stated += kind.draws(value, out)
        used += np.ravel(kind.noise_in(value, out)).tolist()
        if value.size:
            hidden(kind, -(-value.size // kind.count(value)) if value.ndim > 1 else 1)
    for event in run.door.spent.flat():
        stated += event.draws()
    stated += run.mechanism.drawn_inside()
    log, clocks = Counter(run.noise.drawn), ("exponential", 1.0)  # samples and inner choices draw these too
    fault = "noise of another scale, or less of it, than stated"
    require(log.pop(clocks, 0) >= stated.pop(clocks, 0), fault)
    require(log == +stated, fault)
    require(len(set(np.round(used, 9))) == len(used), "noise that was used before")
    return f"{count_of(sum(run.noise.drawn.values()), 'number')} of noise, of the scales stated"


def output(run: Run) -> str:
    """What leaves is well formed, and nothing private is shown or sent with it."""
    out, public, codes = run.out, run.form.public, range(run.form.n_classes)
    answers, released = out.answers, out.answers.labels[out.answers.labels >= 0]
    require(set(answers.labels.tolist()) <= {-1, *codes}, "a label that is no class")
    asked = answers.asked.tolist()
    require(len(set(asked)) == len(asked) == len(answers.labels), "a point asked twice, or labels for none")
    require(set(asked) <= set(range(public.n_points)), "a point that there is not")
    after = run.mechanism.after(run.door.spent)
    require(after.eps <= run.mechanism.guarantee.eps * (1 + 1e-9), "more spent after the fact than promised")
    require(out.model is not None or answers.n_asked > 0, "neither answers nor a model")
    if run.labels == "of one class" and len(released) and not run.form.changes:
        require(np.mean(released == 0) > 0.6, "other labels than those of the only class there is")
    if out.model is not None:
        labels = out.model.predict(public.X)
        require(labels.shape == (public.n_points,) and set(labels.tolist()) <= set(codes), "no labels")
    rows = run.records.X.toarray() if run.form.sparse else run.records.X
    sent, shown = pickle.dumps(out), repr(run.mechanism) + repr(out)
    require(not any(row.tobytes() in sent for row in rows), "a private record is sent along")
    require(not any(f"{x:.7f}" in shown for x in rows.ravel()), "a private record is shown")
    return f"{answers.n_answered} of {answers.n_asked} answered{', a model' if out.model is not None else ''}"


CHECKS = (replayed, moved, paid, drawn, output)
