"""One printed table under several settings: which of them gives which rows."""

from __future__ import annotations

import math
import shutil

import pytest
from scipy.stats import f, pearsonr

from pate_cli.commands.recipe_run import reproduce
from pate_cli.engine.recipes import find_recipe, read_recipe
from pate_cli.errors import InputError
from pate_cli.results import read_repeats
from pate_cli.results.means import rows_of
from pate_cli.results.page import write
from pate_cli.results.recipe_page import recipe_report

SETTINGS = """\
title: Settings
source: nowhere
shows: That it works.
kind: runs
settings: [features=none]
repeats: 10
margin: 0.1
printed_error: {repeats: 30, half_width: 1.96 s/n}
labels: {error in the paper: [the printed intervals]}
params: {queries: 0.05, eps_ex_post: 0.05, splits: 30, caption: 0.98}
claims:
  - {name: "Observation 1: better", claim: greater, measure: accuracy, of: ASQ, than: PSQ}
rows:
  - name: "PSQ {setting}"
    method: PSQ
    panel: "{setting}"
    for:
      setting: &settings
        near: [teacher.size=20]
        far: [teacher.size=20, student=stump]
    overrides: &small [dataset.n_records=3000, split.public=60, eps=8]
    printed: {queries: 60, accuracy: 0.9, ci: 0.0001}
  - name: "ASQ {setting}"
    method: ASQ
    panel: "{setting}"
    for: {setting: *settings}
    overrides: [dataset.n_records=3000, split.public=60, eps=8, mechanism=active, mechanism.fill=false]
    printed: {queries: 18, eps_ex_post: 8, accuracy: 0.9, ci: 0.5}
"""


@pytest.fixture
def settings_dir(tmp_path):
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "recipe.yaml").write_text(SETTINGS)
    shutil.copy(find_recipe("table4-settings").directory / "study.py", tmp_path / "settings")
    return tmp_path / "settings"


def test_which_setting_gives_which_rows(settings_dir, tmp_path):
    recipe = read_recipe(settings_dir)
    assert [row.panel for row in recipe.rows] == ["near", "far"] * 2
    assert recipe.rows[0].overrides[-1] == "teacher.size=20"
    findings = reproduce(recipe, [], quick=False, directory=tmp_path / "work")
    near, far = findings.more["settings"].records
    assert (near["setting"], near["accuracies"], far["setting"]) == ("near", 2, "far")
    assert far["furthest"] > 0.1 > near["furthest"]
    # T^2 by hand: the inverse of a matrix of two rows, and printed errors of ci/1.96 sqrt(30)
    rows = [row for row in rows_of(read_repeats(tmp_path / "work")) if row["panel"] == "far"]
    z, values = [], []
    for row in rows:
        ours, error = row.over("accuracy"), row["printed_ci"] / 1.96 * math.sqrt(30)
        z.append((ours.mean - 0.9) / math.hypot(ours.standard_error, error))
        values.append(row.repeats["accuracy"].to_numpy())
    r = float(pearsonr(*values).statistic)
    t2 = (z[0] ** 2 - 2 * r * z[0] * z[1] + z[1] ** 2) / (1 - r**2)
    assert far["T2"] == pytest.approx(t2)
    assert far["p"] == pytest.approx(f.sf(t2 * 8 / (2 * 9), 2, 8))  # of two accuracies over ten splits
    assert near["queries_rows"] == far["queries_rows"] == 1  # of the active rows alone
    assert near["Observation 1: better"] in ("holds", "fails", "undecided")
    assert findings.rows == []  # settings are no claims of the paper
    _, fits, _, narrow, caption = findings.claims
    assert (fits.name, fits.verdict) == ("setting: synthetic, near", "own question")
    assert fits.reason.startswith(
        f"T2 {near['T2']:.1f} of 2 printed accuracies, p = {near['p']:.2g}; furthest "
    )
    assert caption.reason == "1.96 standard errors on either side are 95.0% of a normal law; 98% takes 2.33"
    # 600 test records of 3,000: a standard deviation of 0.011 at the least, 0.0039 of a mean's interval
    assert narrow.verdict == "error in the paper"
    assert narrow.reason.startswith("differs: ")
    assert "in 1 of 2 rows" in narrow.reason
    least = math.sqrt(0.9 * 0.1 / 540 * (1 - 540 / 3000)) * 1.96 / math.sqrt(30)
    rows = rows_of(read_repeats(tmp_path / "work").fillna({"printed_ci": 1}))
    for row in rows:
        row.columns["printed_ci"] = least if row["method"] == "PSQ" else 1.0
    from pate_cli.experiments.common.settings import interval_verdict

    assert interval_verdict(rows, 30).verdict == "undecided"  # what is no narrower than noise says nothing
    write(tmp_path / "out", recipe_report(findings))
    assert "Which setting gives which" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_settings_that_cannot_be(settings_dir, tmp_path):
    path = settings_dir / "recipe.yaml"
    path.write_text(SETTINGS.replace("queries: 0.05", "queries: -1"))
    with pytest.raises(InputError, match=r"params\.queries: got -1; accepted: a number > 0"):
        reproduce(read_recipe(settings_dir), [], quick=True, directory=tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "{repeats: 30, half_width: s}",
            r"printed_error: .*accepted: repeats and half_width, one of 1.96 s/n",
        ),
        ("{repeats: 30}", "printed_error: "),
        ("{repeats: 1, half_width: 1.96 s/n}", r"repeats: got 1"),
    ],
)
def test_printed_errors_that_cannot_be(settings_dir, given, message):
    path = settings_dir / "recipe.yaml"
    path.write_text(SETTINGS.replace("{repeats: 30, half_width: 1.96 s/n}", given))
    with pytest.raises(InputError, match=message):
        read_recipe(settings_dir)
    path.write_text(SETTINGS.replace("error in the paper", "wrong"))
    with pytest.raises(InputError, match=r"labels: .*accepted: lists of how claims begin, under bound holds"):
        read_recipe(settings_dir)


def test_printed_numbers_are_those_of_table_4():
    table4 = {
        (row.overrides[3], row.method, row.printed["eps"]): row.printed for row in find_recipe("table4").rows
    }
    for name in ("table4-settings", "table4-sgd"):
        for row in find_recipe(name).rows:
            assert row.printed == table4[row.overrides[3], row.method, row.printed["eps"]]
