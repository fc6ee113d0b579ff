"""The checksum is of the bytes that were read, whatever becomes of the file."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma

import pytest

from pate_cli.datasets import known_files, libsvm, load, table_dataset

OLD = {"csv": b"a,b,y\n" + b"1,x,no\n2,z,yes\n" * 20, "libsvm": b"1 1:1 2:2\n-1 1:3\n"}
PACK = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}
TARGET = {"csv": {"target": "y"}, "libsvm": {}}


@pytest.mark.parametrize(
    ("name", "suffix"), [("csv", ""), ("csv", ".gz"), ("libsvm", ".bz2"), ("libsvm", ".xz")]
)
def test_it_is_of_the_file_as_it_was_read(name, suffix, tmp_path, monkeypatch):
    path = tmp_path / f"f{suffix}"
    content = PACK[suffix](OLD[name]) + (b"\0" * 3_000_000 if suffix == ".gz" else b"")  # long
    path.write_bytes(content)
    module = {"csv": table_dataset, "libsvm": libsvm}[name]
    encode = module.dataset_of

    def later(*args, **more):
        path.write_bytes(PACK[suffix](OLD[name].replace(b"1", b"9")))
        return encode(*args, **more)

    monkeypatch.setattr(module, "dataset_of", later)
    found = load(name, path=path, **TARGET[name])
    assert (found.X.toarray() if name == "libsvm" else found.X["a"].to_numpy()).max() < 9
    assert found.checksum == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("name", ["mushroom", "adult"])
def test_a_known_file_that_changes_between_check_and_reading_is_refused(name, tmp_path, monkeypatch):
    row = b"39,Private,77516,Bachelors,13,Never-married,Sales,Husband,White,Male,2174,0,40,Cuba,<=50K\n"
    path = tmp_path / "f"
    path.write_bytes(row + row.replace(b"<=", b">") if name == "adult" else OLD["libsvm"])
    monkeypatch.setattr(known_files, "require", lambda entry: [known_files.VerifiedFile(path, "0" * 64)])
    with pytest.raises(known_files.DataError, match=f"{path}: has changed while it was read; start again"):
        load(name)
