"""Files that people bring in place of a table of text, known by their first bytes."""

from __future__ import annotations

import re

__all__ = ["other_format"]

_FORMATS = {
    rb"PK\x03\x04": "a spreadsheet, to be saved as CSV, or an archive (then its name ends in .zip)",
    rb"\xd0\xcf\x11\xe0": "a spreadsheet, to be saved as CSV",
    rb"PAR1(?![\w \t,;|.\"'\r\n-])": "a Parquet file (dataset=parquet; its name ends in .parquet)",
    rb"ARROW1\0": "an Arrow or Feather file, to be saved as Parquet",
    rb"\x1f\x8b|\xfd7zXZ|BZh\d1AY": "compressed (then its name ends in .gz, .xz or .bz2)",
    rb"\x28\xb5\x2f\xfd": "compressed by zstd, to be unpacked",
    rb".{257}ustar|7z\xbc\xaf|Rar!\x1a": "an archive (tar, 7z or rar), to be unpacked",
    rb"\$FL[23]@|.{84}SAS FILE|HEADER RECORD\*": "a file of SPSS or SAS, to be saved as CSV",
    rb"<stata_dta|[qrs][\x01\x02]\x01\0": "a file of Stata, to be saved as CSV",
    rb"SQLite format|\x89HDF|MATLAB 5": "a file of SQLite, HDF5 or Matlab, to be saved as CSV",
    rb"\x93NUMPY": "a single array of NumPy, to be saved as X and y of an .npz file (dataset=npz)",
    rb"(?i:(\s|%[^\n]*\n)*@relation\s)": "an ARFF file, to be saved as CSV",
    rb"%PDF-|\x80[\x02-\x05]": "a PDF, or a pickle of Python, to be saved as CSV",
    rb"version https://git-lfs": "a pointer of Git LFS (git lfs pull gets the file)",
    rb"(?i:<(!doctype|html|table|\?xml))": "a page or XML, to be saved as CSV",
}
"""What a file is that begins so; names of columns, as par1, do not."""


def other_format(raw: bytes) -> str:
    """What a file is that is no CSV, and what to do with it; empty where nothing says so."""
    return next((what for mark, what in _FORMATS.items() if re.match(mark, raw, re.DOTALL)), "")
