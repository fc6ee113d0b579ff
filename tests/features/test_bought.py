"""Levels and bounds that are paid for: what they cost, by other code, and that no one record decides them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pate_cli.cli import main
from pate_cli.datasets.column import Column
from pate_cli.errors import InfeasibleError
from pate_cli.features.bought import Bought, ThresholdedCounts, _tail, cells_of
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door, RecordingDoor
from pate_cli.privacy.events import Account, compose
from pate_cli.privacy.noise import SeededNoise

TEXT, NUMBER = Column("category", bought=True, missing=True), Column(bought=True, missing=True)


def bought(n, J, texts, share, eps=1.0, exact=True):
    """Bought with a share of the budget of a run at delta 1/n, and that run's mu."""
    columns = {f"c{i}": TEXT if i < texts else NUMBER for i in range(J)}
    one = Bought.of(columns, 1.0, 1 / n, n, exact)
    mu = gaussian.mu_of(eps, 1 / n - one.delta)
    return replace(one, mu=math.sqrt(share) * mu), mu


@pytest.mark.parametrize(
    ("n", "J", "texts", "share", "sigma", "least"),
    [
        (6_499, 22, 22, 0.03, 117.94, 623),
        (6_499, 22, 22, 0.1, 64.61, 342),
        (320, 9, 6, 0.1, 30.14, 135),
        (26_048, 15, 9, 0.1, 59.28, 319),
        (15_216, 11, 1, 0.1, 48.84, 238),
    ],
)
def test_noise_and_threshold_are_what_a_written_out_calculation_has(n, J, texts, share, sigma, least):
    one, mu = bought(n, J, texts, share)
    assert one.sigma == pytest.approx(sigma, abs=0.005)
    assert one.least == least
    again = math.sqrt(2 * J / (share * mu**2) + 1.25**2)
    assert one.sigma == pytest.approx(again, rel=1e-8)
    x = np.arange(-30 * again, 30 * again).round()
    law = np.exp(-(x**2) / (2 * again**2))
    only = law[1 + x >= least].sum() / law.sum(), law[1 + x >= least - 1].sum() / law.sum()
    assert -texts * math.log1p(-only[0]) <= 1 / (100 * n) < -texts * math.log1p(-only[1])


@pytest.mark.parametrize(
    ("t", "sigma", "tail"), [(20, 4, 5.1034385e-7), (44, 10, 6.7508745e-6), (622, 118.3, 7.4573993e-8)]
)
def test_tails_of_integer_noise(t, sigma, tail):
    assert _tail(t, sigma) == pytest.approx(tail, rel=1e-6)


# -- a second opinion: the divergence of what leaves, by sums over all outcomes


def laws(counts, least, sigma):
    """Law of one text's output: held back, or its noisy count; counts on D and D'."""
    x = np.arange(-math.ceil(14 * sigma), math.ceil(14 * sigma) + 60)
    both = []
    for count in counts:
        if count == 0:  # it has no count: never released
            both.append(np.array([1.0] + [0.0] * int((x >= least).sum())))
            continue
        law = np.exp(-((x - count) ** 2) / (2 * sigma**2))
        law /= law.sum()
        both.append(np.concatenate([[law[x < least].sum()], law[x >= least]]))
    return both


def divergence(columns, least, sigma, eps):
    """Hockey-stick divergence of D from D', columns independent: each a list of (count on D, on D')."""
    p = q = np.ones(1)
    for pair in columns:
        for a, b in [laws(counts, least, sigma) for counts in pair]:
            p, q = np.multiply.outer(p, a).ravel(), np.multiply.outer(q, b).ravel()
            ratio = np.log(p.clip(1e-300)) - np.log(q.clip(1e-300))
            at = np.round(ratio.clip(-60, 60) * 2_000).astype(int)  # outcomes of one ratio are one
            order, inverse = np.unique(at, return_inverse=True)
            p, q = (np.bincount(inverse, weights=w, minlength=len(order)) for w in (p, q))
    return float(np.maximum(p - math.exp(eps) * q, 0).sum())


