"""`pate list`, `pate compare` and `pate table --paired`: which runs there are, and what differs."""

from __future__ import annotations

import json

import pytest

from pate_cli import cli, terminal
from pate_cli.results import read_record

SMALL = [
    "features=none",
    "student=logistic",
    "dataset.n_records=1000",
    "split.public=40",
    "teacher.size=40",
    "compute.workers=1",
    "repeats=3",
]
FRONTIER = ["--repeats", "2", "--eps", "8", "--methods", "gaussian"]
COMMANDS = [
    ["run", *SMALL, "eps=4", "name=first", "tags=[trial,a]", "hydra.run.dir=outputs/x"],
    ["run", *SMALL, "eps=4", "teacher=tree", "name=second", "tags=[trial]"],
    ["run", *SMALL, "eps=4", "seed=1", "hydra.run.dir=outputs/seed1"],
    [
        "run",
        "-m",
        *SMALL,
        "mechanism=gaussian,svt",
        "eps=0.05,8",
        "tags=[swept]",
        "hydra.sweep.dir=outputs/s",
    ],
    ["frontier", *SMALL[:-1], *FRONTIER, "tags=[a]", "--output", "outputs/f"],
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with two runs that differ in their teachers, of another seed, a sweep and a frontier."""
    place = tmp_path_factory.mktemp("listed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("pate_cli.results.figures.render", lambda *_, **__: (b"", b"", 1.0))
        for argv in COMMANDS:
            assert cli.main(argv) == 0
    return place


@pytest.fixture
def shown(place, monkeypatch, capsys):
    """Call a command at 80 columns: what it prints to stdout."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")
    terminal.out.cache_clear()

    def call(*argv, code=0):
        assert cli.main(list(argv)) == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    yield call
    terminal.out.cache_clear()


def listed(shown, *argv):
    return json.loads(shown("list", "--json", *argv))["tables"]["table"]


def test_a_frontier_whose_page_could_not_be_written_is_finished(shown, place):
    page, table = (place / "outputs" / "f" / name for name in ("report.html", "table.csv"))
    for path, status in ((page, "ok"), (table, "unfinished")):
        away = path.rename(place / path.name)
        assert listed(shown, "outputs/f")[0]["status"] == status
        away.rename(path)


def test_everything_newest_first(shown):
    lines = listed(shown)
    assert [line["kind"] for line in lines] == ["frontier", "sweep", "run", "run", "run"]
    assert [line["name"] for line in lines] == [None, None, None, "second", "first"]
    assert [(line["repeats_done"], line["repeats_asked"]) for line in lines[1:3]] == [(9, 12), (3, 3)]
    assert lines[1]["eps_least"] == 0.05
    assert lines[1]["accuracy_least"] < lines[1]["accuracy_largest"]
    table = shown("list").splitlines()
    assert max(map(len, table)) <= 80
    assert any("first [trial a]" in line and "3/3" in line for line in table)


def test_by_status_and_by_tags(shown, tmp_path):
    assert [line["name"] for line in listed(shown, "--tag", "trial", "--tag", "a")] == ["first"]
    assert [line["kind"] for line in listed(shown, "--tag", "a")] == ["frontier", "run"]
    assert listed(shown, "--status", "error") == []
    assert "--status: got 'done'; accepted: ok," in shown("list", "--status", "done", code=2)
    assert "no such directory" in shown("list", str(tmp_path / "nowhere"), code=2)
    assert "no result found" in shown("list", str(tmp_path))
    (tmp_path / "result.json").write_text("{")
    said = shown("list", str(tmp_path))
    assert f"leftout:{tmp_path}/result.json:" in "".join(said.split())  # a long path is a line of its own
    assert "no result found" in said


def test_name_and_tags_change_no_number_and_no_hash(place, shown, tmp_path):
    shown("run", *SMALL, "eps=4", f"hydra.run.dir={tmp_path}")
    named, plain = read_record(place / "outputs/x/result.json"), read_record(tmp_path / "result.json")
    assert (named.config_hash, named.accuracy) == (plain.config_hash, plain.accuracy)
    assert (named.config["name"], named.config["tags"]) == ("first", ["trial", "a"])
    assert "tags: got ['a b']; accepted: a list, each a word" in shown("run", "tags=[a b]", code=2)


def test_what_differs_between_two_runs(shown):
    assert "gaussian" in shown("table", "first")
    text = shown("compare", "first", "second")
    assert max(len(line) for line in text.splitlines() if not line.startswith(("A:", "B:"))) <= 80
    tables = json.loads(shown("compare", "first", "second", "--json"))["tables"]
    assert {"setting": "teacher", "A": "logistic", "B": "tree"} in tables["settings"]
    accuracy = tables["table"][0]
    assert (accuracy["measure"], accuracy["n"], accuracy["reason"]) == ("accuracy", 3, None)
    assert accuracy["difference"] == pytest.approx(accuracy["A"] - accuracy["B"])
    assert accuracy["difference_ci95"] > 0


def test_no_paired_difference_at_other_splits_and_why(shown):
    text = shown("compare", "first", "outputs/seed1")
    assert "cannot be compared split by split" in text
    assert "no such file or directory, and no name or id" in shown("compare", "first", "third", code=2)


def test_a_sweep_beside_a_run_has_pairs_and_leftovers(shown):
    text = shown("compare", "outputs/s", "outputs/s")
    assert "A and B differ in 0 settings" in text
    assert len([line for line in text.splitlines() if "+0.0000" in line]) == 3
    assert "A cannot run: " in text


def test_a_frontier_beside_a_sweep_differs_in_what_both_files_hold(shown):
    tables = json.loads(shown("compare", "outputs/f", "outputs/s", "--json"))["tables"]
    held = {line["setting"]: (line["A"], line["B"]) for line in tables["settings"]}
    assert held["method"] == ("gaussian", "gaussian, svt")
    assert held["eps"] == ("8", "0.05, 8")
    assert "student" not in held
    lines = [line for line in tables["table"] if line["measure"] == "accuracy"]
    assert [(line["row"], line["n"]) for line in lines] == [("gaussian eps 8", 2)]


def test_table_paired(shown):
    lines = json.loads(shown("table", "outputs/s", "--paired", "gaussian", "--json"))["tables"]["table"]
    assert [(line["mechanism"], line["eps"], line["n"]) for line in lines] == [("svt", 8, 3)]
    other = json.loads(shown("table", "outputs/s", "--paired", "svt", "--json"))["tables"]["table"]
    assert lines[0]["difference"] == -next(line for line in other if line["eps"] == 8)["difference"]
    assert "less svt ± ci95" in " ".join(shown("table", "outputs/s", "--paired", "svt").split())
    assert "no such method here; there are: gaussian, svt" in shown(
        "table", "outputs/s", "--paired", "best", code=2
    )
    assert "not with --by" in shown("table", "outputs/s", "--paired", "svt", "--by", "eps", code=2)
    assert "not with --format" in shown("table", "outputs/s", "--json", "--format", "csv", code=2)
