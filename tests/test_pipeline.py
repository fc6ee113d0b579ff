import dataclasses

import numpy as np
import pytest

from pate_cli import datasets, pipeline, teachers
from pate_cli.config import parse
from pate_cli.config.hydra_composition import compose
from pate_cli.errors import InfeasibleError
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.types import Votes

SMALL = ["dataset.n_records=4000", "split.public=60", "teacher.size=20"]


def _prepare(*overrides):
    config = parse(compose([*SMALL, *overrides]))
    return pipeline.prepare(config, datasets.load(config.dataset.name, **config.dataset.options))


def test_mechanisms_share_split_and_teachers_but_not_noise(monkeypatch):
    """Two mechanisms at one seed see the same split, order and votes: a paired comparison."""
    seen = []
    release = VoteMechanism.release

    def spy(plan, private, public, noise, rng):
        votes = private.votes()
        seen.append((private.records.X, public.X, votes.counts, rng.bit_generator.state["state"]))
        return release(plan, private, public, noise, rng)

    monkeypatch.setattr(VoteMechanism, "release", spy)
    results = [
        pipeline.run_repeat(_prepare(*o), 0).result
        for o in (
            ["mechanism=gaussian"],
            ["mechanism=svt"],
            ["mechanism=active"],
            ["mechanism=gaussian", "eps=5"],
        )
    ]
    assert len(seen) == 4
    for other in seen[1:]:
        for mine, theirs in zip(seen[0], other, strict=True):
            np.testing.assert_equal(mine, theirs)
    assert len({r.diagnostics["vote_accuracy"] for r in results}) == 1


@pytest.mark.parametrize(
    ("overrides", "n_public"),
    [
        # 3,200 private records of 5 columns: 320^(2/3) = 46.8; 320/sqrt(5) = 143.1; half of 800, and no more
        (["mechanism=gaussian"], 46),
        (["mechanism=svt", "teacher.size=2"], 143),
        (["mechanism=svt", "teacher.size=2", "eps=1.0"], 400),
        (["mechanism=gaussian", "eps=inf"], 400),
        (["mechanism=gaussian", "split.mode=label_private"], 46),
        (["mechanism=gaussian", "split.budget=20"], 46),
    ],
)
def test_public_points_by_the_bounds_of_the_paper(overrides, n_public):
    run = _prepare("eps=0.1", "split.public=auto", *overrides)
    assert run.sizes.n_public == n_public
    assert pipeline.teaching_key(run.config) != pipeline.teaching_key(_prepare("split.public=47").config)


def test_public_points_by_a_bound_are_refused_where_there_is_none():
    with pytest.raises(
        InfeasibleError, match=r"split\.public: got 'auto'; .*auto with mechanism=gaussian or svt"
    ):
        _prepare("mechanism=active", "split.public=auto")


def test_known_bug_noise_from_the_same_seed_as_the_data():
    streams = pipeline.Streams.of(0, 0)
    noise = np.random.default_rng(streams.noise)
    draws = [
        g.standard_normal(2000)
        for g in (streams.split, streams.teachers, streams.queries, streams.student, noise)
    ]
    # and none of them is the bare seed, which other libraries would be given
    draws.append(np.random.default_rng(0).standard_normal(2000))
    correlations = np.corrcoef(draws)[np.triu_indices(len(draws), 1)]
    assert np.abs(correlations).max() * np.sqrt(2000) < 5.7  # false alarm 2e-7 over 15 pairs


@pytest.mark.parametrize("other", [(1, 0), (0, 1)])
def test_streams_depend_on_seed_and_repeat(other):
    mine, theirs = pipeline.Streams.of(0, 0), pipeline.Streams.of(*other)
    assert mine.split.integers(2**60) != theirs.split.integers(2**60)
    assert mine.noise.spawn_key != theirs.noise.spawn_key or mine.noise.entropy != theirs.noise.entropy


