"""Regions, and what is lost on them, against a list of all points."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.privacy import loss as regions
from blowfish_privacy.privacy.loss import (
    EVERY,
    Loss,
    PairClass,
    box_of,
    changing,
    contains,
    largest_overlap,
    meet,
    region_of,
)

SIZES = {"a": 4, "b": 3, "c": 5}
POINTS = [dict(zip(SIZES, point, strict=True)) for point in product(*map(range, SIZES.values()))]
AMOUNTS = st.fractions(0, 2, max_denominator=6)


@st.composite
def made_regions(draw: st.DrawFn) -> regions.Region:
    names = draw(st.sets(st.sampled_from([*SIZES])))
    chosen = {name: draw(st.sets(st.integers(0, SIZES[name] - 1), min_size=1)) for name in names}
    return tuple((name, Subset.of(chosen[name])) for name in sorted(chosen))


def holds(region: regions.Region, point: dict[str, int]) -> bool:
    return all(point[name] in subset for name, subset in region)


@given(st.lists(st.tuples(made_regions(), AMOUNTS), max_size=8))
def test_the_largest_sum_is_that_of_the_worst_point(weighted):
    worst = max(sum(amount for region, amount in weighted if holds(region, point)) for point in POINTS)
    assert largest_overlap(weighted) == worst


@given(made_regions(), made_regions())
def test_meeting_and_containing_are_those_of_the_points(first, second):
    shared = [point for point in POINTS if holds(first, point) and holds(second, point)]
    met = meet(first, second)
    assert [point for point in POINTS if met is not None and holds(met, point)] == shared
    inside = all(holds(first, point) for point in POINTS if holds(second, point))
    assert contains(first, second) <= inside
    if all(len(subset) < SIZES[name] for name, subset in first):
        assert contains(first, second) == inside


def test_too_many_regions_are_added_up(monkeypatch):
    monkeypatch.setattr(regions, "_MOST_STEPS", 3)
    weighted = [((("a", Subset.of([number])),), Fraction(1)) for number in range(50)]
    assert 1 <= largest_overlap(weighted) <= 50


def test_many_disjoint_regions_are_quick():
    weighted = [
        ((("a", Subset.of([place])), ("b", Subset.of([group]))), Fraction(1, 3))
        for place in range(500)
        for group in (0, 1)
    ]
    assert largest_overlap([*weighted, ((), Fraction(1, 7))]) == Fraction(1, 3) + Fraction(1, 7)


def test_a_region_does_not_depend_on_the_order_of_categories():
    one = bp.Domain(zone=bp.Categorical(["east", "north", "west"]), age=bp.Integer(0, 9))
    other = bp.Domain(zone=bp.Categorical(["west", "east", "north"]), age=bp.Integer(0, 9))
    boxes = [{"zone": domain["zone"].subset(["west", "north"]), "age": Subset.span(2, 4)} for domain in (one, other)]
    assert region_of(one, boxes[0]) == region_of(other, boxes[1])
    assert [box_of(domain, region_of(domain, box)) for domain, box in zip((one, other), boxes, strict=True)] == boxes
    assert region_of(one, {"age": Subset.span(0, 10)}) == ()


LOSSES = st.dictionaries(
    st.one_of(
        st.just(EVERY),
        st.builds(lambda name, region: PairClass("attribute", name, region), st.sampled_from("ab"), made_regions()),
    ),
    AMOUNTS,
    max_size=5,
).map(Loss.of)


@given(LOSSES, LOSSES)
def test_losses_on_regions_are_those_of_the_points(first, second):
    def at(loss: Loss, name: str, point: dict[str, int]) -> Fraction:
        met = (
            amount
            for pairs, amount in loss
            if pairs == EVERY or (pairs.attribute == name and holds(pairs.within, point))
        )
        return sum(met, Fraction(0))

    for name in "ab":
        assert first.on(changing(name)) == max(at(first, name, point) for point in POINTS)
        assert (first + second).on(changing(name)) == max(
            at(first, name, point) + at(second, name, point) for point in POINTS
        )
    if first.covers(second):
        assert all(at(first, name, point) >= at(second, name, point) for name in "ab" for point in POINTS)
    assert first.covers(first) or any(pairs.within for pairs, _ in first)


def test_more_on_a_part_is_not_covered_by_less_everywhere():
    part = (("a", Subset.of([1])),)
    small, large = (
        Loss.of({changing("b"): Fraction(1, 2)}),
        Loss.of({PairClass("attribute", "b", part): Fraction(2, 3)}),
    )
    assert not small.covers(large)
    assert not large.covers(small)
    assert (small + small).covers(large)


@pytest.mark.parametrize("name", ["a", "b"])
def test_amounts_of_unlike_regions_stay_apart(name):
    parts = [PairClass("attribute", name, (("c", Subset.of([value])),)) for value in range(5)]
    loss = Loss.of(dict.fromkeys(parts, Fraction(1, 2)))
    assert loss.largest == Fraction(1, 2)
    assert (loss + loss).largest == 1
    assert loss.on(PairClass("attribute", name, (("c", Subset.of([7])),))) == 0
