"""What a plug-in raises is one line that names it, and a release quotes none of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pate_cli import datasets, mechanisms
from pate_cli.cli import main

EXAMPLE = Path(__file__).resolve().parent.parent / "docs" / "examples" / "own"
SMALL = "dataset.n_records=1500 split.private=1200 split.public=20 teacher.size=20 eps=8 compute.workers=1"
SOURCES = {
    "mechanism": "pate_exponential/__init__.py",
    "dataset": "pate_exponential/moons.py",
    "learner": "pate_exponential/centroids.py",
    "student": "pate_exponential/mean_vote.py",
    "strategy": "pate_exponential/spread.py",
    "study": "flips/study.py",
    "view": "pate_exponential/views.py",
}
MAP = """
class Map:
    @classmethod
    def of(cls, public, rng, directions):
        return cls()

    def values(self, X):
        if len(X) > 64:  # what it is tried on is not
            raise KeyError("secret")
        return X
"""
BAD = 'raise KeyError("secret")'
RUN = f"run mechanism=mine {SMALL}"
LEARNER = f"run mechanism=gaussian {SMALL}"


@pytest.fixture
def pate(tmp_path, monkeypatch, capsys):
    """Call `pate` beside copies of the example's parts, one of them with a fault."""
    for room in ("mechanism", "dataset"):
        (tmp_path / "conf" / room).mkdir(parents=True)
        (tmp_path / "conf" / room / "mine.yaml").write_text(f"name: mine_{room}\n")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def call(part, before, typed, after=""):
        source = (EXAMPLE / SOURCES[part]).read_text() if part in SOURCES else MAP
        assert before in source
        name = tmp_path / ("own/study.py" if part == "study" else f"mine_{part}.py")
        name.parent.mkdir(exist_ok=True)
        name.write_text(source.replace(before, f"{BAD}; {before}", 1) if before else source + after)
        if part == "study":
            recipe = (EXAMPLE / "flips" / "recipe.yaml").read_text()
            (tmp_path / "own" / "recipe.yaml").write_text(recipe)
        conf = [] if typed.startswith(("reproduce", "page")) else ["--config-dir", str(tmp_path / "conf")]
        code = main([*typed.split(), *conf])
        return code, *capsys.readouterr()

    yield call
    mechanisms.find.cache_clear()
    datasets.find.cache_clear()
    for name in [name for name in sys.modules if name.startswith("mine_")]:
        del sys.modules[name]


