"""Compressed files of a user: unpacked in pieces, up to a size that goes by the file's own."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any

from pate_cli.errors import DataError

__all__ = ["check_members", "unpacked"]

_TIMES = 100
"""Texts and tables shrink to a tenth or so; what unpacks to more than so many times its size fills memory."""
_ANYWAY = 2**26  # bytes that are read whatever the file's size is
_PIECE = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_OPEN: dict[str, Callable[[io.BytesIO], Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_ENCRYPTED = 0x1  # bit of a member's flags


def unpacked(raw: bytes, suffix: str) -> bytes:
    """Content of a file, by the ending of its name (in small letters); itself where it is no packed one.

    DataError says what is accepted, without the file's name.
    """
    try:
        if suffix == ".zip":
            return _unzipped(raw)
        if suffix not in _OPEN:
            return raw
        with _OPEN[suffix](io.BytesIO(raw)) as file:
            return _in_pieces(file, len(raw))
    except MemoryError:
        raise DataError("unpacked, it does not fit into memory") from None
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile):
        raise DataError("the compressed file is cut short or damaged") from None


def check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse a zip archive of `size` bytes that Python cannot read, or that unpacks to too much."""
    members = archive.infolist()
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise DataError(f"{member.filename!r} in it has a password; accepted: an archive without one")
        if member.compress_type not in _METHODS:
            accepted = "deflate (8, as most programs write), bzip2 (12), lzma (14), or stored (0)"
            raise DataError(
                f"its method of compression has number {member.compress_type}; accepted: {accepted}"
            )
    _check_size(sum(member.file_size for member in members), size)


def _check_size(unpacked: int, size: int) -> None:
    """Refuse more bytes than a file of `size` bytes may unpack to."""
    if unpacked > (most := max(_ANYWAY, _TIMES * size)):
        size_in_words = f"{most // 10**6:,} MB, for a file of {size:,} bytes"
        raise DataError(f"it unpacks to more than {size_in_words}; if that is meant, give it uncompressed")


def _in_pieces(file: IO[bytes], size: int) -> bytes:
    content = io.BytesIO()
    while piece := file.read(_PIECE):
        content.write(piece)
        _check_size(content.tell(), size)
    return content.getvalue()


def _unzipped(raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        hidden = re.compile(r"__MACOSX/|(.*/)?\.[^/]*$")  # macOS adds these
        members = [each for each in members if not hidden.match(each.filename)]
        if len(members) != 1:
            raise DataError(f"holds {len(members)} files; accepted: an archive of one")
        check_members(archive, len(raw))
        try:
            with archive.open(members[0]) as file:
                return _in_pieces(file, len(raw))
        except (NotImplementedError, RuntimeError) as error:  # what else Python's reader has no code for
            raise DataError(f"the archive cannot be read ({error})") from None
