"""Recipes of tables and figures to reproduce, read from `experiments/NAME/recipe.yaml`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pate_cli.config.composition import packaged
from pate_cli.errors import InputError

__all__ = ["FILE", "STUDY", "Recipe", "RowSpec", "find_recipe", "names", "read_recipe"]

FILE = "recipe.yaml"
STUDY = "study.py"
MARGIN = 0.02
"""Accuracies closer than this count as the same, where a recipe states no `margin` of its own."""

KINDS = ("runs", "study")
_KEYS = {
    "title", "source", "shows", "kind", "rows", "quick", "repeats", "figure", "pairs", "claims",
    "params", "printed", "notes", "margin", "data",
}  # fmt: skip
_ROW_KEYS = {"name", "method", "panel", "overrides", "printed", "note", "for"}
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class RowSpec:
    """One row of a table: a configuration, and what the paper prints for it.

    Attributes
    ----------
    name : str
        Unique within the recipe.
    method : str
        As the paper calls it; empty for the name of the mechanism.
    panel : str
        Rows of one panel belong together, in figures and paired differences.
    overrides : tuple of str
        As after `pate run`.
    printed : dict of str to number
        What the paper prints (for runs: queries, queries_ci, eps, eps_ex_post, accuracy, ci); may be empty.
    note : str
    """

    name: str
    method: str = ""
    panel: str = ""
    overrides: tuple[str, ...] = ()
    printed: dict[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Recipe:
    """Content of a `recipe.yaml`.

    Attributes
    ----------
    name, title, source, shows : str
        `source`: paper, table or figure, page. `shows`: one sentence.
    kind : {"runs", "study"}
    rows : tuple of RowSpec
        Of runs.
    quick : list of str (runs) or dict (study)
        Overrides, or parameters, that make the small version.
    repeats : int
    figures : tuple of dict
        See `pate_cli.reproduce.figures`.
    pairs : tuple of (str, str)
        Methods compared at the same splits: (of, minus).
    claims : tuple of dict
        See `pate_cli.reproduce.verdicts.claim_verdicts`.
    margin : float
        By how much an accuracy may be off the printed one and count as the same.
    params : dict
        Of the study, or of the `study.py` beside a recipe of runs.
    data : tuple of str
        Datasets that the study reads.
    printed : dict
        What the paper prints that is not of a row: shown in the report as it stands.
    notes : tuple of str
    directory : Path
        With `recipe.yaml`; `study.py` too where it is a study, or runs have views of their own.
    """

    name: str
    title: str
    source: str
    shows: str
    kind: str
    rows: tuple[RowSpec, ...] = ()
    quick: Any = None
    repeats: int = 30
    figures: tuple[dict[str, Any], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    claims: tuple[dict[str, Any], ...] = ()
    margin: float = MARGIN
    params: dict[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    printed: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    directory: Path = Path()


def names() -> list[str]:
    """Name every recipe there is, sorted."""
    return sorted(path.parent.name for path in packaged("experiments").glob(f"*/{FILE}"))


def find_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or by the path of a directory with a `recipe.yaml` in it.

    Raises
    ------
    InputError
        If there is none, naming those there are; or if it cannot be read.
    """
    if name in names():
        return read_recipe(packaged("experiments") / name)
    if ("/" in name or name == ".") and (Path(name) / FILE).is_file():
        return read_recipe(Path(name))
    raise InputError(f"{name}: no such recipe; there are: {', '.join(names())}, or a directory with {FILE}")


