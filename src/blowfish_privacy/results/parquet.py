"""Tables as Parquet, which say in their metadata which release document they were written from."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_ORIGIN = "blowfish-privacy release document SHA-256"

Column = npt.NDArray[Any]


def parquet(columns: Mapping[str, Column], *, document: str) -> bytes:
    """Return a table as Parquet; its metadata name the document."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="blowfish-") as folder, duckdb.connect() as connection:
        path = Path(folder) / "table.parquet"
        # Dates are handed over as times, which DuckDB knows from NumPy, and written as dates.
        dated = [name for name, column in columns.items() if column.dtype.kind == "M"]
        held = {name: column.astype("datetime64[s]") if name in dated else column for name, column in columns.items()}
        connection.register("released", held)
        cast = ", ".join(f'CAST("{name}" AS DATE) AS "{name}"' for name in map(_doubled, dated))
        chosen = f"(SELECT * REPLACE ({cast}) FROM released)" if dated else "released"  # noqa: S608  # names are quoted
        origin = f"{{'{_ORIGIN}': '{_fingerprint(document)}'}}"
        connection.execute(f"COPY {chosen} TO '{_escaped(str(path))}' (FORMAT parquet, KV_METADATA {origin})")
        return path.read_bytes()


def written_from(document: str, content: bytes) -> bool:
    """Say whether a Parquet file was written from a release document."""
    return all(part.encode() in content for part in (_ORIGIN, _fingerprint(document)))


def columns_of(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Column]:
    """Turn the rows of a table into columns: numbers where all cells are, else text."""
    names = distinct(header)
    return {name: typed([row[at] for row in rows]) for at, name in enumerate(names)}


def distinct(names: Sequence[str]) -> list[str]:
    """Number names that differ in upper and lower case at most, which Parquet readers take for one column."""
    made: dict[str, str] = {}
    for name in names:
        number, chosen = 2, name
        while chosen.casefold() in made:
            number, chosen = number + 1, f"{name}_{number}"
        made[chosen.casefold()] = chosen
    return [*made.values()]


def typed(cells: Sequence[Any]) -> Column:
    """Return cells as an array of whole numbers, of numbers, of truth values, of dates, or else of text."""
    kinds = {type(cell.item() if isinstance(cell, np.generic) else cell) for cell in cells}
    if kinds <= {bool}:
        return np.array(cells, dtype=np.bool_)
    if kinds <= {int} and all(-(2**63) <= int(cell) < 2**63 for cell in cells):
        return np.array(cells, dtype=np.int64)
    if kinds <= {int, float}:
        return np.array(cells, dtype=np.float64)
    if kinds == {date}:
        return np.array(cells, dtype="datetime64[D]")
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [str(cell) for cell in cells]
    return texts


def _doubled(name: str) -> str:
    return name.replace('"', '""')


def _escaped(text: str) -> str:
    return text.replace("'", "''")


def _fingerprint(document: str) -> str:
    return sha256(document.encode()).hexdigest()
