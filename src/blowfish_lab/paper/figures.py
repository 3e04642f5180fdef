"""Every figure and example of the reproduction, by name; each is in a separate file."""

from __future__ import annotations

from blowfish_lab.paper.averaging_example import AveragingExample
from blowfish_lab.paper.figure import Figure
from blowfish_lab.paper.figure_1a import Figure1a
from blowfish_lab.paper.figure_1b import Figure1b
from blowfish_lab.paper.figure_1c import Figure1c
from blowfish_lab.paper.figure_1d import Figure1d
from blowfish_lab.paper.figure_1e import Figure1e
from blowfish_lab.paper.figure_1f import Figure1f
from blowfish_lab.paper.figure_2b import Figure2b
from blowfish_lab.paper.figure_2c import Figure2c
from blowfish_lab.paper.marginals_example import MarginalsExample
from blowfish_lab.paper.policy_graph_example import PolicyGraphExample
from blowfish_lab.paper.rectangles_example import RectanglesExample

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        PolicyGraphExample(),
        MarginalsExample(),
        RectanglesExample(),
        AveragingExample(),
        Figure2b(),
        Figure2c(),
        Figure1a(),
        Figure1b(),
        Figure1c(),
        Figure1d(),
        Figure1e(),
        Figure1f(),
    )
}
"""In the order in which they are run: the quick ones first."""
