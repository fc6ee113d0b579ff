"""The card of a release: how good it is, under which guarantee, for whom; made from its certificate alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from pate_cli.errors import count_of
from pate_cli.release.certificates import page_command
from pate_cli.release.quality import MOST, Quality
from pate_cli.results.marks import bare, guaranteed, listed, name, plain, quoted, rounded_up
from pate_cli.results.page import Fact, Page, Report, Section
from pate_cli.results.sentences import GLOSSARY, meaning_of_eps
from pate_cli.results.settings import RECORD
from pate_cli.results.svg import success
from pate_cli.results.tables import Head, Table

__all__ = ["OPEN_ROWS", "Card"]

OPEN_ROWS = "records that are public points: their features are open"
"""What a certificate says is not covered, where public points are of the private file."""

Block = tuple[str, Any]

_FEW = 8  # levels of a column that are listed
_FORM = {"sep": ",", "encoding": "utf-8", "decimal": "."}  # how a table is written, unless it is said
_WORDS = {
    "found (recall)": "Of the records of a class, the share that it names so.",
    "right when named (precision)": "Of the records that it names so, the share that is of the class.",
    "ROC AUC": GLOSSARY["ROC AUC"],
    "probability": "Of the records with a probability of 12%, about 12 in 100 should be of the class.",
    "threshold": "The probability from which a class is named; another one by `pate predict --threshold`.",
    "ledger": "The file in which every release from these records is charged against a total stated once.",
}


class Card:
    """A page, and what a terminal shows, of a certificate's content; `place` is its directory, as typed."""

    def __init__(self, facts: Mapping[str, Any], place: str) -> None:
        self.facts, self.place = facts, place
        self.guarantee, self.sizes, self.data = facts["guarantee"], facts["sizes"], facts["data"]
        self.eps, self.delta = float(self.guarantee["eps"]), float(self.guarantee["delta"])
        if not (0 < self.eps < math.inf and 0 <= self.delta < 1):
            raise ValueError("no guarantee")
        self.eps_shown = guaranteed(self.eps)
        self.who = "person" if (self.guarantee.get("protects") or {}).get("unit") else "record"
        self.has_model = "student.skops" in facts.get("files", ["student.skops"])
        self.quality = Quality.stated(facts)

    @property
    def opened(self) -> int:
        """Records of the private file whose columns are public."""
        return self.sizes["n_public"] if OPEN_ROWS in self.facts["not_covered"] else 0

    @property
    def protected(self) -> int:
        """Records or persons that the guarantee is for."""
        if self.sizes["n_records"] is not None and self.who == "record":
            return int(self.sizes["n_records"] - self.opened)
        tested = self.quality.evaluation["n"] if self.quality else 0
        return int(self.sizes["n_private"] + tested + self.sizes["n_test"])

    @property
    def under(self) -> str:
        """The guarantee, as a clause."""
        return f"a guarantee of eps {self.eps_shown} for each of {self.protected:,} {self.who}s"

    @cached_property
    def page(self) -> Page:
        """The page."""
        facts, date = self.facts, datetime.fromisoformat(self.facts["time"])
        answer = (
            f"This model {self.quality.clause}."
            if self.quality
            else "Nothing is known of how good this model is."
        )
        answer = answer if self.has_model else "These are noisy answers, without a model."
        file = bare(self.data.get("file") or self.data["dataset"])
        target = self.data.get("target")
        of = f"{file}, predicting {name(target)}" if target else file
        figure, caption = self.quality.figure() if self.quality else ("", "")
        versions = ", ".join(f"{library} {text}" for library, text in facts["versions"].items() if text)
        return Page(
            title=f"Model card: {file}",
            kicker=f"Model card · release {facts['release'][:8]} · {of} · {date.day} {date:%B %Y}",
            answer=f"{answer} {'It is' if self.has_model else 'They are'} published under {self.under}.",
            lede=self._lede(),
            caution=self._caution(),
            facts=self._facts(),
            figure=figure,
            caption=caption,
            sections=self._sections(),
            details=self._details(),
            footer=[f"from the certificate alone, release {facts['release']}, {facts['time']} · {versions}"],
        )

    def _lede(self) -> str:
        times = f"{rounded_up(math.exp(min(self.eps, 700)), 3):,.10g}"
        failing = f", but for a probability of {_decimal(self.delta)}" if self.delta else ""
        return (
            f"The guarantee: had any one of these {self.who}s been different, each possible result would "
            f"have been at most {times} times as likely, and at least 1/{times} times{failing}. Even an "
            f"attacker who knows everything else, and is left with two equally likely values for one "
            f"{self.who}, guesses right at most {success(self.eps, self.delta)} times in 100; guessing is 50."
        )

    def _caution(self) -> str:
        if self.quality:
            return self.quality.caution
        unmeasured = "**Decide nothing by it:** it was released without `evaluate=`, so nothing was measured."
        return unmeasured if self.has_model else ""

    def _facts(self) -> list[Fact]:
        purpose, ledger = self.facts["purpose"], self.facts["ledger"]
        exact = f"({self.eps_shown}, {guaranteed(self.delta)})-differential privacy, exact noise"
        unit, _, neighbours = bare(self.guarantee["neighbours"]).rpartition("; ")
        tested = (
            f"and tested, with noise, on {count_of(self.quality.evaluation['n'], 'other')}"
            if self.quality
            else ""
        )
        return [
            Fact("Guarantee", f"eps {self.eps_shown}, delta {_decimal(self.delta)}", exact),
            Fact(
                "Protects", unit, f"{neighbours}; of k that belong together, eps is k times as large at least"
            ),
            Fact("Made from", count_of(self.sizes["n_private"], self.who), tested),
            Fact(
                "On record",
                f"ledger {ledger['fingerprint'][:12]}, entry {ledger['entry']}",
                f"Purpose: {bare(purpose)}" if purpose else "purpose not stated",
            ),
        ]

    def _sections(self) -> list[Section]:
        quality, sections = self.quality, []
        if quality:
            note = "Intervals hold at 95% and include the noise that protects the tested records."
            if quality.evaluation["threshold"]:
                note += " The threshold was chosen by the same counts, so they are a little optimistic."
            if len(quality.classes) > MOST:
                note += f" All {len(quality.classes):,} classes are below."
            blocks: list[Block] = [("table", quality.table()), ("note", note), ("p", quality.probabilities)]
            if not quality.two and not quality.caution:
                blocks.insert(0, ("p", quality.compared))
            sections.append(Section("How good it is", blocks))
        if self.has_model:
            sections.append(Section("Who may use it for what", [("pair", self._uses())]))
        commands = [["pate", "verify", self.place, *self._trust]]
        note = "`verify` checks every file, the quality and the entry in the ledger; without the ledger it "
        note += "finds damage, not forgery."
        if self.has_model:
            commands.append(self._predict())
            note += " `predict` labels the records of a table with the columns below"
            form = [f"{key} {quoted(value)}" for key, value in self._form().items()]
            note += f", written as the first one was ({listed(form)})." if form else "."
        return [*sections, Section("Check it, use it", [("code", commands), ("note", note)])]

    def _uses(self) -> dict[str, list[str]]:
        unknown = list[str](), ["**any decision**, before its quality is known"]
        good, bad = self.quality.uses() if self.quality else unknown
        good.append("anyone: staff, partners, the public. No further use of it costs privacy")
        bad.append("records unlike these: from elsewhere, from other years, with values beyond those below")
        bad.append("proving that somebody was, or was not, in the data")
        return {"Made for": good, "Not made for": bad}

    def _form(self) -> dict[str, str]:
        form = self.data.get("form") or {}
        return {key: str(form[key]) for key, usual in _FORM.items() if form.get(key) not in (None, usual)}

    def _predict(self) -> list[str]:
        numbered = self.data["columns"] is None
        command = ["pate", "predict", f"{self.place}/student.skops", "new.svm" if numbered else "new.csv"]
        for key, value in self._form().items():
            command += [f"--{key}", value]
        command += ["--no-header"] * ((self.data.get("form") or {}).get("header") is False)
        command += ["--proba"] * (self.quality is not None)
        return [*command, *self._trust, "--output", "labels.csv"]

    @property
    def _trust(self) -> list[str]:
        """Types of a plug-in in the model, as options of `pate verify` and `pate predict`."""
        return [word for of in self.facts.get("trust", ()) for word in ("--trust", str(of))]

    def _details(self) -> list[Section]:
        facts, quality = self.facts, self.quality
        public = [bare(text) for text in facts["public"]]
        if self.opened:
            of = f"{self.opened:,} of the {count_of(self.sizes['n_records'], 'record')}"
            for_others = f"the guarantee is for the other {self.protected:,}"
            public[:1] = [f"the columns of {of}, in this and every later release; {for_others}"]
        every: list[Section] = []
        if quality and len(quality.classes) > MOST:
            every = [Section(f"All {len(quality.classes):,} classes", [("table", quality.table(None))])]
        words = {key: text for key, text in _WORDS.items() if quality or key == "ledger"}
        return [
            *every,
            Section(f"What eps {self.eps_shown} and delta mean", [("p", text) for text in self._meaning()]),
            Section("What is not protected", [("list", [bare(text) for text in facts["not_covered"]])]),
            Section("What is public", [("list", public)]),
            Section(f"The {count_of(self.data['n_features'], 'column')} it reads", self._columns()),
            Section("How it was made, and its files", self._made()),
            Section("Words", [("words", words)]),
        ]

    def _meaning(self) -> list[str]:
        used = self.facts["eps_ex_post"]
        words = self.guarantee.get("in_words")  # not in certificates of earlier versions
        how = bare(words) if words else f"its proof is that of the {bare(self.guarantee['how'])}"
        if self.facts.get("chosen"):
            how += ". It was chosen among candidates by noisy counts, within the same eps"
        if self.quality:
            how += ". Other records are only counted, with noise, to say how good it is; that costs no more"
        unit = (self.guarantee.get("protects") or {}).get("unit")
        texts = [
            meaning_of_eps(f"all records of one {bare(unit)}" if unit else RECORD),
            f"delta, here {_decimal(self.delta)}: {GLOSSARY['delta']}",
            f"The guarantee is a theorem about the procedure, not a measurement. How: {how}.",
            "Releases from these records add up. The ledger keeps the sum, and refuses more than its total.",
        ]
        if used is not None and used < 0.99 * self.eps:
            needed = f"The answers that came out would have needed {used:.2g}"
            texts.append(f"**Guaranteed: eps {self.eps_shown}.** {needed}; do not count that in place of it.")
        return texts

    def _made(self) -> list[Block]:
        facts, ledger = self.facts, self.facts["ledger"]
        text = f"Method {name(facts['mechanism'])}"
        text += f", which chose {name(facts['chosen'])}" if facts.get("chosen") else ""
        text += f"; {self._teachers}" if facts["n_teachers"] else ""
        text += f". Configuration {facts['config_hash']}, in full in `result.json`."
        text += f" Ledger {ledger['fingerprint'][:12]}, entry {ledger['entry']}."
        cells = [
            [name(of), str(about.get("bytes", "")), name(about["sha256"][:16])]
            for of, about in facts.get("files", {}).items()
            if isinstance(about, Mapping)
        ]
        columns = [Head("file", numeric=False), Head("bytes"), Head("SHA-256, first 16", numeric=False)]
        note = "`pate verify` compares them in full."
        return [("p", text), ("table", Table(columns, cells, note=note, title="Files"))]

    @property
    def _teachers(self) -> str:
        n, labels, asked = (self.facts[key] for key in ("n_teachers", "n_answered", "n_asked"))
        return f"{count_of(n, 'teacher')} gave {count_of(labels, 'label')} for {count_of(asked, 'question')}"

    def _columns(self) -> list[Block]:
        classes = f"It names: {', '.join(map(quoted, self.data['classes'])) or 'nothing, without classes'}."
        if origin := self.data.get("classes_from"):  # none in a certificate of an earlier version
            classes += f" Where these classes are from: {bare(origin)}."
        if others := self.data.get("other_labels"):
            classes += f" To learn from, a record with any other label was taken for {quoted(others)}; such a"
            classes += " record is one that the model has wrong."
        columns, schema = self.data["columns"], self.data["schema"] or {}
        if not schema:
            column_names = ", ".join(map(name, columns)) if columns else "numbered features of a LIBSVM file"
            return [("p", f"{column_names}."), ("p", classes)]
        cells = [[name(of), _accepted(entry), _origin(entry)] for of, entry in schema.items()]
        heads = ("column", "accepted", "bounds or levels from")
        table = Table([Head(head, numeric=False) for head in heads], cells, title="Columns")
        return [("table", table), ("p", classes)]

    def report(self, left: str = "") -> Report:
        """What a terminal shows; `left` is a last sentence, on what is left in the ledger."""
        quality, notes = self.quality, list[str]()
        does = "nothing is known of how good it is" if self.has_model else "noisy answers, without a model"
        if quality:
            n = count_of(quality.evaluation["n"], self.who)
            if warned := plain(quality.caution) or ("" if quality.two else quality.compared):
                notes.append(warned)
            notes.append(f"Measured with noise on {n} not learned from, so it may be published.")
        elif self.has_model:
            notes.append("With evaluate=0.2 it would have said how good it is, at the same eps.")
        if self.opened:
            of = f"The columns of {count_of(self.opened, 'record')} are public now"
            notes.append(f"{of}; the guarantee is for the others.")
        answer = f"Published in {bare(self.place)}, under {self.under}: {does}."
        if quality:
            does = quality.clause.removeprefix("is ")
            answer = f"Published in {bare(self.place)}: {does}, under {self.under}."
        return Report(
            answer=f"{answer} {left}".strip(),
            table=quality.printed() if quality else Table([], []),
            page=self.page,
            lines=() if quality else self._lines(),
            notes=notes,
            explain=[f"{word}: {text}" for word, text in _WORDS.items()] if quality else (),
            next_step=(
                "check it, and see its card",
                [["pate", "verify", self.place, *self._trust], page_command(self.place)],
            ),
        )

    def _lines(self) -> list[tuple[str, str, str]]:
        """A release that was not measured: label, value and note."""
        delta, sizes = f"delta {_decimal(self.delta)}", self.sizes
        trained_on = f"{self.who}s, and {count_of(sizes['n_public'], 'public point')}"
        lines = [("guarantee", f"eps {self.eps_shown}", f"{delta}; {bare(self.guarantee['neighbours'])}")]
        lines.append(("made from", f"{sizes['n_private']:,}", trained_on))
        if self.facts["n_teachers"]:
            n, _, note = self._teachers.split(" ", 2)
            lines.append(("teachers", n, note))
        return lines


