"""The draft: the text of a policy file on its way from a form or an editor to the disk.

The text is the one truth. A form changes the plain values that the text stands for, and only if the result is a valid
file; an editor hands over whole texts, which may be wrong, and then :attr:`Draft.problem` says what and where.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from blowfish_privacy.errors import BlowfishError, DataError, SpecError
from blowfish_privacy.privacy.measure import Budget
from blowfish_privacy.release import spec
from blowfish_privacy.release.spec import FILE, Locator, PolicyFile, check_file
from blowfish_privacy.support import yaml_edit, yaml_text
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.limits import FILE_CHARACTERS
from blowfish_privacy.support.postgresql import is_address
from blowfish_privacy.support.text import decoded

# What a policy file says about other files, when it goes to another folder: the same files, by other paths.


def is_remote(data: str) -> bool:
    """Say whether data are asked of a server or a cluster: they may be anywhere but in a folder of this machine."""
    return is_address(data) or data.startswith("spark:")


def from_folder(data: str, folder: Path) -> str:
    """Write where a table is, as a policy file in a folder names it: relative if it lies there."""
    if is_remote(data):
        return data
    path = Path(data).expanduser()
    if not path.is_absolute():
        return data
    try:
        return path.relative_to(folder.absolute()).as_posix()
    except ValueError:
        return str(path)


def moved(body: dict[str, Any], before: Path, after: Path) -> dict[str, Any]:
    """Write the paths of a file as they are from another folder; a ledger that does not exist yet will be beside it."""
    changed = deepcopy(body)
    if isinstance(data := changed.get("data"), str) and data:
        changed["data"] = _from(data, before, after)
    ledger = changed.get("ledger")
    if isinstance(ledger, str) and ledger and not is_address(ledger) and (before / ledger).exists():
        changed["ledger"] = _from(ledger, before, after)
    for declared in changed.get("policy", {}).get("domain", {}).values():
        hierarchy = declared.get("hierarchy")
        if isinstance(hierarchy, dict) and "file" in hierarchy:
            hierarchy["file"] = _from(hierarchy["file"], before, after)
    return changed


def _from(path: str, before: Path, after: Path) -> str:
    if is_remote(path) or Path(path).is_absolute():
        return path
    return from_folder(str(before.absolute() / path), after)


_STEPS = 200
"""How many steps can be undone."""
_BEGINNING = frozenset({"version", "data", "ledger", "budget"})
"""What a file may hold before it has a policy."""
_ANY_POLICY = {"domain": {"any": {"integer": [0, 1]}}, "secrets": "full"}


@dataclass(frozen=True)
class Problem:
    """What is wrong with a text or a change, and where."""

    message: str
    hint: str | None = None
    line: int | None = None

    @classmethod
    def of(cls, error: BlowfishError) -> Problem:
        """Take over what an error says."""
        return cls(error.message, error.hint, error.line)


Answer = TypeVar("Answer")


def tried(act: Callable[[], Answer], failure: str, hint: str | None = None) -> Answer | Problem:
    """Return what an act returns, or the problem that it met.

    What is not an error of ours may quote a value of the data, so only its kind is said, after ``failure``.
    """
    try:
        return act()
    except BlowfishError as error:
        return Problem.of(error)
    except Exception as error:
        return Problem(f"{failure} ({type(error).__name__}).", hint)


class OverwriteError(DataError):
    """A file would be overwritten that is not the one that was opened, or that somebody changed since."""


@dataclass(frozen=True)
class _Reading:
    """A text, and what it stands for: a file, a problem, or neither while there is no policy yet."""

    text: str
    folder: Path
    body: Any
    file: PolicyFile | None
    problem: Problem | None

    @classmethod
    def of(cls, text: str, folder: Path) -> _Reading:
        body = None
        try:
            body = yaml_text.parse(text)
            if body is not None and not (isinstance(body, dict) and body.keys() <= _BEGINNING):
                return cls(text, folder, body, spec.loads(text, folder), None)
            body = body or {}
            whole = {"version": 1, **body, "policy": _ANY_POLICY}
            check_file(whole, Locator.of_text(text, whole))
            if body.get("budget") is not None:
                Budget.read(body["budget"], "budget")
            return cls(text, folder, body, None, None)
        except BlowfishError as error:
            return cls(text, folder, body, None, Problem.of(error))


class Draft:
    """The text of one policy file, with its past, and the file on disk that it came from."""

    def __init__(self, text: str = "", *, folder: str | Path = ".") -> None:
        self.path: Path | None = None
        self._folder = Path(folder)
        self._newline = "\n"
        self._on_disk: bytes | None = None
        self._undone: list[_Reading] = []
        self._done: list[_Reading] = []
        self._now = _Reading.of(text, self._folder)
        self.good = self._now.file
        """The last valid file there was: the current one, if the text is valid."""
        self.good_body: Any = self._now.body if self._now.problem is None else {}
        """The plain values of the last valid text, to be looked at and not changed."""
        self._saved_text: str | None = None if text else ""
        self._written: int | None = None

    @classmethod
    def open(cls, path: str | Path) -> Draft:
        """Open a policy file, whether or not it is valid; an error says why it cannot be read."""
        place = Path(path)
        content = _content(place)
        text = decoded(content, place)
        draft = cls(text.replace("\r\n", "\n"), folder=place.parent)
        draft._newline = "\r\n" if text.count("\n") == text.count("\r\n") > 0 else "\n"
        draft.path, draft._on_disk, draft._saved_text = place, content, draft.text
        return draft

    @property
    def text(self) -> str:
        """The text as it is now."""
        return self._now.text

    @property
    def body(self) -> Any:
        """The plain values of the text, to be changed and handed to :meth:`change`; None where it is not YAML."""
        return deepcopy(self._now.body)

    @property
    def file(self) -> PolicyFile | None:
        """What the text says, if it is a whole and valid file."""
        return self._now.file

    @property
    def problem(self) -> Problem | None:
        """What is wrong with the text; nothing is, if it is valid or has no policy yet."""
        return self._now.problem

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the file start from."""
        return self._folder if self.path is None else self.path.parent

    @property
    def saved(self) -> bool:
        """Whether the file on disk has this text."""
        return self._saved_text == self.text

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to do again."""
        return bool(self._undone)

    def write(self, text: str) -> Problem | None:
        """Take a whole text from an editor, valid or not. What is typed into one line is one step to undo."""
        text = text.replace("\r\n", "\n")
        if text == self.text:
            return self.problem
        line = _only_line_changed(self.text, text)
        joins = line is not None and line == self._written and bool(self._done)
        self._step(_Reading.of(text, self.folder), joins=joins)
        self._written = line
        return self.problem

    def change(self, body: Any) -> Problem | None:
        """Take new plain values from a form; nothing changes if they do not make a valid file."""
        try:
            text = yaml_edit.edited(self.text, body)
        except BlowfishError as error:
            return Problem.of(error)
        reading = _Reading.of(text, self.folder)
        if reading.problem is None and text != self.text:
            self._step(reading, joins=False)
            self._written = None
        return reading.problem

    def undo(self) -> bool:
        """Go one step back; say whether there was one."""
        return self._move(self._done, self._undone)

    def redo(self) -> bool:
        """Do the last step that was undone again; say whether there was one."""
        return self._move(self._undone, self._done)

    def save(self, path: str | Path | None = None, *, replace: bool = False) -> None:
        """Write the text to its file, or to another one from now on.

        A file that is not the one that was opened, or that changed on disk since, is overwritten only with ``replace``,
        and only by a policy file: whatever is none is kept. A link stays one, and the file it leads to is written.
        In another folder, paths are written so that they lead to the same files as before.
        """
        target = self.path if path is None else Path(path)
        if target is None:
            raise DataError("the draft has no file yet.", hint="say where to save it.")
        text, elsewhere = self.text, target.parent.absolute() != self.folder.absolute()
        if self.problem is None and elsewhere:
            text = yaml_edit.edited(text, moved(self._now.body, self.folder, target.parent))
        content = text.replace("\n", self._newline).encode()
        self._keep_others(target)
        if not replace:
            self._check_overwriting(target)
        place = os.path.realpath(target) if target.is_symlink() else target
        write_atomically(place, content, hint="choose another place, or make room there.")
        self.path, self._on_disk, self._saved_text = target, content, text
        if text != self.text:
            self._step(_Reading.of(text, self.folder), joins=False)
        elif self._now.folder != self.folder:
            self._show(_Reading.of(text, self.folder))

    def check_on_disk(self) -> None:
        """Refuse to go on if the file on disk is not as it was opened or last saved."""
        if self.path is None:
            return
        if not self.path.exists():
            raise OverwriteError(f"{self.path} is not there any more.", hint="save the file again.")
        self._check_overwriting(self.path)

    def _keep_others(self, target: Path) -> None:
        """Refuse to write over what is no policy file: a ledger, a table, a release, a folder, a link to nothing."""
        if not os.path.lexists(target):
            return
        content = _content(target) if target.is_file() else None
        # What was opened may be broken, and is mended here.
        if content is not None and self._is_own(target) and content == self._on_disk:
            return
        if content is None or not _is_policy_file(content, target):
            raise DataError(
                f"{target} exists and is no policy file, so it is kept.",
                hint="choose another name, or move it away.",
            )

    def _is_own(self, target: Path) -> bool:
        return self.path is not None and target.resolve() == self.path.resolve()

    def _check_overwriting(self, target: Path) -> None:
        if not target.exists():
            return
        if not self._is_own(target):
            raise OverwriteError(f"there is a file {target} already.", hint="choose another name, or replace it.")
        if _content(target) != self._on_disk:
            raise OverwriteError(
                f"{target} was changed by something else since it was opened.",
                hint="save under another name, or replace what is there.",
            )

    def _step(self, reading: _Reading, *, joins: bool) -> None:
        if not joins:
            self._done = [*self._done, self._now][-_STEPS:]
        self._undone.clear()
        self._show(reading)

    def _move(self, back: list[_Reading], forth: list[_Reading]) -> bool:
        if not back:
            return False
        forth.append(self._now)
        self._written = None
        self._show(back.pop())
        return True

    def _show(self, reading: _Reading) -> None:
        self._now = reading
        if reading.problem is None:
            self.good, self.good_body = reading.file, reading.body


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # A device has no size and no end; no valid file has more bytes than four for each character.
            return file.read(4 * FILE_CHARACTERS + 1)
    except OSError as error:
        reason = error.strerror
    except ValueError:
        reason = "the path is not valid"
    raise SpecError(f"{path} cannot be read: {reason}.")


def _is_policy_file(content: bytes, path: Path) -> bool:
    """Say whether a file is made like a policy file, whatever mistakes are in it."""
    try:
        body = yaml_text.parse(decoded(content, path))
    except BlowfishError:
        return False
    return isinstance(body, dict) and body.get("version") == 1 and body.keys() <= set(FILE.keys)


def _only_line_changed(before: str, after: str) -> int | None:
    """Find the one line in which two texts differ, if it is one."""
    old, new = before.split("\n"), after.split("\n")
    if len(old) != len(new):
        return None
    different = [number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    return different[0] if len(different) == 1 else None
