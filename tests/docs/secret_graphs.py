"""A picture of a secret graph on a small map: which values are secret from one person's value, and how strongly.

``python -m docs.secret_graphs FOLDER`` draws those of the documentation. SVG is
written by hand, so equal policies give equal bytes on every machine.
"""

from __future__ import annotations

import sys
from html import escape
from math import inf
from pathlib import Path

from blowfish_privacy.domain import Cell, Domain, Hierarchy, Integer
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs import (
    Attributes,
    ByValue,
    DistanceThreshold,
    ExplicitGraph,
    FullDomain,
    Partition,
    PerAttribute,
    Public,
    Secrets,
    Within,
)
from blowfish_privacy.policies import Policy
from blowfish_privacy.support.files import write_atomically

TOWN = Domain(east=Integer(1, 8), north=Integer(1, 4))
"""The blocks of a small town."""
DISTRICTS = Domain(
    east=Hierarchy(["district", "column"], {"West": [1, 2], "Centre": [3, 4, 5], "East": [6, 7, 8]}),
    north=Integer(1, 4),
)
"""The same blocks, with columns in districts."""
PEOPLE = (
    (1, 0, 2, 1),
    (3, 2, 0, 1),
    (4, 5, 2, 0),
    (2, 6, 3, 1),
    (1, 3, 4, 2),
    (0, 1, 2, 2),
    (2, 0, 1, 1),
    (1, 0, 0, 2),
)
"""How many people live in each block: the same in every picture."""
HOME = {"east": 3, "north": 2}
"""The block in which the person whose secrets are drawn lives."""

_ROADS = [
    *(({"east": col, "north": 2}, {"east": col + 1, "north": 2}) for col in range(1, 8)),
    *(({"east": 3, "north": row}, {"east": 3, "north": row + 1}) for row in range(1, 4)),
]
CHOICES: dict[str, Secrets] = {
    "full-domain": FullDomain(),
    "attributes": Attributes(),
    "distance-threshold": DistanceThreshold(2),
    "partition": Partition(widths={"east": 4, "north": 2}),
    "within": Within({"east": "district"}),
    "per-attribute": PerAttribute(east=DistanceThreshold(1), north=Public()),
    "explicit": ExplicitGraph(_ROADS),
    "by-value": ByValue("north", {1: Public(), 2: DistanceThreshold(2), 3: FullDomain(), 4: FullDomain()}),
}
"""The policies that the documentation draws, by the name of their picture."""

_STEP, _MARGIN, _RADIUS = 64, 44, 15
_COLOURS = {0: "#0b3c36", 1: "#1f9e89", 2: "#6ece9e", 3: "#b5deb0", 4: "#e3efd0"}
_UNPROTECTED = 'fill="#ffffff" stroke="#6b7280" stroke-dasharray="3 3"'
_MOST_CELLS = 200


def draw_secret_graph(policy: Policy, people: tuple[tuple[int, ...], ...], home: dict[str, object]) -> str:
    """Draw a policy on two attributes: every secret pair, and each value's steps from one person's value."""
    domain = policy.domain
    if len(domain.names) != 2 or domain.size > _MOST_CELLS:
        raise PolicyError(f"a picture needs two attributes and at most {_MOST_CELLS} values.")
    start = domain.cell(home)
    columns, rows = domain.shape
    width, height = 2 * _MARGIN + _STEP * (columns - 1), 2 * _MARGIN + _STEP * (rows - 1)
    edges = list(policy.graph.edges())
    from_home = [edge for edge in edges if start in edge]
    faint = "0.9" if len(edges) < 100 else "0.6" if len(edges) < 300 else "0.3"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 40}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height + 40}" rx="8" fill="#ffffff"/>',
        f'<path d="{_lines([edge for edge in edges if start not in edge], rows)}" fill="none" stroke="#9aa5b1" '
        f'stroke-width="1" stroke-opacity="{faint}"/>',
        f'<path d="{_lines(from_home, rows)}" fill="none" stroke="#d1495b" stroke-width="2" stroke-opacity="0.75"/>',
        *(_disc(policy, cell, start, people[cell[0]][cell[1]], rows) for cell in domain.cells()),
    ]
    looks = [*(f'fill="{colour}" stroke="#374151"' for colour in _COLOURS.values()), _UNPROTECTED]
    words = {"the person": 24, "1 step": 122, "2 steps": 196, "3 steps": 274, "4 or more": 352, "unprotected": 446}
    for look, (word, x) in zip(looks, words.items(), strict=True):
        parts.append(
            f'<circle cx="{x}" cy="{height + 14}" r="7" {look}/>'
            f'<text x="{x + 12}" y="{height + 18}" font-size="12" fill="#111827">{word}</text>'
        )
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _point(cell: Cell, rows: int) -> tuple[int, int]:
    return _MARGIN + _STEP * cell[0], _MARGIN + _STEP * (rows - 1 - cell[1])


def _lines(edges: list[tuple[Cell, Cell]], rows: int) -> str:
    """Write all lines as one path; a line that would run through other values is bent past them."""
    drawn: list[str] = []
    for first, second in edges:
        (x1, y1), (x2, y2) = _point(first, rows), _point(second, rows)
        straight = max(abs(first[0] - second[0]), abs(first[1] - second[1])) == 1
        if straight:
            drawn.append(f"M{x1} {y1}L{x2} {y2}")
        else:
            bend = 6
            drawn.append(
                f"M{x1} {y1}Q{(x1 + x2) // 2 + (y2 - y1) // bend} {(y1 + y2) // 2 - (x2 - x1) // bend} {x2} {y2}"
            )
    return "".join(drawn)


def _disc(policy: Policy, cell: Cell, start: Cell, count: int, rows: int) -> str:
    x, y = _point(cell, rows)
    hops = policy.graph.hops(start, cell)
    if hops == inf:
        look, ink = _UNPROTECTED, "#6b7280"
    else:
        step = min(int(hops), 4)
        look, ink = f'fill="{_COLOURS[step]}" stroke="#374151"', "#ffffff" if step < 2 else "#111827"
    said = ", ".join(f"{name} {value}" for name, value in policy.domain.record(cell).items())
    reach = "not protected" if hops == inf else f"{hops} steps"
    return (
        f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" {look}>'
        f"<title>{escape(said)}: {count} people, {reach}</title></circle>"
        f'<text x="{x}" y="{y + 4}" text-anchor="middle" font-size="12" fill="{ink}">{count}</text>'
    )


def draw_all() -> dict[str, str]:
    """Draw every choice; returns the SVG of each by the name of its file."""
    return {
        f"{name}.svg": draw_secret_graph(
            Policy(DISTRICTS if name == "within" else TOWN, secrets=secrets), PEOPLE, dict(HOME)
        )
        for name, secrets in CHOICES.items()
    }


if __name__ == "__main__":
    for file, svg in draw_all().items():
        write_atomically(Path(sys.argv[1]) / file, svg.encode())
