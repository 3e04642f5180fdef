"""A picture of the policy graph: which known counts move together. A policy is public; no data are involved."""

from __future__ import annotations

from collections import Counter
from math import cos, pi, sin, sqrt
from typing import Any, TypeAlias

import networkx as nx

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.known_facts.secret_moves import PolicyGraph, policy_graph
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.queries import Histogram
from blowfish_privacy.results.pictures.figure import plain_text, start_figure
from blowfish_privacy.support.exact import show

Point: TypeAlias = tuple[float, float]

_MOST_NAMED = 12
_MOST_NUMBERED = 40
_MOST_GROUPS = 24
_LONGEST_NAME = 34
_OPEN, _CLOSED = "#dbe9f6", "#f3e3d3"
_JOINS = "A line joins two counts when a secret change of one record lowers one and raises the other."
_OUTSIDE = "v+ and v- stand for outside: a record can come from where no count holds it (v+), or go there (v-)."
_COLOURS = "Blue: a record can also come from outside all counts, or go there (v+, v-)."


def draw_policy_graph(policy: Policy) -> Any:
    """Draw the policy graph; more than forty counts are drawn as groups that lines connect."""
    graph = policy_graph(policy)
    figure, axes = start_figure(9, 7)
    axes.set_axis_off()
    axes.set_aspect("equal")
    if graph.counts <= _MOST_NAMED:
        reading = _draw_named(graph, axes)
    elif graph.counts <= _MOST_NUMBERED:
        reading = _draw_numbered(graph, axes)
    else:
        reading = _draw_groups(graph, axes)
    many = f"{graph.counts:,} known count{'s' if graph.counts != 1 else ''}"
    axes.set_title(f"What a secret change of one record does to {many}", fontsize=12)
    figure.supxlabel(plain_text("\n".join([*reading, *_bound(graph, policy)])), fontsize=8, color="0.25")
    # Arrows end where names begin, which is known once the names have been laid out.
    figure.draw_without_rendering()
    return figure


def _bound(graph: PolicyGraph, policy: Policy) -> list[str]:
    if graph.bound is None:
        return ["Some secret changes raise or lower several counts at once: no bound by cycles and paths."]
    most, together = "" if graph.proven else "at most ", max(graph.alpha, graph.xi)
    lengths = f"Longest cycle: {most}{graph.alpha}. Longest path from v+ to v-: {most}{graph.xi}."
    if policy.compensation == "secret-moves":
        said = f"So at most {together} records move together, and the histogram changes by at most {graph.bound}."
        return [lengths, said]
    said = f"At most {together} records move together if all follow secret pairs; here those that move along need not."
    try:
        changed = show(sensitivity(Histogram(*policy.domain.names), policy).value)
    except BlowfishError:
        return [lengths, said]
    return [lengths, said, f"The noise on a histogram covers all of them: a change by at most {changed}."]


def _joined(graph: PolicyGraph) -> nx.Graph[int]:
    joined: nx.Graph[int] = nx.Graph()
    joined.add_nodes_from(range(graph.counts))
    joined.add_edges_from(arc for arc in graph.arcs if max(arc) < graph.counts)
    return joined


def _parts(joined: nx.Graph[int]) -> list[set[int]]:
    """Return the groups of counts that lines connect, the largest first."""
    parts: Any = nx.connected_components(joined)
    return sorted(parts, key=lambda part: (-len(part), min(part)))


def _outside(graph: PolicyGraph) -> set[int]:
    return {end for arc in graph.arcs if max(arc) >= graph.counts for end in arc if end < graph.counts}


def _ring(joined: nx.Graph[int]) -> dict[int, Point]:
    """Point counts on a circle, those joined next to each other."""
    order = [node for part in _parts(joined) for node in nx.dfs_preorder_nodes(joined, min(part))]
    if len(order) == 1:
        return {order[0]: (0.0, 0.5)}
    angles = [pi / 2 + 2 * pi * (rank + 0.5) / len(order) for rank in range(len(order))]
    return {node: (cos(angle), sin(angle)) for node, angle in zip(order, angles, strict=True)}