def _accepted(entry: Mapping[str, Any]) -> str:
    """What a column takes; `values` are levels in a certificate of an earlier version."""
    kind, levels = entry["kind"], entry.get("levels", entry.get("values"))
    if kind == "category":
        text = "category" if levels is None else f"one of {', '.join(map(quoted, levels[:_FEW]))}"
        if levels is not None and len(levels) > _FEW:
            ends = f"{quoted(levels[0])} to {quoted(levels[-1])}"
            text = f"one of {len(levels):,}: {ends}; all in `certificate.json`"
    else:
        text = "date" if kind == "date" else "number"
        text += f" in {quoted(entry['unit'])}" if entry.get("unit") else ""
        if entry.get("low") is not None:
            text += f" from {_bound(entry['low'])} to {_bound(entry['high'])}"
            text += "; values beyond are moved to the end"
    return text + ("; may be missing" if entry.get("missing") is True else "")


def _origin(entry: Mapping[str, Any]) -> str:
    origin = bare(entry.get("from", ""))
    return "the public points" if origin == "public share" else origin


def _bound(value: Any) -> str:
    return bare(value) if isinstance(value, str) else f"{value:.6g}"


def _decimal(value: float) -> str:
    """A small number without an exponent, in three digits."""
    value = rounded_up(value, 3)
    if value < 1e-9:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")
