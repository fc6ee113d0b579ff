"""`pate page` of a release: all of the certificate and nothing else, whatever its columns are called."""

from __future__ import annotations

import json
import math
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.release.card import Card
from pate_cli.release.quality import Quality
from pate_cli.results.page import render

pytest.importorskip("opendp")

NUMBER, WARD = "a`<script>alert(1)</script>**x**", "| b | [x](javascript:1) &amp;"
CASE = "<i>ye`s</i>"
OWN = ["dataset=hostile.schema.yaml"]
RELEASE = ["run", "release=true", "split.public_from_private=true", "mechanism=best", "eps=4"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release that is evaluated, of a file whose names are markup."""
    place = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    x, ward = rng.normal(size=900).round(3), rng.integers(0, 3, 900)
    labels = np.where(x + ward > 1.6, CASE, "**no**")
    lines = [f'{a},"<b>`{b}`</b>",{label}' for a, b, label in zip(x, ward, labels, strict=True)]
    text = "\n".join([f'"{NUMBER}","{WARD}",y', *lines]) + "\n"
    (place / "hostile.csv").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATE_LEDGER", str(place / "ledger"))
        patch.chdir(place)
        assert main(["data", "describe", "hostile.csv", "--target", "y"]) == 0
        assert main(["ledger", "init", *OWN, "--eps", "9", "--delta", "0.1"]) == 0
        assert main([*RELEASE, *OWN, "evaluate=0.3", "purpose='<u>**it**</u>'", "hydra.run.dir=out"]) == 0
    return place


@pytest.fixture
def place(made, monkeypatch):
    monkeypatch.chdir(made)
    monkeypatch.setenv("PATE_LEDGER", str(made / "ledger"))
    (made / "card.html").unlink(missing_ok=True)
    return made


class Tags(HTMLParser):
    """Elements, and the text that is shown."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.shown, self.inside = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.inside.append(tag)
        assert not [value for key, value in attrs if key.startswith("on") or "javascript:" in (value or "")]

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data):
        if not {"script", "style"} & {*self.inside}:
            self.shown.append(data)


def test_names_of_others_are_text(place, capsys):
    before = {path: path.read_bytes() for path in Path("out").iterdir()}
    assert main(["page", "out", "--output", "card.html"]) == 0
    assert {path: path.read_bytes() for path in Path("out").iterdir()} == before
    text = Path("card.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\((?!#)|@import""", text)
    page = Tags(text)
    shown = " ".join("".join(page.shown).split())
    assert not page.tags & {"i", "b", "u", "img", "iframe", "object"}
    assert text.count("<script") == 1
    for name in ("a<script>alert(1)</script>x", WARD, "<i>yes</i>", "Purpose: <u>it</u>"):
        assert name in shown
    assert "1,000 records are named" in shown
    assert "right at most 98 times in 100" in shown  # (e^4 + delta) / (1 + e^4)
    assert main(["page", "out", "--output", "out/card.html"]) == 2
    assert "pate verify compares the files of a release" in capsys.readouterr().err
    assert not Path("out/card.html").exists()
    card = Path("out/model_card.md").read_text()
    assert "\\<u\\>it\\</u\\>" in card
    assert f"| `{WARD.replace('|', chr(92) + '|')}` |" in card


def test_the_page_follows_from_the_certificate_and_its_commands_run(place, tmp_path, monkeypatch, capsys):
    assert main(["page", "out", "--output", "card.html"]) == 0
    page = Path("card.html").read_text(encoding="utf-8")
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "certificate.json").write_bytes(Path("out/certificate.json").read_bytes())
    assert main(["page", str(alone), "--output", "card.html"]) == 0
    assert Path("card.html").read_text(encoding="utf-8").replace(str(alone), "out") == page
    pre = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1]
    lines = [re.sub(r"<[^>]*>", "", line) for line in pre.split('<span class="line">')[1:]]
    verify, predict = [shlex.split(line) for line in lines]
    assert main(verify[1:]) == 0
    Path("new.csv").write_bytes(Path("hostile.csv").read_bytes())
    assert main(predict[1:]) == 0
    assert len(Path("labels.csv").read_text().splitlines()) == 901
    capsys.readouterr()
    assert main(["table", "out", "--format", "csv"]) == 0
    figures = json.loads(Path("out/certificate.json").read_text())["evaluation"]["figures"]
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == "measure,estimate,low,high,told"
    assert [line.split(",")[0] for line in lines] == list(figures)
    for argv in (["plot", "out"], ["page", "."]):
        assert main([*argv]) == 2
        assert "a release measures nothing; of one: pate page out" in capsys.readouterr().err


def facts_of(place):
    return json.loads(Path("out/certificate.json").read_text())


def shown(facts):
    return " ".join("".join(Tags(render(Card(facts, "out").page)).shown).split())


def test_it_says_how_the_records_are_protected(place):
    facts = facts_of(place)
    assert "How: the model is trained by gradients with Gaussian noise of whole numbers" in shown(facts)
    assert "How much any one record can change" in shown(facts)
    persons = facts["guarantee"] | {"protects": {"unit": "patient", "neighbours": "replace"}}
    assert "How much all records of one patient can change" in shown({**facts, "guarantee": persons})
    del facts["guarantee"]["in_words"]  # of an earlier version
    assert "How: its proof is that of the " in shown(facts)


