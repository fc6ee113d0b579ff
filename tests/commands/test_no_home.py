"""Home directories that there are not: `~nobody/...`, and a user without one, as in some containers."""

import pytest

from pate_cli.cli import main

NOWHERE = "~nobody-of-that-name/x"
FILE = ["dataset=csv", "dataset.target=a"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("a,b\n1,2\n")
    return tmp_path


@pytest.mark.parametrize(
    "argv",
    [
        ["run", f"dataset={NOWHERE}.schema.yaml"],
        ["run", *FILE, f"dataset.path='{NOWHERE}.csv'"],
        ["run", *FILE, "dataset.path=there.csv", f"dataset.public='{NOWHERE}.csv'"],
        ["run", *FILE, "dataset.path=there.csv", f"dataset.schema='{NOWHERE}.yaml'"],
        ["frontier", "--tables", f"{NOWHERE}.csv:target=a"],
        ["data", "describe", f"{NOWHERE}.csv"],
    ],
    ids=lambda argv: " ".join(argv)[:40],
)
def test_a_file_in_the_home_of_nobody_is_named(place, argv, capsys):
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert NOWHERE in said
    assert said.count("\n") == 1
    assert [path.name for path in place.iterdir()] == ["there.csv"]


def test_ledgers_are_not_kept_in_a_directory_that_is_called_so(monkeypatch, capsys):
    """There would be one in each directory, and none would count the releases of another."""
    monkeypatch.setenv("PATE_LEDGER", NOWHERE)
    assert main(["ledger", "show"]) == 2
    assert capsys.readouterr().err.startswith(f"pate: PATE_LEDGER: got '{NOWHERE}'; accepted: a directory; ")
    monkeypatch.delenv("PATE_LEDGER")
    monkeypatch.setattr("platformdirs.user_data_path", _no_home)
    assert main(["ledger", "show"]) == 2
    assert "no home directory (HOME)" in capsys.readouterr().err


def test_the_named_data_sets_need_no_home(place, monkeypatch, capsys):
    monkeypatch.setattr("platformdirs.user_cache_dir", _no_home)
    for value in (NOWHERE, ""):
        monkeypatch.setenv("PATE_DATA", value)
        assert main(["data", "list"]) == 0
        assert f"downloads to {place / (value or 'data')}" in capsys.readouterr().out


def _no_home(*_, **__):
    raise RuntimeError("could not determine the home directory")
