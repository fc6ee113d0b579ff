"""Packed files, long cells, and terminals of few letters: one line, or the records."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.datasets import load, unpacking
from pate_cli.errors import DataError

ROWS = [f"{i % 7},{'yn'[i % 2]}" for i in range(60)]
TABLE = "\n".join(["x,label", *ROWS]).encode()


def zipped(content, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("t.csv", content)
    return buffer.getvalue()


def marked(packed, offset, number):
    """An archive with another number in its two headers, 2 bytes at `offset` of the first."""
    raw, central = bytearray(packed), packed.find(b"PK\x01\x02")
    for at in (offset, central + offset + 2):
        raw[at : at + 2] = number.to_bytes(2, "little")
    return bytes(raw)


PACK = {"bz2": bz2.compress, "gz": gzip.compress, "xz": lzma.compress, "zip": zipped}


def read(tmp_path, name, content, **options):
    (tmp_path / name).write_bytes(content)
    given = {} if name.endswith("npz") else {"target": "label"}
    return load("npz" if name.endswith("npz") else "csv", path=tmp_path / name, **given, **options)


@pytest.mark.parametrize("kind", PACK)
def test_a_packed_file_is_read_up_to_many_times_its_size(kind, tmp_path, monkeypatch):
    packed = PACK[kind](TABLE + b"\n" * 5_000)
    assert read(tmp_path, f"t.csv.{kind}", packed).n_records == 60
    monkeypatch.setattr(unpacking, "_ANYWAY", 1_000)
    monkeypatch.setattr(unpacking, "_TIMES", 2)
    monkeypatch.setattr(unpacking, "_PIECE", 100)
    with pytest.raises(DataError, match=r"t\.csv\.\w+: it unpacks to more than .* give it uncompressed$"):
        read(tmp_path, f"t.csv.{kind}", packed)


def test_arrays_that_unpack_to_many_times_their_size_are_refused(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.zeros((1_000_000, 9)), y=np.arange(1_000_000) % 2)
    with pytest.raises(DataError, match=r"t\.npz: it unpacks to more than 67 MB, for a file of"):
        read(tmp_path, "t.npz", buffer.getvalue())


@pytest.mark.parametrize("name", ["t.csv.zip", "t.npz"])
def test_an_archive_that_python_cannot_read_is_one_line(name, tmp_path):
    packed = zipped(TABLE) if name == "t.csv.zip" else one_array()
    for raw, said in (
        (marked(packed, 6, 1), "has a password; accepted: an archive without one"),
        (marked(packed, 8, 9), "its method of compression has number 9; accepted: deflate"),
        (marked(packed, 8, 97), "its method of compression has number 97; accepted"),
    ):
        with pytest.raises(DataError, match=rf"{name}: .*{said}") as caught:
            read(tmp_path, name, raw)
        assert "\n" not in str(caught.value)


def one_array():
    """An .npz of one array: `marked` changes one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        content = io.BytesIO()
        np.save(content, np.zeros((9, 2)))
        archive.writestr("X.npy", content.getvalue())
    return buffer.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_of_a_zip_file_are_read(method, tmp_path):
    assert read(tmp_path, "t.csv.zip", zipped(TABLE, method)).n_records == 60


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_header_and_a_cell_of_any_length(quote, tmp_path):
    """Python's csv refuses more than 131,072 characters a cell: one private cell decided for a release."""
    names = [f"{quote}ENSG{i:02000d}_of_a_gene{quote}" for i in range(70)]
    lines = [",".join([*names, "label"]), *(",".join(["1"] * 70 + ["yn"[i % 2]]) for i in range(9))]
    assert read(tmp_path, "genes.csv", "\n".join(lines).encode()).n_records == 9
    long = [f"{quote}{'x' * 140_000 if i == 7 else 'ab'[i % 2]}{quote},{row}" for i, row in enumerate(ROWS)]
    assert read(tmp_path, "t.csv", "\n".join(["t,x,label", *long]).encode()).n_records == 60


def test_want_of_memory_is_one_line(monkeypatch, capsys, tmp_path):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(unpacking, "_in_pieces", fail)
    with pytest.raises(DataError, match=r"t\.csv\.gz: unpacked, it does not fit into memory"):
        read(tmp_path, "t.csv.gz", gzip.compress(TABLE))
    monkeypatch.setattr("pate_cli.cli._main", fail)
    assert main(["list"]) == 1
    assert capsys.readouterr().err == "pate: out of memory\n"


def test_a_terminal_without_letters_and_without_a_width(tmp_path):
    (tmp_path / "u.csv").write_text(TABLE.decode().replace("y", "größer"), "utf-8")
    few = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "0", "LINES": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "pate_cli", "data", "describe", "u.csv", "--target", "label"],
        cwd=tmp_path,
        env=os.environ | few,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert rb"gr\xf6\xdfer" in done.stdout
    assert len(done.stdout.splitlines()) > 3
