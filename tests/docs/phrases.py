"""What the pages say in numbers, filled in from code, verdicts and what was measured: a phrase a line.

`test_numbers.py` looks for the phrases on the pages, and for numbers in none.
"""

from __future__ import annotations

import itertools
import math
import re
import signal
import tomllib

import numbered
import numpy as np
import pandas as pd
import pytest
from numbered import find_recipe
from pages import REPO, blocks
from pate_cli.experiments.statements import STATEMENTS, TheoryProblem
from scipy import stats
from test_seeded_bugs import BUGS

from benchmarks import figures
from pate_cli import datasets, matrices, mechanisms, pipeline
from pate_cli.config import hydra_composition, parse
from pate_cli.datasets import labels, split_sizes
from pate_cli.engine import limits
from pate_cli.engine.recipes import Recipe
from pate_cli.learners.hypotheses.rectangles import Rectangles
from pate_cli.mechanisms.agnostic import accounting
from pate_cli.mechanisms.stable import aggregate, stability_threshold
from pate_cli.privacy.composition import group_loss
from pate_cli.privacy.kinds import LaplaceNoise
from pate_cli.privacy.svt import calibrate
from pate_cli.results import answers
from pate_cli.results import lines as drawing
from pate_cli.results.interval import LEVEL, Interval
from pate_cli.results.svg import best_attack
from pate_cli.results.verdicts import FEWEST
from pate_cli.testing.call_checks import CANARIES


def lines(text: str) -> list[str]:
    """Phrases, one a line; powers of ten as the pages have them."""
    return [re.sub(r"(?<=\d)e\+0?", "e", line.strip()) for line in text.splitlines()]


def formula(text: str, value: float | np.ndarray, **names: float | np.ndarray) -> str:
    """The formula as the page has it, which gives a value that code computed."""
    code = re.sub(r"(?<=[\w)]) (?=[\da-z(])", "*", text.replace("^", "**"))
    space = {"ln": math.log, "sqrt": math.sqrt, "e": math.e, "ceil": np.ceil} | names
    assert eval(code, space) == pytest.approx(value), text
    return text


def prepared(text: str) -> pipeline.Prepared:
    config = parse(hydra_composition.compose(text.split()))
    return pipeline.prepare(config, datasets.load(config.dataset.name, **config.dataset.options))


def reproduce() -> str:
    seeds = {"active-rates": 80, "fresh-queries": 100}
    assert all(np.ravel(find_recipe(name).params["repeats"])[-1] == n for name, n in seeds.items())
    said = [
        (int(n.replace(",", "")), seeds[row["recipe"]])
        for row in numbered.listed_rows()
        for n in re.findall(r"(?<=about )[\d,]+(?= repeats)", row["reason"])
        if row["recipe"] in seeds
    ]
    (least, many), *others = sorted((n, math.ceil(n / a_seed)) for n, a_seed in said)
    table, adult, wide = find_recipe("table4"), find_recipe("adult-pate"), f"{stats.norm.ppf(0.975):.2f}"
    assert table.printed_error == {"repeats": table.repeats, "half_width": f"{wide} s/n"}
    n = table.repeats
    settings = {row.panel for row in find_recipe("table4-settings").rows if "mushroom" in row.name}
    pate, public = sorted({row.printed["accuracy"] for row in adult.rows if row.printed})
    assert adult.margin == pytest.approx((public - pate) / 2)
    of = dict(setting.split("=") for setting in adult.rows[-1].overrides)
    return f"""({Recipe.margin:g} of accuracy) of 0
        fewer than {FEWEST} repeats
        two-sided Student's t at {LEVEL:.0%}
        interval lies above 0
        {seeds["active-rates"]} repeats of `active-rates`, {seeds["fresh-queries"]} of `fresh-queries`
        {least} repeats are {many} seeds and at most {5 * many} minutes
        {", ".join(f"{n:,} are {many} seeds" for n, many in others)} and five hours
        of the {sum(row.name.startswith(("mushroom", "a9a")) for row in table.rows)} rows
        {n} splits: labels,
        h = {wide} s/{n} of {n} splits, not {wide} s/sqrt({n})
        s/sqrt({n}), s = {n} h/{wide}
        best of {len(settings) - 1} were
        {find_recipe("table4-sgd").repeats} fresh splits
        {pate:.1%} for PATE and {public:.0%} without privacy
        {100 * (public - pate):.1f} points
        {of["teacher.count"]} teachers are
        {of["teacher.count"]} random forests, {of["split.public"]} queries
        answers {of["split.budget"]}), {adult.repeats} splits"""


