"""How many steps apart values are, and which are furthest apart: how strong a promise is where it is weakest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import ceil, exp, floor, inf, isinf, log
from typing import Literal, TypeAlias

from blowfish_privacy.domain import Binned, Cell, Domain, quoted
from blowfish_privacy.graphs.graph import Hops
from blowfish_privacy.policies.policy import Policy, cells

_MOST_NAMED = 4
_MOST_TURNED = 6


def furthest(
    policy: Policy, names: Collection[str] | None = None, least: int = 2
) -> Iterator[tuple[Domain, str, Hops]]:
    """For each attribute, describe two values ``least`` steps apart or more but still protected, with their steps.

    Here and below, of some attributes alone if they are named.
    """
    for domain, first, last, hops in _ends_of(policy, names):
        if least <= hops < inf:
            yield domain, pair_words(domain, first, last), hops


def pair_words(domain: Domain, first: Cell, last: Cell) -> str:
    """Name two values, of one attribute or of several."""
    alone = f"{domain.say(first)} and {domain.attributes[0].say(last[0])}"
    return alone if len(domain.names) == 1 else f"({domain.say(first)}) and ({domain.say(last)})"


def furthest_apart(
    policy: Policy, names: Collection[str] | None = None
) -> tuple[dict[str, object], dict[str, object], Hops] | None:
    """Find two records that differ in all that is secret and are many steps apart; None if they are no chain apart."""
    apart = [(one, other, policy.distance(one, other)) for one, other in _corners(policy, names)]
    furthest = max(apart, key=lambda corner: corner[2], default=None)
    return furthest if furthest is not None and 1 < furthest[2] < inf else None


def longest_chain(policy: Policy, names: Collection[str]) -> int:
    """Bound how many secret pairs the shortest chain between two values may have that differ in some attributes."""
    graph = policy.graph
    if len([*_turning(policy, names)]) > _MOST_TURNED:
        ends = (graph.project(domain.names).hops(first, last) for domain, first, last, _ in _ends_of(policy, names))
        return sum(int(hops) for hops in ends if hops < inf)
    chains = (graph.hops(*cells(policy, *corner)) for corner in _corners(policy, names))
    return max((int(hops) for hops in chains if hops < inf), default=0)


def _corners(policy: Policy, names: Collection[str] | None) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """Go through pairs of records of which each attribute has one end in the one and the other end in the other."""
    ends = [(domain, first, last) for domain, first, last, hops in _ends_of(policy, names) if 0 < hops < inf]
    turning = {*islice(_turning(policy, names), _MOST_TURNED)} - {name for domain, *_ in ends[:1] for name in domain}
    for turned in product(*((False, True) if {*domain.names} & turning else (False,) for domain, *_ in ends)):
        one: dict[str, object] = {}
        other: dict[str, object] = {}
        for (domain, first, last), turn in zip(ends, turned, strict=True):
            one.update(domain.record(last if turn else first))
            other.update(domain.record(first if turn else last))
        if one:
            yield one, other


def _turning(policy: Policy, names: Collection[str] | None) -> Iterator[str]:
    """Name the binned attributes: with bins of several widths it matters which ends of two attributes are combined."""
    if policy.graph.homogeneous and not policy.graph.one_at_a_time:
        binned = (name for name in policy.domain if isinstance(policy.domain[name], Binned))
        yield from islice((name for name in binned if names is None or name in names), _MOST_TURNED + 1)


def furthest_together(policy: Policy, names: Collection[str] | None = None) -> tuple[str, Hops] | None:
    """Describe two values more steps apart than any that differ in a single attribute; None if there are none."""
    alone = max((hops for *_, hops in _ends_of(policy, names) if hops < inf), default=0)
    furthest = furthest_apart(policy, names)
    if furthest is None or furthest[-1] <= alone:
        return None
    one, other, hops = furthest
    domain = policy.domain.project(list(one))
    if len(one) <= _MOST_NAMED:
        return pair_words(domain, domain.cell(one), domain.cell(other)), hops
    named = ", ".join(map(quoted, domain.names[:_MOST_NAMED]))
    return f"Values that differ as far in {named} and {len(one) - _MOST_NAMED:,} more together", hops


def _ends_of(policy: Policy, names: Collection[str] | None) -> Iterator[tuple[Domain, Cell, Cell, Hops]]:
    return (end for end in policy.ends if names is None or {*end[0].names} <= {*names})


# What a policy promises about two values of a person, and nothing beyond it.

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


# Values that are effectively unprotected: so much is lost on the steps between them that they can be told apart anyway.

MOST_TIMES = 1_000
"""The factor by which odds may change before values, although connected by steps, count as effectively unprotected."""
UNPROTECTED = "Effectively unprotected: "
"""What such a sentence begins with where it stands among others."""
_MOST_DIGITS, _MOST_POWER = 6, 1000

Exponent: TypeAlias = Callable[[Hops], float]
"""Bounds the logarithm of the change of odds between values some number of steps apart."""


def is_unprotected(exponent: float) -> bool:
    """Say whether a promise that odds change by no more than e^exponent promises nothing in effect."""
    return exponent > log(MOST_TIMES)


@dataclass(frozen=True)
class Far:
    """Two values some steps apart, and how strongly they are protected."""

    pair: str
    hops: Hops
    exponent: float
    """The logarithm of the factor."""
    factor: str | None
    """The factor by which the odds between them may change, in words; None if nothing bounds it."""


def effectively_unprotected(
    policy: Policy, presence: tuple[float, str], pairs: Iterable[Far], after: str
) -> Iterator[str]:
    """Say what is effectively unprotected: whether a person is in the table, and pairs of values.

    Of presence the exponent and the factor are given. The sentences begin with a small letter.
    """
    exponent, factor = presence
    if policy.size == "unknown" and is_unprotected(exponent):
        present = "whether a person is in the table is secret, but the odds of it may change by a factor up to"
        yield f"{present} {factor} after {after}."
    for far in pairs:
        pair = f"{far.pair[0].lower()}{far.pair[1:]}"
        if far.factor is None:
            yield f"{pair} are {far.hops:,} secret steps apart, and some release protects them not at all."
        elif is_unprotected(far.exponent):
            apart = "a secret pair, but" if far.hops == 1 else f"{far.hops:,} steps apart, so"
            odds = f"the odds between them may change by a factor up to {far.factor} after {after}."
            yield f"{pair} are {apart} {odds}"


def unprotected_after(
    policy: Policy, exponent: Exponent = float, after: str = "a loss of epsilon 1"
) -> tuple[str, ...]:
    """Say which values a loss leaves effectively unprotected, because of its size or of the steps between them."""
    together = furthest_together(policy)
    far = [(pair, hops) for _, pair, hops in furthest(policy, least=1)] + ([] if together is None else [together])
    pairs = (Far(pair, hops, exponent(hops), times(exponent(hops))) for pair, hops in far)
    sentences = effectively_unprotected(policy, (exponent(1), times(exponent(1))), pairs, after)
    return tuple(f"{UNPROTECTED}{sentence}" for sentence in sentences)


def times(exponent: float) -> str:
    """Write the factor e^exponent for a reader, never less than it is."""
    power = floor(exponent / log(10))
    if power >= _MOST_POWER:
        return f"more than 10^{_MOST_POWER}"
    if power < _MOST_DIGITS:
        value = exp(exponent)
        return f"{ceil(100 * value) / 100:.2f}" if value < 10 else f"{ceil(value):,}"
    tenths = ceil(10 * 10 ** (exponent / log(10) - power))
    power, tenths = (power, tenths) if tenths < 100 else (power + 1, 10)
    return f"10^{power}" if tenths == 10 else f"{tenths / 10:g} x 10^{power}"
