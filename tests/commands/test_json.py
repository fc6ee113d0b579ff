"""`--json` and `-q` of every command that prints a table, as `outputs/README.md` documents them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from pathlib import Path

import pytest

from pate_cli import cli
from pate_cli.datasets.known_datasets import ENTRIES, KnownDataset, SourceFile

README = Path(__file__).resolve().parents[2] / "outputs" / "README.md"
SMALL = ["features=none", "student=logistic", "dataset.n_records=1000", "split.public=40"]
SMALL += ["teacher.size=40", "compute.workers=1"]
TWO = ["--methods", "gaussian,output_perturbation", "--eps", "8", "--repeats", "2"]
RECIPE = """\
title: A recipe
source: nowhere
shows: That it works.
kind: runs
rows:
  - {name: one, overrides: [eps=4, repeats=2, SMALL], printed: {accuracy: 0.9, ci: 0.1}}
"""
NEW = b"0 1:1 2:-1\n1 2:1\n"
COMMANDS = [
    ["run", *SMALL, "hydra.run.dir=outputs/a", "name=a"],
    ["run", *SMALL, "hydra.run.dir=outputs/b", "eps=4"],
    ["table", "outputs"],
    ["list"],
    ["compare", "outputs/a", "outputs/b"],
    ["plan", *SMALL],
    ["plan", "-m", *SMALL, "eps=1,2"],
    ["tune", *SMALL, "student=logistic,tree", "eps=4"],
    ["frontier", *SMALL, *TWO],
    [
        "frontier",
        *SMALL[:2],
        *SMALL[3:],
        *TWO,
        "--table",
        "small=dataset=synthetic,dataset.n_records=1000",
    ],
    ["reproduce", "./own"],
    ["reproduce", "--list"],
    ["audit", "--runs", "2000", "--queries", "10", "mechanism=gaussian", "delta=0.01"],
    ["check", "mechanism=gaussian", "--only", "numbers"],
    ["check", "--list"],
    ["data", "list"],
    ["data", "describe", "own.csv", "--target", "b"],
    ["data", "fetch", "a9a"],
    ["data", "verify", "a9a"],
    ["predict", "outputs/a/student.skops", "new.svm", "--proba"],
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory that the commands share, with the two runs that they read."""
    place = tmp_path_factory.mktemp("json")
    (place / "own").mkdir()
    (place / "own" / "recipe.yaml").write_text(RECIPE.replace("SMALL", ", ".join(SMALL)))
    (place / "new.svm").write_bytes(NEW)
    (place / "own.csv").write_text("a,b\n" + "1.5,x\n2,y\n3,x\n" * 9)
    with contextlib.chdir(place):
        for run in COMMANDS[:2]:
            assert cli.main(run) == 0
    return place


@pytest.fixture
def there(place, monkeypatch):
    """Be in it."""
    monkeypatch.chdir(place)
    file = SourceFile("new.svm", "http://127.0.0.1:1/toy", hashlib.sha256(NEW).hexdigest())
    monkeypatch.setitem(ENTRIES, "a9a", KnownDataset("a9a", 2, 2, 2, (file,), "test"))
    monkeypatch.setenv("PATE_DATA", str(place))
    monkeypatch.setattr("pate_cli.engine.limits._TUNED_ON", 200)
    monkeypatch.setattr("pate_cli.results.figures.render", lambda *_, **__: (b"", b"", 1.0))


@pytest.mark.parametrize("index", range(len(COMMANDS)), ids=[" ".join(argv[:2]) for argv in COMMANDS])
@pytest.mark.usefixtures("there")
def test_json_is_as_documented(capsys, index):
    argv = COMMANDS[index]
    assert cli.main([*argv, "--json"]) == 0
    content = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    answers = ("run", "compare", "tune", "frontier")
    said = ["answer"] if argv[0] in answers or argv[:2] == ["reproduce", "./own"] else []
    expected = ["schema_version", "command", *said, "tables", "notes"]
    assert list(content)[: len(expected)] == expected
    assert (len(content) > len(expected)) == (argv[:2] == ["data", "describe"])
    assert (content["schema_version"], content["command"].split()[:2]) == (1, ["pate", argv[0]])
    assert all(isinstance(note, str) and note for note in content["notes"])
    documented = next(
        tables
        for commands, tables in re.findall(r"^\| (`.*`) \| (`.*) \|$", README.read_text(), re.MULTILINE)
        if f"`{argv[0]}`" in commands or f"`{' '.join(argv[:2])}`" in commands
    )
    assert set(content["tables"]) <= set(re.findall(r"`(\w+)`", documented)), content["tables"].keys()
    for lines in content["tables"].values():
        assert all(list(line) == list(lines[0]) for line in lines)
    assert content["tables"]["table"] or argv[0] == "list"


@pytest.mark.parametrize(
    "argv", [["table", "outputs/a"], ["run", *SMALL, "hydra.run.dir=outputs/a"], ["list"]]
)
@pytest.mark.usefixtures("there")
def test_quiet_leaves_the_meaning_of_eps(capsys, argv):
    assert cli.main([*argv, "-q"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert ("eps is the guarantee, of one repeat." in text) == (argv[0] == "table")
    assert ("guarantee eps 1 delta" in text) == (argv[0] == "run")
    assert "not differentially private" not in text
    assert "pate compare" not in text
