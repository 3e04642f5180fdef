"""Where the file of a ledger is: noticing a second path, a copy, a file put back.

SQLite names its journal by the path that a file is opened under. One file under two paths has two journals, and what
one path leaves behind in a crash would later undo what was charged through the other. So a ledger records its place and
is only used there: its folder, its name in that folder, and the file itself. A folder mounted elsewhere is the same
folder, and a safe mount.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.errors import LedgerError

LOGS = ("-journal", "-wal")
"""What SQLite adds to a file's name for what is not yet, or no longer, in the file."""


@dataclass(frozen=True)
class Place:
    """A folder, a name in it, and a file, by their inode numbers; the numbers of devices change at a restart."""

    folder: str
    name: str
    file: str

    @classmethod
    def of(cls, path: Path) -> Place:
        """Find the place of a file; refuse a file with a second name."""
        state = os.lstat(path)
        if not stat.S_ISREG(state.st_mode):
            raise LedgerError(f"{path.name} is not a file.", hint="give the ledger a name that no other file has.")
        if state.st_nlink > 1:
            raise LedgerError(
                f"{path.name} has {state.st_nlink} names (hard links), but a ledger may have only one.",
                hint="remove the others. A crash while it was made may leave one beside it, named .ledger-...",
            )
        return cls(str(os.stat(path.parent).st_ino), path.name, str(state.st_ino))

    def check(self, recorded: Place) -> None:
        """Refuse a file that is not where it was recorded to be."""
        if self == recorded:
            return
        if (self.folder, self.name) == (recorded.folder, recorded.name):
            raise LedgerError(
                f"{self.name} is not the file that was there before: it was restored from a backup, or replaced by a "
                "copy. Charges made since the copy are not in it, and could be spent again.",
                hint="put the right file back. Where it is lost, count what your records say is missing as spent, "
                f"release no more than the rest, and run: blowfish ledger moved {self.name}.",
            )
        raise LedgerError(
            f"{self.name} is not in its place: the ledger was recorded as {recorded.name} in "
            f"{'this' if self.folder == recorded.folder else 'another'} folder. It was moved or copied, or this is "
            "a second name or a mount of the single file. Two copies in use would spend the budget twice.",
            hint="use it where it was, and mount its folder, not the file. If it was moved, and no other copy or name "
            f"of it is in use any more, run: blowfish ledger moved {self.name}.",
        )

    def check_move(self, recorded: Place, path: Path) -> None:
        """Refuse a move that evidently left the original or its log behind."""
        old = path.with_name(recorded.name)
        if self.folder != recorded.folder or self.name == recorded.name:
            return
        if old.exists() and str(old.stat().st_ino) == recorded.file:
            raise LedgerError(
                f"{path.name} is a copy of {old.name}, which still exists: both would spend the budget twice.",
                hint=f"use {old.name}, or remove it first.",
            )
        for log in logs(old):
            raise LedgerError(
                f"{path.name} was moved without its log {log.name}.",
                hint="give both their old names back, then open it.",
            )


def logs(path: Path) -> list[Path]:
    """List the logs beside a ledger's path that are not empty."""
    return [log for ending in LOGS if _size(log := path.with_name(path.name + ending))]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        # A writer that finishes removes its journal at any moment.
        return 0
