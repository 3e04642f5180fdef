"""Which rows are read along an attribute of which ranges are asked for, chosen from public numbers by expected error.

Where all other attributes of its tables are public and the number of records is known, only moves along the attribute
itself cost anything: the levels are those of the smooth hierarchy, sums up to a value among them where moves are short.
Otherwise a record that changes another attribute changes all rows that it is in: hats, of which a record is in as much
as in a single value, and never sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod, sqrt

from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.mechanisms.ordered.level_choice import choose_levels
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level
from blowfish_privacy.mechanisms.tables.ranges.groups import counts_from
from blowfish_privacy.mechanisms.tables.ranges.range_components import in_both
from blowfish_privacy.queries.tables import Block, TablesForm

KINDS: dict[str, type[Level]] = {"hats": DifferenceLevel, "sums": CumulativeLevel}
"""The rows that may be read, by their names in documents."""
_COMPARED = 400
"""For attributes of so many values spacings are compared; beyond, a rule is as good."""
Strategy = tuple[tuple[Level, float], ...]
"""Rows, and the weight of each if a plain table has weight 1; empty where values are counted as they are."""


def row_kind(level: object) -> str:
    """Name the rows that are read."""
    return next(name for name, kind in KINDS.items() if isinstance(level, kind))


def beside_public(size: int, reach: int) -> Strategy:
    """Choose rows where a secret pair moves at most ``reach`` values along the attribute, and changes no other."""
    levels = choose_levels(size, reach, Fraction(1), None)
    if [(row_kind(level), level.spacing) for level in levels] == [("hats", 1)]:
        return ()
    # A plain table changes by 2, and these levels by 1.
    return tuple((type(level)(level.spacing, Fraction(0)), float(2 * level.spacing / level.scale)) for level in levels)


@lru_cache(maxsize=64)
def beside_secrets(size: int) -> Strategy:
    """Choose rows of which a record is in as much as in a single value."""
    spacings = {max(2, round(factor * sqrt(size))) for factor in (1.1, 1.3, 1.5)} if size <= _COMPARED else set[int]()
    spacings = spacings or {round(1.3 * sqrt(size))}
    tried: list[Strategy] = [()]
    for spacing, share in product(sorted(spacings), (0.5, 0.55)):
        if spacing < size:
            tried.append(((_level("hats", 1), share), (_level("hats", spacing), 1 - share)))
    return min(tried, key=lambda strategy: _range_error(size, strategy))


def _level(kind: str, spacing: int) -> Level:
    return KINDS[kind](spacing, Fraction(0))


def _range_error(size: int, strategy: Strategy) -> float:
    """Return the variance of a random range, for noise of variance 1 on rows of weight 1."""
    levels, shares = zip(*(strategy or ((_level("hats", 1), 1.0),)), strict=True)
    readers = counts_from(size, levels, shares, False)  # noqa: FBT003
    return sum(
        (level.spacing / share) ** 2 * float(((in_both(size) @ reader) * reader).sum())
        for level, share, reader in zip(levels, shares, readers, strict=True)
    )


def with_rows(
    form: TablesForm, graph: SecretGraph, blocks: Sequence[Block], secret: frozenset[int], *, counted: bool
) -> Iterator[tuple[Block, float]]:
    """Let planned tables read rows along the axes asked for as ranges: every combination, each with its weight.

    ``secret`` are the axes that a secret pair may change. Exact tables that the rows need beside them are added.
    """
    noisy = [block for block in blocks if block.weight]
    strategies = {
        axis: _strategy(form, graph, axis, [{*block.axes} - {axis} for block in noisy if axis in block.axes], secret)
        if counted
        else beside_secrets(form.shape[axis])
        for axis in form.ranges
    }
    exact = {frozenset(block.axes) for block in blocks if not block.weight}
    for block in blocks:
        read = [axis for axis in block.counted if block.weight and strategies.get(axis)]
        for chosen in product(*(strategies[axis] for axis in read)):
            readings = tuple((axis, level) for axis, (level, _) in zip(read, chosen, strict=True))
            weight = block.weight * prod(share for _, share in chosen)
            yield Block(block.axes, block.signs, block.weight, readings), weight
        for axis in read:
            rest = frozenset(block.axes) - {axis}
            if rest and counted and rest.isdisjoint(secret) and not any(rest <= other for other in exact):
                exact.add(rest)
                yield Block(tuple(sorted(rest)), (), 0), 0.0


def _strategy(
    form: TablesForm, graph: SecretGraph, axis: int, others: Sequence[set[int]], secret: frozenset[int]
) -> Strategy:
    """Choose the rows of one axis, given the other axes of every table that has noise and this one."""
    if all(secret.isdisjoint(rest) for rest in others):
        reach = graph.largest_move(form.domain.names[axis])
        return beside_public(form.shape[axis], reach) if reach else ()
    return beside_secrets(form.shape[axis])
