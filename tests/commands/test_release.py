"""`pate run release=true`: what it writes, what it charges, what it refuses."""

import errno
import json
import os
import re

import numpy as np
import pytest

from pate_cli import cli, pipeline
from pate_cli.commands.predict import main as predict
from pate_cli.errors import DataError
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.direct.noisy_gd import NoisyGradientDescent
from pate_cli.privacy.noise import SeededNoise
from pate_cli.release import ExactNoise, LedgerDirectory, files, open_ledgers, release
from pate_cli.results import read_record
from pate_cli.testing.release_checks import WholeNoise

pytest.importorskip("opendp")

N = 1500
SPLIT = ["teacher.size=30", "split.public=40", "split.public_from_private=true", "delta=1e-5"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(place, capsys):
    """A table with a ledger of eps=10."""
    path = _write(place, "data", _records())
    _open(path)
    capsys.readouterr()
    return path


def _records():
    """A table with numbers and categories: two classes, easy but for a tenth of the labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    x = np.round(rng.normal(size=(N, 2)) + 2.5 * (2 * y[:, None] - 1), 3)
    colour = np.where(rng.random(N) < 0.5, "red", "blue")
    label = np.where(rng.random(N) < 0.1, 1 - y, y)
    return [f"{a},{b},{c},{'yes' if d else 'no'}" for (a, b), c, d in zip(x, colour, label, strict=True)]


def _write(place, name, records):
    """Each in a directory of its own, so that the file's name says nothing."""
    (place / name).mkdir()
    kinds = {"x1": "number", "x2": "number", "colour": "category"}
    (place / name / "s.yaml").write_text(json.dumps({"columns": {c: {"kind": k} for c, k in kinds.items()}}))
    path = place / name / "people.csv"
    path.write_text("\n".join(["x1,x2,colour,class", *records]) + "\n")
    return path


def _line(path, *overrides):
    return [
        "dataset=csv",
        f"dataset.path={path}",
        "dataset.target=class",
        *SPLIT,
        f"dataset.schema={path.with_name('s.yaml')}",
        *overrides,
    ]


def _open(path, eps="10", delta="0.1"):
    assert cli.main(["ledger", "init", *_line(path)[:3], "--eps", eps, "--delta", delta]) == 0


def _release(path, target, *overrides):
    return cli.main(["run", *_line(path, "release=true", f"hydra.run.dir={target}", *overrides)])


def _kinds():
    return [entry.kind for entry in open_ledgers().ledgers()[0].entries]


def _bytes(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def _answers(directory):
    """The line of `answers.csv` of each row."""
    lines = (directory / "answers.csv").read_text().splitlines()[1:]
    return {int(line.split(",")[0]): line for line in lines}


def test_a_release_from_end_to_end(place, capsys):
    path = _write(place, "data", _records())
    _open(path, "2", "1e-4")
    assert _release(path, place / "out", "eps=1.5", "name=first") == 0
    written = _bytes(place / "out")
    assert set(written) == set(files.FILES)

    record = read_record(place / "out" / "result.json")
    assert (record.status, record.eps, record.delta, record.n_asked) == ("ok", 1.5, 1e-5, 40)
    assert (record.accuracy, record.diagnostics) == (None, {})
    assert set(record.provenance) == {"versions"}
    assert record.config["dataset"]["path"] == "people.csv"
    assert record.config["name"] == "first"  # by which page, verify and predict find it
    told = json.dumps([record.config, record.provenance, record.plan])
    for private in ("seed", "checksum", "seconds", "started", "teacher_accuracy"):
        assert private not in told
    assert str(place) not in b"".join(written.values()).decode("latin-1")

    lines = written["answers.csv"].decode().splitlines()
    assert lines[0] == "row,label,noisy_count.no,noisy_count.yes"
    rows = [line.split(",") for line in lines[1:]]
    assert len({int(row[0]) for row in rows}) == 40
    for row, label, no, yes in rows:
        assert 0 <= int(row) < N
        assert int(no) + int(yes) == 40  # the teachers
        assert label == ("yes" if int(yes) >= 20 else "no")

    (ledger,) = open_ledgers().ledgers()
    assert [(entry.kind, entry.eps, entry.delta) for entry in ledger.entries] == [
        ("open", 2.0, 1e-4),
        ("release", 1.5, 1e-5),
        ("certificate", 0.0, 0.0),
    ]
    capsys.readouterr()
    assert predict([str(place / "out" / "student.skops"), str(path), "--target", "class"]) == 0
    labels, measured = capsys.readouterr()
    right = [
        label == row.rpartition(",")[2]
        for label, row in zip(labels.split(), path.read_text().split()[1:], strict=True)
    ]
    assert float(measured.partition("accuracy ")[2].split()[0]) == pytest.approx(np.mean(right), abs=1e-4)

    # and the next one does not fit
    assert _release(path, place / "again", "eps=1.5") == 2
    assert "left: eps=0.5, delta=9e-05 (of eps=2, delta=0.0001)" in capsys.readouterr().err
    assert not (place / "again").exists()
    assert len(_kinds()) == 3


@pytest.mark.parametrize("mechanism", ["best", "score_boosting mechanism.rounds=1", "tune"])
def test_a_model_that_a_mechanism_learns_is_released_and_reopened(
    place, people, capsys, mechanism, fixed_draws
):
    assert _release(people, place / "out", "eps=8", *f"mechanism={mechanism}".split()) == 0
    record = read_record(place / "out" / "result.json")
    asked = 0 if mechanism == "best" else 40
    assert (record.status, record.eps, record.delta, record.n_asked) == ("ok", 8, 1e-5, asked)
    assert len((place / "out" / "answers.csv").read_text().split()) == 1 + asked
    assert len(open_ledgers().ledgers()[0].public.rows) == 40
    if mechanism == "tune":
        chosen = record.plan["chosen"]
        assert f"Method `tune`, which chose `{chosen}`; " in (place / "out" / "model_card.md").read_text()
    capsys.readouterr()
    assert predict([str(place / "out" / "student.skops"), str(people), "--target", "class"]) == 0
    assert float(capsys.readouterr().err.partition("accuracy ")[2].split()[0]) > 0.8
    assert cli.main(["verify", str(place / "out")]) == 0


def test_all_noise_of_such_a_release_is_of_the_exact_kind_and_whole(place, people, monkeypatch):
    drawn = []

    class Listening(WholeNoise):
        def gaussian(self, scale, size):
            drawn.append(scale)
            return super().gaussian(scale, size)

    monkeypatch.setattr(release, "ExactNoise", lambda: Listening(np.random.SeedSequence(7)))
    assert _release(people, place / "out", "mechanism=best", "mechanism.steps=30", "eps=1") == 0
    assert len(drawn) == 30
    assert min(drawn) > 2**20  # a wide law on whole numbers, not a narrow one


def test_two_releases_draw_differently_but_open_the_same_rows(place, people, capsys):
    assert _release(people, place / "a", "eps=11") == 2  # refused by the ledger, it fixes no rows
    assert cli.main(["ledger", "show"]) == 0
    assert "columns are public: the first release decides" in capsys.readouterr().out
    for name in ("a", "b"):
        assert _release(people, place / name, "eps=3") == 0
    first, second = (_answers(place / name) for name in ("a", "b"))
    assert set(first) == set(second)
    assert list(first) != list(second)  # another order; alike with probability 1/40!
    assert first != second  # other parts, other noise
    assert cli.main(["ledger", "show", "--rows"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The columns of 40 of the 1,500 records are public" in shown
    assert "eps protects the other 1,460" in shown
    assert ", ".join(map(str, sorted(first))) in shown
    for size in (41, 0.1):
        capsys.readouterr()
        assert _release(people, place / "c", f"split.public={size}") == 2
        shown = capsys.readouterr().err
        assert shown.startswith(f"pate: split.public: got {150 if size == 0.1 else size}; accepted: 40, the")
        assert "that the first release on the ledger of people.csv fixed" in shown
        assert not (place / "c").exists()
    assert _kinds() == ["open", *["release", "certificate"] * 2]


# -- disks


def test_on_a_full_disk_a_paid_release_keeps_what_could_be_written(place, people, capsys, monkeypatch):
    write = release.write_file

    def full(path, data, **how):
        if path.name == "student.skops":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, data, **how)

    monkeypatch.setattr(release, "write_file", full)
    assert _release(people, place / "out") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"pate: {place}/out/student.skops: No space left on device; the release is charged, and incomplete in"
        f" {place}/out"
    )
    assert set(_bytes(place / "out")) == {"answers.csv", "result.json"}
    record = read_record(place / "out" / "result.json")
    said = "not all files could be written; the budget of the release is charged"
    assert (record.status, record.message, len(_kinds())) == ("error", said, 3)


def test_a_ledger_on_a_full_disk_charges_and_releases_nothing(place, people, capsys, monkeypatch):
    (file,) = (place / "ledger").glob("*.json")
    before = _bytes(place / "ledger")

    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert _release(people, place / "out") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"pate: {file}: No space left on device; no noise was drawn, and nothing is released"
    )
    assert _bytes(place / "ledger") == before
    assert not _bytes(place / "out")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x.json"), "x.json: No space left on device"),
        (DataError("x.json: damaged"), "x.json: damaged"),
    ],
)
def test_a_paid_release_is_whole_when_its_record_cannot_be_written(
    place, people, capsys, monkeypatch, error, said
):
    with monkeypatch.context() as patch:
        patch.setattr(LedgerDirectory, "record", _raise(error))
        assert _release(people, place / "out") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"pate: {said}; the release is charged, and whole in {place}/out, but pate verify will not find its"
        " certificate in the ledger"
    )
    assert set(_bytes(place / "out")) == set(files.FILES)
    assert read_record(place / "out" / "result.json").status == "ok"
    assert cli.main(["verify", "out"]) == 1
    assert "FAILED  the ledger has its certificate: none is on record" in capsys.readouterr().out


