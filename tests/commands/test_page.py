"""`pate page`: one file of a result, whole and without a request to elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pate_cli import cli

REPO = Path(__file__).resolve().parents[2]
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
        assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\((?!#)|@import""", text)
        assert "prefers-color-scheme: dark" in text
        assert 'name="viewport"' in text
        return text

    return read


def test_of_a_sweep(page, tmp_path, monkeypatch, capsys):
    text, written = page("s"), tmp_path / "s" / "report.html"
    assert text.count("<svg") == 2  # for a wide and for a narrow screen
    parts = [
        "Accuracy in percent",
        "All runs",
        "How this was measured",
        "Words",
        "Why some methods have no number, or no use",
    ]
    assert [part for part in parts if f"<h2>{part}</h2>" not in text] == []
    assert "cannot run" in text  # svt at eps 0.05
    assert "mine.csv SHA-256 " in text
    own = [
        re.sub(r"pate.*?(page|run).*", "", each.split("<h1>")[1].split("<footer>")[0])
        for each in (text, written.read_text("utf-8"))
    ]
    own = [re.sub(r"<section>\s*<h2>Next.*?</section>\s*", "", each, flags=re.DOTALL) for each in own]
    assert own[0].split("How this was")[0] == own[1].split("How this was")[0]

    def refuse(*_, **__):
        raise RuntimeError("no\nfont")

    monkeypatch.setattr("pate_cli.results.page._template", refuse)
    assert cli.main(["run", "-m", *SMALL, *SWEEP]) == 0
    assert "pate: report.html is not written: no font\n" in capsys.readouterr().err
    assert not written.exists()  # not that of an earlier sweep


def test_of_a_run_by_its_name(page, capsys):
    text = page("<b>one</b>", "--title", "For <you>")
    assert "<title>For &lt;you&gt;</title>" in text
    assert "<b>one" not in text
    assert "<b>one" not in text
    assert "<svg" not in text  # one eps is no line
    assert "<span>frontier</span> <span>dataset=csv</span>" in text  # the next command
    assert cli.main(["page", "nowhere"]) == 2
    assert "no name or id of a result" in capsys.readouterr().err
    assert cli.main(["page", "s", "--output", "p.pdf"]) == 2
    assert "accepted: .html" in capsys.readouterr().err


def test_somebody_elses_view_stands_in_it(page, tmp_path, monkeypatch, capsys):
    """As docs/extending.md says: a function from the repeats to a table or a figure."""
    example = REPO / "docs" / "examples" / "own" / "pate_exponential" / "views.py"
    (tmp_path / "mine_views.py").write_text(example.read_text(encoding="utf-8"))
    monkeypatch.syspath_prepend(str(tmp_path))
    shown = page("s", "--view", "mine_views.extremes")
    assert "<h2>Extremes of the accuracy over splits</h2>" in shown
    bad = {
        "fails": (
            "return repeats['none']",
            f"KeyError: 'none'; bad_views.fails, {tmp_path / 'bad_views.py'}, line 2",
        ),
        "text": ("return ''", "made str; accepted: a DataFrame"),
        "exits": (
            "raise SystemExit(0)",
            f"SystemExit: 0; bad_views.exits, {tmp_path / 'bad_views.py'}, line 6",
        ),
        "dies": ("__import__('os')._exit(0)", "SystemExit: os._exit(0)"),
        "twice": ("return repeats[['accuracy', 'accuracy']]", ""),
    }
    lines = [line for name, (body, _) in bad.items() for line in (f"def {name}(repeats):", f"    {body}")]
    (tmp_path / "bad_views.py").write_text("\n".join(lines))
    for view, (_, said) in bad.items():
        Path("p.html").unlink(missing_ok=True)
        both = ["--view", f"bad_views.{view}", "--view", "mine_views.extremes"]
        assert cli.main(["page", "s", *both, "--output", "p.html"]) == (2 if said else 0)
        err = capsys.readouterr().err
        assert f"pate: --view bad_views.{view}: {said}" in err or not said
        text = Path("p.html").read_text("utf-8")  # the rest of the page stands
        assert (f"<h2>bad_views.{view}</h2>" in text, "this view failed" in text) == (True, bool(said))
        assert "<h2>Extremes of the accuracy over splits</h2>" in text
    assert cli.main(["page", "s", "--view", "bad_views.nothing", "--output", "p.html"]) == 2
    assert "bad_views.nothing: no such function; accepted: an import path" in capsys.readouterr().err
