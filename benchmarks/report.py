"""One row for every claim of speed or accuracy: what was compared with whom, and what each of the two guarantees."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

NOTHING = "no privacy at all"
OURS = "(epsilon, policy)-Blowfish; under full-domain secrets that is bounded differential privacy"
AHEAD = "peer / ours"
"""How many times faster or more accurate than the peer: above 1, ours is in front."""
PRICE = "ours / peer"
"""How many times the cost of a peer that gives less: 1 would be for nothing."""


@dataclass(frozen=True)
class Row:
    """A ratio, measured side by side in one run; only errors from publications are taken as they are."""

    claim: str
    peer: str
    version: str
    guarantee: str
    """What the peer guarantees, so that nobody compares apples with pears."""
    direction: str
    """``AHEAD`` or ``PRICE``."""
    ratio: float
    low: float
    high: float

    @classmethod
    def of(
        cls, claim: str, peer: str, guarantee: str, direction: str, ratios: Sequence[float], published: str = ""
    ) -> Row:
        """Take the median of the ratios of all rounds, with the smallest and the largest.

        A peer's name begins with that of its package, or it is code of this repository, or ``published`` says where.
        """
        spread = (median(ratios), min(ratios), max(ratios))
        return cls(claim, peer, published or _version(peer.split()[0].rstrip(",")), guarantee, direction, *spread)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return f"blowfish-privacy {version('blowfish-privacy')}"


_HEADER = """\
| claim | | ratio | from - to | peer |
|---|---|---:|---:|---|"""
_PEERS = """\
| | peer | version | what it guarantees |
|---:|---|---|---|"""
_NUMBER_OF_PEER = re.compile(r" \[[0-9]+\]$")


def markdown(found: Mapping[str, Sequence[Row]]) -> str:
    """Write a table for every command, and one of all peers, which the others number."""
    lines = [
        f"Ours guarantees {OURS}.",
        f"*{AHEAD}*: how many times faster or more accurate ours is. *{PRICE}*: how many times the cost of a peer that",
        "gives less. Medians of several rounds, with the smallest and the largest. Peers are listed below.",
    ]
    peers: dict[tuple[str, str, str], int] = {}
    for command, rows in found.items():
        lines += ["", f"`{command}`", "", _HEADER]
        for row in rows:
            number = peers.setdefault((row.peer, row.version, row.guarantee), len(peers) + 1)
            spread = f"{_number(row.low)} - {_number(row.high)}" if row.low < row.high else ""
            measured = (row.claim, row.direction, _number(row.ratio), spread)
            lines.append("| " + " | ".join([*measured, f"{row.peer} [{number}]"]) + " |")
    lines += ["", _PEERS, *(f"| {number} | {' | '.join(peer)} |" for peer, number in peers.items())]
    return "\n".join([*lines, ""])


def stated(page: str) -> dict[tuple[str, str, str], float]:
    """Read the ratios of the tables on a page, by claim, direction and peer; of two the first counts."""
    found: dict[tuple[str, str, str], float] = {}
    for table in page.split(_HEADER)[1:]:
        for line in table.strip().split("\n\n")[0].splitlines():
            claim, direction, ratio, _, peer = (cell.strip() for cell in line.split("|")[1:-1])
            found.setdefault((claim, direction, _NUMBER_OF_PEER.sub("", peer)), float(ratio.replace(",", "")))
    return found


def compared(found: Mapping[str, Sequence[Row]], page: str, margin: float) -> tuple[list[str], list[str]]:
    """Return what was found beside what a page states, and of it what is off by more than the margin, or not stated."""
    known, lines, wrong = stated(page), [], []
    for row in (row for rows in found.values() for row in rows):
        ratio = known.get((row.claim, row.direction, row.peer))
        beside = "not on the page" if ratio is None else f"{_number(ratio)} on the page"
        lines.append(f"{row.claim} ({row.direction}, {row.peer}): {_number(row.ratio)}, {beside}")
        if ratio is None or not ratio / margin <= row.ratio <= ratio * margin:
            wrong.append(lines[-1])
    return lines, wrong


def _number(ratio: float) -> str:
    """Three digits that count, and no powers of ten to decipher."""
    return f"{float(f'{ratio:.3g}'):,.10g}" if ratio >= 100 else f"{ratio:.3g}"


def as_json(found: Mapping[str, Sequence[Row]]) -> str:
    """Write the rows for a program."""
    every = [{"command": command, **asdict(row)} for command, rows in found.items() for row in rows]
    return json.dumps(every, indent=2)


def picture(found: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Draw a dot for every row on a scale of powers of ten, the line at 1 marked, the rows in front of a peer first."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    every = [row for rows in found.values() for row in rows]
    parts = [(way, [row for row in every if row.direction == way]) for way in (AHEAD, PRICE)]
    shown = [(way, rows) for way, rows in parts if rows]
    figure = Figure(figsize=(11, 1.5 + 0.2 * len(every)), layout="constrained")
    heights = [len(rows) + 3 for _, rows in shown]
    panels = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, (way, rows) in zip(panels, shown, strict=True):
        places = range(len(rows), 0, -1)
        ratios = [row.ratio for row in rows]
        reach = [[row.ratio - row.low for row in rows], [row.high - row.ratio for row in rows]]
        panel.errorbar(ratios, places, xerr=reach, fmt="o", markersize=4, color="teal", ecolor="lightgray")
        panel.axvline(1, color="black", linewidth=1)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:,.10g}")
        panel.set_yticks(places, [f"{row.claim}  |  {row.peer.split(',')[0]}" for row in rows], fontsize=7)
        panel.set_ylim(0, len(rows) + 1)
        panel.set_title(f"{way}: " + ("right of 1, ours is in front" if way == AHEAD else "what privacy costs"))
        panel.grid(axis="x", alpha=0.3)
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
