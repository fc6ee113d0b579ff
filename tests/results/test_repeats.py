"""The table of repeats: every command writes it, and one function reads it back."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pate_cli.cli import main
from pate_cli.errors import DataError
from pate_cli.results import read_repeats
from pate_cli.results.repeats import find_repeats
from pate_cli.results.repeats_file import RepeatsFile
from pate_cli.results.settings import dataset_name, differing
from pate_cli.types import RepeatResult

SMALL = ["dataset.n_records=1000", "split.public=40", "teacher.size=40", "compute.workers=1", "features=none"]
COMMANDS = {
    "run": ["run", *SMALL, "repeats=2", "eps=4"],
    "sweep": ["run", "-m", *SMALL, "repeats=2", "mechanism=gaussian,svt", "eps=0.05,8", "seed=1"],
    "frontier": [
        "frontier",
        *SMALL,
        "--repeats",
        "2",
        "--eps",
        "1,8",
        "--methods",
        "svt,svt-liu2021",
        "--no-limit",
    ],
    "tables": ["frontier", *SMALL[1:], "--repeats", "2", "--eps", "8", "--methods", "gaussian"],
    "recipe": ["reproduce", "./recipe"],
    "tune": ["tune", *SMALL, "repeats=2", "student=logistic,tree", "eps=4"],
}
TABLES = [f"small{n}=dataset=synthetic,dataset.n_records=1000,dataset.seed={n}" for n in (1, 2)]
COMMANDS["tables"] += [word for table in TABLES for word in ("--table", table)]
RECIPE = """\
title: A recipe
source: nowhere
shows: That it works.
kind: runs
repeats: 2
rows:
  - {name: one, method: PSQ, panel: a, overrides: [eps=4, SMALL]}
  - {name: same, method: PSQ, panel: b, overrides: [eps=4, SMALL]}
  - {name: nowhere, overrides: [dataset=real-sim]}
