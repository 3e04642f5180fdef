"""The folders of the machine, for choosing a table in them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.errors import DataError
from blowfish_privacy.support.postgresql import Address, is_address, refuse_address

TABLES = (".csv", ".tsv", ".parquet", ".duckdb", ".db")
_MOST = 500


@dataclass(frozen=True)
class Folder:
    """What may be chosen in one folder: folders to enter, and tables."""

    path: Path
    folders: tuple[str, ...]
    tables: tuple[str, ...]
    more: bool = False
    """Whether there is more than is listed."""

    @property
    def is_table(self) -> bool:
        """Whether the folder itself can be read as one table: it holds Parquet files."""
        return any(name.endswith(".parquet") for name in self.tables)


def look_into(folder: str | Path) -> Folder:
    """List a folder, or say why it cannot be listed."""
    try:
        path = Path(folder).expanduser().resolve()
        with os.scandir(path) as entries:
            found = [(entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith(".")]
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
        raise DataError(f"{folder} cannot be listed: {reason}.", hint="choose another folder.") from None
    names = sorted(found, key=lambda each: each[0].casefold())
    folders = tuple(name for name, is_folder in names if is_folder)
    tables = tuple(name for name, is_folder in names if not is_folder and name.lower().endswith(TABLES))
    return Folder(path, folders[:_MOST], tables[:_MOST], more=max(len(folders), len(tables)) > _MOST)


def check_place(data: str) -> None:
    """Refuse what can be no place of a table, above all an address with a password, before it gets into a file."""
    if is_address(data):
        Address.parse(data, ours=("table", "query"), error=DataError)
    else:
        refuse_address(data, DataError)
