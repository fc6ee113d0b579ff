"""Make the measured figures of the docs, and a table, each by the commands beside it: `make figures`.

    python -m benchmarks.figures                # all: an hour
    python -m benchmarks.figures privacy-cost   # one

Beside docs/figures/NAME*.svg stand NAME.csv, what was drawn, and NAME.json: commands, version and code, and
the numbers of a short form of them, which tests/docs/test_figures.py measures again.
peers needs PEER_PYTHON (docs/comparing.md), unseen the files HI.csv, OFP.csv and Computers.csv of R's
Ecdat in PATE_DATA, without names of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pate_cli import __version__
from pate_cli.cli import main as pate
from pate_cli.engine.loaded import code_version
from pate_cli.results import read_repeats
from pate_cli.results.report import report

REPO = Path(__file__).resolve().parent.parent
PLACE = REPO / "docs" / "figures"
WORK = REPO / "dist" / "figures"
SHEET = REPO / "pate_cli" / "results" / "templates" / "style.css"


@dataclass(frozen=True)
class Figure:
    """Commands as the docs show them; the directory of their result; a short form of the first."""

    commands: tuple[str, ...]
    made: str
    again: str
    columns: tuple[str, ...]  # of what was drawn, beside the last, its value


_MUSHROOM = "pate frontier dataset=mushroom --methods best,gaussian,scores,svt"
_COUNTS = "pate run -m dataset=mushroom mechanism=gaussian,svt"
_TABLES = "--tables mushroom,magic,spambase,adult,flights:target=delayed,diamonds:target=cut"
_OF_TABLES = ("dataset", "method", "eps", "repeat", "accuracy")
_REPEATS = ("method", "eps", "repeat", "accuracy")
FIGURES = {
    "privacy-cost": Figure(
        (f"{_MUSHROOM} --repeats 10 --output mush",),
        "mush",
        f"{_MUSHROOM} --repeats 1 --eps 1 --no-limit --output again",
        _REPEATS,
    ),
    "teachers": Figure(
        (
            f"{_COUNTS} teacher.count=25,50,100,200,400 eps=1 repeats=10 hydra.sweep.dir=count",
            "pate plot count --x teacher.count --output teachers.svg",
        ),
        "count",
        f"{_COUNTS} teacher.count=100,400 eps=1 hydra.sweep.dir=again",
        ("method", "n_teachers", "repeat", "accuracy"),
    ),
    "peers": Figure(
        (
            f"pate frontier --config-dir experiments/peers/conf {_TABLES} --eps 0.5,1,2 --repeats 3 "
            "--methods best,gaussian,ebm,dp_logistic --output peers",
        ),
        "peers",
        "pate frontier --tables spambase --methods best,gaussian --eps 1 --repeats 1 --no-limit "
        "--output again",
        _OF_TABLES,
    ),
    "scores": Figure(
        (f"pate frontier {_TABLES} --eps 0.5,1,2,4 --repeats 3 --methods scores --no-limit --output scores",),
        "scores",
        "pate frontier --tables spambase --methods scores --eps 1 --repeats 1 --no-limit --output again",
        _OF_TABLES,
    ),
    "unseen": Figure(
        (
            "pate frontier --tables HI:target=whi,OFP:target=privins,Computers:target=cd --eps 0.5,2 "
            "--repeats 5 --methods best,gaussian,scores --no-limit --output unseen",
        ),
        "unseen",
        "pate frontier --tables spambase --methods scores --eps 0.5 --repeats 1 --no-limit --output again",
        _OF_TABLES,
    ),
    "figure1": Figure(
        ("pate reproduce figure1",),
        "outputs/reproduce/figure1",
        "pate reproduce figure1 --quick",
        ("growing", "teachers", "records", "error, exact", "error, simulated"),
    ),
}


def run(command: str) -> None:
    """Run a command in the current directory; a RuntimeError if it fails."""
    if pate(shlex.split(command)[1:]):
        raise RuntimeError(command)


def measured(figure: Figure, directory: Path) -> pd.DataFrame:
    """What a result holds of a figure: lines of repeats, or of the table of a study."""
    repeats = "repeat" in figure.columns
    found = read_repeats([directory]) if repeats else pd.read_csv(directory / "table.csv")
    return found[[*figure.columns]]


def short_numbers(figure: Figure) -> list[list[Any]]:
    """Numbers of the short form, measured in the current directory."""
    shutil.rmtree("again", ignore_errors=True)
    run(figure.again)
    made = "again" if "again" in figure.again else f"{figure.made}-quick"
    rows = measured(figure, Path(made)).dropna()
    return [[str(value) for value in row[:-1]] + [round(float(row[-1]), 6)] for row in rows.to_numpy()]


def themed(svg: str, dark: bool) -> str:
    """A drawing of a page as a file of its own: the rules of the sheet that it uses, in one scheme."""
    sheet = SHEET.read_text(encoding="utf-8")
    light, *others = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    tokens = dict(re.findall(r"--([\w-]+):\s*([^;]+);", light))
    if dark:
        tokens |= dict(re.findall(r"--([\w-]+):\s*([^;]+);", others[0]))
    rules = " ".join(
        rule.replace(".fig ", "")
        for rule in re.findall(r"\.fig [^{]*\{[^}]*\}|\.\w+ \{ --c: [^}]*\}", sheet)
        if ".narrow" not in rule or 'class="narrow"' in svg
    )
    used = sorted(set(re.findall(r"var\(--([\w-]+)\)", rules)) - {"c"})
    style = f"svg {{ {' '.join(f'--{name}: {tokens[name]};' for name in used)} }} {rules}"
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    return svg.replace("<svg ", head, 1).replace("</desc>", f"</desc><style>{style}</style>", 1) + "\n"


def draw(name: str, figure: Figure, found: Path) -> None:
    """Put the drawings into docs/figures; of many tables there is none."""
    if "--tables" in figure.commands[0]:
        return
    if figure.commands[0].startswith("pate frontier"):
        page = report(read_repeats([found]), shlex.split(figure.commands[0]), {}).page
        for svg, form in zip(page.figure.split("\n"), ("", "-narrow"), strict=True):
            for scheme in ("light", "dark"):
                (PLACE / f"{name}-{scheme}{form}.svg").write_text(themed(svg, scheme == "dark"))
    else:
        drawn = found / "figure.svg" if (found / "figure.svg").is_file() else Path(f"{name}.svg")
        shutil.copy(drawn, PLACE / f"{name}.svg")


def make(name: str) -> None:
    """Measure, draw, and write down what was measured with what; repeats are kept in dist/figures."""
    figure = FIGURES[name]
    WORK.mkdir(parents=True, exist_ok=True)
    os.chdir(WORK)
    conf = Path("experiments/peers/conf")  # the docs' paths are those of a checkout
    shutil.copytree(REPO / conf, conf, dirs_exist_ok=True)
    found = Path(figure.made)
    for old in [path for path in found.glob("*") if path.name != ".finished"]:  # maybe of another version
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for command in figure.commands:
        run(command)
    draw(name, figure, found)
    measured(figure, found).to_csv(PLACE / f"{name}.csv", index=False, float_format="%.6g")
    facts = {
        "commands": figure.commands,
        "pate": __version__,
        "code": code_version(),
        "again": figure.again,
        "numbers": short_numbers(figure),
    }
    (PLACE / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")


def main(argv: Sequence[str]) -> int:
    """Make the figures that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help=f"of {', '.join(FIGURES)}")
    for name in parser.parse_args(argv).names or FIGURES:
        make(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
