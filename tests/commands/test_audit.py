import json

import numpy as np
import pytest
from noisy_histograms import NoisyHistograms

from pate_cli import audit, cli, teachers
from pate_cli.commands import audit as command
from pate_cli.errors import BudgetSpent
from pate_cli.mechanisms.base import Mechanism
from pate_cli.mechanisms.gaussian import GaussianSession
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import PrivateRecords

QUICK = ["--runs", "2000", "--queries", "10", "--confidence", "0.999999"]


def run(capsys, *argv):
    code = command.main([*QUICK, *argv])
    shown = capsys.readouterr()
    assert shown.err == ""
    return code, shown.out


def test_a_table_and_one_line_for_the_verdict(capsys, monkeypatch):
    code, shown = run(capsys, "mechanism=gaussian", "eps=1.5", "delta=0.01")
    assert code == 0
    assert "claim: eps 1.5, delta 0.01" in shown
    verdict = shown.splitlines()[0]
    assert verdict.startswith("no violation found: measured lower bound ")
    assert verdict.endswith("(99.9999% confidence) is below the claim 1.5")
    assert len([line for line in shown.splitlines() if line.rstrip().endswith("%")]) == 5  # an attack each
    right = SeededNoise.gaussian
    monkeypatch.setattr(SeededNoise, "gaussian", lambda self, scale, size: right(self, scale / 100, size))
    code, shown = run(capsys, "mechanism=gaussian", "eps=1.5", "delta=0.01")
    assert code == 1
    assert shown.splitlines()[0].startswith("VIOLATION: measured lower bound ")
    assert "exceeds the claim 1.5" in shown


def test_everything_is_written_on_request(capsys, tmp_path):
    path = tmp_path / "audit.json"
    run(capsys, "mechanism=svt", "mechanism.cutoff=2", "delta=0.01", "--output", str(path), "--classes", "3")
    record = json.loads(path.read_text())
    assert record["mechanism"] == "svt"
    assert record["claim"]["eps"] == 1
    assert record["plan"]["cutoff"] == 2
    assert (record["runs"], record["queries"], record["classes"]) == (2000, 10, 3)
    assert record["bound"] == max(finding["bound"] for finding in record["findings"])
    assert record["violation"] is False
    assert {finding["direction"] for finding in record["findings"]} == {"D over D'", "D' over D"}
    assert all(finding["hits"] <= finding["runs"] == 1000 for finding in record["findings"])
    assert list(tmp_path.iterdir()) == [path]


def test_active_is_audited_through_its_oracle(capsys):
    _, svt = run(capsys, "mechanism=active", "mechanism.oracle=svt", "mechanism.cutoff=1")
    assert "svt, the oracle of active" in svt
    assert "1 unstable answers" in svt


@pytest.mark.parametrize(
    "override",
    [
        "soft",
        "realizable_to_agnostic mechanism.inner=svt",
        "gaussian mechanism.calibration=liu2021",
        "svt mechanism.calibration=bassily2018 mechanism.cutoff=paper",
    ],
)
def test_options_that_are_not_checked_otherwise_can_be_attacked(override, capsys):
    code, shown = run(capsys, *f"mechanism={override} eps=2 --runs 100 --queries 4".split())
    assert code == 0
    assert override.split()[0] in shown.split("\n\n")[1].split(":")[0]


@pytest.mark.parametrize(
    ("mechanism", "gdp"),
    [("gaussian", True), ("gnmax", True), ("svt", False)],
)
def test_the_rule_of_the_bound_is_told(mechanism, gdp, capsys, tmp_path):
    """GDP only where mu-GDP is proved: a bound on mu would refute more than (eps, delta) elsewhere."""
    path = tmp_path / "audit.json"
    code, shown = run(capsys, *f"mechanism={mechanism} eps=2 --runs 200 --queries 4 --output {path}".split())
    record = json.loads(path.read_text())
    assert code == 0
    assert ("bound: GDP" in shown) == gdp == (record["bound_from"] == "GDP")
    assert ("bound: from the probabilities of one event" in shown) != gdp
    assert (record["claim"]["mu"] is not None) == (record["mu"] is not None) == gdp


def test_a_private_learner_is_attacked_through_its_outputs(capsys, tmp_path):
    path = tmp_path / "audit.json"
    argv = ["mechanism=sspp", "--records", "5000", "--output", str(path), "--runs", "5000"]
    code, shown = run(capsys, *argv)
    assert code == 0
    assert "sspp: 5,000 private records, 10 public points, 2 classes, 5,000 runs on each" in shown
    record = json.loads(path.read_text())
    assert (record["mechanism"], record["records"], record["queries"]) == ("sspp", 5000, 10)
    assert record["claim"] == {"eps": 1.0, "delta": 0.0, "mu": None, "how": record["claim"]["how"]}
    assert [finding["attack"] for finding in record["findings"]] == ["odd one out"] * 2


