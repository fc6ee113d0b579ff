"""`pate page`: one file of a result, whole and without a request to elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from pate_cli import cli

SMALL = ["features=none", "student=logistic", "dataset=csv", "dataset.path=mine.csv", "dataset.target=label"]
SMALL += ["split.public=40", "teacher.size=40", "compute.workers=1", "repeats=2"]
SWEEP = ["mechanism=gaussian,svt", "eps=0.05,4,8", "hydra.sweep.dir=s"]


@pytest.fixture
def page(tmp_path, monkeypatch, capsys):
    """Run a sweep and a run on a file; a function that makes the page of one and reads it."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{i * 5 % 11},{'yes' if i % 7 > 3 else 'no'}" for i in range(700)]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    assert cli.main(["run", "-m", *SMALL, *SWEEP]) == 0
    assert cli.main(["run", *SMALL, "eps=4", "name='<b>one</b>'"]) == 0
    capsys.readouterr()

    def read(*argv):
        assert cli.main(["page", *argv, "--output", "p.html"]) == 0
        text = (tmp_path / "p.html").read_text(encoding="utf-8")
        HTMLParser().feed(text)
        assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\(|@import|<script""", text)
        assert "prefers-color-scheme: dark" in text
        assert 'name="viewport"' in text
        return text

    return read


def test_of_a_sweep(page, tmp_path, monkeypatch, capsys):
    text, written = page("s"), tmp_path / "s" / "report.html"
    assert "<title>mine.csv: gaussian, svt</title>" in text
    assert text.count("data:image/svg+xml;base64,") == 1
    parts = ["Table", "Paired differences", "Settings that all rows share", "Rows without numbers"]
    parts += ["What is private and what is not", "Where the numbers come from"]
    assert [part for part in parts if f"<h2>{part}</h2>" not in text] == []
    assert "pate run -m features=none" in text
    assert "mine.csv</b>: SHA-256 " in text
    assert "infeasible" in text
    own = [
        re.sub("pate (page|run).*", "", each.split("<h1>")[1]) for each in (text, written.read_text("utf-8"))
    ]
    assert own[0] == own[1]  # that of the sweep itself, but for its command

    def refuse(*_, **__):
        raise RuntimeError("no\nfont")

    monkeypatch.setattr("pate_cli.results.page._page", refuse)
    assert cli.main(["run", "-m", *SMALL, *SWEEP]) == 0
    assert "pate: report.html is not written: no font\n" in capsys.readouterr().err
    assert not written.exists()  # not that of an earlier sweep


def test_of_a_run_by_its_name(page, capsys):
    text = page("<b>one</b>", "--title", "For <you>")
    assert "<title>For &lt;you&gt;</title>" in text
    assert "<b>one" not in text
    assert "Every measure" in text
    assert "data:image" not in text  # one eps is no line
    assert cli.main(["page", "nowhere"]) == 2
    assert "no name or id of a result" in capsys.readouterr().err
    assert cli.main(["page", "s", "--output", "p.pdf"]) == 2
    assert "accepted: .html" in capsys.readouterr().err
