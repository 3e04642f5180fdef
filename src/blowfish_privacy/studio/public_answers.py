"""What the data said when they were asked for public numbers: asked once, however often a file is planned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates.aggregates import AttributeSets
from blowfish_privacy.domain import Domain
from blowfish_privacy.engines import Engine, located, open_engine
from blowfish_privacy.errors import DataError
from blowfish_privacy.studio.recent_failures import RecentFailures
from blowfish_privacy.support.postgresql import is_address


class PublicAnswers:
    """Remembers the public numbers of data files; a file that has changed is asked again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Any] = {}
        self._lock = Lock()
        self._failures = RecentFailures()

    def of(self, data: str | None, folder: Path) -> Asking:
        """Return what may be asked for the public numbers of the data that a file in a folder names."""
        if data is None:
            raise DataError("the file names no data.")
        return Asking(located(data, folder), self)

    def answer(self, key: tuple[object, ...], ask: Callable[[], Any]) -> Any:
        """Return the answer that is kept, or ask and keep it."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        answer = self._failures.attempt(key[0], ask) if is_remote(str(key[0])) else ask()
        with self._lock:
            return self._kept.setdefault(key, answer)


class Asking:
    """Asks one table, and only what has not been asked before."""

    def __init__(self, data: str, answers: PublicAnswers) -> None:
        self._data, self._answers = data, answers
        self._stamp = (data, *_state(data))

    def rows(self) -> int:
        """Return the number of rows."""
        return self._answers.answer((*self._stamp, "rows"), lambda: self._asked(lambda engine: engine.rows()))

    def counts(self, domain: Domain, sets: AttributeSets) -> list[npt.NDArray[np.int64]]:
        """Return the table of each set of attributes."""
        # What is counted depends on how the attributes are declared, treatment of undeclared values included.
        declared = tuple((tuple(names), repr([domain.project([name]) for name in names])) for names in sets)
        return self._answers.answer(
            (*self._stamp, declared), lambda: self._asked(lambda engine: engine.counts(domain, sets))
        )

    def _asked(self, ask: Callable[[Engine], Any]) -> Any:
        """Open the data for one question, and let go of files, memory and connections after it."""
        engine = open_engine(self._data)
        try:
            return ask(engine)
        finally:
            engine.close()


def is_remote(data: str) -> bool:
    """Say whether data are asked of a server or a cluster, which may take its time to fail."""
    return is_address(data) or data.startswith("spark:")


def _state(data: str) -> tuple[int, int]:
    """Return when a file was changed and its size; zeros for what is no file, which is asked once."""
    try:
        found = Path(data).stat()
    except (OSError, ValueError):
        return 0, 0
    return found.st_mtime_ns, found.st_size
