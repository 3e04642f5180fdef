"""Files as sources: which kind a path is, and how DuckDB is told to read it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import escape, glob, has_magic
from pathlib import Path

from blowfish_privacy.engines.sources.csv import CSVSource
from blowfish_privacy.engines.sources.database import DatabaseSource
from blowfish_privacy.engines.sources.parquet import ParquetSource
from blowfish_privacy.engines.sources.sources import Source
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.postgresql import refuse_address

_DATABASES = (".duckdb", ".db")
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv")
_KINDS = "a .csv or .tsv file, a .parquet file, pattern or folder, or a .duckdb file"


def open_path(given: str, memory_limit: str | None) -> Source:
    """Open the file, files or table a path stands for; the file is not read yet."""
    refuse_address(given, DataError)
    path, _, table = given.rpartition("::")
    if path.endswith(_DATABASES):
        return DatabaseSource(_readable(path), table, memory_limit)
    if given.endswith(_DATABASES):
        return DatabaseSource(_readable(given), None, memory_limit)
    if os.path.isdir(given):
        # By common convention, files whose names begin with _ or . are not data.
        files = glob(os.path.join(escape(given), "*.parquet"))
        return _parquet(given, sorted(f for f in files if os.path.basename(f)[0] not in "_."), memory_limit)
    suffix = os.path.splitext(given)[1].lower()
    if suffix in _PARQUET:
        pattern = has_magic(given) and not os.path.exists(given)
        return _parquet(given, sorted(glob(given, recursive=True)) if pattern else [given], memory_limit)
    if suffix in _CSV:
        return CSVSource(_readable(given), memory_limit)
    if os.path.exists(given):
        raise DataError(f"{given!r} is not a known kind of file.", hint=f"data can be {_KINDS}.")
    raise DataError(f"there is no file {given!r}.", hint=f"data can be {_KINDS}.")


def _parquet(given: str, files: Sequence[str], memory_limit: str | None) -> Source:
    if not files:
        raise DataError(f"there are no Parquet files in {given!r}.", hint="they must end in .parquet.")
    return ParquetSource([_readable(file) for file in files], memory_limit)


def _readable(path: str) -> str:
    """Return the full path of a file that can be opened."""
    if os.path.isdir(path):
        raise DataError(f"{path!r} is a folder.", hint="only a folder of Parquet files can be read as a whole.")
    if not os.path.isfile(path):
        raise DataError(f"there is no file {path!r}.", hint=f"the current folder is {Path.cwd()}.")
    if not os.access(path, os.R_OK):
        raise DataError(f"no permission to read the file {path!r}.", hint="ask its owner for it.")
    return os.path.abspath(path)
