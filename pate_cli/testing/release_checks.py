"""Releases of files that differ in one record, by the command line: what is written and said is equal.

The door of the second release lets out again what that of the first let out, and nothing else is random. So
whatever else depends on a private record shows: in a byte of a file, in a line that is printed, in the exit
code.
"""

from __future__ import annotations

import io
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias
from unittest import mock

import numpy as np
import yaml

from pate_cli import cli, pipeline
from pate_cli.commands import run as run_command
from pate_cli.config import Composer
from pate_cli.privacy.noise import SeededNoise
from pate_cli.release import release
from pate_cli.testing.doors import Recorder
from pate_cli.testing.failure import require

__all__ = ["Release", "WholeNoise", "unforeseen", "unmoved"]

N, M = 300, 20
"""Records, or persons; public points."""

EXTREMES = ("1e39", "-1e308", "1e308", "5e-324", "-0.0", "-1e39")

PERSONS = [f"p{i:04}" for i in range(N)]
Row: TypeAlias = tuple[str, str, str, str, str]
People: TypeAlias = dict[str, list[Row]]
COLUMNS = ("person", "x1", "x2", "colour", "class")
COLOURS, CLASSES = ("red", "blue", "seen nowhere else"), ("maybe", "no", "yes")
SCHEMA = "columns:\n  colour: {kind: category, values: [red, blue]}\n" + "".join(
    f"  {name}: {{kind: numeric, low: -8, high: 8}}\n" for name in ("x1", "x2")
)


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
    """A mechanism; in a table with a file of public points persons have several records, else one."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    public_file: bool = False
    generated: bool = False  # points of noisy marginals, in place of the file
    evaluated: bool = False  # on some of the persons
    format: str = "csv"  # or npz, libsvm: of numbers
    brief: bool = field(default=False, repr=False)  # all that changes in a record changes at once

    def __str__(self) -> str:
        options = [f"{key}={value}"[:40] for key, value in self.options]
        kind = "marginals" if self.generated else "public file" if self.public_file else "one file"
        return ", ".join(
            [self.name.rpartition(".")[2], *options, self.format, kind, *["evaluated"] * self.evaluated]
        )

    @property
    def several(self) -> bool:
        """Whether persons have several records."""
        return self.public_file and self.format == "csv"

    def of(self, people: People, door: Callable[[Any], Any]) -> Told:
        """Release a file of these records; `door(noise)` makes the door."""
        data = [f"dataset={self.format}", f"dataset.path=people.{self.format}"]
        if self.format == "csv":
            data += ["dataset.target=class", f"dataset.{'unit=person' if self.several else 'drop=[person]'}"]
        if self.public_file:
            data += [f"dataset.classes=[{'maybe,no,yes' if self.format == 'csv' else '0,1,2'}]"]
            marginals = ["dataset.public=marginals", "dataset.schema=schema.yaml"]
            data += marginals if self.generated else [f"dataset.public=public.{self.format}"]
            argv = ["teacher=logistic", f"generate.points={M}"]
            # in its own columns a record that is far away turns its teacher about
            argv += ["evaluate=0.2", "teacher.features=false"] if self.evaluated else []
        else:
            data += ["dataset.n_features=3"] if self.format == "libsvm" else []
            argv = ["teacher=linear_svm", f"split.public={M}", "split.public_from_private=true"]
        argv += ["--config-dir", "conf", "mechanism=checked"]
        argv += ["eps=24", "delta=1e-5", "teacher.count=24"]
        argv += ["student.estimator=sklearn.tree.ExtraTreeClassifier"]  # random: each fit gives another
        out, err = io.StringIO(), io.StringIO()
        with TemporaryDirectory() as place, ExitStack() as stack:
            stack.enter_context(chdir(place))
            stack.enter_context(mock.patch.dict(os.environ, PATE_LEDGER=str(Path(place, "ledger"))))
            _write(f"people.{self.format}", chain(*people.values()))
            Path("schema.yaml").write_text(SCHEMA)
            _write(f"public.{self.format}", [rows[0] for rows in records(1).values()][:M], labels=False)
            Path("conf", "mechanism").mkdir(parents=True)
            options = {key: _plain(value) for key, value in self.options}
            Path("conf", "mechanism", "checked.yaml").write_text(
                yaml.safe_dump({"name": self.name, **options})
            )
            with redirect_stdout(io.StringIO()):
                code = cli.main(["ledger", "init", *data, "--eps", "50", "--delta", ".1"])
            require(code == 0, "no ledger")
            for owner, name, value in (
                (run_command, "Composer", lambda *_: _composer(repr(self))),  # composing is the slowest step
                (pipeline.Streams, "fresh", lambda: pipeline.Streams.of(5, 0)),
                (release, "ExactNoise", lambda: WholeNoise(np.random.SeedSequence(7))),
                (pipeline, "Door", door),
            ):
                stack.enter_context(mock.patch.object(owner, name, value))
            with redirect_stdout(out), redirect_stderr(err):
                code = cli.main(["run", *data, *argv, "release=true", "hydra.run.dir=out"])
            return Told(code, out.getvalue(), err.getvalue(), _told(Path("out")))

    def neighbours(self, people: People) -> Iterator[tuple[str, People]]:
        """Replace one record, or all of one person, in each role; and all that are private."""
        streams, test = pipeline.Streams.of(5, 0), []
        public = [] if self.public_file else [PERSONS[i] for i in streams.split.permutation(N)[:M]]
        private = [PERSONS[i] for i in streams.split.permutation(N) if PERSONS[i] not in public]
        if not self.public_file:
            private, test = private[: int(0.8 * N)], private[int(0.8 * N) :]
        if self.evaluated:
            for at, evaluated_person in enumerate(private[:3]):
                yield (
                    "a record of the evaluation",
                    people | {evaluated_person: self._changed(people[evaluated_person], _everything, 2 * at)},
                )
            private = private[N // 5 :]
        held_out, *_, taught = streams.teachers.permutation(private)
        for what, change in ({"all": _everything} if self.brief else CHANGES).items():
            yield (
                f"{what} of a record with a teacher",
                people | {taught: self._changed(people[taught], change)},
            )
        for role, person, at in [
            ("a record that tune holds out", held_out, 2),
            *(("a test record", evaluated_person, 4) for evaluated_person in test[:1]),
        ]:
            yield role, people | {person: self._changed(people[person], _everything, at)}
        others = {
            person: [_label(row, 0) for row in rows] for person, rows in records(2, self.several).items()
        }
        yield ALL, others | {person: people[person] for person in public}

    def _changed(self, rows: list[Row], change: Callable[[Row, int], Row], at: int = 0) -> list[Row]:
        """Change a record, to the extreme numbers from the given place on; a person gets forty."""
        return [change(rows[0], at + i) for i in range(40 if self.several else 1)]


ALL = "all private records"


def records(seed: int, several: bool = False) -> People:
    """Records of N persons: easy but for a tenth of the labels, and with a third class that is rare."""
    rng, people = np.random.default_rng(seed), People()
    for i, person in enumerate(PERSONS):
        people[person] = []
        for _ in range(int(rng.integers(1, 4)) if several else 1):
            label = int(rng.integers(2))
            x1, x2 = np.round(rng.normal(size=2) + 2.5 * (2 * label - 1), 3).astype(str)
            colour, named = str(rng.choice(["red", "blue"])), ("no", "yes")[label ^ (rng.random() < 0.1)]
            people[person].append((person, x1, x2, colour, "maybe" if i % 60 == 7 else named))
    return people


def _numbers(row: Row, i: int) -> Row:
    return (row[0], EXTREMES[i % 6], EXTREMES[(i + 1) % 6], *row[3:])


def _category(row: Row, i: int) -> Row:
    return (*row[:3], "seen nowhere else", row[4])


def _label(row: Row, i: int) -> Row:
    return (*row[:4], {"maybe": "no", "no": "yes", "yes": "no"}[row[4]])


def _everything(row: Row, i: int) -> Row:
    return _label(_category(_numbers(row, i), i), i)


CHANGES = {"numbers": _numbers, "category": _category, "label": _label}


def unmoved(release: Release) -> str:
    """A private record changes nothing of a release but what passed the door, there by its sensitivity."""
    people = records(0, release.several)
    doors: list[Any] = []

    def recorder(noise: Any) -> Any:
        doors.append(Recorder(noise))
        return doors[-1]

    first, worst, in_table, n_files = release.of(people, recorder), 0.0, 0.0, 0
    require(first.code == 0, f"no release: {first.err.strip()}")
    for kind, others in release.neighbours(people):

        def replay(noise: Any) -> Any:
            doors.append(doors[0].replay(noise))
            return doors[-1]

        after, n_files = release.of(others, replay), n_files + 1
        require(first.files.keys() == after.files.keys(), f"{kind}: other files")
        differing = [file for file in first.files if first.files[file] != after.files[file]]
        require(not differing, f"{kind}: {differing} differ")
        for name, before, other in zip(Told._fields, first, after, strict=True):
            require(before == other, f"{kind}: {name} differs: {other}")
        require(not doors[-1].history, f"{kind}: fewer releases")
        if kind != ALL:
            worst = max(worst, moved := max((by for _, by in doors[-1].moved), default=0.0))
            require(moved <= 1 + 1e-9, f"{kind}: a release is moved by {moved:.3g} of its sensitivity")
            require("test" not in kind or not moved, f"{kind}: was used")
        if release.evaluated and kind != ALL:  # the table is the last release
            *learned, table = (by for _, by in doors[-1].moved)
            require(not (max(learned) and table), f"{kind}: on both sides")
            in_table += table
    require(worst > 0, "nothing was moved")
    require(in_table or not release.evaluated, "nothing in the table was moved")
    return f"{n_files} other files, equal bytes, moved by {worst:.3g}"


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


def _write(name: str, rows: Iterable[Row], *, labels: bool = True) -> None:
    """Write records, texts by their numbers in files of numbers; LIBSVM's points without labels have 0."""
    rows = list(rows)
    texts = [COLUMNS, *rows] if labels else [row[:-1] for row in (COLUMNS, *rows)]
    X = np.array([(*row[1:3], COLOURS.index(row[3])) for row in rows], dtype=float)
    y = np.array([CLASSES.index(row[4]) * labels for row in rows])
    if name.endswith(".csv"):
        Path(name).write_text("\n".join(map(",".join, texts)) + "\n")
    elif name.endswith(".npz"):
        arrays: dict[str, Any] = {"X": X} | ({"y": y} if labels else {})
        np.savez(name, **arrays)
    else:
        lines = [f"{label} 1:{a!r} 2:{b!r} 3:{c!r}" for label, (a, b, c) in zip(y, X.tolist(), strict=True)]
        Path(name).write_text("\n".join(lines) + "\n")


def _told(directory: Path) -> dict[str, bytes]:
    """Every byte of a release's files but what names the release and its ledger, and when it was charged."""
    content = {}
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    data = b"\n".join(
                        name.encode() + archive.read(name) for name in sorted(archive.namelist())
                    )
            hidden = rb"\b[0-9a-f]{16,64}\b|Ledger [0-9a-f]{12}\b|20\d\d-\d\d-\d\dT[0-9:+]+"
            content[str(path.relative_to(directory))] = re.sub(hidden, b"", data)
    return content
