"""Each statement on numbers small enough to work out by hand, and what it must do as n grows."""

import json
from dataclasses import replace
from math import ceil, e, log, sqrt

import pytest
from pate_cli.experiments.statements import STATEMENTS, TheoryProblem

from pate_cli.cli import main
from pate_cli.mechanisms.agnostic.printed import records_of_theorem_7

P = TheoryProblem(n=10_000, m=100, eps=1.0, delta=2 / e**4, d=4, alpha=0.25, beta=1 / 3)


def values(source, problem=P):
    (statement,) = [s for s in STATEMENTS if s.source == source]
    return [q.value for q in statement.evaluate(problem)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # M = 10^4/4; m <= M, so V/(eps n)
        ("BTT18 Theorem 3.4", [2500, 4e-4]),
        # sqrt(2500) = 50 < 100 queries: (100)^(1/3) (4e-4)^(2/3)
        ("BTT18 Theorem 3.5", [50, 100 ** (1 / 3) * 4e-4 ** (2 / 3)]),
        # 4^1.5 = 8; alpha^1.5 = 1/8; (4 + ln 3) * 16
        ("BTT18 Theorem 4.2", [64, (4 + log(3)) * 16, 3.75]),
        ("BTT18 Theorem 4.3", [8 * 32, (4 + log(3)) * 16, 0.25]),
        # ln(2/delta) = 4: 4^1.5 = 8; 1/alpha^2 = 16; m alpha = 25, min(delta, beta/2) = delta
        (
            "NB20 Theorem 7",
            [
                (4 * log(4) + log(300)) * 8 * log(25 * e**4 / 2) * max(1, 10 / 8) * 16,
                records_of_theorem_7(eps=1.0, delta=2 / e**4, m=100, alpha=0.25, beta=1 / 3, vc=4),
                56 * 256 * (4 + log(9)) * 16,
                32 * log(12),
                0.25,
            ],
        ),
        # m_o = 32 (4 ln 4 + ln 3) * 4; the factor is max(1, 2/4 sqrt(ln 4)) = 1
        (
            "NB20 Theorem 11",
            [
                (4 * log(4) + log(128 * (4 * log(4) + log(3)) * 3))
                * 8
                * log(128 * (4 * log(4) + log(3)) / 4 * e**4 / 2)
                * 16,
                128 * (4 * log(4) + log(3)),
                0.25,
            ],
        ),
        ("LWY25 Theorem 3.6", [4 * (4 * log(4) + log(3)) + 16 * (4 + log(3)), 16 * (4 + log(3))]),
        (
            "LWY25 Theorem 4.2",
            [4 * (4 * log(4) ** 2 + log(4) * log(3 * log(4))) + 16 * (4 + log(3)), ceil(6 * log(16))],
        ),
    ],
)
def test_by_hand(source, expected):
    assert values(source) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # (gamma + alpha) m = 25: B = 25 + sqrt(12.5 ln 300) = 25 + 8.443759
        ("BTT18 Lemma 3.3", [33.443759, 100.331277]),
        # 4 ln(12)/(1/4) = 39.758506, so at m = 100: 1/3 + 3 * 33.443759/100
        ("BTT18 Claim 4.1", [39.758506, 1.75, 1.336646]),
        ("BTT18 Remark 2", [8 / 0.25, 16]),
        ("BTT18 Remark 3", [16 / 0.25, 16]),
        # T = 3 (25 + sqrt(50 ln 300)) = 3 (25 + 16.887518) = 125.662554; ln(1/delta) = 4 - ln 2 = 3.306853
        # ln(2 * 100 * 125.662554 * 3) * sqrt(512 * 125.662554 * 3.306853) = 11.230509 * 461.263616
        ("BTT18 long Theorem 2.8", [5180.2253]),
        # ln(400 * 125.662554 * e^4/2) = 14.131897... = ln(50265.0216) + 4 - ln 2; sqrt(2 * 125.662554 * 4)
        ("BTT18 long Corollary 3.9", [32 * 14.1319 * 31.706473]),
        # 136 * 14.1319 * sqrt(125.662554 * 4); lambda = sqrt(128 * 125.662554) = 126.825894
        ("BTT18 long Theorem 3.11", [136 * 14.1319 * 22.419862, 6 * (5 * 126.825894 * 14.1319 + 1)]),
        ("BTT18 long Corollary 4.1", [125.662554, 1.25662554]),
        ("BTT18 long Theorem 4.3", [4 * 20]),
        ("BTT18 long Theorem 4.4", [40 * 8]),
        ("BTT18 long Claim 4.5", [0.25]),
        ("BTT18 long Theorem 4.6", [64, (4 + log(3)) * 16, 0.25]),
        ("BTT18 long Theorem 4.7", [8 * 32, (4 + log(3)) * 16, 0.25]),
        # 2m and 2T: two more factors of 2 in the logarithm, one of 2 in the root
        ("BTT18 long Theorem 5.6", [32 * (14.1319 + 2 * 0.693147) * 44.839724]),
        # m alpha = 25
        ("NB20 Lemma 3", [25, 16 * 5]),
        ("NB20 Lemma 4", [25, 64 * 5, 64 * 5, 0.25]),
        (
            "NB20 Lemma 9",
            [8000 * (4 * log(4) + log(300)) * 8 * log(25 * e**4 / 2) * 1.25 * 16, 32 * log(12), 0.25 / 24],
        ),
        # 50 * (4 ln 4 + ln 3) * 16; 128 (8 (1 + ln(9177.25/4)) + ln 6) = 128 * (69.9054 + 1.79176)
        ("NB20 Claim 10", [5315.032, 9177.25]),
        ("NB20 Remark 12", [64 * 2]),
        # eps delta n = 366 says nothing
        ("LWY25 Lemma 2.10", [float("inf"), float("inf")]),
        # 4 (4 ln 4 + ln 3) = 26.575; 16 (4 + ln 3) is more than a sixth of it
        ("LWY25 Claim 3.2", [26.575061, (4 + log(3)) * 16, 0.25]),
        ("LWY25 Lemma 3.4", [26.575061 + (4 + log(3)) * 16, 1 / 3 + 10_000 * 2 / e**4]),
    ],
)
def test_the_other_numbered_statements_by_hand(source, expected):
    assert values(source) == pytest.approx(expected, rel=2e-5)


