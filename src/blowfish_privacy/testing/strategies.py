"""Hypothesis strategies: small domains, secret graphs and policies of every kind.

A strategy is made once and kept: hypothesis looks at what it consists of before the first draw, which takes longer than
the draw.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import strategies as st

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal, Domain, Hierarchy, Integer
from blowfish_privacy.errors import BlowfishWarning
from blowfish_privacy.graphs import (
    AddRemove,
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
from blowfish_privacy.known_facts.facts import KnownCount, KnownFact, KnownMarginal
from blowfish_privacy.policies import Policy

NAMES = ("age", "capital loss", "zone", "sex")
THETAS = st.one_of(st.integers(1, 12), st.sampled_from(["1/2", "5/2", "0.3", "7/3", "10"]))
SCALES = st.sampled_from([1, 1, 2, 3, "1/2", "2/3", "0.7", 5])


@cache
def attributes(largest: int) -> st.SearchStrategy[Attribute]:
    """Make one attribute of at most so many values."""
    bounds = st.tuples(st.integers(-3, 3), st.integers(0, largest - 1))
    integers = bounds.map(lambda ends: Integer(ends[0], ends[0] + ends[1]))
    decimals = st.tuples(bounds, st.sampled_from(["0.5", "0.3", "2"])).map(lambda made: _decimal(*made[0], made[1]))
    days = bounds.map(lambda ends: Date(date(2020, 1, 5), date(2020, 1, 5) + timedelta(days=ends[1])))
    names = st.sampled_from(["abcdefghijklmnop"[:n] for n in range(1, min(largest, 16) + 1)])
    widths = st.lists(st.sampled_from([1, 2, 3, 5, "1/2"]), min_size=1, max_size=largest)
    categories = names.map(lambda text: Categorical(list(text)))
    return st.one_of(integers, integers, decimals, days, categories, widths.map(_bins), hierarchies(largest))


@cache
def _ordered_attributes(largest: int) -> st.SearchStrategy[Attribute]:
    return attributes(largest).filter(lambda attribute: attribute.ordered)


def _decimal(low: int, steps: int, step: str) -> Decimal:
    return Decimal(low, low + steps * Fraction(step), step)


@cache
def hierarchies(largest: int) -> st.SearchStrategy[Hierarchy]:
    """Make a tree of states, counties and towns, with at most so many towns."""
    # Each town after the first is in the same county as the one before, in the next county, or in the next state.
    return st.lists(st.sampled_from([0, 0, 1, 2]), max_size=min(largest, 16) - 1).map(_hierarchy)


def _hierarchy(steps: list[int]) -> Hierarchy:
    tree: dict[str, dict[str, list[str]]] = {}
    for town, step in enumerate([2, *steps]):
        if step == 2:
            tree[f"S{len(tree)}"] = {}
        counties = tree[f"S{len(tree) - 1}"]
        if step > 0:
            counties[f"C{town}"] = []
        counties[[*counties][-1]].append(f"t{town}")
    return Hierarchy(["state", "county", "town"], tree)


def _bins(widths: list[Any]) -> Binned:
    edges = [Fraction(0)]
    for width in widths:
        edges.append(edges[-1] + Fraction(width))
    return Binned(edges)


def views(domain: Domain, name: str) -> st.SearchStrategy[str]:
    """Choose an attribute, or a level of it."""
    attribute = domain[name]
    levels = attribute.levels if isinstance(attribute, Hierarchy) else ()
    return st.sampled_from((name, *(f"{name}@{level}" for level in levels)))


@cache
@st.composite
def domains(
    draw: st.DrawFn, most_cells: int = 60, most_attributes: int = 3, kind: type[Secrets] | None = None
) -> Domain:
    """Make a domain of at most so many cells, one that suits a kind of secrets."""
    chosen: dict[str, Attribute] = {}
    left = most_cells
    for name in NAMES[: draw(st.integers(2 if kind is ByValue else 1, most_attributes))]:
        if kind is DistanceThreshold:
            chosen[name] = draw(_ordered_attributes(min(left, 20)))
        else:
            chosen[name] = draw(hierarchies(left) if kind is Within and not chosen else attributes(min(left, 20)))
        left //= chosen[name].size
    return Domain(chosen)


@st.composite
def secrets(draw: st.DrawFn, domain: Domain, kind: type[Secrets] | None = None) -> Secrets:
    """Choose secrets that fit a domain, of any kind or of one."""
    fitting = [kind for kind in _OF_VALUES if kind is not DistanceThreshold or _measurable(domain)]
    fitting = [kind for kind in fitting if kind is not Within or _trees(domain)]
    return MAKERS[kind or draw(st.sampled_from(tuple(fitting)))](draw, domain)


def _measurable(domain: Domain) -> bool:
    return all(attribute.ordered for attribute in domain.attributes)


def _trees(domain: Domain) -> list[str]:
    return [name for name in domain if isinstance(domain[name], Hierarchy)]


def _within(draw: st.DrawFn, domain: Domain) -> Secrets:
    trees = _trees(domain)
    if not trees:
        return FullDomain()
    chosen = draw(st.lists(st.sampled_from(tuple(trees)), min_size=1, unique=True))
    levels = {name: draw(views(domain, name).filter(lambda view: "@" in view)).split("@")[1] for name in chosen}
    return Within(levels if len(domain.names) > 1 else levels[trees[0]])


def _per_attribute(draw: st.DrawFn, domain: Domain) -> Secrets:
    own = {name: domain.project([name]) for name in domain}
    nested = [kind for kind in _OF_VALUES if kind not in (PerAttribute, DistanceThreshold, ByValue, Within)]
    kinds = {name: nested + [DistanceThreshold] * (3 if _measurable(own[name]) else 0) for name in domain}
    for name in _trees(domain):
        kinds[name] += [Within] * 3
    return PerAttribute({name: draw(secrets(own[name], draw(st.sampled_from(tuple(kinds[name]))))) for name in domain})


def _threshold(draw: st.DrawFn, domain: Domain) -> Secrets:
    theta = draw(THETAS)
    scaled = draw(st.booleans())
    return DistanceThreshold(theta, scale={name: draw(SCALES) for name in domain} if scaled else None)


def _partition(draw: st.DrawFn, domain: Domain) -> Secrets:
    blocks: dict[str, list[list[Any]]] = {}
    for name, attribute in zip(domain.names, domain.attributes, strict=True):
        labels = draw(st.lists(st.integers(0, 3), min_size=attribute.size, max_size=attribute.size))
        listed = [[attribute.value(p) for p in range(attribute.size) if labels[p] == label] for label in range(4)]
        blocks[name] = [block for block in listed if block]
    return Partition(blocks=blocks)


def _explicit(draw: st.DrawFn, domain: Domain) -> Secrets:
    cells = st.integers(0, domain.size - 1).map(lambda number: domain.record(domain.unflat(number)))
    pairs = draw(st.lists(st.tuples(cells, cells), max_size=12))
    return ExplicitGraph([(x, y) for x, y in pairs if x != y])


def _by_value(draw: st.DrawFn, domain: Domain) -> Secrets:
    if len(domain.names) == 1:
        return Public()
    column = draw(st.sampled_from(domain.names))
    others, attribute = domain.project([name for name in domain if name != column]), domain[column]
    chosen = draw(st.lists(secrets(others), min_size=1, max_size=3))
    numbers = draw(st.lists(st.sampled_from(range(len(chosen))), min_size=attribute.size, max_size=attribute.size))
    return ByValue(column, {attribute.value(position): chosen[number] for position, number in enumerate(numbers)})


MAKERS: dict[type[Secrets], Callable[[st.DrawFn, Domain], Secrets]] = {
    FullDomain: lambda draw, domain: FullDomain(),
    Attributes: lambda draw, domain: Attributes(),
    Public: lambda draw, domain: Public(),
    PerAttribute: _per_attribute,
    DistanceThreshold: _threshold,
    Partition: _partition,
    ExplicitGraph: _explicit,
    ByValue: _by_value,
    Within: _within,
    AddRemove: lambda draw, domain: AddRemove(),
}
"""How to make each kind of secrets; a new kind adds its line here and every contract test covers it."""
_OF_VALUES = [kind for kind in MAKERS if kind.size is None]
"""Those that go with any size; the others are made where they are asked for."""


def known_facts(domain: Domain) -> st.SearchStrategy[KnownFact]:
    """Make a fact without stated counts."""
    names = st.sampled_from(domain.names)
    marginals = st.lists(names, min_size=1, max_size=2, unique=True).map(lambda chosen: KnownMarginal(*chosen))
    return st.one_of(marginals, _known_counts(domain))


@st.composite
def _known_counts(draw: st.DrawFn, domain: Domain) -> KnownFact:
    where: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(domain.names), min_size=1, max_size=2, unique=True)):
        attribute = domain[name]
        places = draw(st.sets(st.integers(0, attribute.size - 1), min_size=1))
        where[name] = [attribute.value(place) for place in sorted(places)]
    return KnownCount(where)


def policies(
    most_cells: int = 60,
    most_attributes: int = 3,
    most_facts: int = 0,
    kind: type[Secrets] | None = None,
    sizes: Sequence[Any] = ("known",),
) -> st.SearchStrategy[Policy]:
    """Make a policy; ask for known facts by their largest number."""
    return _policies(most_cells, most_attributes, most_facts, kind, tuple(sizes))


@cache
@st.composite
def _policies(
    draw: st.DrawFn,
    most_cells: int,
    most_attributes: int,
    most_facts: int,
    kind: type[Secrets] | None,
    sizes: tuple[Any, ...],
) -> Policy:
    domain = draw(domains(most_cells, most_attributes, kind))
    known = draw(st.lists(known_facts(domain) if most_facts else st.nothing(), max_size=most_facts))
    compensation: Any = draw(st.sampled_from(["anywhere", "secret-moves"])) if known else "anywhere"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BlowfishWarning)
        chosen, size = draw(secrets(domain, kind)), draw(st.sampled_from(sizes))
        return Policy(domain, secrets=chosen, known=known, compensation=compensation, size=chosen.size or size)
