"""Releases of files that differ, by the command line: what is written and said is equal.

The door of the second release lets out again what that of the first let out, and nothing else is random. So
whatever else depends on a private record shows: in a byte of a file, in a line that is printed, in the exit
code.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import yaml

from pate_cli import cli, mechanisms, pipeline
from pate_cli.commands import run as run_command
from pate_cli.config import Composer
from pate_cli.features import generated
from pate_cli.privacy.noise import SeededNoise
from pate_cli.release import Ledger, LedgerDirectory, Protected, open_ledgers, release
from pate_cli.testing.doors import Recorder, Replay
from pate_cli.testing.failure import require
from pate_cli.testing.learners import Fits, fits_kept
from pate_cli.testing.released_tables import BOUGHT, CLASSES, KINDS_ALONE, SCHEMA, TABLES, N, made, write
from pate_cli.testing.unlike import EXTREMES, Columns, MixedRecords, Way, failing_teachers

__all__ = ["KINDS", "Release", "WholeNoise", "shared_out", "unforeseen", "unlike", "unmoved"]

M, FILE = 20, 120
"""Public points of one file, where no number is best; and those of a file of theirs."""

PRIVATE, BEST_AT = 72, 2
"""Private records beside open points, and eps: where fewer points are best than there are."""

FAILING = "pate_cli.testing.learners.Failing"
_ANOTHER, _MOST_TRIED = "another record with a teacher", 10  # tried until one moves the release
KINDS: tuple[dict[str, Any], ...] = (
    {"evaluated": True, "teacher": "linear_svm"},
    {"points": "two files", "persons": True, "evaluated": True, "teacher": FAILING, "n_classes": 2},
    {"points": "ranges", "teacher": "tree", "retrained": True},
    {"points": "marginals", "persons": True, "defaults": True},
)
"""Releases with each sort of points; each two of records and persons, evaluated and not, come together."""


class WholeNoise(SeededNoise):
    """Whole numbers from a seed, in place of a release's exact source."""

    def gaussian(self, scale: float, size: int) -> Any:
        """See `SeededNoise`."""
        return np.round(super().gaussian(scale, size))

    def laplace(self, scale: float, size: int) -> Any:
        """See `SeededNoise`."""
        return np.round(super().laplace(scale, size))

    def exponential(self, scale: float, size: int) -> Any:
        """See `SeededNoise`."""
        return np.floor(super().exponential(scale, size))

    def spawn(self, count: int) -> list[Any]:
        """See `SeededNoise`."""
        return [WholeNoise(child) for child in self._seed.spawn(count)]


class Told(NamedTuple):
    """All that the user gets to see of a release, but for what names it and its ledger, and its time."""

    code: int
    out: str
    err: str
    files: dict[str, bytes]