CASES = {
    "two common texts": [[(90, 89), (90, 91)]],
    "an only text for a common one": [[(1, 0), (30, 31)]],
    "a common text for an only one": [[(30, 29), (0, 1)]],
    "an only text for another": [[(1, 0), (0, 1)]],
    "at the threshold": [[(24, 25), (25, 24)]],
    "two columns of only texts": [[(1, 0), (0, 1)]] * 2,
    "two columns, one each way": [[(1, 0), (30, 31)], [(30, 29), (0, 1)]],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("eps", [0.1, 0.5, 1.0])
def test_no_divergence_is_above_what_the_class_states(case, eps):
    sigma, least, columns = 6.0, 25, CASES[case]
    J = len(columns)
    kind = ThresholdedCounts(sensitivity=math.sqrt(2 * J), sigma=sigma, least=least, n_texts=J, exact=True)
    event = kind.event(99)
    assert event.integers == 2 * J
    stated = gaussian.profile(eps, event.mu) + event.delta
    assert compose(Account([event]), stated)[0] == pytest.approx(eps)
    found = divergence(columns, least, sigma, eps)
    assert found <= stated * 1.002  # of ratios rounded to 1/2000
    if case == "an only text for another":  # tau, which no sensitivity covers
        assert found == pytest.approx(_tail(least - 1, sigma), rel=1e-6)
    if case == "two common texts" and eps < 1:
        assert found > 0.8 * (stated - event.delta)


def test_a_tail_of_large_noise_is_found_at_once_and_is_no_less():
    """Integers were added up over 40 deviations: minutes at eps 1e-4, and then all memory."""
    for sigma, deviations in ((1001.0, 0), (1001.0, 0.5), (1001.0, 8), (3e4, 5)):
        t = round(deviations * sigma)
        x = np.arange(t, 12 * sigma)
        exact = math.fsum(np.exp(-x * x / (2 * sigma**2))) / (math.sqrt(2 * math.pi) * sigma)
        assert exact <= _tail(t, sigma) <= exact * (1 + 1e-5)
    one = Bought(("text",), ("text",), 1e-8, 1e-14, 320, 1e-12)
    assert one.least > 7 * one.sigma


# -- what leaves


def frame(n=400):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "text": rng.choice(["red", "green", "blue"], n),
            "number": rng.integers(1, 80, n).astype(float),
        }
    )


COLUMNS = {"text": TEXT, "number": NUMBER}


def small(n=400):
    one = Bought.of(COLUMNS, 1.0, 1e-3, n, exact=False)
    return replace(one, mu=2 / 6.0, delta=1e-4)  # sigma 6


def left(one, X, seed):
    return drawn(one, cells_of(one, X), seed)


def drawn(one, cells, seed):
    return one.columns(COLUMNS, one.release(cells, Door(SeededNoise(np.random.SeedSequence(seed)))))


def test_one_record_moves_no_more_than_is_paid_for():
    one = small()
    X = frame()
    for odd in (
        {"text": "only", "number": 1e300},
        {"text": "", "number": -np.inf},
        {"text": "red", "number": 0},
    ):
        other = X.copy()
        other.loc[7] = odd
        passed = []
        for data in (X, other):
            door = RecordingDoor(SeededNoise(np.random.SeedSequence(0)))
            one.release(cells_of(one, data), door)
            passed.append(door.released[0][0])
        assert passed[0].kind.moved(passed[0].value, passed[1].value, 1) <= 1
        assert passed[0].event == passed[1].event


def test_no_draw_tells_an_odd_record():
    """A text of one record, a number beyond the grid, another order of the file: only noise differs."""
    one, X = small(), frame()
    other = X.iloc[::-1].copy()
    other.iloc[7] = ["only", 1e300]
    events = {
        "the text": lambda text, number: "only" in text.levels,
        "the number": lambda text, number: number.high is not None and number.high > 1e6,
        "the order": lambda text, number: text.levels != sorted(text.levels),
        "levels": lambda text, number: len(text.levels) < 3,
        "bounds": lambda text, number: number.high != 100,
    }
    seen = {name: np.zeros(2) for name in events}
    cells = [cells_of(one, data) for data in (X, other)]
    for seed in range(500):
        for side, each in enumerate(cells):
            found = drawn(one, each, [seed, side])
            for name, event in events.items():
                seen[name][side] += event(found["text"], found["number"])
    apart = {name: abs(a - b) / 500 for name, (a, b) in seen.items()}
    # 1/3-GDP: .132 in total variation; and five deviations of two shares of 500 draws
    assert max(apart.values()) < 0.132 + 5 * math.sqrt(0.5 / 500), apart


def test_levels_and_bounds_are_those_of_many_records():
    found = left(small(), frame(), 1)
    assert found["text"].levels == ["blue", "green", "red"]
    assert (found["number"].low, found["number"].high) == (1.0, 100.0)
    rare = frame()
    rare.loc[:8, "text"] = "rare"
    assert "rare" not in left(small(), rare, 1)["text"].levels
    exact = left(replace(small(), mu=math.inf), rare, 1)  # a baseline's: all that there is, and no more
    assert exact["text"].levels == ["blue", "green", "rare", "red"]
    assert (exact["number"].low, exact["number"].high) == (0.1, 100.0)
    nothing = pd.DataFrame({"text": [str(i) for i in range(400)], "number": np.nan})
    found = left(small(), nothing, 1)
    assert found["number"].kind == "ignored"
    assert found["text"].levels == []  # all texts are unseen, and the release goes on


