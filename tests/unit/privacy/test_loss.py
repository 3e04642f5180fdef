"""Regions, and what is lost on them, against a list of all points."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
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
    changing,
    contains,
    largest_overlap,
    meet,
    region_of,
)
from blowfish_privacy.privacy.measure import Approximate, epsilon_of

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
    assert region_of(one, boxes[0]) == (("age", Subset.span(2, 4)), ("zone", Subset.span(1, 3)))
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


# Why one order is fixed in advance: who chooses releases by what earlier ones said breaks any later choice.
#
# Gaussian noise is released in many small steps. Where its privacy loss happens to come out high, one stops, and spends
# what the budget still admits on a pure release. All of it is worked out numerically: the loss of the steps is a normal
# random walk, followed on a grid; the pure release is randomised response, whose loss is exactly its epsilon. With a
# budget of (1, 1e-6) the whole is then (1, d)-private for no d below what is found here.


EPSILON, DELTA = Fraction(1), Fraction("1e-6")

PROMISE = Approximate.of(EPSILON, DELTA)

RATIO = 1.02

"""By how much each step makes the rho of all steps so far larger."""

WIDTH, FURTHEST = 0.02, 8.0


def broken_with_probability(left: Callable[[float], float], times: list[float]) -> float:
    """Follow the random walk of the loss, and add up by how much probabilities exceed exp(epsilon) times the others.

    After steps of rho t in all the loss is normal with mean t and variance 2 t; ``left`` says what pure epsilon the
    budget still admits. One stops as soon as the loss is so high that this breaks the promise well.
    """
    normal = np.arange(-FURTHEST, FURTHEST + WIDTH / 2, WIDTH)
    kept = 1 / math.sqrt(RATIO)
    moves = np.exp(-((normal[:, None] - kept * normal[None, :]) ** 2) / (2 * (1 - kept**2)))
    moves /= moves.sum(axis=0)
    running = np.exp(-(normal**2) / 2)
    running /= running.sum()
    broken = 0.0
    for time in times:
        pure = left(time)
        lost = time + math.sqrt(2 * time) * normal
        told = 1 / (1 + math.exp(-pure))
        gained = told * np.maximum(1 - np.exp(float(EPSILON) - lost - pure), 0)
        # Stop where the loss is beyond what the budget assumes of these steps by so much that waiting gains little.
        stopped = lost > float(EPSILON) - pure + math.sqrt(time) / 4
        broken += float((running * gained)[stopped].sum())
        running = moves @ np.where(stopped, 0, running)
    return broken


def times(most: float, decades: int) -> list[float]:
    steps = round(decades * math.log(10) / math.log(RATIO))
    return [most * RATIO**-step for step in range(steps, -1, -1)]


def test_the_best_split_at_the_end_does_not_hold_for_adaptive_choices() -> None:
    """Counting Gaussian releases by their rho, and pure ones beside it as epsilon, breaks the promise several times."""

    def left(time: float) -> float:
        return max(float(EPSILON - epsilon_of(Fraction(time), DELTA)), 0)

    everything = float(PROMISE.allowed)
    # One look only, at a time chosen in advance, keeps the promise.
    assert max(broken_with_probability(left, [time]) for time in times(everything, 2)[::20]) < float(DELTA)
    assert broken_with_probability(left, times(everything, 2)) > 2 * float(DELTA)


def test_amounts_of_one_order_hold_for_adaptive_choices() -> None:
    def left(time: float) -> float:
        return float(PROMISE.pure(max(PROMISE.allowed - Fraction(time), Fraction(0))))

    assert broken_with_probability(left, times(float(PROMISE.allowed), 2)) < float(DELTA)
