"""How a reproduction is run: on which data, how thoroughly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blowfish_privacy.version import __version__

EPSILONS = tuple(f"{tenths / 10:.1f}" for tenths in range(1, 11))
QUICK_EPSILONS = ("0.1", "0.5", "1.0")
"""Those at which the k-means figures could be read."""


@dataclass(frozen=True)
class Run:
    """The paper's parameters, or fewer of everything."""

    data: str | None
    """A folder with the real data; None for synthetic stand-ins."""
    quick: bool = False

    @property
    def synthetic(self) -> bool:
        """Whether the data are stand-ins."""
        return self.data is None

    @property
    def epsilons(self) -> tuple[str, ...]:
        """The privacy losses along a curve."""
        return QUICK_EPSILONS if self.quick else EPSILONS

    @property
    def repeats(self) -> int:
        """How often each point of the ordered figures is repeated."""
        return 10 if self.quick else 50

    @property
    def clusterings(self) -> int:
        """How often each point of the k-means figures is repeated."""
        return 3 if self.quick else 50

    @property
    def ranges(self) -> int:
        """How many random ranges are asked."""
        return 10_000

    @property
    def kept_in(self) -> str:
        """The folder of finished points; one for each way of running, so that none writes over another's."""
        return "-".join(["points", *(["quick"] if self.quick else []), *(["synthetic"] if self.synthetic else [])])

    def identity(self, contents: dict[str, str]) -> dict[str, Any]:
        """Say what results must agree on to be used again; ``contents`` are fingerprints of the files they rest on."""
        return {"quick": self.quick, "synthetic": self.synthetic, "data": contents, "version": __version__}
