"""Mistakes that a mechanism's author makes, in copies of docs/examples/own: each fails the check named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from joblib import Parallel, delayed

from pate_cli.testing import CheckFailed, check_mechanism

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "own"
SOURCE = (EXAMPLE / "pate_exponential" / "__init__.py").read_text()
SOURCE = SOURCE.replace("import ExponentialChoice", "import ExponentialChoice, LaplaceNoise")

CHOICE = "self.door.release(scores, ExponentialChoice(sensitivity=1.0, eps=self.mechanism.eps0))"
SESSION = "    def session(self"


def after(*lines):
    """Give `Exponential` a `release` that does more."""
    body = [
        "released = super().release(private, public, door, rng)",
        "records, answers = private.records, released.answers",
        *lines,
        "return released",
    ]
    head = "    def release(self, private, public, door, rng):\n"
    return SESSION, head + "".join(f"        {line}\n" for line in body) + f"\n{SESSION}"


MISTAKES = {
    "a count too many": ("paid", CHOICE, f"({CHOICE}, {CHOICE})[1]"),
    "L2 for L1": (
        *("moved", CHOICE),
        "self.door.release(counts, LaplaceNoise(sensitivity=2**0.5, scale=2**0.5 / self.mechanism.eps0),"
        " len(counts)).argmax(axis=1)[:, None]",
    ),
    "noise from another generator": (
        *("replayed", CHOICE),
        f"0 * {CHOICE} + (scores + np.random.default_rng(0).laplace(size=scores.shape)).argmax(axis=-1)",
    ),
    "a branch on private values": (
        "replayed",
        CHOICE,
        f"{CHOICE} if counts[0].max() > 40 else 0 * scores[..., 0]",
    ),
    "a private scale": (
        *("replayed", CHOICE),
        CHOICE.replace("eps0", "eps0 * float(counts.max() / votes.n_teachers)"),
    ),
    "ties by the order of records": (
        "replayed",
        *after(
            "counts = private.votes().counts[answers.asked]",
            "answers.labels[counts[:, 0] == counts[:, 1]] = records.y[0]",
        ),
    ),
    "a value that is not clipped": (
        "moved",
        *after("door.release(records.X[:, :1].sum(axis=0), LaplaceNoise(sensitivity=2.0, scale=1e3))"),
    ),
    "a count of records": (
        "replayed",
        *after("object.__setattr__(released.answers, 'noise', float(records.y.sum()))"),
    ),
    "a second look": (
        "replayed",
        *after(
            "counts = private.votes().counts[answers.asked]",
            "sure = counts.max(axis=1) > 0.9 * self.n_teachers",
            "answers.labels[sure] = counts.argmax(axis=1)[sure]",
        ),
    ),
    "an exception": (
        "moved",
        *after("if abs(records.X).max() > 1e6:", "    raise ValueError('out of range')"),
    ),
}


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)


with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(EXAMPLE)
    CHECKS = check_mechanism("pate_exponential")


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_the_example_passes(check, example, monkeypatch):
    if check.name == "alike":
        with monkeypatch.context() as before:  # joblib has started a pool, which does not find the example
            before.setattr(sys, "path", [path for path in sys.path if path != str(EXAMPLE)])
            pool = Parallel(n_jobs=2)
            assert pool([delayed(int)()] * 2) == [0, 0]
    check()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen_by_the_check_named(mistake, tmp_path, monkeypatch):
    name, right, wrong = MISTAKES[mistake]
    assert SOURCE.count(right) == 1
    module = f"mistake_{list(MISTAKES).index(mistake)}"
    (tmp_path / f"{module}.py").write_text(SOURCE.replace(right, wrong))
    monkeypatch.syspath_prepend(tmp_path)
    named = [check for check in check_mechanism(module) if check.name == name]
    with pytest.raises(CheckFailed):
        [check() for check in named]
