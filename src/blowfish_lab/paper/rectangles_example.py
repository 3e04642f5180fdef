"""Known counts of rectangles: distance-threshold secrets."""

from __future__ import annotations

from blowfish_lab.paper.examples import Example, Examples
from blowfish_lab.paper.run import Run
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.graphs import DistanceThreshold
from blowfish_privacy.known_facts.facts import KnownCount

Span = tuple[int, int]


class RectanglesExample(Examples):
    """Theorem 8.6 where it holds, and where its equality fails."""

    name = "rectangles"
    title = "Known counts of disjoint rectangles, theta = 1: printed and derived sensitivity of the histogram"

    def examples(self) -> list[Example]:
        """List the examples; printed is 2 (maxcomp + 1)."""
        row = [((x, x + 1), (2, 3)) for x in (1, 3, 5)]
        star = [((3, 3), (2, 3)), ((1, 2), (2, 2)), ((4, 5), (3, 3)), ((3, 3), (0, 1)), ((3, 3), (4, 5))]
        return [
            _example("one rectangle on 6 x 6", 4, 6, [((2, 3), (2, 3))]),
            _example("two rectangles far apart on 8 x 8", 4, 8, [((1, 2), (1, 2)), ((5, 6), (5, 6))]),
            _example("three rectangles in a row on 8 x 8", 8, 8, row),
            _example("five rectangles in a star on 7 x 7", 12, 7, star),
            _line("0 to 3, counts of {0, 1} and {2, 3}", 6, 4, [(0, 1), (2, 3)]),
            _line("0 to 5, counts of {0, 1} and {4, 5}", 4, 6, [(0, 1), (4, 5)]),
        ]

    def notes(self, run: Run) -> list[str]:
        """Say what is secret."""
        return ["Theta = 1: values next to each other are secret pairs."]


def _example(words: str, printed: int, side: int, boxes: list[tuple[Span, Span]]) -> Example:
    domain = Domain(x=Integer(0, side - 1), y=Integer(0, side - 1))
    known = [KnownCount({"x": x, "y": y}) for x, y in boxes]
    options = {"domain": domain, "secrets": DistanceThreshold(1), "known": known}
    return Example(words, printed, "Theorem 8.6", options)


def _line(words: str, printed: int, size: int, spans: list[Span]) -> Example:
    known = [KnownCount({"v": span}) for span in spans]
    options = {"domain": Domain(v=Integer(0, size - 1)), "secrets": DistanceThreshold(1), "known": known}
    return Example(words, printed, "Theorem 8.6", options)
