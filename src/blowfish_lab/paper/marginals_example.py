"""Known marginals: full-domain and attribute secrets."""

from __future__ import annotations

from typing import Any

from blowfish_lab.paper.examples import Example, Examples
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.graphs import Attributes, FullDomain
from blowfish_privacy.known_facts.facts import KnownMarginal


class MarginalsExample(Examples):
    """Theorems 8.4 and 8.5 where they hold, and where their equalities fail."""

    name = "marginals"
    title = "Known marginals: printed and derived sensitivity of the histogram"

    def examples(self) -> list[Example]:
        """List the examples."""
        populated = KnownMarginal("a", counts={0: 2, 1: 0, 2: 1})
        return [
            _example("2 x 2 x 3, marginal of the first two, all pairs secret", 8, (2, 2, 3), KnownMarginal("a", "b")),
            _example("3 x 2, marginal (2, 0, 1) of the first, all pairs secret", 6, (3, 2), populated),
            _example("3 x 3, marginal of the first, one attribute secret", 6, (3, 3), KnownMarginal("a"), secret=False),
            _example("3 x 2, marginal of the first, one attribute secret", 6, (3, 2), KnownMarginal("a"), secret=False),
        ]


def _example(words: str, printed: int, shape: tuple[int, ...], fact: KnownMarginal, *, secret: bool = True) -> Example:
    domain = Domain({name: Integer(0, size - 1) for name, size in zip("abc", shape, strict=False)})
    secrets: Any = FullDomain() if secret else Attributes()
    source = "Theorem 8.4" if secret else "Theorem 8.5"
    return Example(words, printed, source, {"domain": domain, "secrets": secrets, "known": [fact]})
