"""`pate frontier --tables`, as it is typed."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.commands.methods import methods, plan_frontier
from pate_cli.engine.store import RepeatStore
from pate_cli.results.ranking import fewest_tables, friedman, holm, ranking, smallest_p

SMALL = ["split.public=60", "teacher.size=40", "compute.workers=1", "--repeats", "2", "--eps", "4"]


@pytest.fixture
def outside(outside):
    """The directory with a table of one's own."""
    X = np.random.default_rng(0).normal(size=(900, 3)).round(3)
    lines = [f"{a},{b},{c},{'yes' if a + b > 0 else 'no'}" for a, b, c in X.tolist()]
    (outside / "own.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    return outside


def records(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_page_that_another_metric_and_the_frontier_share(outside, capsys, monkeypatch):
    argv = ["frontier", "--tables", "own.csv:target=label,absent.csv", *SMALL]
    argv += ["--table", "made=dataset=synthetic,dataset.n_records=900", "--methods", "noisy_gd,gaussian"]
    assert cli.main(argv) == 0
    out, err = capsys.readouterr()
    (there,) = (outside / "outputs" / "frontier").iterdir()
    assert there.name.startswith("own-made-")
    assert "pate: absent: missing: absent.csv: no such file" in err
    page = (there / "report.html").read_text()
    said = " ".join(out.split())
    assert re.match(
        r"(noisy_gd|gaussian) ranks first: at eps 4 its mean rank is [\d.]+ of 2 on 2 data sets", said
    )
    assert "Of 2 data sets no test of noisy_gd against 1 other can say anything" in page
    for shown in ("absent.csv: no such file", "best model without privacy", "not differentially private"):
        assert shown in page
    assert all((there / f"{stem}.csv").is_file() for stem in ("table", "ranks", "paired", "rows"))

    # by hand from the rows: who is best, how far off, and the ranks
    rows = records(there / "rows.csv")
    at = {(row["dataset"], row["mechanism"]): row for row in rows}
    limit = {table: at[table, "best model without privacy"] for table in ("own", "made")}
    assert float(limit["own"]["accuracy"]) > 0.9
    for line in records(there / "table.csv"):
        value = {name: float(at[line["table"], name]["accuracy"]) for name in ("noisy_gd", "gaussian")}
        assert value[line["best"]] == max(value.values()) == float(line["accuracy"])
        below = 100 * (float(limit[line["table"]]["accuracy"]) - value["noisy_gd"])
        assert float(line["first_below_points"]) == pytest.approx(below)
    ranks = {row["method"]: row for row in records(there / "ranks.csv")}
    assert sum(float(row["mean_rank"]) for row in ranks.values()) == pytest.approx(3)
    for row in ranks.values():
        assert float(row["win_rate"]) == pytest.approx(2 - float(row["mean_rank"]))

    # another metric costs no run, and neither does a frontier on one of the tables
    store = RepeatStore(outside / "outputs" / ".finished")
    kept = {path.name: path.stat().st_mtime_ns for path in store.directory.iterdir()}
    assert cli.main([*argv, "--metric", "log_loss"]) == 0
    loss = {name: float(at["own", name]["log_loss"]) for name in ("noisy_gd", "gaussian")}
    (by_loss,) = (one for one in there.parent.iterdir() if one != there)
    assert records(by_loss / "table.csv")[0]["best"] == min(loss, key=loss.get)
    assert {path.name: path.stat().st_mtime_ns for path in store.directory.iterdir()} == kept
    own = ["dataset=csv", "dataset.path=own.csv", "dataset.target=label", *SMALL[:3]]
    plan = plan_frontier(own, methods("noisy_gd,gaussian", []), [4.0], repeats=2)
    assert all(store.find(row.key, repeat, student=False) for row in plan.rows for repeat in range(2))


def test_ranks_and_tests_by_hand():
    found = ranking({"a": [3.0, 2.0], "b": [1.0, 2.0], "c": [2.0, None]})
    assert [found[name].rank.mean for name in "abc"] == [1.25, 2.25, 2.5]
    assert [found[name].wins.mean for name in "abc"] == [0.875, 0.375, 0.25]
    assert ranking({"a": [3.0, 2.0], "b": [1.0, 1.0]})["a"].rank.half_width is None  # they agree: no spread
    assert [found[name].firsts for name in "abc"] == [2, 1, 0]
    assert [found[name].p for name in "abc"] == [None, None, None]  # two tables show nothing
    # a p is given only where some outcome could be significant
    assert [smallest_p(n, 1) for n in (5, 6)] == [0.0625, 0.03125]
    assert (fewest_tables(1), fewest_tables(7)) == (6, 9)
    up = [float(i) for i in range(1, 7)]
    assert ranking({"a": up, "b": [0.0] * 6})["b"].p == 0.03125  # 2 of the 64 signs are as extreme
    assert ranking({"a": up[:5], "b": [0.0] * 5})["b"].p is None
    assert ranking({"a": up, "b": [0.0] * 6, "c": [0.0] * 6})["b"].p is None  # 2 x 0.03125 is too much
    assert ranking({"a": [0.0] * 6, "b": [0.0] * 6})["b"].p == 1.0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert friedman({"a": up, "b": [0.0] * 6, "c": [-1.0] * 6}) == pytest.approx(np.exp(-6), rel=1e-9)
    assert friedman({"a": up[:4], "b": up[:4], "c": up[:4]}) is None
