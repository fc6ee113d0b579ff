"""Encoding of a text: stated, or the one whose letters explain it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from pate_cli.datasets.reading import Written
from pate_cli.errors import DataError

__all__ = ["MARKED", "as_utf8", "decoded", "marked"]

_MARKS = {
    b"\xff\xfe\0\0": "utf-32",  # before the one that it begins with
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}

MARKED = frozenset(_MARKS.values())

_LETTERS = {
    "cp1252": "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿœŒŸš°€£µ–—’‘“”„²³§«»·ºª½\xa0¿¡",
    "iso8859-15": "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿœŒŸšŠžŽ°€£µ§«»·ºª\xa0¿¡²³",
    "cp1254": "çğıöşüÇĞİÖŞÜâîû°€\xa0’–",
    "cp1250": "ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽőűŐŰöüÖÜäÄß°€\xa0–„”",
    "cp1251": "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯёЁіїєґІЇЄҐ№\xa0–«»",
    "cp1253": "αβγδεζηθικλμνξοπρςστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩάέήίόύώΆΈΉΊΌΎΏϊϋΐΰ\xa0«»–",
}
"""Letters of each encoding that are usual in the languages it is for."""

_OTHER_SCRIPTS = ("cp1251", "cp1253")


def marked(raw: bytes) -> str | None:
    """Encoding that the byte order mark of a text states; None without one."""
    return next((name for mark, name in _MARKS.items() if raw.startswith(mark)), None)


def as_utf8(raw: bytes, path: Path, encoding: str, first: int = 1) -> bytes:
    """Text in UTF-8, without a byte order mark; `first` is the number of its first line, for a message."""
    try:
        content = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeError as error:
        line = raw.count(b"\n", 0, getattr(error, "start", 0)) + first
        name = "UTF-8" if encoding.startswith("utf-8") else encoding
        raise DataError(f"{path}, line {line}: not {name} text") from None
    return content.encode("utf-8", "surrogatepass")


def decoded(raw: bytes, encoding: str | None, written: Written) -> bytes:
    """Text in UTF-8 with ends of lines as in Unix; `encoding` is what its owner, or a schema, says."""
    encoding = (marked(raw) if encoding in (None, "utf-8") else None) or encoding
    if encoding in _LETTERS and not raw.isascii() and _is_utf8(raw):
        encoding = "utf-8"  # by chance nothing else is
    if encoding is None and raw[1:2000:2].count(0) > 500:
        encoding = "utf-16-le"
    if encoding is None and raw[:2000:2].count(0) > 500:
        encoding = "utf-16-be"
    if encoding in (None, "utf-8", "utf-8-sig"):
        written.encoding = "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"
        raw = raw.removeprefix(codecs.BOM_UTF8)
        if not _is_utf8(raw):
            raw = _other_encoding(raw, encoding, written)
    elif encoding in _LETTERS:  # line by line: no record decides how others are read
        written.encoding = encoding
        lines = enumerate(_unix(raw).split(b"\n"), start=1)
        parts = [line if _is_utf8(line) else as_utf8(line, written.path, encoding, n) for n, line in lines]
        raw = b"\n".join(parts)
    else:
        written.encoding = encoding
        raw = as_utf8(raw, written.path, encoding)
    raw = raw.rstrip(b"\x1a\0\r\n")  # ends of files of old systems
    raw = _unix(raw)
    mark = b"\n" + codecs.BOM_UTF8  # of a second file that was appended
    return raw.replace(mark, b"\n") if mark in raw else raw


def _unix(raw: bytes) -> bytes:
    """A text whose lines end as in Unix."""
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _other_encoding(raw: bytes, declared: str | None, written: Written) -> bytes:
    """Text that is no UTF-8: of the encoding whose letters explain it, or UTF-8 with a few stray bytes."""
    hint = f"{written.key.format('encoding')} says what it is, as cp1252"
    text = raw.decode("utf-8", "surrogateescape")
    stray = {i for i, line in enumerate(text.split("\n"), 1) if any("\udc80" <= c <= "\udcff" for c in line)}
    good = sum(c > "\x7f" and not "\udc80" <= c <= "\udcff" for c in text)
    decide = len(stray) > 1 or (written.header and stray == {1})  # two lines, or the names of the columns
    if declared or good > 5 * len(stray) or not decide:
        written.refused += [(line, f"not UTF-8 text; {hint}") for line in sorted(stray)]
        shown = re.sub("[\udc80-\udcff]", "?", text)
        return shown.encode()
    odd = {name: _unexplained(raw, name) for name in _LETTERS}
    name, *others = sorted(odd, key=lambda encoding: len(odd[encoding]))
    text = raw.decode(name, "replace")
    most = len(odd[name]) + (len(stray) > 1)
    rivals = [
        encoding
        for encoding in others
        if len(odd[encoding]) <= most and raw.decode(encoding, "replace") != text
    ]
    if len(odd[name]) > 0.4 * len(stray):
        raise DataError(f"{written.path}: the encoding is none of utf-8, {', '.join(_LETTERS)}; {hint}")
    written.encoding = name
    words = sorted(set(re.findall(r"\w*[^\W\x00-\x7f]\w*", text)), key=lambda w: (-len(w), w))[:3]
    written.warnings.append(f"{name}: it reads {', '.join(words)}")
    if rivals:
        written.asked.append(("encoding", f"{name} or {rivals[0]}?"))
    return text.encode()


def _unexplained(raw: bytes, name: str) -> set[int]:
    """Lines with a character that is not usual in the languages of an encoding."""
    usual = set(_LETTERS[name])
    # a word of Latin letters has some of ASCII, one of others none, nor a large behind a small one
    other = "[A-Za-z][^\\W\\d_\x00-\x7f]|[^\\W\\d_\x00-\x7f][A-Za-z]|[а-яё][А-ЯЁ]|[α-ωά-ώ][Α-ΩΆ-Ώ]|ς\\w"
    latin = "[^\\W\\d_\x00-\x7f]{4}|[a-zß-ü][½¤§°£¿¡”“„«»][a-z]|\\b[œŒ]\\b"  # no sign within a word
    strange = re.compile(other if name in _OTHER_SCRIPTS else latin)
    lines = enumerate(raw.decode(name, "replace").split("\n"))
    odd = ((i, line) for i, line in lines if not line.isascii())
    return {i for i, line in odd if strange.search(line) or any(c > "\x7f" and c not in usual for c in line)}
