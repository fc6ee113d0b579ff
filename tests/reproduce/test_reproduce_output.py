"""Tables in every form, figures, and the page."""

import base64
import csv
import io
import json
import math
import re
import shutil
import subprocess

import pandas as pd
import pytest

from pate_cli.commands.recipe_run import reproduce
from pate_cli.engine.recipes import read_recipe
from pate_cli.results.findings import About, Findings
from pate_cli.results.page import render, write
from pate_cli.results.recipe_page import recipe_report
from pate_cli.results.tables import Head, Table, from_frame, number

HARD = "50% of a_b & c#d [x] *y* <z> {w} ~ ^ \\ $1 | ± ∞ – ≤ τ é 漢"
GRID = Table(
    [Head("what", numeric=False), Head("ours", "size"), Head("paper", "size"), Head("end")],
    [[HARD, "1", "-2.5", "3"], ["[b]", "4", "∞", "6"]],
    [{"what": HARD, "x": 0.1 + 0.2, "y": None}, {"what": "b", "x": math.inf, "y": 1}],
    note="100% & more",
)


def test_a_table_keeps_its_shape_in_every_form(typeset):
    rows = list(csv.reader(io.StringIO(GRID.to_csv())))  # raw values
    assert rows == [["what", "x", "y"], [HARD, "0.30000000000000004", ""], ["b", "inf", "1"]]
    lines = GRID.to_markdown().split("\n\n")[0].splitlines()
    assert lines[0] == "| what | ours (size) | paper (size) | end |"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    text = GRID.to_latex()
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrrr}", "$-$2.5"):
        assert rule in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert lines[0] == r"what & ours (size) & paper (size) & end \\"
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [3, 3, 3]
    about = About(name="grid", title="Grid", source="", shows="")
    page = render(recipe_report(Findings(about=about, command=[], table=GRID)).page)
    assert "&lt;z&gt;" in page
    assert "<z>" not in page
    assert '<th role="columnheader" colspan="2" class="group">size</th>' in page
    typeset(text)
    letters = "".join(map(chr, [*range(32, 127), *range(160, 600), *range(913, 1000), 8211, 9999]))
    cells = [[letters[start : start + 9]] for start in range(0, len(letters), 9)]
    typeset(Table([Head("letters", numeric=False)], cells).to_latex())


def test_a_studys_table():
    frame = pd.DataFrame(
        {"a": ["x", "y"], "b": [1.23456789, float("nan")], "n": [1000, 2], "ok": [True, False]}
    )
    grid = from_frame(frame)
    assert grid.cells == [["x", "1.235", "1,000", "True"], ["y", "–", "2", "False"]]
    assert grid.to_csv() == "a,b,n,ok\nx,1.23456789,1000,True\ny,,2,False\n"
    assert number(math.inf) == "∞"
    assert number(0.5, ".2f", 0.01) == "0.50 ± 0.01"


@pytest.fixture
def written(recipe_dir, tmp_path):
    """Write the small recipe, with few repeats."""

    def make(directory, *given, quick=False):
        recipe = read_recipe(recipe_dir)
        typed = ["compute.workers=1", "repeats=2", *given]
        findings = reproduce(recipe, typed, quick=quick, directory=tmp_path / "work")
        return write(tmp_path / directory, recipe_report(findings))

    return make


def test_every_file_is_written_and_stays_the_same(written, tmp_path):
    assert written("one") == ""
    names = {path.name for path in (tmp_path / "one").iterdir()}
    images = {"figure.png", "figure.svg"}
    tables, paired = ({f"{stem}.{kind}" for kind in ("csv",)} for stem in ("table", "paired"))
    assert names == tables | paired | images | {"report.html"}
    written("two")
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    for name in ("figure-old.png", "metrics.csv", "mine.txt"):
        (tmp_path / "one" / name).write_text("of an earlier run, or not ours")
    written("one", "dataset=real-sim")
    left = {path.name for path in (tmp_path / "one").iterdir()}
    assert left == tables | images | {"report.html", "mine.txt"}


def test_the_table_has_ours_beside_the_printed_and_the_page_is_whole(written, tmp_path):
    written("one")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "one" / "table.csv").read_text())))
    by_name = {row["name"]: row for row in rows}
    first = by_name["passive 0.5"]
    assert first["status"] == "ok"
    assert first["n"] == "2"
    assert float(first["difference"]) == pytest.approx(float(first["accuracy"]) - 0.7)
    assert float(first["eps_ex_post_at_printed_queries"]) == pytest.approx(0.5)
    assert first["verdict"] == "too few runs"  # of two repeats
    assert by_name["passive inf"]["eps"] == "inf"
    assert by_name["nowhere"]["status"] == "missing"
    assert by_name["nowhere"]["accuracy"] == ""
    assert "pate data fetch real-sim" in by_name["nowhere"]["reason"]
    assert by_name["svt 0.1"]["status"] == "infeasible"
    assert "cannot answer with" in by_name["svt 0.1"]["reason"]
    page = (tmp_path / "one" / "report.html").read_text()
    images = re.findall(r'src="([^"]*)"', page)
    assert len(images) == 1
    kind, _, content = images[0].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(content) == (tmp_path / "one" / "figure.svg").read_bytes()
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\((?!#)|@import""", page)
    shown = ("Paired differences", "Row by row", "numpy", "SHA-256", "pate data fetch real-sim")
    assert [text for text in shown if text not in page] == []
    assert "A quick run" not in page
    written("two", quick=True)
    assert "A quick run" in (tmp_path / "two" / "report.html").read_text()


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PROBE = """
<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe style="border:0;width:{width}px;height:900px" src="report.html" onload="probe(this)"></iframe>
<pre id="said"></pre><script>
function probe(frame) {{
  const page = frame.contentDocument, root = page.documentElement;
  const images = [...page.images].map(i => i.complete && i.naturalWidth > 0);
  const wide = [...page.body.children].filter(e => e.getBoundingClientRect().right > {width} + 1);
  document.getElementById("said").textContent = JSON.stringify(
    {{images, scroll: root.scrollWidth, wide: wide.length, tables: page.querySelectorAll("table").length}});
}}
</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_the_page(written, tmp_path):
    """Every figure is drawn, nothing reaches beyond a narrow window, nothing is on the console."""
    written("one")
    tables = (tmp_path / "one" / "report.html").read_text().count("<table")
    width = 390
    (tmp_path / "one" / "probe.html").write_text(PROBE.format(width=width))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    options += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [CHROMIUM, *options, "--virtual-time-budget=5000", f"file://{tmp_path}/one/probe.html"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = re.search(r'<pre id="said">(.*?)</pre>', done.stdout)
    assert said, done.stderr[-2000:]
    shown = json.loads(said.group(1))
    assert shown.pop("scroll") <= width
    assert shown == {"images": [True], "wide": 0, "tables": tables}
    assert "CONSOLE" not in done.stderr, done.stderr