def statements() -> str:
    listed = {int(n) for n in re.findall(r"LZCW21 Lemma (\d+)", " ".join([*numbered.recipes()]))}
    assert listed & {*range(35, 53)} == {38}
    return "(35 to 39, but 38) and on privacy (40 to 52)"


def constructions() -> str:
    eps, delta, lead = 0.5, 1e-3, np.abs(2 * np.arange(301) - 300)  # of 300 votes for two values
    thresholds = [stability_threshold(eps, delta, rule) for rule in ("tight", "bassily2018")]
    assert stats.laplace.sf(thresholds, scale=1 / eps) == pytest.approx([delta, delta / 2])
    distances = np.array([aggregate([0] * (300 + k) + [1] * 300)[1] for k in lead])
    ours, theirs = (np.abs(np.diff(distance)).max() for distance in (distances, lead - 1))
    soft = prepared("mechanism=soft mechanism.width=0.2 mechanism.cutoff=3 split.public=50 eps=4.0").mechanism
    remark = prepared("+experiment=btt18_remark3")
    of, K, T = remark.sizes, remark.n_teachers, remark.mechanism.calibration.cutoff
    best = [mechanisms.read(name, {}).best_points(9000, 5, eps) for name in ("gaussian", "svt")]
    most = [Rectangles().refusal(10**6, d).split()[2] for d in (1, 2, 3)]
    relabelled = accounting.relabelled(eps, 0, 1.7)[0]
    transformed = math.exp(accounting.lwy25_transformed(0.1, 0.0, 1000)[0])
    one = (
        "mechanism=realizable_to_agnostic dataset=thresholds mechanism.hypotheses=thresholds mechanism.inner="
    )
    for pure in (one + "grid", one + "exponential", "mechanism=sspp", "mechanism=private_prediction"):
        assert prepared(pure).whole.guarantee.delta == 0
    t, m = 10**6, accounting.black_box_draws(1.0, 0.5, 10**6, "paper")
    lemma = next(one for one in STATEMENTS if one.source == "NB20 Theorem 7")
    size, proof, relabelling, *_ = (
        quantity.value for quantity in lemma.evaluate(TheoryProblem(**find_recipe("statements").params))
    )
    return f"""{formula("ln(1/(2 delta))/eps", thresholds[0], eps=eps, delta=delta)}
        {formula("ln(1/delta)/eps", thresholds[1], eps=eps, delta=delta)} proves delta/2
        {formula("ceil((n1 - n2)/2) - 1", distances[:150], n1=300 + lead[:150], n2=300)}
        the printed n1 - n2 - 1 has sensitivity {theirs}
        The distance has sensitivity {ours}; the printed one has {theirs}
        the margin n1 - n2. One vote moves that by {theirs}
        distance to instability of sensitivity {ours}
        adaptive queries of sensitivity {ours}
        so {soft.tests.cutoff // soft.cutoff} T refusals and {soft.tests.ell // 50} m queries
        with T = {T}; {K} teachers of {of.n_private // K} records label {of.n_public} points
        teachers of error 1/m
        {formula("(n eps)^(2/3)", best[0], n=9000, eps=eps)}
        {formula("n eps/sqrt(d)", best[1], n=9000, d=5, eps=eps)}
        theta = {hydra_composition.compose(["mechanism=active"])["mechanism"]["theta"]:g}
        {formula("eps + 2 ln(1 + e^(relabel_eps/2))", relabelled, eps=eps, relabel_eps=1.7)}
        ({accounting.relabelled(1, 0, 1)[0]:.3f}, delta) at eps = relabel_eps = 1
        the paper has (4, 4e delta)
        at most {int(most[0]):,} points of one feature, {most[1]} of two, {most[2]} of three
        e^eps = {formula("e^eps_in + r/(1 - r) 4 e^2", transformed, eps_in=0.1, r=0.1)}
        (eps, 0)-DP
        eps-DP, delta = 0
        delta = 0 with `mechanism.inner=exponential`
        with one, delta = 0
        costs {0.5 * t / m:.0f} eps m/t
        proves {accounting.black_box(1.0, t, t):.2f} at eps = 1
        needs {relabelling:.1e} private records for the relabelling alone (Lemma 6)
        and {proof:.1e} by the {proof / size / 56:.0f} of"""


def accuracies(*names: str) -> pd.DataFrame:
    """Percent of what figures drew: a line a repeat, a column a table (if of several), method and eps."""
    drawn = pd.concat([pd.read_csv(figures.PLACE / f"{name}.csv") for name in names])
    keys = [key for key in ("dataset", "method", "eps") if key in drawn]
    drawn = drawn.drop_duplicates([*keys, "repeat"])
    return 100 * drawn.pivot_table(index="repeat", columns=keys, values="accuracy")