def read_recipe(directory: Path) -> Recipe:
    """Read the recipe of one directory.

    Raises
    ------
    InputError
        Names the file and the key that is not accepted.
    """
    path = directory / FILE
    content = _load(path)
    if unknown := sorted(content.keys() - _KEYS):
        raise InputError(f"{path}: {unknown[0]}: no such key; there are: {', '.join(sorted(_KEYS))}")
    for key in ("title", "source", "shows", "kind"):
        if not isinstance(content.get(key), str) or not content[key].strip():
            raise InputError(f"{path}: {key}: got {content.get(key)!r}; accepted: a text")
    kind = content["kind"]
    if kind not in KINDS:
        raise InputError(f"{path}: kind: got {kind!r}; accepted: {', '.join(KINDS)}")
    if kind != "study" and not content.get("rows"):
        raise InputError(f"{path}: rows: missing; a recipe of kind {kind} needs it")
    if kind == "study" and not (directory / STUDY).is_file():
        raise InputError(f"{path}: kind: study; needs a {STUDY} beside it")
    rows = tuple(
        row for index, given in enumerate(content.get("rows") or []) for row in _rows(given, index, path)
    )
    seen: set[str] = set()
    for row in rows:
        if row.name in seen:
            raise InputError(f"{path}: rows: two are named {row.name!r}; names must differ")
        seen.add(row.name)
    repeats = content.get("repeats", 30)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise InputError(f"{path}: repeats: got {repeats!r}; accepted: a whole number >= 1")
    margin = content.get("margin", MARGIN)
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 < margin < 1:
        raise InputError(f"{path}: margin: got {margin!r}; accepted: a number in (0, 1)")
    figure = content.get("figure") or []
    return Recipe(
        name=directory.resolve().name,
        **{key: " ".join(content[key].split()) for key in ("title", "source", "shows")},
        kind=kind,
        rows=rows,
        quick=content.get("quick") or ({} if kind == "study" else []),
        repeats=repeats,
        figures=tuple(figure if isinstance(figure, list) else [figure]),
        pairs=tuple((str(of), str(minus)) for of, minus in content.get("pairs") or []),
        claims=tuple(content.get("claims") or []),
        margin=float(margin),
        params=dict(content.get("params") or {}),
        data=tuple(map(str, content.get("data") or ())),
        printed=dict(content.get("printed") or {}),
        notes=tuple(" ".join(str(note).split()) for note in content.get("notes") or []),
        directory=directory,
    )


def _load(path: Path) -> dict[str, Any]:
    from omegaconf import OmegaConf

    try:
        content: Any = OmegaConf.to_container(OmegaConf.load(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except Exception as error:  # of YAML or OmegaConf: many classes, one meaning
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: empty; accepted: the keys of a recipe")
    return {str(key): value for key, value in content.items()}


def _rows(given: Any, index: int, path: Path) -> list[RowSpec]:
    """One row, or one for each combination of the values under `for`, put in where `{key}` stands.

    Where a key has names with overrides in place of values, those of the name come after the row's own.
    """
    where = f"{path}: rows[{index}]"
    if not isinstance(given, Mapping) or (unknown := sorted(given.keys() - _ROW_KEYS)):
        got = repr(given) if not isinstance(given, Mapping) else unknown[0]
        raise InputError(f"{where}: got {got}; accepted: the keys {', '.join(sorted(_ROW_KEYS))}")
    overrides = given.get("overrides")
    if not given.get("name") or not isinstance(overrides, list):
        raise InputError(f"{where}: needs a name and a list of overrides")
    loops = given.get("for") or {}
    if not isinstance(loops, Mapping) or not all(map(_is_loop, loops.values())):
        accepted = "a list of values for each key, or names with the overrides each stands for"
        raise InputError(f"{where}: for: got {loops!r}; accepted: {accepted}")
    rows = []
    for values in itertools.product(*(values for values in loops.values())):
        chosen = {key: _plain(value) for key, value in zip(loops, values, strict=True)}
        named = [
            loops[key][value]
            for key, value in zip(loops, values, strict=True)
            if isinstance(loops[key], dict)
        ]
        extra = [text for texts in named for text in texts]

        def fill(text: Any, chosen: Mapping[str, str] = chosen) -> str:
            return _FIELD.sub(lambda m: chosen.get(m.group(1), m.group(0)), str(text))

        rows.append(
            RowSpec(
                name=fill(given["name"]),
                method=fill(given.get("method") or ""),
                panel=fill(given.get("panel") or ""),
                overrides=tuple(map(fill, [*overrides, *extra])),
                printed=dict(given.get("printed") or {}),
                note=" ".join(fill(given.get("note") or "").split()),
            )
        )
    return rows


def _is_loop(values: Any) -> bool:
    """Whether it is a list, or names with a list of overrides each."""
    named = isinstance(values, dict) and all(isinstance(texts, list) for texts in values.values())
    return named or isinstance(values, list)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