@dataclass(frozen=True)
class Release:
    """A mechanism on a table of records, or of persons with several, and how it gets its public points."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    points: str = "one file"  # a share of the private one; or two files, ranges, marginals
    persons: bool = False
    evaluated: bool = False  # on some of the records or persons
    teacher: str = "logistic"  # or another one, as that which fails on large numbers
    defaults: bool = False  # of delta, of the number of teachers, of the student, of numbers of the mechanism
    bought: bool = False  # levels of a column, bounds of another one, and classes
    n_classes: int = 3  # or two, with a threshold where it is evaluated
    format: str = "csv"  # or jsonl, parquet; or npz, libsvm: of numbers
    brief: bool = field(default=False, repr=False)  # all that changes in a record changes at once
    retrained: bool = field(default=False, repr=False)  # all teachers, whichever record changed

    def __str__(self) -> str:
        options = [f"{key}={value}"[:40] for key, value in self.options]
        kinds = [*["persons"] * self.persons, *["evaluated"] * self.evaluated, *["bought"] * self.bought]
        kinds += ["teachers that fail"] * (self.teacher == FAILING) + ["defaults"] * self.defaults
        return ", ".join([self.name.rpartition(".")[2], *options, self.format, self.points, *kinds])

    @property
    def declared(self) -> bool:
        """Whether a schema declares the columns."""
        return self.points in ("ranges", "marginals")

    @property
    def columns(self) -> Columns:
        """What is public of the columns."""
        return Columns(self.n_classes, 2, missing=self.declared, persons=self.persons)

    def of(self, records: MixedRecords, door: Callable[[Any], Any]) -> Told:
        """Release a file of these records; `door(noise)` makes the door."""
        options = self._dataset()
        data = [f"dataset={self.format}"]
        data += [f"dataset.{key}={json.dumps(value)}".replace('"', "") for key, value in options.items()]
        argv = ["--config-dir", "conf", "mechanism=checked", "release=true"]
        argv += [f"teacher.estimator={self.teacher}"] if "." in self.teacher else [f"teacher={self.teacher}"]
        if not self.defaults:
            argv += ["delta=1e-5", "teacher.count=28", "student.estimator=sklearn.tree.ExtraTreeClassifier"]
            argv += ["+student.params={min_samples_leaf: 3}"]  # random: each fit gives another
        argv += self._sizes
        # in its own columns a record that is far away turns its teacher about
        argv += ["evaluate=0.2", "teacher.features=false"] if self.evaluated else []
        argv += ["threshold=youden"] if self.evaluated and self.n_classes == 2 else []
        out, err = io.StringIO(), io.StringIO()
        with TemporaryDirectory() as place, ExitStack() as stack:
            stack.enter_context(chdir(place))
            stack.enter_context(fits_kept(None if self.retrained else self._fits))
            stack.enter_context(mock.patch.dict(os.environ, PATE_LEDGER=str(Path(place, "ledger"))))
            write(f"people.{self.format}", records, days=self.bought)
            one_file = self.points == "one file"  # its public share has bounds and levels
            Path("schema.yaml").write_text(BOUGHT if self.bought else KINDS_ALONE if one_file else SCHEMA)
            write(f"public.{self.format}", made(1).at(slice(FILE)), labels=False)
            Path("conf", "mechanism").mkdir(parents=True)
            mechanism = {"name": self.name} | {key: _plain(value) for key, value in self.options}
            Path("conf", "mechanism", "checked.yaml").write_text(yaml.safe_dump(mechanism))
            before = {*Path().rglob("*")}
            for owner, name, value in (
                (run_command, "Composer", lambda *_: _composer(repr(self))),  # composing is the slowest step
                (pipeline.Streams, "fresh", lambda: pipeline.Streams.of(5, 0)),
                (release, "ExactNoise", lambda: WholeNoise(np.random.SeedSequence(7))),
                (LedgerDirectory, "find", self._ledger),
                (pipeline, "Door", door),
                (generated, "_FEWEST", 30),  # of so few records, too, their number decides
                (generated, "_SHARE", 2),
            ):
                stack.enter_context(mock.patch.object(owner, name, value))
            try:
                with redirect_stdout(out), redirect_stderr(err):
                    code = cli.main(["run", *data, *argv, "hydra.run.dir=out"])
            except Exception as error:  # as the interpreter would show it
                code = 1
                err.write(f"{type(error).__name__}: {error}")
            return Told(code, out.getvalue(), err.getvalue(), _told(before))

    def _ledger(self, checksum: str, _: Any) -> Ledger:
        """Begin the ledger of a file when it is looked for, as `pate ledger init` would have before."""
        protects = Protected("person" if self.persons else None)
        return open_ledgers().init(checksum, "people", 50.0, 0.1, protects=protects)

    def _dataset(self) -> dict[str, Any]:
        """Options of the data set."""
        table, one_file = self.format in TABLES, self.points == "one file"
        options: dict[str, Any] = {"path": f"people.{self.format}"}
        if table:
            persons = {"unit": "person"} if self.persons else {"unit": None, "drop": ["person"]}
            options |= {"target": "class"} | persons | ({"schema": "schema.yaml"} if one_file else {})
        if not one_file:
            if not self.bought:
                options["classes"] = list(CLASSES if table else "012")[: self.n_classes]
            options["public"] = self.points if self.declared else f"public.{self.format}"
            options |= {"schema": "schema.yaml"} if self.declared else {}
        elif self.format == "libsvm":
            options["n_features"] = 3
        return options

    @property
    def _sizes(self) -> list[str]:
        """Numbers of private records and of points, as many as are best where the mechanism says so."""
        if self.declared:
            return ["eps=24"]
        sizes = [f"split.private={PRIVATE}"]
        sizes += ["split.public_from_private=true"] if self.points == "one file" else []
        if mechanisms.read(self.name, dict(self.options)).best_points(PRIVATE, 3, 1.0) is not None:
            return [*sizes, "split.public=auto", f"eps={BEST_AT}"]
        return [*sizes, f"split.public={M}", "eps=24"]

    @cached_property
    def _fits(self) -> Fits:
        return {}

    @cached_property
    def records(self) -> MixedRecords:
        """The private records, and of one file the public ones too."""
        records = made(0, self.persons, self.n_classes)
        if self.points == "marginals":
            absent = np.random.default_rng(3).random(len(records.y)) < 0.2
            numbers = np.where(absent[:, None], np.nan, records.numbers)
            records = records._replace(numbers=numbers, texts=np.where(absent[:, None], -1, records.texts))
        return records

    @cached_property
    def first(self) -> tuple[Told, Recorder]:
        """The release of these records, and its door."""
        doors: list[Recorder] = []

        def recorder(noise: Any) -> Any:
            doors.append(Recorder(noise))
            return doors[-1]

        shown = self.of(self.records, recorder)
        require(shown.code == 0, f"no release: {shown.err.strip()}")
        return shown, doors[0]

    def again(self, kind: str, records: MixedRecords) -> Replay:
        """Release other records: what is told is the same. The door."""
        first, door = self.first
        doors: list[Replay] = []

        def replay(noise: Any) -> Any:
            doors.append(door.replay(noise))
            return doors[-1]

        after = self.of(records, replay)
        why = next(iter([*(doors[-1].problems if doors else []), *after.err.splitlines()[::-1]]), "")
        require(after.code == 0, f"{kind}: no release: {why}")
        require(first.files.keys() == after.files.keys(), f"{kind}: other files")
        differing = [file for file in first.files if first.files[file] != after.files[file]]
        require(not differing, f"{kind}: {differing} differ")
        for name, before, other in zip(Told._fields, first, after, strict=True):
            require(before == other, f"{kind}: {name} differs: {other}")
        require(not doors[-1].history, f"{kind}: fewer releases")
        return doors[-1]

    @cached_property
    def roles(self) -> dict[str, list[int]]:
        """Persons by what becomes of their records."""
        streams, n_public, test = pipeline.Streams.of(5, 0), 0, list[int]()
        if self.points == "one file":
            n_public = json.loads(self.first[0].files["result.json"])["sizes"]["n_public"]
        public = streams.split.permutation(N)[:n_public].tolist() if n_public else []
        private = [i for i in streams.split.permutation(N).tolist() if i not in public]
        if not self.declared:
            private, test = private[:PRIVATE], private[PRIVATE:]
        n_held = len(private) // 5 if self.evaluated else 0
        held_out, *taught = streams.teachers.permutation(private[n_held:]).tolist()
        return {
            "public": public,
            "evaluation": private[:n_held],
            "held out": [held_out],
            "teacher": taught[::-1],
            "test": test,
        }

    def neighbours(self) -> Iterator[tuple[str, MixedRecords]]:
        """Replace one record, or all of one person, in each role."""
        everything = range(1, 4)
        changes = {"all": everything} if self.brief else {"numbers": [1], "texts": [2], "label": [3]}
        for what, kinds in changes.items():
            yield f"{what} of a record with a teacher", self._changed(self.roles["teacher"][0], kinds)
        for role, at, most in (("held out", 2, int(not self.brief)), ("test", 4, 1), ("evaluation", 0, 2)):
            for i, person in enumerate(self.roles[role][:most]):
                name = {"held out": "a record that tune holds out"}.get(role, f"a record of the {role}")
                yield name, self._changed(person, everything, at + 2 * i)
        for person in self.roles["teacher"][1:_MOST_TRIED]:
            yield _ANOTHER, self._changed(person, everything)

    def _changed(self, person: int, kinds: Any, at: int = 0) -> MixedRecords:
        """Change a record, to the extreme numbers from the given place on; a person gets forty."""
        row = self.records.at(self.records.persons == person).at(slice(1))
        by = row.at(np.zeros(40 if self.persons else 1, dtype=np.int64))
        extreme = np.resize(np.roll(EXTREMES, -at), (len(by.y), 2))
        columns = {
            1: ("numbers", extreme),
            2: ("texts", 0 * by.texts + 2),
            3: ("y", np.full_like(by.y, 3) if self.bought else (by.y + 1) % self.n_classes),
        }
        return self.records.replaced(person, by._replace(**dict(columns[kind] for kind in kinds)))

    def unlike(self, way: Way) -> MixedRecords | None:
        """Private records of another kind; those that are public stay."""
        records = self.records
        public = np.isin(records.persons, self.roles["public"])
        other = way(records.at(~public), self.columns)
        if other is None:
            return None
        joined = MixedRecords(*(np.concatenate(two) for two in zip(other, records.at(public), strict=True)))
        return joined.at(np.argsort(joined.persons, kind="stable"))


def unmoved(release: Release) -> str:
    """A private record changes nothing of a release but what passed the door, there by its sensitivity."""
    worst, in_table, n_files = 0.0, 0.0, 0
    for kind, others in release.neighbours():
        if kind == _ANOTHER and worst > 0:  # these are for a mechanism that few records move
            break
        door, n_files = release.again(kind, others), n_files + 1
        worst = max(worst, moved := max((by for _, by in door.moved), default=0.0))
        require(moved <= 1 + 1e-9, f"{kind}: a release is moved by {moved:.3g} times its sensitivity")
        require("test" not in kind or not moved, f"{kind}: was used")
        if release.evaluated:  # the table is the last release
            *learned, table = (by for _, by in door.moved)
            require(not (max(learned) and table), f"{kind}: on both sides")
            in_table += table
    require(worst > 0, "nothing was moved")
    require(in_table or not release.evaluated, "nothing in the table was moved")
    return f"{n_files} other files, equal bytes, moved by {worst:.3g}"


def shared_out(ways: Sequence[Way], releases: Sequence[Release]) -> Iterator[tuple[Release, list[Way]]]:
    """Share out the ways among the releases in turn, each to one whose records can differ so."""
    shares: list[list[Way]] = [[] for _ in releases]
    for way in ways:
        able = [i for i, release in enumerate(releases) if way(release.records, release.columns) is not None]
        if way is failing_teachers:
            able = [i for i in able if releases[i].teacher == FAILING]
        if able:
            min((shares[i] for i in able), key=len).append(way)
    yield from zip(releases, shares, strict=True)


def unlike(release: Release, way: Way) -> str:
    """Private records of another kind change nothing of a release but what passed the door."""
    others = release.unlike(way)
    if others is None:
        return ""
    release.again(way.__name__, others)
    return str(release)


def unforeseen(_: Any = None) -> str:
    """The streams of a release are the system's entropy: neither the clock nor a few bits decide them."""
    clocks = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    stopped: dict[str, Any] = {name: lambda: 1.0 for name in clocks}
    stopped |= {f"{name}_ns": lambda: 10**9 for name in clocks}
    with mock.patch.multiple(time, **stopped):
        entropy: list[Any] = [pipeline.Streams.fresh().noise.entropy for _ in range(64)]
    require(len(set(entropy)) == 64, "two releases of one moment draw the same")
    # each of 128 bits is on in some and off in others: a false alarm in 1.4e-17
    bits = [f"{number:0128b}"[-128:] for number in entropy]
    require(all({"0", "1"} == set(column) for column in zip(*bits, strict=True)), "bits that never change")
    return "64 streams of 128 bits, all other"


