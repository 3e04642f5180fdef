"""The paper's policy-graph example: three attributes, the marginal of two of them known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blowfish_lab.paper.examples import Example, Examples
from blowfish_lab.paper.figure import Measured, Point, Row
from blowfish_lab.paper.run import Run
from blowfish_privacy.domain import Categorical, Domain
from blowfish_privacy.graphs import FullDomain
from blowfish_privacy.known_facts.facts import KnownMarginal
from blowfish_privacy.known_facts.secret_moves import policy_graph


class PolicyGraphExample(Examples):
    """Figure 3 of the paper with its longest cycle and path."""

    name = "policy-graph"
    title = "The policy graph of a known marginal (the paper's example)"

    def examples(self) -> list[Example]:
        """One example; the paper says alpha = 4, xi = 1 and S(h) = 8."""
        domain = Domain(A1=Categorical(["a1", "a2"]), A2=Categorical(["b1", "b2"]), A3=Categorical(["c1", "c2", "c3"]))
        options = {"domain": domain, "secrets": FullDomain(), "known": [KnownMarginal("A1", "A2")]}
        return [Example("marginal of A1 and A2 known, all pairs secret", 8, "section 8", options)]

    def rows(self, measured: Mapping[Point, Measured], run: Run) -> list[Row]:
        """Add the longest cycle and the longest path."""
        graph = policy_graph(self.examples()[0].policy("secret-moves"))
        printed = {"alpha, printed": 4, "alpha": graph.alpha, "xi, printed": 1, "xi": graph.xi}
        return [{**row, **printed} for row in super().rows(measured, run)]

    def picture(self, rows: list[Row], run: Run) -> Any:
        """Draw the policy graph."""
        from blowfish_privacy.results.pictures.policy_graph import draw_policy_graph

        return draw_policy_graph(self.examples()[0].policy("secret-moves"))
