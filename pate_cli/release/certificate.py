"""What a release certifies: the facts, the card people read, and the code that ties them to the ledger.

`facts` puts together what is certified, of public values alone. `certificate.json` holds it, the SHA-256 of
every other file and a code under the owner's key; `model_card.md` says the same in words; the student's file
carries the facts as metadata.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pate_cli.release.ledger import keyed

if TYPE_CHECKING:
    from pate_cli.release.files import ReleaseContent

__all__ = ["CARD", "CERTIFICATE", "Charge", "facts", "model_card", "sha256", "signed"]

CERTIFICATE = "certificate.json"
CARD = "model_card.md"


@dataclass(frozen=True)
class Charge:
    """The entry of a ledger that pays for a release. PUBLIC.

    Attributes
    ----------
    id : str
        Of the release.
    time : str
        When it was charged; UTC, ISO 8601.
    purpose : str
    fingerprint : str
        Of the dataset: keyed, so that it tells nothing of its content.
    number : int
        Of the entry, from 0.
    code : str
        Of the entry, which depends on all entries before it; see `ledger.chain`.
    unrecorded_note : str
        What is not known of earlier releases; empty if all is.
    """

    id: str
    time: str
    purpose: str
    fingerprint: str
    number: int
    code: str
    unrecorded_note: str = ""


def facts(content: ReleaseContent) -> dict[str, Any]:
    """Put together what a release certifies.

    Parameters
    ----------
    content : ReleaseContent

    Returns
    -------
    dict
        In JSON's own types; no file is named in it.
    """
    charge, sizes = content.charge, content.sizes
    neighbours, unit = content.protects
    return {
        "schema_version": 1,
        "release": charge.id,
        "time": charge.time,
        "purpose": charge.purpose,
        "mechanism": content.mechanism,
        "config_hash": content.config_hash,
        "guarantee": {
            "eps": content.guarantee.eps,
            "delta": content.guarantee.delta,
            "how": content.guarantee.how,
            "neighbours": neighbours,
            "unit": unit,
        },
        "eps_ex_post": content.ex_post.eps,
        "n_teachers": content.n_teachers,
        "n_asked": content.answers.n_asked,
        "n_answered": content.answers.n_answered,
        "data": {
            "dataset": content.dataset,
            "columns": None if content.columns is None else list(content.columns),
            "schema": None
            if content.schema is None
            else {name: dict(held) for name, held in content.schema.items()},
            "n_features": sizes["n_features"],
            "classes": list(content.classes),
        },
        "sizes": dict(sizes),
        "public": [
            f"the {sizes['n_public']} public points, which have a file of their own"
            if content.public_file
            else f"the features of the {sizes['n_public']} public points, and which records they are",
            "the numbers of private records (or persons), columns and teachers; names of columns and classes",
            "the configuration: mechanism, learners, split, eps and delta",
            "the answers in answers.csv, and the student: both are made of what the mechanism released",
        ],
        "not_covered": [
            *([] if content.public_file else ["records that are public points: their features are open"]),
            "whatever was learnt from these records elsewhere, in another ledger or without one, as by"
            " experiments whose figures were looked at before this configuration was chosen",
            f"more than {unit}: of k that belong together, eps is k times as large at least",
            "how long the release took, and what else the machine shows",
            *([charge.unrecorded_note] if charge.unrecorded_note else []),
        ],
        "versions": dict(content.versions),
        "ledger": {"fingerprint": charge.fingerprint, "entry": charge.number, "code": charge.code},
    }


def signed(certified: Mapping[str, Any], files: Mapping[str, bytes], key: bytes) -> dict[str, Any]:
    """Add the files, and a code under the key of the ledger's owner.

    Parameters
    ----------
    certified : mapping
        See `facts`.
    files : mapping of str to bytes
        Every other file of the release.
    key : bytes
    """
    content = {**certified, "files": {name: sha256(data) for name, data in sorted(files.items())}}
    return content | {"mac": keyed(key, content)}


def sha256(data: bytes) -> str:
    """Compute the SHA-256 of bytes, hex."""
    return hashlib.sha256(data).hexdigest()


def model_card(certified: Mapping[str, Any]) -> str:
    """Say in words what is certified.

    Parameters
    ----------
    certified : mapping
        See `facts`.

    Returns
    -------
    str
        Markdown, a function of `certified` alone.
    """
    guarantee, data, sizes = certified["guarantee"], certified["data"], certified["sizes"]
    ledger = certified["ledger"]
    columns = f"{data['n_features']} columns"
    if data["columns"] is not None:
        columns += ": " + ", ".join(map(_code, data["columns"]))
    records = "records" if guarantee["unit"] == "one record" else f"units ({_text(guarantee['unit'])})"
    versions = ", ".join(f"{name} {version}" for name, version in certified["versions"].items() if version)
    lines = [
        f"# Student of {_code(data['dataset'])}, release {certified['release']}",
        "",
        f"Purpose: {_text(certified['purpose']) or 'not stated'}. Charged {certified['time']}.",
        "",
        "## Guarantee",
        "",
        f"({guarantee['eps']:.6g}, {guarantee['delta']:.6g})-differential privacy, neighbours: "
        f"{_text(guarantee['neighbours'])}. Protected unit: {_text(guarantee['unit'])}."
        f" By: {_text(guarantee['how'])}.",
        "",
        f"After the fact, from the answers: eps_ex_post {_number(certified['eps_ex_post'])}"
        " (data-dependent: a report, not a guarantee).",
        "",
        "## How it was made",
        "",
        f"Mechanism {_code(certified['mechanism'])}, {certified['n_teachers']} teachers, "
        f"{sizes['n_private']} private {records}; {certified['n_answered']} of {certified['n_asked']} "
        f"queries on {sizes['n_public']} public points answered. Configuration {certified['config_hash']}, in"
        " full in result.json.",
        "",
        f"Data: {columns}. Classes: {', '.join(map(_code, data['classes']))}.",
        "",
        *_columns(data.get("schema")),
        "## What is public",
        "",
        *_list(certified["public"]),
        "",
        "## What is not covered",
        "",
        *_list(certified["not_covered"]),
        "",
        "## Where it is on record",
        "",
        f"Ledger {ledger['fingerprint'][:12]}, entry {ledger['entry']}. `pate verify DIR` checks this folder"
        " against it.",
        "",
        f"Versions: {versions}.",
    ]
    return "\n".join(lines) + "\n"


def _columns(schema: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    """What each column holds, a line each; releases of before it was certified have none."""
    lines = []
    for name, column in (schema or {}).items():
        if column["kind"] == "numeric":
            low, high = column["low"], column["high"]
            held = "numbers" if low is None else f"numbers from {_number(low)} to {_number(high)}, clipped"
        elif column["values"] is None:
            held = "categories, those of the public points"
        else:
            held = "categories: " + ", ".join(map(_code, column["values"]))
        lines.append(f"- {_code(name)}: {held}" + ("; may be missing" if column["missing"] else "") + ".")
    return [*lines, ""] if lines else []


def _list(items: Sequence[str]) -> list[str]:
    return [f"- {_text(item)}." for item in items]


def _text(text: str) -> str:
    """Keep text to one line, and from being read as Markdown or HTML."""
    flat = " ".join(text.split())
    for char in "\\`*_<>[]#|":
        flat = flat.replace(char, "\\" + char)
    return flat


def _code(name: str) -> str:
    return "`" + " ".join(json.dumps(name, ensure_ascii=False)[1:-1].replace("`", "'").split()) + "`"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | int) else str(value)
