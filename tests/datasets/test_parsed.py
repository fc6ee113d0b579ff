"""Parsed records on disk: used only as what was parsed from these very bytes, and by their owner alone."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from pate_cli import datasets
from pate_cli.datasets import libsvm, parsed


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A LIBSVM file, with an empty cache."""
    monkeypatch.setattr(parsed, "place", lambda: tmp_path / "cache" / "parsed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) * (rng.random((60, 9)) < 0.4)
    path = tmp_path / "mine.libsvm"
    dump_svmlight_file(X, rng.integers(2, size=60), str(path), zero_based=False)
    return path


def kept():
    return next(parsed.place().iterdir())


def same(one, other):
    X, y, checksum = one
    same_X = all(np.array_equal(getattr(X, name), getattr(other[0], name)) for name in ("data", "indices"))
    shape = X.shape == other[0].shape and np.array_equal(X.indptr, other[0].indptr)
    return same_X and shape and np.array_equal(y, other[1]) and checksum == other[2]


def test_what_is_kept_is_what_was_parsed_and_is_not_parsed_again(file, monkeypatch):
    first = libsvm.read_kept(file)
    assert same(first, libsvm.parse(file))
    monkeypatch.setattr(libsvm, "parse", lambda *_: pytest.fail("parsed again"))
    again = libsvm.read_kept(file)
    assert same(again, first)
    assert isinstance(again[0].data, np.memmap)
    assert not again[0].data.flags.writeable
    assert stat.S_IMODE(kept().stat().st_mode) == 0o600
    assert stat.S_IMODE(kept().parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("at", [0, 40, 4100, -70])
def test_a_changed_byte_is_noticed_and_the_file_parsed_again(file, at):
    first = libsvm.read_kept(file)
    content = bytearray(kept().read_bytes())
    content[at] ^= 1
    kept().write_bytes(content)
    assert parsed.recall(first[2], None) is None
    assert same(libsvm.read_kept(file), first)
    assert parsed.recall(first[2], None) is not None  # written anew


@pytest.mark.parametrize("left", [0, 100, 4096, 4200])
def test_a_file_cut_short_is_not_used(file, left):
    first = libsvm.read_kept(file)
    os.truncate(kept(), left)
    assert parsed.recall(first[2], None) is None


def test_of_another_source_or_number_of_columns_it_is_not_used(file):
    first = libsvm.read_kept(file)
    name = kept().name.replace(first[2], "0" * 64)
    kept().rename(kept().with_name(name))
    assert parsed.recall("0" * 64, None) is None
    assert parsed.recall(first[2], 12) is None
    file.write_text(file.read_text().replace("1 ", "0 ", 1))
    assert libsvm.read_kept(file)[2] != first[2]


def test_nothing_is_kept_where_others_can_enter_nor_where_it_cannot_be_written(file):
    parsed.place().mkdir(parents=True)
    parsed.place().chmod(0o755)
    first = libsvm.read_kept(file)
    assert not list(parsed.place().iterdir())
    parsed.place().chmod(0o700)
    libsvm.read_kept(file)
    parsed.place().chmod(0o755)
    assert parsed.recall(first[2], None) is None
    parsed.place().chmod(0o700)
    kept().unlink()
    parsed.place().rmdir()
    parsed.place().write_text("no directory")
    assert same(libsvm.read_kept(file), first)


def test_a_dataset_is_the_same_kept_or_not_and_private_files_are_kept_only_if_asked(file):
    plain = datasets.load("libsvm", path=file)
    assert not parsed.place().exists()
    for _ in range(2):
        dataset = datasets.load("libsvm", path=file, keep=True)
        assert (dataset.X != plain.X).nnz == 0
        assert np.array_equal(dataset.y, plain.y)
        assert dataset.checksum == plain.checksum
    assert len(list(parsed.place().iterdir())) == 1
