"""Recipes of tables and figures to reproduce, read from `experiments/NAME/recipe.yaml`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pate_cli.checks import CheckedBy, OneOf, Real, Whole, known, take
from pate_cli.config.hydra_composition import packaged
from pate_cli.engine.rows import RowSpec
from pate_cli.errors import InputError
from pate_cli.results.findings import About
from pate_cli.results.verdicts import LABELS, OWN

__all__ = [
    "FILE",
    "KINDS",
    "STUDY",
    "CountedAs",
    "Recipe",
    "find_recipe",
    "names",
    "read_recipe",
]

FILE = "recipe.yaml"
KINDS = ("printed", "tested", "algebra", "own")
"""Kinds of claims: printed numbers, statements tested on data, statements computed, questions of our own."""
STUDY = "study.py"
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class CountedAs:
    """What verdicts of a recipe are counted as: a claim of a paper, or a question of our own."""

    kind: str  # one of `KINDS`
    names: tuple[str, ...]  # how the names of the verdicts begin
    claim: str = ""  # paper, place, quantity; several verdicts, of several recipes, may speak of one
    each: bool = False  # every verdict is a claim by itself

    def claim_of(self, name: str) -> str:
        """Identity of the claim that a verdict speaks of."""
        return f"{self.claim}: {name}" if self.each else self.claim


@dataclass(frozen=True, kw_only=True)
class Recipe(About):
    """Content of a `recipe.yaml`."""

    kind: str  # runs, or study
    rows: tuple[RowSpec, ...] = ()
    quick: Any = None  # overrides of runs, or parameters of a study, that make the small version
    repeats: int = 30
    figures: tuple[dict[str, Any], ...] = ()  # see `pate_cli.results.recipe_figures`
    pairs: tuple[tuple[str, str], ...] = ()  # methods compared at the same splits: (of, minus)
    claims: tuple[dict[str, Any], ...] = ()  # see `pate_cli.results.claims.claim_verdicts`
    margin: float = 0.02  # accuracies closer than this count as the same
    labels: dict[str, Any] = field(default_factory=dict)  # words for claims, with how their names begin
    counts_as: tuple[CountedAs, ...] = ()  # claims that the verdicts speak of
    printed_error: dict[str, Any] = field(default_factory=dict)  # what the printed half widths are
    params: dict[str, Any] = field(default_factory=dict)  # of the study, or of the `study.py` beside runs
    data: tuple[str, ...] = ()  # datasets that the study reads
    notes: tuple[str, ...] = ()
    directory: Path = Path()  # with `recipe.yaml`, and `study.py` where there is one

    def counted_as(self, name: str) -> CountedAs:
        """What a verdict is counted as; controls are ours, and what the recipe says nothing of is a claim."""
        if name.startswith("control"):
            return CountedAs("own", (name,))
        for counted in self.counts_as:
            if name.startswith(counted.names):
                return counted
        return CountedAs("printed", (name,), self.name, each=True)

    def label_of(self, name: str) -> str:
        """Word that the recipe gives to a verdict, of `LABELS`."""
        for word, starts in self.labels.items():
            if any(name.startswith(start) for start in starts):
                return word
        return OWN if self.counted_as(name).kind == "own" else ""


def _text(given: Any) -> str:
    """Text on one line; ValueError if it is empty."""
    if not isinstance(given, str) or not given.strip():
        raise ValueError
    return " ".join(given.split())


def _loops(given: Any) -> dict[str, Any]:
    """Lists of values by key, or names with the overrides of each; ValueError otherwise."""
    for values in (loops := dict(given or {})).values():
        lists = list(values.values()) if isinstance(values, dict) else [values]
        if not all(isinstance(each, list) for each in lists):
            raise ValueError
    return loops


def _label_lists(given: Any) -> dict[str, list[str]]:
    """Beginnings of claims by the word they get; ValueError otherwise."""
    words = [word for word in LABELS if word != OWN]
    if not all(word in words and isinstance(starts, list) for word, starts in dict(given or {}).items()):
        raise ValueError
    return {word: list(map(str, starts)) for word, starts in dict(given or {}).items()}


def _counts_as(given: Any) -> tuple[CountedAs, ...]:
    """Claims that verdicts speak of; ValueError otherwise."""
    entries = []
    for entry in map(dict, given or ()):
        if not isinstance(entry.get("names"), list) or entry.get("kind") not in KINDS:
            raise ValueError
        if (entry["kind"] == "own") == bool(entry.get("claim")):
            raise ValueError
        entries.append(CountedAs(**entry | {"names": tuple(map(str, entry["names"]))}))
    return tuple(entries)


def _printed_error(given: Any) -> dict[str, Any]:
    """Repeats that printed means are of, and what their half widths are; ValueError otherwise."""
    content = dict(given or {})
    if content and (content.keys() != {"repeats", "half_width"} or content["half_width"] not in _HALF_WIDTHS):
        raise ValueError
    if content:
        take("repeats", content["repeats"], Whole(2))
    return content


_HALF_WIDTHS = {"1.96 s/n": 0.5, "1.96 s/sqrt(n)": 0.0}
"""Forms of printed half widths; the standard error of the mean is h/1.96 times this power of n."""

_TEXT = CheckedBy(_text, "a text")
_MAY_BE_EMPTY = CheckedBy(lambda given: " ".join(str(given or "").split()), "a text")
_LIST = CheckedBy(lambda given: tuple(given or ()), "a list")
_MAPPING = CheckedBy(lambda given: dict(given or {}), "keys and values")
_RECIPE = {
    **dict.fromkeys(("title", "source", "shows"), _TEXT),
    "kind": OneOf(("runs", "study")),
    "settings": _LIST,
    "rows": _LIST,
    "quick": CheckedBy(lambda given: given or [], "overrides, or parameters of the study"),
    "repeats": Whole(1),
    "figure": CheckedBy(lambda given: [given] if isinstance(given, dict) else list(given or ()), "figures"),
    "pairs": CheckedBy(
        lambda given: tuple((str(of), str(minus)) for of, minus in given or ()), "[[OF, MINUS]]"
    ),
    "claims": _LIST,
    "margin": Real(0, 1, open_above=True),
    "labels": CheckedBy(_label_lists, f"lists of how claims begin, under {LABELS[0]}, {LABELS[2]}"),
    "counts_as": CheckedBy(
        _counts_as,
        f"a list of {{claim, kind, names, each}}, kind one of {', '.join(KINDS)}, own without claim",
    ),
    "printed_error": CheckedBy(_printed_error, f"repeats and half_width, one of {', '.join(_HALF_WIDTHS)}"),
    "params": _MAPPING,
    "data": _LIST,
    "printed": _MAPPING,
    "notes": CheckedBy(lambda given: tuple(map(_text, given or ())), "a list of texts"),
}
_ROW = {
    "name": _TEXT,
    **dict.fromkeys(("method", "panel", "note"), _MAY_BE_EMPTY),
    "overrides": CheckedBy(list, "a list of overrides"),
    "printed": _MAPPING,
    "for": CheckedBy(_loops, "a list of values for each key, or names with the overrides each stands for"),
}


def names() -> list[str]:
    """Name every recipe there is, sorted."""
    return sorted(path.parent.name for path in packaged("experiments").glob(f"*/{FILE}"))


def find_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or by the path of a directory with a `recipe.yaml`; raises InputError."""
    if name in names():
        return read_recipe(packaged("experiments") / name)
    if ("/" in name or name == ".") and (Path(name) / FILE).is_file():
        return read_recipe(Path(name))
    raise InputError(f"{name}: no such recipe; there are: {', '.join(names())}, or a directory with {FILE}")