def _draw_named(graph: PolicyGraph, axes: Any) -> list[str]:
    """Draw every count with its name, v+ on the left and v- on the right."""
    joined = _joined(graph)
    above, below = graph.counts, graph.counts + 1
    points = {**_ring(joined), above: (-1.9, 0.0), below: (1.9, 0.0)}
    outside = _outside(graph)
    names: dict[int, Any] = {}
    for node, (x, y) in points.items():
        fill = "white" if node >= above else _OPEN if node in outside else _CLOSED
        box = {"boxstyle": "round,pad=0.35", "fc": fill, "ec": "0.4", "lw": 0.8}
        said = plain_text(_short(graph.nodes[node]))
        names[node] = axes.text(x, y, said, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    for a, b in joined.edges:
        _arrow(axes, names[a], names[b], "<->", "0.4")
    for a, b in graph.arcs:
        if max(a, b) >= above:
            colour = "0.8" if (a, b) == (above, below) else "tab:green" if a == above else "tab:red"
            _arrow(axes, names[a], names[b], "->", colour)
    axes.set_xlim(-2.1, 2.1)
    axes.set_ylim(-1.25, 1.25)
    return [_JOINS, *_read_colours(graph)]


def _read_colours(graph: PolicyGraph) -> list[str]:
    """Explain the colours of the arrows that are drawn."""
    above, below = graph.counts, graph.counts + 1
    said: list[str] = []
    if any(start == above and end != below for start, end in graph.arcs):
        said.append("From v+ (green): a change that only raises the count.")
    if any(start != above and end == below for start, end in graph.arcs):
        said.append("To v- (red): a change that only lowers the count.")
    return [_OUTSIDE, " ".join([*said, "From v+ to v- (grey): always there, whatever the policy."])]


def _draw_numbered(graph: PolicyGraph, axes: Any) -> list[str]:
    """Draw every count with its number, and list the names beside."""
    joined = _joined(graph)
    points, outside = _ring(joined), _outside(graph)
    for a, b in joined.edges:
        axes.plot(*zip(points[a], points[b], strict=True), color="0.4", lw=0.9, zorder=1)
    for node, (x, y) in points.items():
        _disc(axes, x, y, 0.065, _OPEN if node in outside else _CLOSED)
        axes.text(x, y, str(node + 1), ha="center", va="center", fontsize=8, zorder=4)
    for node in range(graph.counts):
        height = 1.15 - 2.3 * node / (_MOST_NUMBERED - 1)
        name = f"{node + 1}: {_short(graph.nodes[node])}"
        axes.text(1.3, height, plain_text(name), ha="left", va="center", fontsize=7)
    axes.set_xlim(-1.15, 2.3)
    axes.set_ylim(-1.2, 1.2)
    return [_JOINS, _COLOURS]


def _draw_groups(graph: PolicyGraph, axes: Any) -> list[str]:
    """Draw one disc for each group of counts that lines connect, and say how many more there are."""
    joined, outside = _joined(graph), _outside(graph)
    parts = _parts(joined)
    shown = parts[:_MOST_GROUPS]
    columns = max(2, round(sqrt(len(shown) * 1.4)))
    for rank, part in enumerate(shown):
        x, y = rank % columns, -(rank // columns)
        _disc(axes, x, y, 0.18 + 0.22 * sqrt(len(part) / len(shown[0])), _OPEN if part & outside else _CLOSED)
        lines = joined.subgraph(part).number_of_edges()
        said = f"{len(part):,}" if not lines else f"{len(part):,}\n{lines:,} line{'s' if lines > 1 else ''}"
        axes.text(x, y, said, ha="center", va="center", fontsize=8, zorder=4)
        name = _short(graph.nodes[min(part)], 26)
        axes.text(x, y - 0.42, plain_text(name), ha="center", va="top", fontsize=6.5, color="0.3")
    axes.set_xlim(-0.6, columns - 0.4)
    axes.set_ylim(-((len(shown) - 1) // columns) - 0.6, 0.5)
    left = Counter(len(part) for part in parts[_MOST_GROUPS:])
    rest = ", ".join(f"{many:,} of {size:,}" for size, many in sorted(left.items(), reverse=True)[:6])
    reading = (
        "Each disc is a group of counts, named by one of them, with the number of counts and of lines between them."
    )
    return [_JOINS, reading, _COLOURS, *([f"Not drawn: groups of {rest} counts."] if left else [])]


def _disc(axes: Any, x: float, y: float, radius: float, colour: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), radius, fc=colour, ec="0.4", lw=0.8, zorder=3))


def _arrow(axes: Any, start: Any, end: Any, style: str, colour: str) -> None:
    """Draw an arrow between two names, from the edge of one box to the edge of the other."""
    boxes = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch()}
    arrow = {"arrowstyle": style, "color": colour, "lw": 0.9, "shrinkA": 2, "shrinkB": 2, **boxes}
    axes.annotate("", xy=end.get_position(), xytext=start.get_position(), arrowprops=arrow, zorder=1)


def _short(name: str, longest: int = _LONGEST_NAME) -> str:
    return name if len(name) <= longest else f"{name[: longest - 2]}.."