def points(differences: pd.Series) -> str:
    """Mean and interval on new records, at the split by default: 18% test records, 82% learned from."""
    n = len(differences)
    half = stats.t.ppf(0.975, n - 1) * differences.std() * np.sqrt(1 / n + 0.18 / 0.82)
    return Interval(differences.mean(), half, n).text(1)


def block_of(page: str, kind: str) -> str:
    """The first block of a page that is checked so."""
    return "\n".join(next(block for block in blocks(REPO / page) if block.kind == kind).lines)


def readme() -> str:
    shown = accuracies("privacy-cost")
    best, limit = shown["best", 1.0], shown["best model without privacy"].iloc[:, 0]
    less = {name: points(best - shown[name, 1.0]) for name in ("scores", "gaussian", "svt")}
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"""Python {project["requires-python"].removeprefix(">=")} or later
        mean of {len(shown)} splits; band and bars are {LEVEL:.0%} intervals
        At eps 1 `best` is right on {best.mean():.1f}%, {points(limit - best)} points less than without
        {", ".join(f"`{name}` on {number}" for name, number in less.items())} points less than `best`
        {best_attack(0):.0f}% is guessing
        public points are {split_sizes._PUBLIC:.0%} of your records
        (e^eps + delta) / (1 + e^eps) of the time: {best_attack(1):.0f}% at eps 1
        [{project["license"]}
        more than {(len(BUGS) - 1) // 10 * 10} seeded bugs"""


def auditing() -> str:
    return f"""how many labels of {CANARIES} records
        At seed 0 and eps 1 (delta 1e-5)
        hold together at {LEVEL:.0%}
        60 digits, dp-accounting"""


def choosing() -> str:
    size = find_recipe("table4").rows[0].overrides[2].removeprefix("teacher.size=")
    return f"papers have teachers of {size} records"


def comparing() -> str:
    trees, kernel = (limits._FITTED_ON[name] for name in ("gradient boosting", "kernel machine"))
    shown = accuracies("peers").mean()
    peers = [key for key in shown.index if key[1] in ("ebm", "dp_logistic")]
    assert not [key for key in peers if shown[key] > shown[key[0], "best", key[2]]]
    ahead = sum(shown[key] > shown[key[0], "gaussian", key[2]] for key in peers)
    return f"""at most {limits._TUNED_ON:,} at the first split
        at most {trees:,} (kernel machine: {kernel:,})
        no peer is ahead of `best`; of `gaussian` one is in {ahead} of {len(peers)} cases
        ({len(accuracies("peers"))} splits, {LEVEL:.0%} intervals"""


def data_protection() -> str:
    shown = re.findall(r"lower bound ([\d.]+)", block_of("docs/auditing.md", "claims"))
    gaussian, best, svt = (f"{float(bound):.2f}" for bound in shown)
    return f"""More than {(len(BUGS) - 1) // 10 * 10} seeded bugs
        60 digits
        of a claimed eps 1 it is {gaussian} (`gaussian`), {best} (`best`), {svt} (`svt`), at {LEVEL:.0%}"""


def plain_words() -> str:
    two, three = (f"{best_attack(eps):.0f}" for eps in (2, 3))
    grown = group_loss(0.5, 1e-9, 5)[1] / 1e-9
    return f"""Guessing is {best_attack(0):.0f}
        {formula("(e^eps + delta) / (1 + e^eps)", best_attack(0.5, 0.01) / 100, eps=0.5, delta=0.01)}
        {formula("(e^(k eps) - 1) / (e^eps - 1)", grown, k=5, eps=0.5)}
        at eps 1, two records make {two}, three {three}
        two at eps 1 make {two}
        at eps 1: "Whoever knows everything else
        names the true one at most {best_attack(1):.0f} times in 100"""


def extending() -> str:
    plugin = REPO / "docs" / "examples" / "own" / "pate_exponential" / "__init__.py"
    cost = LaplaceNoise(sensitivity=2, scale=0.7).event(1).eps
    return f"""has {len(plugin.read_text(encoding="utf-8").splitlines())} lines
        m times {formula("2/b", cost, b=0.7)}
        a variance of about 1"""


