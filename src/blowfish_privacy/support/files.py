"""Writing files completely or not at all, and removing what must not outlive the process."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from blowfish_privacy.errors import DataError

# What must not outlive this process: folders with private rows, and files that are not finished.
#
# A private folder is locked for as long as its process lives. The operating system lifts the lock however the process
# ends, so the next one can tell what was left behind, and removes it.

try:
    import fcntl
except ImportError:  # no locks on folders on this system, so nothing is swept
    fcntl = None

PREFIX = "blowfish-private-"
_ATTEMPTS = 20

_folders: set[PrivateFolder] = set()
_unfinished: set[str] = set()


class PrivateFolder:
    """A new folder for this user alone, under the system's temporary one (``TMPDIR``)."""

    def __init__(self) -> None:
        sweep()
        self._owner = os.getpid()
        self._lock: int | None = None
        while True:
            self.path = os.path.join(tempfile.gettempdir(), f"{PREFIX}{token_hex(8)}")
            _folders.add(self)
            os.mkdir(self.path, 0o700)
            self._lock = _locked(self.path, wait=True)
            # Another process may have swept the folder before it was locked.
            if os.path.isdir(self.path):
                return
            self._unlock()

    def remove(self) -> None:
        """Remove the folder with all that is in it; a process that was forked leaves it to its parent."""
        if os.getpid() != self._owner:
            return
        self.empty()
        self._unlock()
        _folders.discard(self)

    def empty(self) -> None:
        """Remove the folder, and be ready to do it again: a scan that has not stopped yet may go on writing."""
        for _ in range(_ATTEMPTS):
            shutil.rmtree(self.path, ignore_errors=True)
            if not os.path.lexists(self.path):
                return

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None


def sweep() -> None:
    """Remove the private folders of this user's processes that are gone."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for path in [entry.path for entry in entries if entry.name.startswith(PREFIX)]:
            lock = _locked(path, wait=False)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _locked(path: str, *, wait: bool) -> int | None:
    """Lock a folder of this user's and return what holds the lock; None where that cannot be done."""
    if fcntl is None:
        return None
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(held).st_uid == os.getuid():
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return held
    except OSError:  # somebody else holds it, or this file system has no locks
        pass
    os.close(held)
    return None


@contextmanager
def unfinished(path: str) -> Generator[None]:
    """Remove a file when the body ends, whatever ends it, unless it has been renamed."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unlink(path)
        _unfinished.discard(path)


def remove_private() -> None:
    """Remove all private folders at once, even while something is writing to them."""
    for folder in list(_folders):
        folder.empty()


def remove_everything() -> None:
    """Remove all that must not outlive this process, just before it ends."""
    remove_private()
    for path in list(_unfinished):
        _unlink(path)


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


IN_THE_LEDGER = "nothing was lost: the release is in the ledger."
"""What to say when the file of a release cannot be written."""


def make_folder(path: Path) -> None:
    """Make a folder, if it is not there, into which files can be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
    raise DataError(f"nothing can be written into {path}: {reason}.", hint="choose another folder.")


def make_durable(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: str | Path, content: bytes | Iterable[bytes], *, hint: str | None = None) -> None:
    """Write a file under a temporary name, make it durable, and rename it in one step. Its mode follows the umask.

    What is large may be given in pieces.
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError("the path of a file to write is not valid.")
    target = Path(path)
    part = str(target.parent / f".{target.name}.{token_hex(4)}.part")
    try:
        with unfinished(part):
            with open(part, "xb") as file:
                file.writelines([content] if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
    raise DataError(f"{target} cannot be written: {reason}.", hint=hint)
