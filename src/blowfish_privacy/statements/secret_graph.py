"""The secret graph of one attribute as plain values for a picture: values, pairs, groups, and how far steps reach.

Everything is asked of the graph itself, value by value; of an attribute with many values some are shown, and the view
says so. Where other attributes decide which pairs are secret (``policy.graph.homogeneous`` is False) there is no graph
of one attribute, and nothing to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, groupby, pairwise
from math import isinf

from blowfish_privacy.domain import Attribute, Cell
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.graphs.graph import Hops, SecretGraph
from blowfish_privacy.policies import Policy

MOST_VALUES = 24
"""Of an attribute with more values, so many around a chosen one are shown."""
_MOST_GROUPED = 20_000
_MOST_ASKED = 1_000
"""Of an attribute with more values, some are asked for their steps, and the places where these change are searched."""
_MOST_BANDS = 12
"""How many bands are shown on each side of a value."""
_MOST_POINTS = 120


@dataclass(frozen=True)
class GraphValue:
    """A value of an attribute, and the number of the group that chains of secret pairs connect it with."""

    position: int
    text: str
    group: int


@dataclass(frozen=True)
class GraphView:
    """Some values of an attribute, and the secret pairs between them, by position."""

    name: str
    size: int
    ordered: bool
    values: tuple[GraphValue, ...]
    pairs: tuple[tuple[int, int], ...]
    groups: int | None
    """Into how many groups all values fall; None if there are too many values to ask."""

    @property
    def partial(self) -> bool:
        """Whether some values are not shown."""
        return len(self.values) < self.size

    @property
    def sentence(self) -> str:
        """Say what the picture shows, for those who do not see it."""
        shown = f"{len(self.values):,} of {self.size:,} values" if self.partial else f"{_many(self.size, 'value')}"
        pairs = _many(len(self.pairs), "secret pair") if self.pairs else "no secret pair"
        if self.groups is None or self.groups == self.size:
            return f"{shown}, {pairs} between them."
        return f"{shown}, {pairs} between them, in {_many(self.groups, 'group')}."


@dataclass(frozen=True)
class Band:
    """Consecutive values that are equally many steps away; ``steps`` is None where nothing protects them."""

    first: int
    last: int
    text: str
    steps: int | None


@dataclass(frozen=True)
class ReachPoint:
    """One value and its steps; ``steps`` is None where nothing protects it."""

    position: int
    text: str
    steps: int | None


@dataclass(frozen=True)
class Reach:
    """How far the values around one value are from it, in bands without gaps; those further away are left out."""

    focus: int
    text: str
    size: int
    bands: tuple[Band, ...]
    points: tuple[ReachPoint, ...]
    """Values of the bands, for a picture: all of them, or some of many."""
    sampled: bool
    """Whether some values were not asked: a band then holds at the values asked, and at both of its ends."""

    @property
    def partial(self) -> bool:
        """Whether the bands leave out values further away."""
        return self.bands[0].first > 0 or self.bands[-1].last < self.size - 1

    def words(self) -> list[str]:
        """Say in one line for each number of steps which values are that far away; nearest first."""
        by_steps = sorted(self.bands, key=lambda band: (band.steps is None, band.steps or 0))
        said: list[str] = []
        for steps, group in groupby(by_steps, key=lambda band: band.steps):
            values = " and ".join(band.text for band in group)
            if steps is None:
                said.append(f"{values}: not protected from {self.text}")
            elif steps:
                said.append(f"{values}: {_many(steps, 'step')} from {self.text}")
        return said


def graph_view(policy: Policy, name: str, focus: int = 0, also: int | None = None) -> GraphView:
    """Show the secret pairs between values of one attribute.

    Of many values those around the ``focus`` are shown, and one that is chosen ``also``.
    """
    attribute, graph = policy.domain[name], _alone(policy, name)
    shown = sorted({*_window(attribute.size, focus, MOST_VALUES), focus if also is None else also})
    numbers: dict[object, int] = {}
    values = [
        GraphValue(position, attribute.show(position), numbers.setdefault(graph.component((position,)), len(numbers)))
        for position in shown
    ]
    pairs = tuple((a, b) for a, b in combinations(shown, 2) if graph.adjacent((a,), (b,)))
    return GraphView(name, attribute.size, attribute.ordered, tuple(values), pairs, _groups(graph))


def reach(policy: Policy, name: str, focus: int) -> Reach:
    """Cut an ordered attribute into bands of values that are equally many steps from one value.

    Steps are those of the promise: known facts may leave fewer than the secret pairs do.
    """
    attribute = policy.domain[name]
    _alone(policy, name)
    steps = _Steps(policy, policy.domain.axis(name), focus)
    size = attribute.size
    asked = range(size) if size <= _MOST_ASKED else sorted({*_window(size, focus, 200), *_spread(0, size, 200)})
    upwards = [at for at in asked if at >= focus]
    downwards = [at for at in reversed(asked) if at <= focus]
    ends, starts = steps.last_of_bands(upwards), steps.last_of_bands(downwards)
    cuts = sorted({*(end + 1 for end in ends), *starts})
    bands = [Band(a, b - 1, _range(attribute, a, b - 1), _finite(steps(a))) for a, b in pairwise(cuts)]
    shown = sorted({focus, *_spread(cuts[0], cuts[-1], _MOST_POINTS)})
    points = tuple(ReachPoint(at, attribute.show(at), _finite(steps(at))) for at in shown)
    return Reach(focus, attribute.show(focus), size, tuple(bands), points, size > len(asked))


class _Steps:
    """Counts the steps from one value of an attribute to another, with all other attributes fixed."""

    def __init__(self, policy: Policy, axis: int, focus: int) -> None:
        self._policy, self._axis = policy, axis
        self._focus = self._cell(focus)
        self._known: dict[int, Hops] = {}

    def __call__(self, position: int) -> Hops:
        if position not in self._known:
            self._known[position] = self._policy.apart(self._focus, self._cell(position))
        return self._known[position]

    def last_of_bands(self, asked: list[int]) -> list[int]:
        """Walk away from the first of some positions; return where bands end, of the nearest few."""
        ends: list[int] = []
        for near, far in pairwise(asked):
            while self(near) != self(far) and len(ends) < _MOST_BANDS:
                ends.append(self._last_like(near, far))
                near = ends[-1] + (1 if far > near else -1)
            if len(ends) == _MOST_BANDS:
                return ends
        return [*ends, asked[-1]]

    def _last_like(self, near: int, far: int) -> int:
        """Find a position between two whose steps differ at which those of the nearer one end."""
        same = self(near)
        while abs(far - near) > 1:
            middle = (near + far) // 2
            near, far = (middle, far) if self(middle) == same else (near, middle)
        return near

    def _cell(self, position: int) -> Cell:
        zeros = (0,) * len(self._policy.domain.names)
        return (*zeros[: self._axis], position, *zeros[self._axis + 1 :])


def _alone(policy: Policy, name: str) -> SecretGraph:
    if not policy.graph.homogeneous:
        raise PolicyError(
            f"which values of {name} are secret pairs depends on the other attributes.",
            hint="compare two whole records.",
        )
    return policy.graph.project([name])


def _window(size: int, focus: int, most: int) -> range:
    start = max(0, min(focus - most // 2, size - most))
    return range(start, min(size, start + most))


def _spread(start: int, stop: int, most: int) -> list[int]:
    return [*range(start, stop, max(1, (stop - start) // most)), stop - 1]


def _groups(graph: SecretGraph) -> int | None:
    if graph.connected:
        return 1
    size = graph.domain.size
    return len({graph.component((at,)) for at in range(size)}) if size <= _MOST_GROUPED else None


def _range(attribute: Attribute, first: int, last: int) -> str:
    shown = attribute.show(first)
    return shown if first == last else f"{shown} to {attribute.show(last)}"


def _finite(hops: Hops) -> int | None:
    return None if isinf(hops) else int(hops)


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