@lru_cache(maxsize=1)
def _composer(release: str) -> Composer:
    """Configurations of one release, all composed from equal files."""
    return Composer("conf")


def _plain(value: Any) -> Any:
    """Lists for tuples, for YAML."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _told(given: set[Path]) -> dict[str, bytes]:
    """Every byte that was written but what names the release, its ledger and files, and when it was made.

    These names are drawn at random, or hashes of what holds them; any other hash may be one of the records.
    """
    written = [path for path in Path().rglob("*") if path.is_file() and path not in given]
    paths = [path for path in written if path.parts[0] != "ledger"]
    names = {hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    for ledger in open_ledgers().ledgers():
        names |= {ledger.fingerprint, ledger.fingerprint[:12], *ledger.hashes}
        names |= {entry.id for entry in ledger.entries if entry.id}
    hidden = "|".join([*sorted(names, key=len, reverse=True), r"20\d\d-\d\d-\d\dT[0-9:+]+"]).encode()
    entries = [entry for ledger in open_ledgers().ledgers() for entry in ledger.entries]
    content = {
        f"entry {i} of the ledger": repr(replace(entry, id="", time="")).encode()
        for i, entry in enumerate(entries)
        if entry.kind == "release"
    }
    for path in paths:
        data = path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                data = b"\n".join(name.encode() + archive.read(name) for name in sorted(archive.namelist()))
        content[os.path.relpath(path, "out")] = re.sub(hidden, b"", data)
    return content
