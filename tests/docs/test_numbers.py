"""Numbers in the sentences of the docs: each is a name, or is computed here from code and verdicts.

`PHRASES` has a function a page, for what it says with numbers filled in, a phrase a line. A phrase that the
page has not, or a number of the page in no phrase and no name, fails. Code, and blocks and tables with a
note, are checked where `pages.py` says; lines made of verdicts in `test_statements_page.py`.
"""

from __future__ import annotations

import math
import re

import numbered
import numpy as np
import pytest
from numbered import KINDS, find_recipe
from pages import REPO, blocks
from pate_cli.experiments.statements import STATEMENTS, TheoryProblem
from scipy import stats

from pate_cli import datasets, mechanisms, pipeline
from pate_cli.config import hydra_composition, parse
from pate_cli.engine.recipes import Recipe
from pate_cli.learners.hypotheses.rectangles import Rectangles
from pate_cli.mechanisms.agnostic import accounting
from pate_cli.mechanisms.stable import aggregate, stability_threshold
from pate_cli.results.interval import LEVEL
from pate_cli.results.verdicts import FEWEST

NUMBER = r"\d+(?:\.\d+)*"
SEVERAL = rf"{NUMBER}(?:(?:, | and | to ){NUMBER})*"
PLACE = rf"({'|'.join(KINDS)}|[Ss]ection)(?:s|ies)? ({SEVERAL})"
NAMES = [
    r"`[^`]+`",  # commands and keys: `test_pages.py`, `test_constructions.py`
    r"\]\([^)]*\)",
    r"<!--.*?-->|</?[a-z][^<>]*>",
    rf"{PLACE}|line \d",
    rf"\((?:long: )?{NUMBER}(?: in its proofs)?\)",  # the number in another version of the paper
    r"(?:BTT18|NB20|LZCW21|LWY25)",
    r"(?:NeurIPS|ALT|JMLR|COLT|ICML|CVPR|VLDB|CCS|al\.,?) \(?\d{4}(?:, \d{4})*\)?|arXiv \d{4}\.\d{5}",
    r"\b(?:eps|delta|T|tau)(?: = | )\.?\d[\d.e-]*(?: / \.?\d[\d.]*)*(?! [a-z]+s\b)",  # a setting
    r"\bT \+ 1\b",
    r"T\^2|\ba9a\b",  # Hotelling's; a data set
]


def prose(page: str) -> str:
    """Sentences and tables of a page that nothing else checks, in one line."""
    path = REPO / page
    if path == numbered.PAGE:  # made, but for this
        return numbered.HEAD
    lines = path.read_text(encoding="utf-8").splitlines()
    for block in blocks(path):
        if block.table and block.kind in ("prints", "claims", "tested") and path != numbered.CONSTRUCTIONS:
            lines[block.line - 1 : block.line - 1 + len(block.lines)] = [""] * len(block.lines)
    made_or_code = rf"<!-- made: .*?{numbered.END}|^```.*?^```$|^    [^\n]*$"
    return " ".join(re.sub(made_or_code, "", "\n".join(lines), flags=re.M | re.S).split())


def places(text: str) -> set[str]:
    """Statements, tables and sections of papers that a text names, each with its kind."""
    every = re.findall(PLACE, text)
    return {f"{kind.lower()} {number}" for kind, some in every for number in numbered.expanded(some)}


CODE = [path for room in ("pate_cli", "experiments") for path in (REPO / room).rglob("*.*")]
CODE = [path for path in CODE if path.suffix in (".py", ".yaml")]
CITED = places(" ".join(path.read_text(encoding="utf-8") for path in [*CODE, numbered.PAGE]))


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
        {n} splits: labels
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
    soft = prepared("mechanism=soft mechanism.width=0.2 mechanism.cutoff=3 split.public=50 eps=4.0").plan
    remark = prepared("+experiment=btt18_remark3")
    of, K, T = remark.sizes, remark.n_teachers, remark.plan.calibration.cutoff
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


PHRASES = {
    "docs/reproduce.md": reproduce,
    "docs/statements.md": statements,
    "docs/constructions.md": constructions,
}


def unexplained(text: str, phrases: list[str]) -> list[str]:
    """Numbers of a text outside phrases and names, with what stands around them."""
    for phrase in sorted(phrases, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(phrase)}(?!\w|[.,]\d)", "…", text)
    for name in NAMES:
        text = re.sub(name, "…", text)
    return re.findall(r".{0,30}\d[\d.,]*.{0,20}", text)


@pytest.mark.parametrize("page", PHRASES)
def test_every_number_in_a_sentence_is_a_name_or_computed(page):
    text, phrases = prose(page), lines(PHRASES[page]())
    absent = [phrase for phrase in phrases if phrase not in text]
    assert not absent, f"not on the page: {absent}"
    assert not (places(text) - CITED), "cited nowhere else"
    assert not (numbers := unexplained(text, phrases)), "\n".join(["of no phrase or name:", *numbers])


def test_a_number_of_no_phrase_is_found():
    text = "At eps = 1 it errs on 3.5% of 400 points (LZCW21, Theorem 3.2)"
    assert unexplained(text, []) == ["At … it errs on 3.5% of 400 points (…, …)"]
    assert unexplained(text, ["errs on 3.5% of 400 points"]) == []
    assert unexplained(text.replace("400", "4001"), ["errs on 3.5% of 400"]) != []