"""
PLACES = {
    "run": "run",
    "sweep": "sweep",
    "frontier": "frontier",
    "tables": "tables",
    "recipe": "recipes",
    "tune": "tune",
}
FIRST = ["dataset", "method"]
LAST = ["row", "checksum", "repeat", "status", "reason", "n_asked", "n_answered", "eps_ex_post"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with what each command leaves."""
    place = tmp_path_factory.mktemp("repeats")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("PATE_DATA", str(place / "no-data"))
        patch.setattr("pate_cli.datasets.known_datasets._cache", lambda: place / "no-cache")
        patch.setattr("pate_cli.engine.limits._TUNED_ON", 200)
        patch.setattr("pate_cli.results.figures.render", lambda *_, **__: (b"", b"", 1.0))
        (place / "recipe").mkdir()
        (place / "recipe" / "recipe.yaml").write_text(RECIPE.replace("SMALL", ", ".join(SMALL)))
        for name, argv in COMMANDS.items():
            to = f"hydra.{'sweep' if name == 'sweep' else 'run'}.dir={PLACES[name]}"
            where = [to] if argv[0] in ("run", "tune") else ["--output", PLACES[name]]
            assert main([*argv, *where]) == 0, name
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_writes_a_line_a_repeat_under_the_same_names(place, command):
    with (place / PLACES[command] / "repeats.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    names = list(lines[0])
    assert names[:2] == FIRST
    assert names[names.index("row") :][: len(LAST)] == LAST
    assert names.index("eps") < names.index("row")
    done = [line for line in lines if line["status"] == "ok"]
    assert {line["repeat"] for line in done} == {"0", "1"}
    assert all(0 <= float(line["accuracy"]) <= 1 and float(line["recall.1"]) >= 0 for line in done)
    assert all(line["reason"] and not line["repeat"] for line in lines if line["status"] != "ok")
    expected = {"run": 2, "sweep": 6, "frontier": 5 * 2, "tables": 2 * (5 + 1) * 2}
    assert len(done) == (expected | {"recipe": 4, "tune": 2})[command]


def test_settings_in_which_rows_differ_are_columns_and_no_others(place):
    header = {name: list(pd.read_csv(place / PLACES[name] / "repeats.csv")) for name in COMMANDS}
    settings = {name: names[2 : names.index("eps")] for name, names in header.items()}
    assert settings["run"] == settings["tune"] == []
    assert settings["tables"] == ["dataset.seed"]
    assert settings["sweep"] == ["job"]
    assert settings["frontier"] == ["mechanism.calibration"]
    assert settings["recipe"][:2] == ["name", "panel"]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_are_the_means_that_the_command_shows(place, command):
    frame = read_repeats(place / PLACES[command])
    means = frame[frame["status"] == "ok"].groupby(["dataset", "method", "eps"])["accuracy"].mean()
    assert frame["directory"].str.startswith(str(place / PLACES[command])).all()
    assert frame.attrs["left_out"] == 0
    if command in ("frontier", "tables", "recipe"):
        table = pd.read_csv(place / PLACES[command] / ("rows.csv" if command == "tables" else "table.csv"))
        rows = table[table["status"] == "ok"]
        rows = rows.rename(columns={"mechanism": "method"}) if "method" not in rows else rows
        datasets = rows["dataset"] if command == "tables" else ["synthetic"] * len(rows)
        for dataset, method, eps, accuracy in zip(
            datasets, rows["method"], rows["eps"], rows["accuracy"], strict=True
        ):
            assert means[dataset, method, eps] == pytest.approx(accuracy, abs=1e-15)
    else:
        for path in (place / PLACES[command]).rglob("result.json"):
            record = json.loads(path.read_text())
            if record["accuracy"]:
                found = means[record["dataset"], record["mechanism"], float(record["eps"])]
                assert found == pytest.approx(record["accuracy"]["mean"], abs=1e-15)


def test_all_of_them_together_and_each_repeat_once(place):
    frame, unreadable = find_repeats([place, place / "sweep" / "1", place / "frontier" / "repeats.csv"])
    assert unreadable == []
    parts = [read_repeats(place / PLACES[name]) for name in COMMANDS]
    assert len(frame) == sum(map(len, parts))
    assert frame["accuracy"].sum() == pytest.approx(sum(part["accuracy"].sum() for part in parts))
    rows = frame.groupby(["directory", "row", "method", "eps"], dropna=False)
    assert (rows["repeat"].count() <= 4).all()  # of two rows of one configuration in the recipe
    # without the jobs' own files, the sweep's is read
    shutil.copytree(place / "sweep", place.parent / "copied", dirs_exist_ok=True)
    for path in (place.parent / "copied").glob("*/result.json"):
        path.unlink()
        (path.parent / "repeats.csv").unlink(missing_ok=True)
    alone = read_repeats(place.parent / "copied")
    assert sorted(alone["accuracy"].dropna()) == sorted(read_repeats(place / "sweep")["accuracy"].dropna())


def test_files_of_an_earlier_version_are_read(place, tmp_path):
    """Whose `repeats.csv` had the measures alone."""
    shutil.copytree(place / "run", tmp_path / "run")
    new = read_repeats(place / "run")
    path = tmp_path / "run" / "repeats.csv"
    frame = pd.read_csv(path)
    names = list(frame)
    fixed = [
        "repeat",
        "n_teachers",
        "n_asked",
        "n_answered",
        "eps",
        "delta",
        "eps_ex_post",
        "accuracy",
        "seconds",
    ]
    diagnostics = names[names.index("seconds") + 1 :]
    old = frame[fixed].assign(**{f"diagnostics.{name}": frame[name] for name in diagnostics})
    old.to_csv(path, index=False)
    read = read_repeats(tmp_path / "run").drop(columns="directory")
    assert {"n_teachers", "eps", "budget", "accuracy", "recall.1"} <= set(read)
    pd.testing.assert_frame_equal(read, new[list(read)])


def test_recall_by_class_over_a_frontier_as_the_docs_have_it(place, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert code.count("\n") < 20
    monkeypatch.chdir(place)
    exec(code.replace("outputs/frontier/mushroom-1a2b3c", "frontier"), names := {})
    table = names["table"]
    assert list(table.columns) == ["recall.-1", "recall.1"]
    rows = pd.read_csv(place / "frontier" / "repeats.csv").query("method == 'svt' and eps == 8")
    assert table.loc[("svt", 8.0), "recall.1"] == pytest.approx(rows["recall.1"].mean())
    assert "recall.1" in capsys.readouterr().out


def repeat(index, accuracy=0.9, **diagnostics):
    return RepeatResult(index, 3, 40, 39, math.inf, 0.0, math.inf, accuracy, 1.0, diagnostics)


ROW = {
    "dataset": "01012",
    "method": "null",
    "mechanism.cutoff": "1e3",
    "eps": math.inf,
    "delta": 0.0,
    "row": "ab",
}


def test_what_is_written_comes_back_whatever_the_order(tmp_path):
    rows = {"a": ROW, "b": ROW | {"method": "NA", "mechanism.cutoff": "2", "checksum": "00"}}
    rows["c"] = ROW | {"eps": 1.0, "row": "cd", "status": "infeasible", "reason": "not\nso, ever"}
    texts = []
    for order in ([("a", 0), ("a", 1), ("b", 0)], [("b", 0), ("a", 1), ("a", 0)]):
        table = RepeatsFile(tmp_path, rows)
        for name, index in order:
            table.add(name, index, repeat(index, 0.1 + 0.2, late=math.nan) if name == "a" else "it broke")
        table.write()
        texts.append((tmp_path / "repeats.csv").read_text())
    assert texts[0] == texts[1]
    assert "nan" not in texts[0]
    frame = read_repeats(tmp_path)
    assert frame["dataset"].tolist() == ["01012"] * 4
    assert frame["method"].tolist() == ["null", "null", "NA", "null"]
    assert frame["accuracy"].tolist()[:2] == [0.1 + 0.2] * 2
    assert frame["eps"].tolist() == [math.inf] * 3 + [1.0]
    assert frame["status"].tolist() == ["ok", "ok", "failed", "infeasible"]
    assert frame["reason"].tolist()[2:] == ["it broke", "not so, ever"]
    assert frame["repeat"].isna().tolist() == [False, False, False, True]


def test_of_one_configuration_the_finished_row_with_most_repeats_counts(tmp_path):
    def write(name, n, **end):
        table = RepeatsFile(tmp_path / name, {"a": ROW | {"checksum": "00"} | end})
        for index in range(n):
            table.add("a", index, repeat(index))
        table.write()
        os.utime(tmp_path / name / "repeats.csv", (write.clock, write.clock))
        write.clock += 1

    write.clock = 1
    for name, n in (("first", 3), ("more", 5), ("fewer", 2)):
        write(name, n)
    frame = read_repeats(tmp_path)
    assert (set(frame["directory"]), len(frame), frame.attrs["left_out"]) == ({str(tmp_path / "more")}, 5, 2)
    write("stopped", 4, status="interrupted", reason="Ctrl-C")
    frame = read_repeats(tmp_path)
    assert frame["status"].tolist() == ["ok"] * 5 + ["interrupted"]


HEAD, LINE = "dataset,method,eps,row,checksum,repeat,status,reason", "a,b,1,c,d"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("dataset,method,eps,repeat,status\na,b,1,0\n", "line 2: 4 cells, not 5"),
        (
            "dataset,method,eps,repeat,accuracy\na,b,1,0,-1e300\n",
            "line 2: accuracy: got -1e\\+300; expected a number",
        ),
        (
            "dataset,method,eps,n_teachers,repeat\na,b,1,inf,0\n",
            "line 2: n_teachers: got inf; expected a number",
        ),
        ("dataset,method,eps,repeat\na,b,1,1e30\n", r"line 2: repeat: got 1e\+30; expected a whole number"),
        ("dataset,method,eps,repeat\na,b,1,nan\n", "line 2: repeat: got nan; expected a whole number"),
        (
            "dataset,method,eps,repeat,status\na,b,one,0,ok\n",
            "line 2: could not convert string to float: 'one'",
        ),
        ("a,b\n1,2\n", "not a repeats.csv of pate: no columns repeat and eps"),
        ("dataset,method,eps,repeat,status,reason\na,b,1,0,ok,\n", "not .*: no column row, checksum"),
        ("", "not a repeats.csv of pate"),
        (f"{HEAD},accuracy\n{LINE},0,ok,,0.93\n{LINE},1,ok,,0.9", "line 3: cut short: it has no end"),
        (f"{HEAD},accuracy,accuracy\n{LINE},0,ok,,0.93,0.1\n", "line 1: column accuracy stands there twice"),
        (f"{HEAD},accuracy\n{LINE},0,ok,,0.9\n{LINE},0,ok,,0.9\n", "repeat 0 of a row stands there twice"),
        *(
            (f"{HEAD},accuracy\n{LINE},0,ok,,{cell}\n", f"line 2: accuracy: got {cell}; .* in .0, 1")
            for cell in ("nan", "95", "-0.5", "inf")
        ),
        (f"{HEAD},accuracy\n{LINE},0,ok,,\n", "line 2: accuracy: no number in a repeat that is ok"),
        (f"{HEAD},accuracy\n{LINE},0,odd,,0.9\n", "line 2: status: got odd; expected ok, "),
        (f"{HEAD}\n{LINE},0,,\n", "line 2: status: got None; expected ok, "),
        (f"{HEAD},log_loss\n{LINE},0,ok,,nan\n", "line 2: log_loss: got nan; expected a number"),
        (
            f"{HEAD}\n{LINE.replace('a,b,1', 'a,b,-1')},0,ok,\n",
            r"line 2: eps: got -1; expected .* in .0, inf",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, said):
    (tmp_path / "repeats.csv").write_text(content)
    with pytest.raises(DataError, match=said) as caught:
        read_repeats(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "repeats.csv"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no results found"):
        read_repeats(tmp_path / "empty")


def test_the_file_beside_a_record_is_the_one_named(place, tmp_path):
    shutil.copytree(place / "run", tmp_path / "run")
    whole = (tmp_path / "run" / "repeats.csv").read_text()
    (tmp_path / "run" / "repeats.csv").write_text(whole.rpartition(",")[0])
    with pytest.raises(DataError, match=r"result\.json: repeats\.csv beside it: line \d+: \d+ cells, not"):
        read_repeats(tmp_path)


def test_a_mark_that_spreadsheets_write_first_is_no_part_of_a_name(place, tmp_path):
    whole = (place / "frontier" / "repeats.csv").read_bytes()
    (tmp_path / "repeats.csv").write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n"))
    (one, _), (other, _) = (find_repeats([folder]) for folder in (tmp_path, place / "frontier"))
    pd.testing.assert_frame_equal(one.drop(columns="directory"), other.drop(columns="directory"))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "".join(text.splitlines(keepends=True)[:-1]),
        lambda text: "".join(text.splitlines(keepends=True)[:1]),
        lambda text: re.sub(r"(ok,,\d+,\d+,[\d.]+),[\d.]+", r"\1,0.5", text),
    ],
    ids=["one lost", "all lost", "others"],
)
def test_repeats_that_are_not_those_of_their_record_are_refused(place, tmp_path, change):
    shutil.copytree(place / "run", tmp_path / "run")
    text = (tmp_path / "run" / "repeats.csv").read_text()
    (tmp_path / "run" / "repeats.csv").write_text(change(text))
    with pytest.raises(DataError, match=r"result\.json: states 2 repeats of mean .* beside it has [0-2] of"):
        read_repeats(tmp_path)


def test_a_link_to_itself_is_named(tmp_path):
    (tmp_path / "repeats.csv").symlink_to("repeats.csv")
    with pytest.raises(DataError, match="symbolic links"):
        read_repeats(tmp_path)


def test_a_dataset_of_files_is_called_by_the_private_one():
    assert dataset_name({"dataset": {"path": "???", "private": "a/priv.csv"}}, "csv") == "priv.csv"
    assert dataset_name({"dataset": {"path": "???"}}, "csv") == "csv"
    assert dataset_name({"dataset": {"path": "???", "schema": "a/mine.schema.yaml"}}, "csv") == "mine"


def test_a_setting_is_compared_among_those_that_have_it():
    rows = [{"method": "svt", "mechanism.cutoff": "1"}, {"method": "gaussian"}, {"method": "baseline"}]
    assert differing(rows, ["mechanism.cutoff"]) == []
    more = [*rows, {"method": "svt", "mechanism.cutoff": "2"}]
    assert differing(more, ["method", "mechanism.cutoff"]) == ["mechanism.cutoff"]
    assert differing([{"teacher": "tree", "teacher.depth": d} for d in ("1", "2")], ["teacher.depth"])
