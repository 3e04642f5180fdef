"""What a policy promises about two values of a person, and nothing beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Literal, TypeAlias

from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.policies.distances import cells

if TYPE_CHECKING:
    from blowfish_privacy.policies.policy import Policy

Promised: TypeAlias = Literal["same", "odds", "tables", "unproved", "nothing"]
"""What is promised about a pair.

``same``: it is one value. ``odds``: the odds between the two change by a bounded factor. ``tables``: the factor bounds
how much more likely an output is on one of two tables that both satisfy the known facts; of odds nothing is said.
``unproved``: secret pairs join the two, but known facts leave no proof. ``nothing``: no chain of secret pairs joins
them.
"""


@dataclass(frozen=True)
class PairPromise:
    """What is promised about two values, how many steps they are apart, and what they are called."""

    promised: Promised
    hops: Hops
    first: str
    second: str

    @property
    def pair(self) -> str:
        """Both values, for use in a sentence."""
        return f"({self.first}) and ({self.second})"

    @property
    def apart(self) -> str:
        """How far apart they are, for use in a sentence."""
        return "a secret pair" if self.hops == 1 else f"{self.hops} steps apart"


def pair_promise(policy: Policy, first: Mapping[str, object], second: Mapping[str, object]) -> PairPromise:
    """Find out what a policy promises about two values; both may omit the same attributes."""
    x, y = cells(policy, first, second)
    named = [name for name in policy.domain if name in first]
    projected = policy.domain.project(named)
    one, other = (projected.say(tuple(cell[policy.domain.axis(name)] for name in named)) for cell in (x, y))
    hops = policy.apart(x, y)
    if hops == 0:
        return PairPromise("same", hops, one, other)
    if isinf(hops):
        joined = policy.graph.hops(x, y) < hops
        return PairPromise("unproved" if joined else "nothing", hops, one, other)
    return PairPromise("tables" if policy.known and hops == 1 else "odds", hops, one, other)