FEW = "dataset.n_records=1500 split.private=1200 split.public=20 teacher.size=20 compute.workers=1"
SESSION = "mechanism", "return Labels("
FAULTS = {  # part, before what it fails, what is typed, what is told
    "calibrate": ("mechanism", "return Exponential(s", f"plan mechanism=mine {SMALL}", "calibrate"),
    "calibrate, in a check": ("mechanism", "return Exponential(s", "check mechanism=mine", "calibrate"),
    "a promise": ("mechanism", "return PrivacyLoss(", RUN, "guarantee"),
    "display": ("mechanism", 'return {"ell"', RUN, "describe"),
    "session": (*SESSION, RUN, "Exponential.session"),
    "session, in a frontier": (
        *SESSION,
        f"frontier {FEW} --methods mine,gaussian --eps 8 --repeats 1 --no-limit",
        "Exponential.session",
    ),
    "session, in a sweep": (*SESSION, f"{RUN} -m seed=0,1", "Exponential.session"),
    "session, in an audit": (
        *SESSION,
        "audit mechanism=mine eps=8 --queries 4 --runs 100",
        "Exponential.session",
    ),
    "load": ("dataset", "X, y = ", "plan dataset=mine eps=8", "mine_dataset.load"),
    "a student": (
        *("student", "self.classes_ = np.arange"),
        f"{LEARNER} student.estimator=mine_student.MeanVote",
        "mine_student.MeanVote.fit_shares",
    ),
    "a teacher": (
        *("learner", "X, y = "),
        f"{LEARNER} teacher.estimator=mine_learner.Centroids",
        "mine_learner.Centroids.fit",
    ),
    "a map": ("map", "", f"{LEARNER} teacher=logistic features.name=mine_map.Map", "mine_map.Map.values"),
    "a study": ("study", "rng, rows", "reproduce ../own", "study.run"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_one_line_with_kind_and_place(fault, pate):
    part, before, typed, told = FAULTS[fault]
    code, out, err = pate(part, before, typed)
    many = "-m" in typed.split() or typed.startswith("frontier")
    assert (code, "Traceback" in err) == (1 if many else 2, False), err
    lines = [line for line in (out + err).splitlines() if told in line]
    assert lines, (out, err)
    assert many or (out, err.count("\n"), list(Path.cwd().rglob("*"))) == ("", 1, []), (out, err)


@pytest.mark.parametrize(
    ("part", "body", "told"),
    [
        ("mechanism", "def calibrate(options): pass", "mine_mechanism failed (TypeError: calibrate() takes"),
        ("dataset", "def load(name): pass", "mine_dataset failed (TypeError: load() takes"),
        ("dataset", "def load(*_): open('nowhere')", "mine_dataset.load, "),
    ],
)
def test_a_call_it_does_not_take_and_a_file_that_is_not_there(part, body, told, pate):
    code, _, err = pate(part, "", f"plan {part}=mine eps=8", f"\n\n{body}\n")
    assert (code, err.count("\n")) == (2, 1)
    assert told in err


def test_the_traceback_is_shown_where_it_is_wanted(pate, monkeypatch):
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    part, before, typed, _ = FAULTS["session"]
    code, _, err = pate(part, before, typed)
    assert (code, err.startswith("Traceback")) == (2, True)
    assert "in session" in err
    assert err.splitlines()[-1].startswith("pate: mine_mechanism.Exponential.session, ")


def test_an_own_worker_process_names_it_too(pate, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    part, before, typed, told = FAULTS["session"]
    code, _, err = pate(part, before, typed.replace("workers=1", "workers=2") + " repeats=2")
    assert (code, err.count("\n"), told in err) == (2, 1, True)


MECHANISM = """
from pate_cli.mechanisms.gaussian import Gaussian, Options, gaussian_labels


def calibrate(options, setting):
    s = setting
    made = gaussian_labels(s.eps, s.delta, s.n_public, s.n_classes, options.calibration)
    return Mine(**(vars(made) | {"n_teachers": s.n_teachers}))


class Mine(Gaussian):
    def release(self, private, public, door, rng):
        raise KeyError(f"secret {private.records.y.sum()}")
"""
RELEASES = {
    "loader": ("dataset=mine", "mine_dataset.load", 0),
    "map": ("mechanism=gaussian features.name=mine_map.Map", "mine_map.Map.values", 1),
    "mechanism": ("mechanism=mine", "mine_mechanism.Mine.release", 1),
}


@pytest.mark.parametrize("full", ["0", "1"])
@pytest.mark.parametrize("where", RELEASES)
def test_a_release_quotes_nothing(where, full, pate, tmp_path, monkeypatch, capsys):
    """Neither on a terminal nor in a file; the kind and the place are told."""
    pytest.importorskip("opendp")
    monkeypatch.setenv("HYDRA_FULL_ERROR", full)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    rows = [f"{i % 7},{i % 5},{i % 2}" for i in range(1200)]
    (tmp_path / "people.csv").write_text("\n".join(["a,b,class", *rows]) + "\n")
    schema = str(tmp_path / "people.schema.yaml")
    assert (
        main(["data", "describe", str(tmp_path / "people.csv"), "--target", "class", "--output", schema]) == 0
    )
    data = [f"dataset={schema}"]
    assert main(["ledger", "init", *data, "--eps", "10", "--delta", "0.1"]) == 0
    (tmp_path / "mine_mechanism.py").write_text(MECHANISM)
    (tmp_path / "mine_map.py").write_text(MAP)
    chosen, told, n_files = RELEASES[where]
    split = "teacher.size=30 split.public=40 split.public_from_private=true delta=1e-5 hydra.run.dir=out"
    typed = " ".join(["run release=true eps=1", *data * (where != "loader"), split, chosen])
    capsys.readouterr()
    code, out, err = pate("dataset", "X, y = ", typed)
    assert (code, out, "Traceback" in err) == (2, "", False), err
    assert told in err.splitlines()[-1]
    assert "(KeyError; its message may be private)" in err
    files = [path for path in Path.cwd().rglob("*") if path.is_file()]
    assert len(files) == n_files
    assert "secret" not in err + "".join(path.read_text() for path in files)


@pytest.mark.parametrize("edited", ["the plug-in", "what it imports"])
def test_results_of_old_and_of_edited_code_are_told_apart(edited, pate, capsys, tmp_path):
    """Two seeds of one configuration are one row, but not of two states of a plug-in."""
    for seed, edit in enumerate(("", "", "\n# edited\n")):
        for module in ("mine_mechanism", "mine_help"):
            sys.modules.pop(module, None)
        mechanisms.find.cache_clear()
        help_edit, edit = (edit, "") if edited == "what it imports" else ("", edit)
        (tmp_path / "mine_help.py").write_text(f"SHARE = 1.0{help_edit}")
        after = f"\nfrom mine_help import SHARE\n{edit}"
        assert pate("mechanism", "", f"{RUN} repeats=2 seed={seed} hydra.run.dir={seed}", after)[0] == 0
    headlines = []
    for other in ("1", "2"):
        assert main(["page", "0", other, "--output", f"{other}.html"]) == 0
        headlines.append(re.findall("<h1>.*</h1>", Path(f"{other}.html").read_text())[0])
    assert ["seed=" in text for text in headlines] == [False, True]
    capsys.readouterr()
    assert main(["compare", "0", "2"]) == 0
    assert "plugin_code" in capsys.readouterr().out


IN_PLACE = {
    "the votes": "private.votes().counts[:] = 0",
    "the records": "private.records.X[:] = 0",
    "the labels": "private.records.y[:] = 0",
    "the points": "public.X[:] = 0",
}


@pytest.mark.parametrize("what", IN_PLACE)
def test_what_the_methods_of_a_table_share_is_not_changed(what, pate, tmp_path):
    """The rows of ours that came after were wrong: 5% for 94%, and nothing said so."""
    told = 'raise KeyError(f"secret {private.records.y.sum()}")'
    assert told in MECHANISM
    (tmp_path / "mine_mechanism.py").write_text(MECHANISM.replace(told, IN_PLACE[what]))
    code, _, err = pate("dataset", "", RUN)
    assert (code, err.count("\n")) == (2, 1)
    assert "mine_mechanism.Mine.release, " in err
    assert "(ValueError: assignment destination is read-only)" in err


def that_releases(where, pate, *lines):
    """Run a mechanism of a plug-in whose `release` has these lines."""
    head, _, _ = MECHANISM.partition("        raise")
    body = "".join(f"        {line}\n" for line in lines)
    (where / "mine_mechanism.py").write_text(head + body)
    return pate("dataset", "", RUN)


WRONG = {
    "a label": (
        "answers.labels + 7",
        "labels of answers; accepted: a class code from 0 to 1, or -1, for each",
    ),
    "a text": ("answers.labels.astype(str)", "labels of answers; accepted: a class code from 0 to 1"),
    "too few": ("answers.labels[1:]", "labels of answers; accepted: a class code from 0 to 1"),
    "a point": ("answers.labels, asked=answers.asked + 1", "asked of answers; accepted: numbers of public"),
    "counts": (
        "answers.labels, noisy_counts=answers.noisy_counts * float('nan')",
        "noisy_counts of answers; accepted: 2 finite numbers for each label",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_answers_that_are_none_are_refused(what, pate, tmp_path):
    """A student learned from labels of no class, and was right on no record."""
    made, told = WRONG[what]
    code, _, err = that_releases(
        tmp_path,
        pate,
        "from dataclasses import replace",
        "from pate_cli.types import Released",
        "answers = super().release(private, public, door, rng).answers",
        f"return Released(None, replace(answers, labels={made}))",
    )
    assert (code, err.count("\n")) == (2, 1), err
    assert err.startswith(f"pate: mine_mechanism.Mine failed (ValueError: {told}"), err


FREE = {
    "a negative sensitivity": "LaplaceNoise(sensitivity=-2.0, scale=1.0)",
    "a negative eps": "ExponentialChoice(sensitivity=1.0, eps=-1.0)",
    "a negative scale": "GammaNoise(sensitivity=1.0, scale=-1.0)",
    "no releases": "LaplaceNoise(sensitivity=2.0, scale=1.0), 0",
    "one release of many choices": "ExponentialChoice(sensitivity=1.0, eps=0.1), 1",
}


@pytest.mark.parametrize("what", FREE)
def test_no_release_costs_nothing_or_less(what, pate, tmp_path):
    """It was paid back what the others cost, so a run that released more than it promised passed."""
    code, _, err = that_releases(
        tmp_path,
        pate,
        "from pate_cli.privacy.kinds import ExponentialChoice, GammaNoise, LaplaceNoise",
        f"door.release(private.votes().counts, {FREE[what]})",
        "return super().release(private, public, door, rng)",
    )
    assert (code, err.count("\n")) == (2, 1), err
    assert "mine_mechanism.Mine.release, " in err
    assert re.search("accepted: .*(0|1|20) or more", err), err


LOSS = 'PrivacyLoss(self.ell * self.eps0, 0.0, f"{self.ell} exponential mechanisms")'
DECLARED = "@dataclass(frozen=True)\nclass Options("
PROMISES = {
    "no dataclass": (DECLARED, "class Options(", "a module whose Options is a frozen dataclass"),
    "a method's name": ("share: float", "label: float", "options have other names than label, of Mech"),
    "a tuple": (LOSS, "(8.0, 0.0)", "(TypeError: guarantee is a tuple; accepted: a property, of a Priv"),
    "a method": ("    @property\n    def guarantee", "    def guarantee", "guarantee is a method; accepted"),
    "no number": (LOSS, LOSS.replace("self.ell *", "float('nan') *"), "guarantee of eps nan, delta 0.0"),
    "too much": (LOSS, LOSS.replace("self.ell *", "2 * self.ell *"), "promises PrivacyLoss(eps=16.0"),
    "an array": ('{"ell": self.ell', '{"ell": np.arange(3)', "describe: 'ell' is a ndarray; accepted"),
    "a list": ('{"ell": self.ell, "eps_per_query": self.eps0}', "[8]", "describe gives a list; accepted"),
}


@pytest.mark.parametrize("what", PROMISES)
def test_what_a_mechanism_says_of_itself_is_checked(what, pate, tmp_path):
    """Each ended with a traceback."""
    right, wrong, told = PROMISES[what]
    source = (EXAMPLE / SOURCES["mechanism"]).read_text()
    assert source.count(right) == 1
    (tmp_path / "mine_mechanism.py").write_text(source.replace(right, wrong))
    code, out, err = pate("dataset", "", RUN.replace("run", "plan", 1))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert told in err


def test_options_of_a_dataset_are_a_dataclass(pate):
    code, _, err = pate("dataset", "", "plan dataset=mine eps=8", "\n\nclass Options:\n    pass\n")
    assert (code, err.count("\n")) == (2, 1)
    assert "accepted: a module whose Options is a frozen dataclass" in err