def frontier() -> str:
    shown = accuracies("peers", "scores").mean()
    tables = ("mushroom", "magic", "spambase", "adult", "diamonds", "flights")
    below = {of: shown[of, "best model without privacy"].iloc[0] - shown[of, "best", 1.0] for of in tables}
    above = -below.pop("flights")
    assert all(
        shown[of, "best", 1.0] > shown[of, name, 1.0] for of in tables for name in ("scores", "gaussian")
    )
    splits = len(accuracies("scores"))
    mushroom, spambase = (shown[of, "scores", 4.0] for of in ("mushroom", "spambase"))
    first, *others = (f"{gap:.1f} on {of}" for of, gap in below.items())
    unseen, rows = accuracies("unseen"), []
    for table, eps in itertools.product(("HI", "OFP", "Computers"), (0.5, 2.0)):
        cells = [f"{unseen[table, name, eps].mean():.1f}" for name in ("scores", "gaussian", "best")]
        rows.append(f"|{table}|{eps:g}|{'|'.join(cells)}|")
    return f"""{split_sizes._PUBLIC:.0%} of each private set is public
        At eps 1 `best` ended {first.replace(" on", " points below it on")}, {", ".join(others)} (5 classes)
        {above:.1f} above on flights
        at eps 4 it is right on {mushroom:.1f}% of mushroom, {spambase:.1f}% of spambase ({splits} splits)
        in percent ({len(unseen)} splits)
        {" ".join(rows)}"""


def mechanism_page() -> str:
    tight, liu = (
        [calibrate(rule, 1.0, 1 / 39_073, 977, cutoff) for cutoff in (1, 30)] for rule in ("tight", "liu2021")
    )
    less = [b.margin(T / 1954) / a.margin(T / 1954) for a, b, T in zip(tight, liu, (1, 30), strict=True)]
    return f"""(eps = 1, delta = 1/39,073, 977 queries)
        is {tight[0].threshold:.1f} votes at T = 1 and {tight[1].threshold:.1f} at T = 30
        `liu2021` has {liu[0].threshold:.1f} and {liu[1].threshold:.1f}
        probability T/1954 at {min(less):.0f} to {max(less):.0f} times less distance
        as vectors of norm 1"""


def own_data() -> str:
    return f"""exits with 0, with 3 if
        with 2 if something does not fit
        percent 0 to 100, age 0 to 120, dates from 1900 to today
        more classes than {labels.MANY} or"""


def privacy() -> str:
    exact, bound = group_loss(0.5, 1e-9, 3)[1] / 1e-9, 3 * math.exp(2 * 0.5)
    assert exact < bound < 2 * exact
    return f"""{formula("k e^((k-1) eps)", bound, k=3, eps=0.5)} times delta
        above {matrices.LARGEST:.0e}, after"""


def rare() -> str:
    return f"""With {1 - 0.97:.0%} cases, saying "none" is right for {1 - 0.03:.0%}
        under {1 - answers._RARE:.0%} of the records"""


def releases() -> str:
    return f"""with {LEVEL:.0%} intervals
        mode 0{0o700:o}"""


def running() -> str:
    stopped = ", ".join(str(128 + one) for one in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
    return f"""with its {LEVEL:.0%} interval
        with exit code 1
        {drawing.COLUMN_WIDTH:g} in wide, 8 pt), with {LEVEL:.0%} bands
        Exit codes: 0 done; 1 internal error
        2 wrong input
        {stopped} the terminal was closed"""


def tuning() -> str:
    alone, tuned = (
        [float(n) for n in re.findall(text, block_of("docs/tuning.md", "claims"))]
        for text in (r"([\d.]+) +use this", r"right on ([\d.]+)")
    )
    (lost,) = {f"{a - b:.1f}" for a, b in zip(alone, tuned, strict=True)}
    return f"""at eps 1 over 10 splits
        costs {lost} points
        {formula("mu/sqrt(2)", 1 / math.sqrt(2), mu=1)}"""


def tutorial() -> str:
    text = (REPO / "docs" / "tutorial.md").read_text(encoding="utf-8")
    patients, total, eps = (re.search(rf"{key}(\d+)", text)[1] for key in ("visits\\(", "--eps ", " eps="))
    return f"""is private: {int(patients):,} patients
        is 0 to 120 as proposed
        with {LEVEL:.0%} intervals
        exits with 1 if
        {eps} of {total} are spent, so another {eps} are
        exit code 2"""


PHRASES = {
    "README.md": readme,
    "docs/auditing.md": auditing,
    "docs/choosing.md": choosing,
    "docs/comparing.md": comparing,
    "docs/constructions.md": constructions,
    "docs/data-protection.md": data_protection,
    "docs/eps-in-plain-words.md": plain_words,
    "docs/extending.md": extending,
    "docs/frontier.md": frontier,
    "docs/mechanisms.md": mechanism_page,
    "docs/own-data.md": own_data,
    "docs/privacy.md": privacy,
    "docs/rare.md": rare,
    "docs/releases.md": releases,
    "docs/reproduce.md": reproduce,
    "docs/running.md": running,
    "docs/statements.md": statements,
    "docs/tuning.md": tuning,
    "docs/tutorial.md": tutorial,
}
