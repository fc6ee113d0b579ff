"""Noisy marginals and a mechanism under one guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from generated_points import COLUMNS, Beside, summed, table

from pate_cli import pipeline
from pate_cli.cli import main
from pate_cli.datasets.schema import Schema
from pate_cli.errors import ConfigError
from pate_cli.features.generated import Generated
from pate_cli.streams import Streams

UNLIKE = "+mechanism.candidates=[{label: a},{label: b,mechanism:{name: svt}}]"
FORMS = [
    *(
        Beside(name, exact, persons)
        for name in ("gaussian", "best")
        for exact in (0, 1)
        for persons in (0, 1)
    ),
    Beside("svt"),
    Beside("svt", exact=True),
    Beside("score_boosting", exact=True),
    Beside("tune", options=("mechanism.candidates=[{label: a},{label: b,student:{estimator: tree}}]",)),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_marginals_and_mechanism_cost_what_is_charged(form):
    summed(form)


@pytest.mark.parametrize("persons", [False, True])
def test_one_record_moves_the_counts_by_no_more_than_is_stated(persons):
    """Numbers that overflow, missing ones and texts that no column has; all records of a person."""
    schema = Schema(COLUMNS, "declared")
    frame, _ = table(60)
    public = Generated.of("marginals", schema.columns, frame)
    codes = public.codes(frame)
    for age, pay, ward in [
        (1e39, -1e308, "?"),
        (-0.0, np.nan, ""),
        (5e-324, 1e308, "south"),
        (1e308, 0, "x"),
    ]:
        other = frame.copy()
        other.loc[7] = [age, pay, ward]
        moved = public.codes(other) != codes
        assert not np.delete(moved, 7, axis=0).any(), "another record's bin"
        assert (public.codes(other) >= 0).all()
        assert (public.codes(other) < public.n_bins).all()
    # a person's forty records count as one
    form = Beside("gaussian", persons=persons)
    run = form.prepared()
    _, _, door = form.released(run)
    points = door.released[0][0]
    n = run.sizes.n_private
    assert points.value.sum() == len(COLUMNS) * n


def test_points_of_ranges_are_public_and_free():
    """They cost nothing, lie in their ranges, and no record moves them."""
    form = Beside("gaussian", exact=True)
    run = form.prepared("ranges")
    charged, out, door = form.released(run)
    assert run.whole.marginals is None
    assert charged[0].eps == run.mechanism.guarantee.eps == 4.0
    assert all(one.value.shape == (40,) or one.value.ndim == 2 for one, *_ in door.released)
    made = out.generated.table
    assert made["age"].between(0, 100).all()
    assert made["pay"].dropna().between(0, 1e6).all()
    assert 0 < made["pay"].isna().sum() < 10
    assert set(made["ward"]) == {"north", "south"}
    assert made["pay"].median() < 2e5  # an amount


@pytest.mark.parametrize("name", ["best", "gaussian", "svt", "active", "gnmax", "noisy_gd", "soft", "sspp"])
@pytest.mark.parametrize("kind", ["ranges", "marginals"])
def test_every_kind_of_mechanism_learns_from_points_that_are_made(name, kind):
    run = Beside(name).prepared(kind, "release=false", "features=auto", n=3000)
    outcome = pipeline.run_repeat(run, 0)
    assert outcome.result.accuracy > 0.8 or name in ("svt", "sspp", "soft", "gnmax", "noisy_gd"), (
        outcome.result
    )
    assert outcome.result.eps <= 4.0
    assert outcome.result.eps_ex_post <= 4.0


@pytest.mark.parametrize("name", ["gaussian", "best", "svt", "sspp"])
def test_without_privacy_nothing_is_above_the_guarantee(name):
    run = Beside(name).prepared("marginals", "release=false", "eps=inf")
    assert pipeline.run_repeat(run, 0).result.eps == math.inf


def test_marginals_follow_the_records():
    """Drawn points have the shares of the records, to within the noise."""
    run = Beside("gaussian").prepared("marginals", "generate.points=4000", "eps=100", n=6000)
    made = pipeline.split_of(run, Streams.of(0, 0)).generated[0]
    frame, _ = table(6000)
    assert made["age"].quantile([0.25, 0.5, 0.75]).values == pytest.approx(
        frame["age"].quantile([0.25, 0.5, 0.75]).values, abs=4
    )
    assert made["pay"].isna().mean() == pytest.approx(0.1, abs=0.03)
    assert np.log(made["pay"]).median() == pytest.approx(np.log(frame["pay"]).median(), abs=0.5)


def test_splits_with_other_points_are_not_mixed_up():
    """By number, kind and noise; the same run has the same points again."""
    streams = lambda: Streams.of(0, 0)  # noqa: E731
    form = Beside("gaussian")
    runs = [
        form.prepared(kind, *more)
        for kind in ("ranges", "marginals")
        for more in ((), ("generate.points=41",))
    ]
    runs += [form.prepared("marginals", "eps=2"), form.prepared("marginals", "generate.share=0.2")]
    made = [pipeline.split_of(run, streams()).generated[0] for run in runs]
    assert len({frame.to_csv() for frame in made}) == len(runs)
    again = pipeline.split_of(runs[1], streams()).generated[0]
    assert again.equals(made[1])


@pytest.mark.parametrize(
    ("column", "said"),
    [("age", "none for age"), ("ward", "none for ward")],
)
def test_a_column_without_a_declared_range_is_named(column, said):
    frame, _ = table(10)
    open_one = {**COLUMNS, column: type(COLUMNS[column])(COLUMNS[column].kind)}
    with pytest.raises(ConfigError, match=said):
        Generated.of("marginals", open_one, frame)


def test_an_audit_of_marginals_finds_a_sensitivity_of_half(monkeypatch, capsys):
    argv = [
        "audit",
        "--marginals",
        "8",
        "mechanism=best",
        "eps=2",
        "generate.share=0.5",
        "--confidence",
        "0.999999",
    ]
    assert main(argv) == 0
    assert "noisy marginals beside best" in capsys.readouterr().out
    from pate_cli.features.generated import Marginals

    monkeypatch.setattr(Marginals, "sensitivity", property(lambda self: (2 * self.n_columns) ** 0.5 / 2))
    assert main(argv) == 1
