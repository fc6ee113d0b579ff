"""Seeded bugs in what is bought of private records: each is caught by a check of its cost or its records."""

from __future__ import annotations

import pytest
from bought_schema import Buying, whole
from test_seeded_bugs import caught, edit

from pate_cli.cli import main
from pate_cli.testing import CheckFailed, check_mechanism

best, integers, persons = Buying("best"), Buying("best", exact=True), Buying("gaussian", persons=True)
counts, room = "features.bought:ThresholdedCounts", "features.bought"
BUGS = [
    ("no threshold", best, f"{counts}.draw", ".astype(float) >= self.least", ".astype(float) >= -1e9"),
    ("the exact count decides", best, f"{counts}.draw", "out[:, 2].astype(float) >= self.least",
     "value[:, 2].astype(float) >= 1"),
    ("half of the noise", best, f"{room}:Bought.kind", "sigma=self.sigma", "sigma=self.sigma / 2"),
    ("P(Z >= T) for P(1 + Z >= T)", best, f"{room}:Bought._holds", "_tail(least - 1,", "_tail(least,"),
    ("the event without its texts", integers, f"{counts}.event", "touched, delta=self.delta", "touched"),
    ("sqrt(J) for sqrt(2 J)", best, f"{room}:Bought.sensitivity", "2 * len(self.names)", "len(self.names)"),
    ("one column for J", best, f"{room}:Bought.sensitivity", "2 * len(self.names)", "2"),
    ("the rest calibrated on all of delta", best, "runs.guarantee:_with_bought",
     "kept, delta_left = delta - bought.delta, delta", "kept, delta_left = 2 * delta, delta"),
    ("the rest with all of mu", best, "runs.guarantee:_with_bought",
     "math.sqrt(1 - BOUGHT) * mu_of_all", "mu_of_all"),
    ("not counted", best, "runs.guarantee:WholeMechanism._with_schema", "on_schema + rest", "rest"),
    ("integers by the size of the vector", integers, f"{counts}.event", "round(self.sensitivity**2)", "size"),
    ("all records of a person", persons, "datasets.splitting:_made", "rows.persons).one_each(rng)",
     "rows.persons)"),
    ("a number beyond the grid among the negative ones", best, f"{room}:cells_of",
     ".clip(max=len(_GRID) - 1)", ".clip(max=99)"),
    ("a date beyond the years in no cell", best, f"{room}:cells_of", ".clip(1, len(_YEARS)) - 1", "- 1"),
    ("years that are looked for where records are", best, f"{room}:Bought.release",
     "range(self._n_known(name))", "sorted(counts)"),
    ("edges of the grid from the data", best, f"{room}:Bought.columns", "high=ends[1]",
     "high=ends[1] * (1 + 1e-3 * len(released))"),
    ("classes that are not paid for", best, f"{room}:Bought.of",
     "names, texts = (part if target is None else (*part, target) for part in (names, texts))",
     "texts = texts if target is None else (*texts, target)"),
    ("classes of all labels there are", best,
     "datasets.splitting:_made", "BoughtClasses.of(bought.labels(counts))",
     "BoughtClasses.of(dict.fromkeys(filter(None, dataset.labels), 1.0))"),
    ("the largest class by exact counts", best,
     "datasets.splitting:_made", "BoughtClasses.of(bought.labels(counts))",
     "BoughtClasses.of({label: float((each.y == dataset.labels.index(label)).sum())"
     " for label in bought.labels(counts)})"),
    ("records of other labels dropped", best, "datasets:split", "_private(dataset, rows,",
     "_private(dataset, rows._replace(private=rows.private[judged[dataset.y[rows.private]] >= 0]),"),
    ("calibrated for as many classes as there are", best, "pipeline:Prepared.after",
     "dataset.n_classes, exact=", "len(dataset.labels), exact="),
    ("another price for so many classes", Buying("gaussian", exact=True), "runs.guarantee:_with_bought",
     "n_classes=MOST_LEVELS)", "n_classes=10**9 * setting.n_classes)"),
]  # fmt: skip
passed = set()


@pytest.mark.parametrize(
    ("form", "where", "right", "wrong"), [pytest.param(*bug[1:], id=bug[0]) for bug in BUGS]
)
def test_a_seeded_bug_is_caught(form, where, right, wrong, monkeypatch):
    if form not in passed:
        whole(form)
        passed.add(form)
    edit(monkeypatch, where, right, wrong)
    with pytest.raises(CheckFailed):
        whole(form)


AUDIT = ["--bought", "3", "--marginals", "4", "--runs", "4000", "mechanism=best", "eps=1"]


@pytest.mark.parametrize(
    ("where", "right", "wrong"),
    [
        pytest.param(
            f"{counts}.draw", ".astype(float) >= self.least", ".astype(float) >= -1e9", id="no threshold"
        ),
        pytest.param(f"{counts}.draw", "self.sigma,", "self.sigma / 30,", id="a thirtieth of the noise"),
        pytest.param(
            "features.generated:Marginals.release", "sigma=self.sigma", "sigma=self.sigma / 8", id="marginals"
        ),
    ],
)
def test_the_audit_of_a_bought_schema_sees_it(where, right, wrong, monkeypatch, capsys):
    if "audit" not in passed:
        assert not caught(AUDIT, capsys)
        passed.add("audit")
    edit(monkeypatch, where, right, wrong)
    assert caught(AUDIT, capsys)


def test_an_audit_leaves_no_purchase_out_in_silence(capsys):
    for more, why in (
        (["dataset=csv"], "--bought what is paid for"),
        (["--bought", "3", "--marginals", "2"], "--bought: got 3; accepted: at most 2"),
        (["--bought", "3", "mechanism=svt"], "with levels or classes: private"),
        (["--bought", "3", "--records", "300"], "to be bought: of 300 records"),
    ):
        assert (
            main(["audit", "eps=1", *(["mechanism=best"] if "mechanism=svt" not in more else []), *more]) == 2
        )
        said = capsys.readouterr().err
        assert why in said
        assert said.count("\n") == 1


def test_the_kit_releases_a_bought_schema_where_the_cost_is_gaussian_noise():
    def of(name):
        return [check.form for check in check_mechanism(name) if check.name == "unmoved"]

    assert sum("marginals, persons, bought" in form for form in of("gaussian")) == 1
    assert not any("bought" in form for form in of("svt"))