# -- refusals and failures


@pytest.mark.parametrize("mechanism", ["gaussian", "svt"])
def test_the_charge_is_on_disk_before_there_is_noise(place, people, capsys, monkeypatch, mechanism):
    seen = []

    class Watching(ExactNoise):
        def laplace(self, scale, size):
            seen.append(_kinds())
            return super().laplace(scale, size)

        exponential = gaussian = laplace

        def spawn(self, count):
            return [Watching() for _ in range(count)]

    monkeypatch.setattr(release, "ExactNoise", Watching)
    assert _release(people, place / "out", f"mechanism={mechanism}", "eps=4") == 0
    assert seen[0] == ["open", "release"]
    if mechanism == "svt":  # it may say more than that rows are opened
        assert re.search(
            r"pate: svt: labels .* It stops after \d+ points that are too close", capsys.readouterr().err
        )


def test_without_a_ledger_nothing_is_done(place, capsys, monkeypatch):
    monkeypatch.setattr(pipeline, "release", None)
    path = _write(place, "data", _records())
    assert _release(path, place / "out") == 2
    assert "pate ledger init" in capsys.readouterr().err
    assert [path.name for path in place.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("seed=1", "seed: got 1; accepted: nothing with release=true"),
        ("eps=inf", "eps: got inf; accepted: a finite number"),
        ("mechanism=svt eps=0.01", "cannot answer with 40 teachers"),
        ("split.mode=label_private", "split.mode: got 'label_private'; accepted: records with"),
        ("-m eps=1,2", "false with -m; releases are made one by one, and charged"),
        ("hydra.run.dir=used", "a new or an empty directory"),
        (
            "teacher.estimator=sklearn.neighbors.KNeighborsClassifier ++teacher.params.n_neighbors=60",
            "teacher.params",  # it fails on every part
        ),
    ],
)
def test_refused_before_anything_is_charged_or_written(place, people, capsys, overrides, message):
    (place / "used").mkdir()
    (place / "used" / "repeats.csv").write_text("private\n")
    assert cli.main(["run", *_line(people, "release=true", *overrides.split())]) == 2
    assert message in capsys.readouterr().err
    assert {path.name for path in place.iterdir()} == {"data", "ledger", "used"}
    assert _kinds() == ["open"]