def test_fewer_runs_of_what_is_slow_unless_they_are_given(capsys, monkeypatch):
    asked = []

    def audited(plan, pairs, *, runs, **options):
        asked.append((runs, {pair.runs for pair in pairs}))
        return right(plan, pairs, runs=1000, **options)

    right = audit.audit
    monkeypatch.setattr(command, "audit", audited)
    options = ["mechanism=noisy_gd", "mechanism.steps=2", "--queries", "4"]
    assert command.main(options) == command.main([*options, "--runs", "3000"]) == 0
    capsys.readouterr()
    assert asked == [(None, {20_000}), (3000, {20_000})]


LIU = "mechanism.calibration=liu2021 mechanism.cutoff=5"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("delta=0.001 teacher.count=600", ["600 teachers", "delta 0.001"]),
        (LIU, [" teachers"]),  # raised to a number that is feasible
    ],
)
def test_delta_and_teachers_come_from_the_configuration_where_it_has_them(given, expected, capsys):
    code, shown = run(capsys, "mechanism=svt", *given.split())
    assert code == 0
    assert all(text in shown for text in expected)


@pytest.mark.parametrize("mechanism", ["gaussian", "best mechanism.steps=3"])
def test_persons_are_attacked_with_all_their_records(mechanism, capsys, tmp_path):
    path = tmp_path / "audit.json"
    argv = [*f"mechanism={mechanism}".split(), "eps=3", "delta=0.01", "--persons", "--output", str(path)]
    runs = 6000 if mechanism == "gaussian" else 100
    code, shown = run(capsys, *argv, "--teachers", "16", "--runs", str(runs))
    assert code == 0
    assert shown.splitlines()[0].startswith("no violation found: ")
    record = json.loads(path.read_text())
    assert record["persons"]
    found = {finding["attack"]: finding["bound"] for finding in record["findings"]}
    if mechanism == "gaussian":
        assert record["votes_moved"] == 1
        ours = [bound for name, bound in found.items() if name.startswith("all records of a person: ")]
        assert len(ours) == 4
        assert max(ours) > 0.3  # a vote that moved
    else:
        assert "private persons" in shown
        assert "many records against one" in found


def test_teachers_that_share_a_person_are_caught(capsys, monkeypatch):
    right = teachers.train

    def wrong(records, **given):
        return right(PrivateRecords(records.X, records.y), **given)  # dealt out by record

    monkeypatch.setattr(teachers, "train", wrong)
    code, shown = run(capsys, "mechanism=gaussian", "--persons", "--teachers", "16", "--runs", "100")
    assert code == 1
    assert "VIOLATION: all records of one person moved" in shown.splitlines()[0]


# -- plug-ins without attacks


@pytest.fixture
def plug_in(tmp_path):
    """How `pate audit` is told of the mechanism of `noisy_histograms`."""
    (tmp_path / "conf" / "mechanism").mkdir(parents=True)
    (tmp_path / "conf" / "mechanism" / "mine.yaml").write_text("name: noisy_histograms\n")
    return ["--config-dir", str(tmp_path / "conf"), "mechanism=mine", "eps=1"]


def _none(plan):
    return Mechanism.attacks(plan)


def _on_votes(plan):
    counts = np.tile([9, 3], (plan.m, 1))
    return [VoteAttack("votes of its own", counts, counts + np.array([-1, 1]))]


@pytest.mark.parametrize("attacks", [_none, lambda plan: [], _on_votes], ids=["none", "empty", "on votes"])
def test_a_mechanism_that_asks_votes_is_audited_by_its_release(plug_in, attacks, capsys, monkeypatch):
    """A release of ten histograms that is charged as one is found, whatever attacks the plug-in brings."""
    monkeypatch.setattr(NoisyHistograms, "attacks", attacks)
    plug_in += ["--runs", "2000" if attacks is _on_votes else "600"]
    code, shown = run(capsys, *plug_in)
    assert code == 0
    assert ("votes of its own" if attacks is _on_votes else "every query critical") in shown
    monkeypatch.setattr(NoisyHistograms, "releases", 1)
    code, shown = run(capsys, *plug_in)
    assert code == 1
    assert shown.splitlines()[0].startswith("VIOLATION: measured lower bound ")


@pytest.mark.parametrize("attacks", [_none, lambda plan: []], ids=["none", "empty"])
@pytest.mark.parametrize("persons", [[], ["--persons"]])
def test_a_learner_with_nothing_to_attack_is_refused_in_one_line(
    plug_in, attacks, persons, capsys, monkeypatch
):
    monkeypatch.setattr(NoisyHistograms, "attacks", attacks)
    monkeypatch.setattr(NoisyHistograms, "asks_votes", False)
    assert cli.main(["audit", *plug_in, *persons]) == 2
    said = "pate: mechanism.name: got 'noisy_histograms'; accepted: a mechanism that offers attacks\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("error", [BudgetSpent("no further query is taken"), IndexError("no noise is left")])
def test_a_session_is_not_asked_once_it_is_exhausted(error, capsys, monkeypatch):
    right = GaussianSession.ask

    def ask(self, votes):
        if self.exhausted:
            raise error
        return right(self, votes)

    monkeypatch.setattr(GaussianSession, "ask", ask)
    code, shown = run(capsys, "mechanism=gaussian", "eps=1")
    assert code == 0
    assert "twice the queries" in shown