def read_recipe(directory: Path) -> Recipe:
    """Read the recipe of one directory; an InputError names the file and the key that is not accepted."""
    path = directory / FILE
    try:
        keys = _read(_load(path), _RECIPE, {"repeats": Recipe.repeats, "margin": Recipe.margin})
        settings = tuple(map(str, keys.pop("settings")))
        rows = [
            row
            for index, row_keys in enumerate(keys.pop("rows"))
            for row in _rows(row_keys, f"rows[{index}]")
        ]
        rows = [
            replace(
                row,
                overrides=settings + row.overrides,
                printed=_with_error(row.printed, keys["printed_error"]),
            )
            for row in rows
        ]
        if keys["kind"] == "runs" and not rows:
            raise InputError("rows: missing; a recipe of kind runs needs it")
        if keys["kind"] == "study" and not (directory / STUDY).is_file():
            raise InputError(f"kind: study; needs a {STUDY} beside it")
        twice = [row.name for row in rows if [other.name for other in rows].count(row.name) > 1]
        if twice:
            raise InputError(f"rows: two are named {twice[0]!r}; names must differ")
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    figures = tuple(keys.pop("figure"))
    keys["quick"] = keys["quick"] or ({} if keys["kind"] == "study" else [])
    return Recipe(
        name=directory.resolve().name, rows=tuple(rows), figures=figures, directory=directory, **keys
    )


def _with_error(printed: dict[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """Printed numbers of a row with the standard error of its mean accuracy, by its printed half width."""
    if not rule or "ci" not in printed:
        return printed
    power = rule["repeats"] ** _HALF_WIDTHS[rule["half_width"]]
    return printed | {"error": printed["ci"] / 1.96 * power, "repeats": rule["repeats"]}


def _load(path: Path) -> Any:
    from omegaconf import OmegaConf

    try:
        return OmegaConf.to_container(OmegaConf.load(path))
    except OSError as error:
        raise InputError(f"{error.strerror or error}") from error
    except Exception as error:  # of YAML or OmegaConf: many classes, one meaning
        raise InputError(f"not valid YAML: {error}") from error


def _read(given: Any, checks: Mapping[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Check the values of keys; raises InputError."""
    if not isinstance(given, dict) or not given:
        raise InputError(f"got {given!r}; accepted: the keys {', '.join(checks)}")
    known("", given, tuple(checks))
    return {key: take(key, (defaults | given).get(key), check) for key, check in checks.items()}


def _rows(given: Any, where: str) -> Iterator[RowSpec]:
    """One row, or one for each combination of the values under `for`, put in where `{key}` stands.

    Where a key has names with overrides in place of values, those of the name come after the row's own.
    """
    try:
        row = _read(given, _ROW, {})
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    loops, printed, overrides = row.pop("for"), row.pop("printed"), row.pop("overrides")
    for values in itertools.product(*loops.values()):
        chosen = dict(zip(loops, values, strict=True))
        chosen_lists = [loops[key][name] for key, name in chosen.items() if isinstance(loops[key], dict)]
        texts = [_filled(text, chosen) for text in [*overrides, *itertools.chain(*chosen_lists)]]
        filled = {key: _filled(text, chosen) for key, text in row.items()}
        yield RowSpec(**filled, overrides=tuple(texts), printed=dict(printed))


def _filled(text: Any, chosen: Mapping[str, Any]) -> str:
    """Put the chosen values in where `{key}` stands."""

    def value(found: re.Match[str]) -> str:
        chosen_value = chosen.get(found[1], found[0])
        return f"{chosen_value:g}" if isinstance(chosen_value, float) else str(chosen_value)

    return _FIELD.sub(value, str(text))