def test_without_a_test_or_a_model_it_says_so(place):
    facts = facts_of(place)
    bare = {key: value for key, value in facts.items() if key != "evaluation"}
    text = shown(bare)
    assert "Nothing is known of how good this model is. It is published under a guarantee of eps 4" in text
    assert "Decide nothing by it" in text
    assert "100 records" not in text
    empty = {name: about for name, about in facts["files"].items() if name != "student.skops"}
    text = shown({**facts, "files": empty})
    assert "These are noisy answers, without a model." in text
    assert "pate predict" not in text


def test_what_cannot_be_told_and_what_is_of_no_use_is_said(place):
    facts = facts_of(place)
    figures = facts["evaluation"]["figures"]
    figures["roc_auc"] |= {"estimate": 0.55, "low": 0.45, "high": 0.65}
    assert "It may rank no better than guessing" in shown(facts)
    for name, figure in figures.items():
        if name.startswith(("recall", "precision")):
            figure |= {"estimate": None, "low": 0.0, "high": 1.0, "told": False}
    text = shown(facts)
    assert "This model is right on " in text
    assert "too few to tell" in text
    assert ", always " in text
    for name, figure in figures.items():
        if name.startswith("share"):
            figure |= {"told": False}
    text = shown(facts)  # what a constant answer would get is not told either
    assert ", always " not in text
    assert ", naming " not in text
    figures["accuracy"] |= {"estimate": None, "told": False}
    assert "of a quality that its test cannot tell" in shown(facts)


def test_nothing_is_better_than_a_constant_answer_that_cannot_be_told():
    told = {"estimate": 0.4, "low": 0.3, "high": 0.5, "told": True}
    shares = {f"share of {name}": told | {"told": False} for name in "abc"}
    quality = Quality({"figures": {"accuracy": told, **shares}, "n": 90}, ["a", "b", "c"])
    assert not quality.useful
    assert "It may be no better than a constant answer" in quality.caution


def test_how_many_times_as_likely_is_a_number_for_people(place):
    facts = facts_of(place)
    facts["guarantee"]["eps"] = 8.0
    assert "at most 2,990 times as likely, and at least 1/2,990 times" in shown(facts)


def test_a_terminal_warns_as_the_page_does(place):
    facts = facts_of(place)
    figures = facts["evaluation"]["figures"]
    assert not any("guessing" in note for note in Card(facts, "out").report().notes)
    figures["roc_auc"] |= {"estimate": 0.55, "low": 0.45, "high": 0.65}
    assert any("may rank no better than guessing" in note for note in Card(facts, "out").report().notes)


@pytest.mark.parametrize(("high", "most"), [(0.1201, "13"), (0.0493, "5"), (0.0311, "3.2")])
def test_an_error_that_is_at_most_so_large_is_not_larger(high, most):
    error = {"estimate": 0.0, "low": 0.0, "high": high, "told": True}
    measured = {"figures": {"calibration_error": error, "calibration_error_before": error}, "n": 90}
    quality = Quality(measured, ["a", "b"])
    assert f"differ by at most {most} points" in quality.uses()[0][-1]
    assert quality.probabilities.count(f"above {most} ") == 2


def test_certificates_of_before_are_shown_and_others_refused(place, tmp_path, capsys):
    """As 0.1 wrote them: `numeric`, `values`, and neither a file's name nor its form."""
    facts = facts_of(place)
    for key in ("file", "target", "form"):
        del facts["data"][key]
    facts["data"]["schema"] = {
        NUMBER: {"kind": "numeric", "low": 0.0, "high": 5.0, "missing": True},
        WARD: {"kind": "category", "values": ["A", "B"], "missing": False},
    }
    text = shown(facts)
    assert "number from 0 to 5; values beyond are moved to the end; may be missing" in text
    assert "one of “A”, “B”" in text
    wrong = {
        "a version": ({**facts, "schema_version": 7}, "a certificate of version 7"),
        "no sizes": ({key: facts[key] for key in facts if key != "sizes"}, "lacks what a page says"),
        "no guarantee": (
            {**facts, "guarantee": {**facts["guarantee"], "eps": "nan"}},
            "lacks what a page says",
        ),
        "no number": ({**facts, "n_asked": math.nan}, "damaged"),
        "a list": ([], "damaged"),
    }
    for content, said in wrong.values():
        (tmp_path / "certificate.json").write_text(json.dumps(content))
        assert main(["page", str(tmp_path), "--output", "card.html"]) == 2
        message = capsys.readouterr().err
        assert said in message
        assert message.count("\n") == 1
        assert not Path("card.html").exists()
    (tmp_path / "certificate.json").unlink()
    result = {
        **json.loads(Path("out/result.json").read_text()),
        "status": "interrupted",
        "message": "was ended",
    }
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert main(["page", str(tmp_path), "--output", "card.html"]) == 2
    assert "(the release is interrupted: was ended)" in capsys.readouterr().err