def test_bounds_of_dates_are_years_that_no_one_record_decides():
    when = {"when": Column("date", bought=True, missing=True)}
    one = Bought.of(when, math.sqrt(2) / 6, 1e-3, 400, exact=False)
    days = np.arange(400) % 1826 * 4.5 + 16436  # from 2015 to the end of 2019
    X, other = pd.DataFrame({"when": days}), pd.DataFrame({"when": np.append(days[1:], 2932896)})
    seen = np.zeros(2)
    cells = [cells_of(one, data) for data in (X, other)]
    for seed in range(200):
        for side, each in enumerate(cells):
            door = Door(SeededNoise(np.random.SeedSequence([seed, side])))
            found = one.columns(when, one.release(each, door))["when"]
            if (seed, side) == (1, 0):
                assert found.about == "2015-01-01 to 2019-12-31"
            seen[side] += found.high > 40_000
    # sqrt(2)/6-GDP: .094 in total variation; and five deviations of two shares of 200 draws
    assert abs(seen[0] - seen[1]) / 200 < 0.094 + 5 * math.sqrt(0.5 / 200)
    assert seen.max() < 20


def test_what_would_find_nothing_is_refused_before_it_costs():
    one, _ = bought(320, 9, 6, 0.1)
    with pytest.raises(InfeasibleError, match="to be bought: of 320 records, only what 135 share"):
        one.check()
    bought(6_499, 22, 22, 0.1)[0].check()


# -- the whole of it


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    rng = np.random.default_rng(0)
    n = 4_000
    age, dept = rng.integers(18, 90, n), rng.choice(["card", "surg", "rare"], n, p=[0.5, 0.497, 0.003])
    y = np.where((age > 50) ^ ((dept == "surg") & (rng.random(n) < 0.1)), "yes", "no")
    pd.DataFrame({"age": age, "dept": dept, "label": y}).to_csv("p.csv", index=False)
    Path("s.yaml").write_text(
        "target: label\nclasses: ['no', 'yes']\ncolumns:\n"
        "  age: {kind: numeric, levels: private}\n  dept: {kind: category, levels: private}\n"
    )
    return ["dataset=csv", "dataset.path=p.csv", "dataset.schema=s.yaml", "mechanism=best", "eps=2"]


def test_dates_of_a_described_file_are_bought(tmp_path, monkeypatch, capsys, fixed_draws):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.arange(3_000) % 1826, unit="D")
    shown = days.strftime("%d.%m.%Y").to_series(index=range(3_000))
    label = np.where(days.year > 2017, "late", "early")
    shown[:2] = ["01.02.1823", "03.04.1823"]
    pd.DataFrame({"when": shown, "label": label}).to_csv("p.csv", index=False)
    sets = ["--set", "when.levels=private", "--set", "label.levels=private"]
    assert main(["data", "describe", "p.csv", "--target", "label", *sets]) == 0
    assert "when: {kind: date, low: null, high: null" in (text := Path("p.schema.yaml").read_text())
    assert "1823" not in text
    assert "late" not in text
    (command,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next: ")]
    argv = command.split()[3:]
    assert argv == ["dataset=p.schema.yaml", "dataset.public=marginals"]
    with_points = [*argv, "mechanism=best", "eps=4", "generate.points=60"]
    assert main(["ledger", "init", *argv, "--eps", "4", "--delta", "0.001"]) == 0
    assert main(["run", *with_points, "release=true", "hydra.run.dir=out"]) == 0
    data = json.loads(Path("out/certificate.json").read_text())["data"]
    assert (data["schema"]["when"]["low"], data["schema"]["when"]["high"]) == ("2015-01-01", "2019-12-31")
    assert data["schema"]["when"]["from"] == "bought of private records, within eps and delta"
    assert (data["classes"], data["target"]) == (["early", "late"], "label")
    Path("new.csv").write_text("when\n05.06.2016\n07.08.2031\n")
    capsys.readouterr()
    assert main(["predict", "out/student.skops", "new.csv"]) == 0
    assert capsys.readouterr().out.split() == ["early", "late"]


def test_a_release_with_levels_and_bounds_bought(files, capsys, fixed_draws):
    with_points = [*files, "dataset.public=marginals", "generate.points=60"]
    assert main(["run", *files]) == 2
    assert "dataset.public: got None; accepted: marginals" in capsys.readouterr().err
    assert main(["plan", *with_points, "--explain"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "levels and bounds bought 2 columns, for 0.1 of mu squared; eps of the rest 1.8" in shown
    assert main(["ledger", "init", *with_points[:3], with_points[-2], "--eps", "2", "--delta", "0.001"]) == 0
    assert main(["run", *with_points, "release=true", "hydra.run.dir=out"]) == 0
    certificate = json.loads(Path("out/certificate.json").read_text())
    assert certificate["guarantee"]["eps"] == 2
    assert certificate["guarantee"]["how"].startswith("levels and bounds, noisy marginals, and")
    columns = certificate["data"]["schema"]
    assert columns["dept"]["levels"] == ["card", "surg"]
    assert (columns["age"]["low"], columns["age"]["high"]) == (10, 100)
    assert all("bought of private records" in column["from"] for column in columns.values())
    capsys.readouterr()
    assert main(["verify", "out"]) == 0
    assert main(["predict", "out/student.skops", "p.csv"]) == 0
    assert "accuracy 0.9" in capsys.readouterr().err
    assert b"rare" not in b"".join(path.read_bytes() for path in Path("out").iterdir())
