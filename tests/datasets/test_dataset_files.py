"""Where files are found, fetching them, and never trusting a wrong one."""

from __future__ import annotations

import bz2
import dataclasses
import gc
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.datasets import known_datasets, known_files, load
from pate_cli.datasets.known_datasets import ENTRIES, KnownDataset, SourceFile
from pate_cli.errors import ConfigError, DataError

# pooch leaves the connection of a failed download to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

BODY = b"".join(b"%d 1:%d 3:1\n" % (i % 2 + 1, i) for i in range(100))


def sha(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Three empty places, none of them the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("PATE_DATA", raising=False)
    monkeypatch.setattr(known_datasets, "_cache", lambda: tmp_path / "cache")
    return tmp_path


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        how = self.path.strip("/").split("/")[0]
        self.server.asked.append(self.path)
        if how == "absent":
            self.send_error(404)
            return
        self.send_response(200)
        if how != "unannounced":
            self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        # "dies" and "unannounced" end half way, the second without having said how much was to come.
        self.wfile.write(BODY if how == "whole" else BODY[: len(BODY) // 2 // 10 * 10])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as httpd:
        httpd.asked = []
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield httpd
        httpd.shutdown()
        thread.join()
    gc.collect()  # here, where the warning about it is expected


@pytest.fixture
def known(server, monkeypatch):
    """Make `a9a` a one-file dataset served by the test's own server."""

    def _known(how, **changes):
        url = f"http://127.0.0.1:{server.server_port}/{how}/toy"
        file = SourceFile("toy", url, **({"sha256": sha(BODY)} | changes))
        monkeypatch.setitem(ENTRIES, "a9a", KnownDataset("a9a", 100, 3, 2, (file,), "test"))
        return file

    return _known


CONTENT = {"sha256": None, "labels": {"1": 50, "2": 50}, "n_features": 3}


@pytest.mark.parametrize("changes", [{}, CONTENT], ids=["digest", "content"])
def test_fetches_once_then_uses_the_file(places, known, server, changes):
    known("whole", **changes)
    (places / "data").mkdir()
    data = load("a9a")
    assert data.X.shape == (100, 3)
    assert data.checksum == sha(BODY)
    assert [path.name for path in (places / "data").iterdir()] == ["toy"]
    load("a9a")
    assert len(server.asked) == 1


def test_downloads_and_files_found_are_in_pate_data_then_data_then_the_cache(places, known, monkeypatch):
    file = known("whole")
    for name in ("cache", "data", "mine"):
        if name == "data":
            (places / "data").mkdir()
        elif name == "mine":
            monkeypatch.setenv("PATE_DATA", str(places / "mine"))
        load("a9a")
        path = places / name / "toy"
        path.rename(path.with_name("kept"))
    for name in ("mine", "data", "cache"):
        (places / name / "kept").rename(places / name / "toy")
    for name in ("mine", "data", "cache"):
        _, path = known_datasets.find(file)
        assert path.resolve() == places / name / "toy"
        path.unlink()
    assert known_datasets.find(file) is None


@pytest.mark.parametrize(
    ("how", "changes", "said"),
    [
        ("whole", {"sha256": "0" * 64}, "is not the expected file (SHA-256 0000"),
        ("dies", {}, "cannot download"),
        ("unannounced", {}, "is not the expected file (SHA-256"),
        ("unannounced", CONTENT, "is not the expected file"),
        ("absent", {}, "HTTP 404"),
    ],
)
def test_a_failed_download_leaves_nothing_and_says_what_to_do(places, known, how, changes, said):
    file = known(how, **changes)
    with pytest.raises(DataError) as caught:
        load("a9a")
    message = str(caught.value)
    assert said in message
    assert file.url in message
    assert f"put the file at {places / 'cache' / 'toy'}" in message
    assert "dataset=synthetic" in message
    assert list((places / "cache").iterdir()) == []
    # The next run starts afresh.
    known("whole")
    assert load("a9a").n_records == 100


def test_offline_is_one_line(places, known, server):
    known("whole")
    server.server_close()
    with pytest.raises(DataError, match=r"cannot download .*/toy \(ConnectionError\); nothing"):
        load("a9a")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, f"is {sha(b'not it')}, expected {sha(BODY)}; delete it and run `pate data fetch a9a`"),
        (CONTENT, "delete it and run `pate data fetch a9a`"),
    ],
)
def test_a_wrong_file_is_neither_used_nor_replaced(places, known, server, changes, said):
    file = known("whole", **changes)
    path = places / "cache" / "toy"
    path.parent.mkdir()
    path.write_bytes(b"not it")
    with pytest.raises(DataError) as caught:
        load("a9a")
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert path.read_bytes() == b"not it"
    assert server.asked == []
    for content, state in ((b"not it", "wrong"), (BODY, "ok"), (None, "missing")):
        path.write_bytes(content) if content else path.unlink()
        (found,) = known_files.status(ENTRIES["a9a"])
        assert (found.file, found.state) == (file.name, state)


def test_a_place_that_cannot_be_written(places, known, monkeypatch):
    known("whole")
    (places / "file").write_text("")
    monkeypatch.setenv("PATE_DATA", str(places / "file"))
    with pytest.raises(ConfigError, match=r"^PATE_DATA: got .* accepted: a directory"):
        load("a9a")
    monkeypatch.setenv("PATE_DATA", str(places / "file" / "below"))
    with pytest.raises(DataError, match=r"cannot write to .*; set PATE_DATA to a directory"):
        load("a9a")


@pytest.mark.parametrize("packed", [True, False])
def test_real_sim_loads_packed_or_plain(places, monkeypatch, packed):
    plain = b"".join(b"%s %d:0.25 20958:1\n" % (b"+1" if i % 3 else b"-1", i + 1) for i in range(40))
    content = {"real-sim.bz2": bz2.compress(plain), "real-sim": plain}
    (file,) = ENTRIES["real-sim"].files
    instead = dataclasses.replace(file.instead, sha256=sha(plain))
    file = dataclasses.replace(file, sha256=sha(content[file.name]), instead=instead)
    monkeypatch.setitem(ENTRIES, "real-sim", dataclasses.replace(ENTRIES["real-sim"], files=(file,)))
    path = places / "data" / ("real-sim.bz2" if packed else "real-sim")
    path.parent.mkdir()
    path.write_bytes(content[path.name])
    data = load("real-sim")
    assert isinstance(data.X, sp.csr_matrix)
    assert (data.X.shape, data.classes, data.checksum) == (
        (40, 20_958),
        ("-1", "+1"),
        sha(content[path.name]),
    )
    assert np.bincount(data.y).tolist() == [14, 26]
    path.write_bytes(content[path.name][:-100])
    with pytest.raises(DataError, match=r"^real-sim: checksum of data/real-sim.* is"):
        load("real-sim")