def _raise(error):
    def fails(*_args, **_kwargs):
        raise error

    return fails


@pytest.mark.parametrize(
    ("mechanism", "owner", "name", "replacement"),
    [
        ("best", NoisyGradientDescent, "fit", _raise(ValueError("record 17 is 3.25, red, yes"))),
        ("gaussian", pipeline.teachers, "train", _raise(RuntimeError("record 17 is 3.25, red, yes"))),
        ("gaussian", VoteMechanism, "release", _raise(KeyError("3.25, red, yes"))),
        # noise on a grid finer than integers is never written
        ("gaussian", release, "ExactNoise", lambda: SeededNoise(np.random.SeedSequence(0))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failure_after_the_charge_is_told_by_its_place_alone(
    place, people, capsys, monkeypatch, mechanism, owner, name, replacement
):
    """Private records were looked at: it is charged, and a message may quote them."""
    monkeypatch.setattr(owner, name, replacement)
    failed = r"the release failed: \w+Error at \w+\.py:\d+; its budget is charged \(its message may be "
    with pytest.raises(RuntimeError, match=failed) as caught:
        _release(people, place / "out", f"mechanism={mechanism}")
    assert caught.value.__suppress_context__
    ((file, text),) = _bytes(place / "out").items()
    record = read_record(place / "out" / file)
    assert (record.status, record.message) == ("error", "the release failed; its budget is charged")
    assert "3.25" not in str(caught.value) + "".join(capsys.readouterr()) + text.decode()
    assert _kinds() == ["open", "release"]


@pytest.mark.parametrize(
    "mechanism",
    [
        *("gaussian", "active", "best", "svt eps=8", "score_boosting mechanism.rounds=1"),
        *("tune", "tune teacher.size=null teacher.count=1"),
    ],
)
def test_a_learner_that_fails_on_the_private_parts_alone_is_charged_and_released(
    place, people, monkeypatch, capsys, mechanism
):
    """That it fails tells of the records: the release is made, of constant teachers, and nothing says so."""
    from sklearn.naive_bayes import BernoulliNB

    fit = BernoulliNB.fit

    def fail(self, X, y, sample_weight=None):
        if X.min() < 0:  # what learners are tried on is not
            raise ValueError("record 17: 3.25, red, yes")
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(BernoulliNB, "fit", fail)
    options = [f"mechanism={mechanism}", "teacher.estimator=sklearn.naive_bayes.BernoulliNB"]
    options = " ".join(options).split()
    assert _release(people, place / "out", *options) in (0, 1)  # 1: votes of constants may be of one class
    assert (place / "out" / "answers.csv").exists()
    assert _kinds() == ["open", "release", "certificate"]
    assert not re.search("failed|BernoulliNB|record 17", "".join(capsys.readouterr()))
    assert "failed_teachers" not in (place / "out" / "result.json").read_text()


def test_answers_that_are_paid_for_are_written_even_without_a_student(place, people, monkeypatch):
    fails = _raise(pipeline.ConfigError("student.estimator", "x", "a classifier that learns"))
    monkeypatch.setattr(pipeline.students, "fit_student", fails)
    assert _release(people, place / "out") == 1
    assert set(_bytes(place / "out")) == set(files.FILES) - {"student.skops"}
    record = read_record(place / "out" / "result.json")
    assert record.status == "error"
    assert "a classifier that learns" in record.message
