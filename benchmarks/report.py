"""One row for every claim of speed or accuracy: what was compared with whom, and what each of the two guarantees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import median

NOTHING = "no privacy at all"
OURS = "(epsilon, policy)-Blowfish; under full-domain secrets that is bounded differential privacy"


@dataclass(frozen=True)
class Row:
    """A ratio, theirs over ours or ours over theirs as ``name`` says, measured side by side in one run."""

    name: str
    command: str
    peer: str
    version: str
    guarantee: str
    """What the peer guarantees, so that nobody compares apples with pears."""
    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, name: str, command: str, peer: str, guarantee: str, ratios: Sequence[float]) -> Row:
        """Take the median of the ratios of all rounds, with the smallest and the largest."""
        package = peer.split()[0].rstrip(",")
        return cls(name, command, peer, installed(package), guarantee, median(ratios), min(ratios), max(ratios))


def installed(package: str) -> str:
    """Return a package's version; what is no package is ours, or a published number."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def markdown(rows: Sequence[Row]) -> str:
    """Write one table."""
    lines = [
        f"Ours guarantees {OURS}.",
        "",
        "| claim | ratio (smallest to largest) | peer | version | the peer guarantees | command |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = f"{row.ratio:.3g} ({row.low:.3g} to {row.high:.3g})"
        cells = (row.name, ratio, row.peer, row.version, row.guarantee, f"`{row.command}`")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def as_json(rows: Sequence[Row]) -> str:
    """Write the rows for a program."""
    return json.dumps([asdict(row) for row in rows], indent=2)
