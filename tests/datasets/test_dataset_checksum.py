"""The checksum is of the bytes that were read, whatever becomes of the file."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
from pathlib import Path

import pytest

from pate_cli.datasets import adult, files, libsvm, load, tables

OLD = {"csv": b"a,b,y\n1,x,no\n2,z,yes\n", "libsvm": b"1 1:1 2:2\n-1 1:3\n"}
NEW = {"csv": b"a,b,y\n9,x,no\n9,z,yes\n", "libsvm": b"1 1:9 2:9\n-1 1:9\n"}
PACK = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def loaded(name: str, path: Path):
    return load(name, path=path, **({"target": "y"} if name == "csv" else {}))


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", OLD)
def test_it_is_of_the_file_as_it_stands(name, suffix, tmp_path):
    content = PACK[suffix](OLD[name])
    path = tmp_path / f"f{suffix}"
    path.write_bytes(content + (b"\0" * 3_000_000 if suffix == ".gz" else b""))  # more than one reading
    assert loaded(name, path).checksum == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", OLD)
def test_a_file_that_changes_once_it_is_read_keeps_its_checksum(name, tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(OLD[name])
    module = {"csv": tables, "libsvm": libsvm}[name]
    encode = module.dataset_of

    def later(*args, **more):
        path.write_bytes(NEW[name])
        return encode(*args, **more)

    monkeypatch.setattr(module, "dataset_of", later)
    found = loaded(name, path)
    assert (found.X.toarray() if name == "libsvm" else found.X["a"].to_numpy()).max() < 9
    assert found.checksum == hashlib.sha256(OLD[name]).hexdigest()


@pytest.mark.parametrize("name", ["mushroom", "adult"])
def test_a_known_file_that_changes_between_check_and_reading_is_refused(name, tmp_path, monkeypatch):
    row = (
        b"39, Private, 77516, Bachelors, 13, Never-married, Adm-clerical, Husband, White, Male, 2174, 0, 40,"
    )
    path = tmp_path / "f"
    path.write_bytes(
        b"".join([row + b" Cuba, <=50K\n", row + b" Cuba, >50K\n"]) if name == "adult" else NEW["libsvm"]
    )
    monkeypatch.setattr(files, "require", lambda entry: [files.Found(path, "0" * 64)])
    assert adult.files is files
    with pytest.raises(files.DataError, match=f"{path}: has changed while it was read; start again"):
        load(name)
