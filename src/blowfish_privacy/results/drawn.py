"""What has a picture: its figure as PNG, SVG and PDF, and as a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from blowfish_privacy.results.pictures.figure import ending_of, picture
from blowfish_privacy.support.files import IN_THE_LEDGER, write_atomically


class Drawn(ABC):
    """Something that can be drawn. Pictures of a release say which document they were drawn from."""

    @abstractmethod
    def figure(self) -> Any:
        """Return a matplotlib figure."""

    def _drawn_from(self) -> str | None:
        """Return the release document that a picture refers to, if there is one."""
        return None

    def png(self) -> bytes:
        """Return the figure as PNG."""
        return self._picture("png")

    def svg(self) -> bytes:
        """Return the figure as SVG."""
        return self._picture("svg")

    def pdf(self) -> bytes:
        """Return the figure as PDF."""
        return self._picture("pdf")

    def plot(self, path: str | Path) -> None:
        """Write the figure: as PNG, SVG or PDF, as the path ends."""
        write_atomically(path, self._picture(ending_of(path)), hint=IN_THE_LEDGER)

    def _picture(self, ending: str) -> bytes:
        return picture(self.figure(), ending, document=self._drawn_from())
