"""`pate data list | fetch | verify`."""

from __future__ import annotations

import hashlib
import json

import pytest

from pate_cli.commands.data import main
from pate_cli.datasets import NAMES, known_datasets
from pate_cli.datasets.known_datasets import ENTRIES, KnownDataset, SourceFile
from pate_cli.errors import DataError

BODY = b"1 1:1\n2 1:2\n"


@pytest.fixture(autouse=True)
def toys(tmp_path, monkeypatch):
    """Two known datasets of one file each; nothing answers at their address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PATE_DATA", str(tmp_path / "mine"))
    monkeypatch.setattr(known_datasets, "_cache", lambda: tmp_path / "cache")
    (tmp_path / "mine").mkdir()
    for name in list(ENTRIES):
        file = SourceFile(f"{name}.txt", "http://127.0.0.1:1/toy", hashlib.sha256(BODY).hexdigest())
        monkeypatch.setitem(ENTRIES, name, KnownDataset(name, 2, 1, 2, (file,), "test"))
    return tmp_path / "mine"


def test_list_names_every_dataset_and_where_its_files_are(toys, capsys):
    (toys / "a9a.txt").write_bytes(BODY)
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines}
    assert set(NAMES) <= set(rows)
    assert "here" in rows["a9a"]
    assert "missing" in rows["adult"]
    assert f"in {toys}: a9a.txt" in lines


def test_list_as_json_has_the_path_of_each_file(toys, capsys):
    (toys / "a9a.txt").write_bytes(BODY)
    assert main(["list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["tables"]["table"]}
    assert (rows["a9a"]["files"], rows["a9a"]["missing"]) == ([str(toys / "a9a.txt")], 0)
    assert (rows["adult"]["files"], rows["adult"]["missing"]) == ([], 1)


def test_fetch_checks_what_is_there(toys, capsys):
    (toys / "a9a.txt").write_bytes(BODY)
    assert main(["fetch", "a9a"]) == 0
    assert capsys.readouterr().out == f"a9a: {toys / 'a9a.txt'} ok\n"


def test_verify_refuses_a_wrong_file_and_a_missing_one_that_is_named(toys, capsys):
    (toys / "a9a.txt").write_bytes(BODY)
    assert main(["verify"]) == 0
    out = capsys.readouterr().out
    assert f"a9a: {toys / 'a9a.txt'} ok" in out
    assert "adult: adult.txt missing" in out
    (toys / "adult.txt").write_bytes(BODY[:-1])
    with pytest.raises(DataError, match=r"^adult: checksum of .*adult\.txt is .* expected .*fetch adult`$"):
        main(["verify"])
    assert f"a9a: {toys / 'a9a.txt'} ok" in capsys.readouterr().out
    assert main(["verify", "a9a"]) == 0
    with pytest.raises(
        DataError, match=r"^mushroom: mushroom\.txt is missing; run `pate data fetch mushroom`$"
    ):
        main(["verify", "mushroom"])
