"""The workshop: what all tabs of a studio look at and change together.

Pages call it from one thread. Planning and publishing run in others, and tell of themselves through :attr:`post`, which
hands a call over to the pages' thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from blowfish_privacy.engines import located
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.noise import BitSource
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.studio.draft import Draft, Problem
from blowfish_privacy.studio.planning import PlanCache, Planning
from blowfish_privacy.studio.public_answers import is_remote
from blowfish_privacy.studio.publishing import Offer, Publisher
from blowfish_privacy.studio.signal import Listener, Signal
from blowfish_privacy.support.postgresql import confirm, is_confirmed, named_servers


def _at_once(act: Listener) -> None:
    act()


class Workshop:
    """A draft, its plans, and what is being published; three signals say when one of them changed.

    ``source`` replaces the operating system's random bits, for tests: releases made with it say that they are not
    private. ``plan=False`` leaves planning to :meth:`begin`, so that the first page need not wait for it.
    """

    def __init__(self, draft: Draft, *, source: BitSource | None = None, plan: bool = True) -> None:
        self.draft = draft
        self.changed, self.planned, self.published = Signal(), Signal(), Signal()
        self.post: Callable[[Listener], None] = _at_once
        """Calls something in the pages' thread; the launch replaces it by the server's way."""
        self.publisher = Publisher(source=source, changed=lambda: self.post(self._moved))
        self.planning: Planning | None = None
        """The latest plans; :attr:`stale` says whether the file has changed since."""
        self.planning_problem: Problem | None = None
        self.stale = draft.good is not None
        self._cache = PlanCache()
        self._planner = ThreadPoolExecutor(1, "planning")
        self._wanted: tuple[PolicyFile, Path] | None = None
        if plan:
            self.replan()

    @property
    def file(self) -> PolicyFile | None:
        """The file as it was when it was last valid; None before there is a policy."""
        return self.draft.good

    @property
    def unfinished(self) -> bool:
        """Whether the file has no policy yet."""
        return self.draft.file is None and self.draft.problem is None

    @property
    def broken(self) -> bool:
        """Whether the text is wrong, so that forms have nothing to change."""
        return self.draft.problem is not None

    @property
    def body(self) -> dict[str, Any]:
        """The plain values of the file, to be changed and handed to :meth:`change`; empty while the text is wrong."""
        body = self.draft.body
        return body if isinstance(body, dict) else {}

    @property
    def data(self) -> str | None:
        """Where the data are, as an engine opens them."""
        named = self.body.get("data")
        return None if not isinstance(named, str) or not named else located(named, self.draft.folder)

    @property
    def unconfirmed(self) -> list[str]:
        """The servers that the file names and that this user has not confirmed: nothing is asked of them."""
        named, found = (self.body.get(key) for key in ("data", "ledger")), dict[str, None]()
        for each in named:
            if isinstance(each, str) and is_remote(each):
                with suppress(BlowfishError):
                    found |= dict.fromkeys(named_servers(each))
        return [server for server in found if not is_confirmed(server)]

    def confirm(self, server: str) -> None:
        """Remember that this user knows a server, and plan with what it says."""
        confirm(server)
        self.changed.fire()
        self.replan()

    @property
    def suggested_path(self) -> Path:
        """Where a new file would be saved: named after its data, in the folder that relative paths start from."""
        if self.draft.path is not None:
            return self.draft.path
        named = self.body.get("data")
        stem = Path(named).stem if isinstance(named, str) and "://" not in named else ""
        return (self.draft.folder / f"{stem or 'release'}.yaml").absolute()

    @property
    def another_path(self) -> Path:
        """A name beside the file that no file has yet, to save it under too."""
        path = self.suggested_path
        names = (path if number == 1 else path.with_stem(f"{path.stem}-{number}") for number in count(1))
        return next(name for name in names if not name.exists())

    def change(self, body: Any) -> Problem | None:
        """Take new plain values from a form; nothing changes, and the problem is returned, if they are not valid."""
        if self.broken:
            return Problem("the file has an error.", "mend it in the file, or undo.", self._line)
        problem = self.draft.change(body)
        if problem is None:
            self._tell()
        return problem

    def write(self, text: str) -> None:
        """Take a whole text from the editor, valid or not."""
        self.draft.write(text)
        self._tell()

    def undo(self) -> None:
        """Take back the last change."""
        if self.draft.undo():
            self._tell()

    def redo(self) -> None:
        """Make the change again that was taken back last."""
        if self.draft.redo():
            self._tell()

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the file; see :meth:`.Draft.save`."""
        self.draft.save(path, replace=replace)
        self._tell()

    def publish(self, offer: Offer, text: str) -> None:
        """Begin to publish what was offered when the file had this text, and save that first; refuse another file."""
        if self.broken or self.draft.text != text:
            raise SpecError("the file has changed since you were asked.", hint="cancel, and review it again.")
        if not self.draft.saved and self.draft.path is not None:
            self.save(self.draft.path)
        # What is published belongs to the file on disk, which others may have changed meanwhile.
        self.draft.check_on_disk()
        self.publisher.publish(offer)

    def begin(self) -> None:
        """Plan, unless that was done before."""
        if self._wanted is None:
            self.replan()

    def replan(self) -> None:
        """Plan the file anew in the background: after a change of it, or of its ledger. The latest wish wins."""
        file = self.file
        self._wanted = None if file is None else (file, self.draft.folder)
        self.stale = self._wanted is not None
        if self._wanted is None:
            self.planning, self.planning_problem = None, None
        else:
            self._planner.submit(self._plan, self._wanted)
        self.planned.fire()

    def close(self) -> None:
        """Let the planner go; what is being published is not touched."""
        self._planner.shutdown(wait=False, cancel_futures=True)

    @property
    def _line(self) -> int | None:
        return None if self.draft.problem is None else self.draft.problem.line

    def _tell(self) -> None:
        self.changed.fire()
        if self._wanted is None or self._wanted != (self.file, self.draft.folder):
            self.replan()

    def _plan(self, wanted: tuple[PolicyFile, Path]) -> None:
        if wanted is not self._wanted:
            return
        try:
            made, problem = Planning.of(*wanted, self._cache), None
        except BlowfishError as error:
            made, problem = None, Problem.of(error)
        except Exception as error:
            # What is not ours may quote anything, so only its kind is said.
            made, problem = (
                None,
                Problem(f"planning failed ({type(error).__name__}).", "look at the file."),
            )
        self.post(lambda: self._take(wanted, made, problem))

    def _take(self, wanted: tuple[PolicyFile, Path], made: Planning | None, problem: Problem | None) -> None:
        if wanted is self._wanted:
            self.planning, self.planning_problem, self.stale = made, problem, False
            self.planned.fire()

    def _moved(self) -> None:
        self.published.fire()
        if not self.publisher.busy:
            self.replan()