@pytest.mark.parametrize("estimator", ["sklearn.tree.DecisionTreeClassifier", "logistic"])
def test_teachers_kept_a_few_at_a_time_say_the_same(monkeypatch, estimator):
    """Memory does not grow with trees: no more of them than `_MODELS` are there together."""
    run = _prepare(f"teacher.estimator={estimator}")
    together, asked = pipeline.train(run, 0), []
    train = teachers.train

    def spy(*args, only, **options):
        asked.append(len(only))
        return train(*args, only=only, **options)

    monkeypatch.setattr(pipeline.teachers, "train", spy)
    monkeypatch.setattr("pate_cli.teachers.training._MODELS", 30)
    apart = pipeline.train(run, 0)
    np.testing.assert_array_equal(together.votes.counts, apart.votes.counts)
    assert together.teacher_accuracy == apart.teacher_accuracy
    assert sum(asked) == run.n_teachers == 160
    assert max(asked) == (160 if estimator == "logistic" else 30)


def test_changing_one_private_record_moves_at_most_one_vote_a_query():
    """The one fact every guarantee rests on, through the real split and training."""
    run = _prepare("teacher.count=300")
    learner = pipeline.learners.make_learner("logistic", {}, seed=None, n_classes=2)
    votes = []
    for change in (False, True):
        streams = pipeline.Streams.of(0, 0)
        split = datasets.split(run.dataset, private=0.8, public=60, budget=0.3, rng=streams.split)
        X, y = split.private.X.copy(), split.private.y.copy()
        if change:
            X[17], y[17] = 3 * X[17], 1 - y[17]
        ensemble = teachers.train(
            dataclasses.replace(split.private, X=X, y=y),
            n_teachers=300,
            learner=learner,
            rng=streams.teachers,
            n_classes=2,
        )
        votes.append(ensemble.votes(split.public.X).counts)
    moved = np.abs(votes[0] - votes[1])
    assert moved.max() == 1  # the change was strong enough to be seen


def test_known_bug_votes_written_to_a_public_output():
    import pickle

    votes = Votes(np.array([[1, 2]]), 3)
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(votes)
    assert repr(votes) == "<Votes: private>"


def test_several_classes_end_to_end(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    X = np.array([[3, 0], [-2, 3], [-2, -3]])[y] + rng.normal(size=(3000, 2))
    path = tmp_path / "three.libsvm"
    path.write_text("".join(f"{c} 1:{a:.4f} 2:{b:.4f}\n" for c, (a, b) in zip(y, X, strict=True)))
    for overrides in (["mechanism=gaussian"], ["mechanism=active", "split.budget=0.9"]):
        run = parse(
            compose(["dataset=libsvm", f"dataset.path={path}", "teacher.size=20", "eps=4", *overrides])
        )
        prepared = pipeline.prepare(run, datasets.load("libsvm", path=str(path)))
        assert pipeline.run_repeat(prepared, 0).result.accuracy > 0.9


def test_rows_share_a_split_only_where_all_that_it_depends_on_is_the_same():
    """Mechanisms in turn at one repeat; another repeat, seed, share or record makes another split."""
    few = ["dataset.n_records=2000", "split.public=40", "features=none"]
    streams = pipeline.Streams.of
    run, other = (_prepare(*few, f"mechanism={name}", "eps=2") for name in ("gaussian", "svt"))
    first = pipeline.split_of(run, streams(0, 0))
    assert pipeline.split_of(other, streams(0, 0)) is first
    fresh = datasets.split(run.dataset, rng=streams(0, 0).split, **run.config.split.shares)
    assert np.array_equal(first.private.X, fresh.private.X)
    assert np.array_equal(first.public.rows, fresh.public.rows)
    changed = dataclasses.replace(run, dataset=dataclasses.replace(run.dataset, y=1 - run.dataset.y))
    fewer = _prepare(few[0], "split.public=41", few[2])
    for one, of in ((run, (0, 1)), (run, (1, 0)), (fewer, (0, 0)), (changed, (0, 0))):
        first = pipeline.split_of(run, streams(0, 0))
        assert pipeline.split_of(one, streams(*of)) is not first


def test_a_run_that_costs_more_than_its_guarantee_fails():
    """Half of the noise, or a promise above what was asked: neither gives a result."""
    run = _prepare("mechanism=gaussian", "eps=1")
    half = dataclasses.replace(run.mechanism, sigma=run.mechanism.sigma / 2)
    with pytest.raises(RuntimeError, match=r"costs eps=2\.\d+.*: above the guarantee"):
        pipeline.run_repeat(dataclasses.replace(run, whole=dataclasses.replace(run.whole, mechanism=half)), 0)
