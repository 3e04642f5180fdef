"""What was lost on a pair of values: never less than along the cheapest chain of secret pairs, found by search."""

from __future__ import annotations

import heapq
import math
import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.privacy.loss import EVERY, PRESENCE, Loss, PairClass, changing, region_of
from blowfish_privacy.testing.oracle import ABSENT
from effort import examples
from pair_classes import class_of

DOMAIN = bp.Domain(a=bp.Integer(0, 4), b=bp.Integer(0, 2), c=bp.Categorical(["x", "y"]))
SECRETS = {
    "near": bp.PerAttribute(a=bp.DistanceThreshold(2), b=bp.FullDomain(), c=bp.Public()),
    "full": bp.PerAttribute(a=bp.FullDomain(), b=bp.FullDomain(), c=bp.Public()),
}
POLICIES = {
    f"{name} {size}": bp.Policy(DOMAIN, secrets=graph, size=size)
    for name, graph in SECRETS.items()
    for size in ("known", "unknown")
}
amounts = st.fractions(min_value=Fraction(1, 6), max_value=1, max_denominator=6)


@st.composite
def losses(draw, *, regions=True):
    """Losses on classes; a region names other attributes than the one that its pairs change."""

    def region(pairs):
        names = draw(st.sets(st.sampled_from(DOMAIN.names))) - {pairs.attribute} if regions and pairs != EVERY else ()
        subsets = {name: draw(st.sets(st.integers(0, DOMAIN[name].size - 1), min_size=1)) for name in names}
        return region_of(DOMAIN, {name: Subset.of(subset) for name, subset in subsets.items()})

    classes = draw(st.lists(st.sampled_from([changing("a"), changing("b"), PRESENCE, EVERY]), max_size=4))
    return Loss.of({PairClass(c.kind, c.attribute, region(c)): draw(amounts) for c in classes})


def lost_on(policy, loss, x, y):
    """What one secret pair lost."""
    seen = dict(zip(DOMAIN.names, y if x == ABSENT else x, strict=True))
    whole = class_of(policy, x, y)
    met = (
        amount
        for pairs, amount in loss
        if pairs == EVERY or (pairs.whole == whole and all(seen[name] in values for name, values in pairs.within))
    )
    return sum(met, Fraction(0))


def cheapest(policy, loss, start, end):
    """What the cheapest chain of secret pairs between two values lost."""
    cells = list(DOMAIN.cells())
    steps: dict = {cell: [] for cell in (*cells, ABSENT)}
    pairs = list(policy.graph.edges()) + [(ABSENT, cell) for cell in cells if policy.size == "unknown"]
    for x, y in pairs:
        cost = lost_on(policy, loss, x, y)
        steps[x].append((y, cost))
        steps[y].append((x, cost))
    best, queue = {start: Fraction(0)}, [(Fraction(0), 0, start)]
    for number in range(10**6):
        if not queue:
            break
        cost, _, here = heapq.heappop(queue)
        for there, more in steps[here]:
            if cost + more < best.get(there, math.inf):
                best[there] = cost + more
                heapq.heappush(queue, (cost + more, number * 1000 + len(queue), there))
    return best.get(end, math.inf)


cells = st.tuples(*(st.integers(0, size - 1) for size in DOMAIN.shape))


def made(folder, policy, asked):
    ledger = SqliteLedger.create(Path(folder) / "a.ledger", budget=Fraction(99), load_policy=POLICIES.__getitem__)
    for number, (name, loss) in enumerate(asked):
        ledger.charge(
            loss=loss, policy=POLICIES[f"{name} {policy}"], policy_text=f"{name} {policy}", key=str(number),
            description="", mechanism="",
        )  # fmt: skip
    return ledger


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(losses(), min_size=1, max_size=3), st.sampled_from(["known", "unknown"]), cells, cells)
def test_it_is_no_less_than_along_the_cheapest_chain(asked, size, start, end):
    with tempfile.TemporaryDirectory() as folder:
        ledger = made(folder, size, [("near", loss) for loss in asked])
        found = ledger.loss(DOMAIN.record(start), DOMAIN.record(end))
        assert found == ledger.loss(DOMAIN.record(end), DOMAIN.record(start))
    policy, loss = POLICIES[f"near {size}"], Loss.total(asked)
    assert found >= cheapest(policy, loss, start, end)
    # And no more than if regions were not known.
    spread = Loss.total(Loss.of({pairs.whole: amount}) for pairs, amount in loss)
    assert found <= max(spread.on(pairs) for pairs in (changing("a"), changing("b"), PRESENCE)) * policy.apart(
        start, end
    ) or math.isinf(policy.apart(start, end))


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(losses(regions=False), min_size=1, max_size=3), cells, cells)
def test_without_regions_it_is_that_of_the_cheapest_chain(asked, start, end):
    with tempfile.TemporaryDirectory() as folder:
        found = made(folder, "known", [("near", loss) for loss in asked]).loss(DOMAIN.record(start), DOMAIN.record(end))
    assert found == cheapest(POLICIES["near known"], Loss.total(asked), start, end)


@settings(max_examples=examples(10), deadline=None)
@given(losses(), losses(), cells, cells)
def test_under_several_policies_it_is_no_less_than_on_the_chains_of_each(first, second, start, end):
    with tempfile.TemporaryDirectory() as folder:
        ledger = made(folder, "known", [("full", first), ("near", second)])
        found = ledger.loss(DOMAIN.record(start), DOMAIN.record(end))
    chains = [
        cheapest(POLICIES[f"{name} known"], loss, start, end) for name, loss in (("full", first), ("near", second))
    ]
    assert found >= sum(chains)


def test_attributes_that_are_not_named_may_have_any_value(tmp_path):
    within = region_of(DOMAIN, {"c": Subset.of([0])})
    half = Fraction(1, 2)
    loss = Loss.of({PairClass("attribute", "a", within): half, changing("b"): half / 5})
    ledger = made(tmp_path, "known", [("near", loss)])
    assert ledger.loss({"a": 0}, {"a": 4}) == 2 * half
    assert ledger.loss({"a": 0, "c": "x"}, {"a": 4, "c": "x"}) == 2 * half
    assert ledger.loss({"a": 0, "c": "y"}, {"a": 4, "c": "y"}) == 0
    assert ledger.loss({"a": 0, "b": 0}, {"a": 1, "b": 2}) == half + half / 5
    assert ledger.loss({"c": "x"}, {"c": "y"}) == math.inf