def test_privacy_generalises_by_hand():
    # eps = 0.1, n = 1000, delta = e^-5/100: eps delta n = e^-5, so e^0.2 (1/4 + 10/100 * 5) and e^-5/5
    p = replace(P, eps=0.1, n=1000, delta=e**-5 / 100)
    assert values("LWY25 Lemma 2.10", p) == pytest.approx([e**0.2 * 0.75, e**-5 / 5])


def test_claim_10_needs_what_its_proof_says():
    """2 (e n/d)^(2d) exp(-n alpha^2/8) is beta at the last number; at the printed one if alpha is small."""
    for p, printed_is_enough in ((P, False), (replace(P, alpha=0.01, beta=0.1), True)):
        printed, needed = values("NB20 Claim 10", p)
        bounds = [log(2) + 2 * p.d * log(e * n / p.d) - n * p.alpha**2 / 8 for n in (printed, needed)]
        assert bounds[1] == pytest.approx(log(p.beta), abs=1e-6)
        assert (bounds[0] <= log(p.beta)) == (needed <= printed) == printed_is_enough
        assert printed_is_enough or bounds[0] > 0  # no probability at all


@pytest.mark.parametrize(
    ("source", "sound", "slips"),
    [
        ("BTT18 Claim 4.1", replace(P, alpha=0.05, beta=0.05), replace(P, alpha=0.01, beta=0.01, gamma=0.2)),
        ("NB20 Lemma 4", P, replace(P, gamma=0.2)),
        ("NB20 Claim 10", replace(P, alpha=1e-6), P),
    ],
)
def test_slips_are_marked_where_they_matter(source, sound, slips):
    (statement,) = [s for s in STATEMENTS if s.source == source]
    assert "with a slip" not in {q.constants for q in statement.evaluate(sound)}
    found = [q.constants for q in statement.evaluate(slips)]
    assert found[found.index("with a slip") + 1] != "with a slip"


def test_theorem_3_2_by_hand():
    # gamma + alpha = 1/4: T = 3 (25 + sqrt(12.5 ln 300)); ln(2/delta) = 4: lambda = sqrt(128 T)
    cutoff = 3 * (25 + sqrt(12.5 * log(300)))
    teachers = 34 * sqrt(2) * sqrt(128 * cutoff) * log(400 * cutoff * e**4 / 2)
    assert values("BTT18 Theorem 3.2") == pytest.approx([cutoff, teachers, cutoff / 100])


def test_proposition_18_and_theorem_20_by_hand():
    p = replace(P, nu=0.02, xi=0.5)
    # nu m = 2, ln(3/beta) = ln 9
    cutoff = 2 + sqrt(4 * log(9)) + 2 / 3 * log(9)
    scale = sqrt(2 * cutoff * 5) + sqrt(2 * cutoff * 4)
    printed = max(8 * log(900), 6 * scale * (log(200 * e**4) + log(900)))
    _, K, teachers, excess, root = values("LZCW21 Theorem 19", p)
    assert (K, excess, root) == pytest.approx((printed, cutoff / 50, 0.2))
    # the smallest margin of a good query, the noise at its worst: Algorithm 2's distance passes, just
    threshold = 3 * scale * log((100 + cutoff) * e**4)
    noise = 3 * scale * log((100 + cutoff) * 9 / 2)
    margin = teachers - sqrt(2 * teachers * log(900))
    assert margin / 2 - 1 == pytest.approx(threshold + noise)
    assert values("LZCW21 Theorem 20", p) == pytest.approx(
        [cutoff / 25 + (5 * (4 * teachers + log(12))) / 100]
    )


def test_theorem_28_teachers_are_enough_for_the_noise():
    """The proof asks for K >= 6 sigma sqrt(2 log(2n)), sigma by the zCDP rule."""
    from pate_cli.privacy.gaussian import calibrate_sigma_zcdp

    sigma = calibrate_sigma_zcdp(P.eps, P.delta, 100)
    assert values("LZCW21 Theorem 28")[0] == pytest.approx(6 * sigma * sqrt(2 * log(20_000)))


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.source)
def test_errors_fall_with_n_and_sizes_grow_as_alpha_falls(statement):
    large = replace(P, n=1e9)
    for before, after in zip(statement.evaluate(P), statement.evaluate(large), strict=True):
        if before.kind == "error":
            assert after.value <= before.value
    for before, after in zip(statement.evaluate(P), statement.evaluate(replace(P, alpha=0.05)), strict=True):
        if before.name.startswith(("n,", "m,", "r,", "ell")):
            assert after.value >= before.value


def test_the_recipe_shows_them_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "statements", "d=4", "alpha=0.1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["tables"]["table"]
    assert {row["statement"] for row in shown} == {s.source for s in STATEMENTS}
    assert {row["constants"] for row in shown} >= {"explicit", "up to a constant"}
    assert main(["reproduce", "statements", "alpha=2"]) == 2
    assert "alpha: got 2; accepted: a number in (0, 1)" in capsys.readouterr().err
