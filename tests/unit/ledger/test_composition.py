import math
from collections import deque
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.ledger.composition import SAME_POLICY, price

LINE = bp.Domain(a=bp.Integer(0, 6))
BINS = bp.Domain(a=bp.Binned([0, 1, 2, 5, 6, 10, 11]))
PLANE = bp.Domain(a=bp.Integer(0, 4), b=bp.Integer(0, 3))

thresholds = st.integers(1, 7).map(bp.DistanceThreshold)
one_attribute = st.one_of(
    thresholds, st.just(bp.FullDomain()), st.just(bp.Public()), st.integers(1, 5).map(lambda w: bp.Partition(widths=w))
)
line_edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda p: p[0] != p[1]), max_size=9)
line = st.one_of(one_attribute, line_edges.map(bp.ExplicitGraph))
plane = st.one_of(
    st.just(bp.FullDomain()),
    st.just(bp.Attributes()),
    st.builds(lambda a, b: bp.PerAttribute(a=a, b=b), one_attribute, one_attribute),
    st.builds(lambda a, b: bp.Partition(widths={"a": a, "b": b}), st.integers(1, 5), st.integers(1, 4)),
    st.builds(
        lambda t, a, b: bp.DistanceThreshold(t, scale={"a": a, "b": b}),
        st.integers(1, 9),
        st.integers(1, 3),
        st.integers(1, 3),
    ),
)
bins = st.one_of(thresholds, st.just(bp.FullDomain()))
cases = st.one_of(
    st.tuples(st.just(LINE), line, line), st.tuples(st.just(PLANE), plane, plane), st.tuples(st.just(BINS), bins, bins)
)


def policy(domain: bp.Domain, secrets: bp.Policy, **options: object) -> bp.Policy:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.BlowfishWarning)
        return bp.Policy(domain, secrets=secrets, **options)


def steps(found: bp.Policy, x: tuple, y: tuple, *, absent: bool) -> float:
    """Breadth first over the pairs that the policy's graph calls adjacent: no closed form is used."""
    seen, queue = {x: 0}, deque([x])
    while queue:
        here = queue.popleft()
        for there in found.domain.cells():
            if there not in seen and found.graph.adjacent(here, there):
                seen[there] = seen[here] + 1
                queue.append(there)
    far = seen.get(y, math.inf)
    return min(far, 2) if absent else far


def true_stretch(base: bp.Policy, new: bp.Policy) -> float:
    edges = [pair for pair in combinations(base.domain.cells(), 2) if base.graph.adjacent(*pair)]
    return max((steps(new, *edge, absent=new.size == "unknown") for edge in edges), default=1)


def factor(base: bp.Policy, new: bp.Policy) -> float:
    try:
        return price(base, new).factor
    except RefusalError as error:
        return math.nan if "no rule" in error.message else math.inf


@settings(deadline=None, max_examples=150)
@given(case=cases, sizes=st.sampled_from([("known", "known"), ("known", "unknown"), ("unknown", "unknown")]))
def test_on_small_domains_the_factor_is_the_stretch(case, sizes) -> None:
    domain, first, second = case
    base, new = policy(domain, first, size=sizes[0]), policy(domain, second, size=sizes[1])
    assert factor(base, new) == true_stretch(base, new)


@settings(deadline=None, max_examples=150)
@given(case=cases)
def test_without_listing_edges_the_factor_is_never_too_small(case) -> None:
    domain, first, second = case
    base, new = policy(domain, first), policy(domain, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blowfish_privacy.graphs.graph._MOST_EDGES", 0)
        found = factor(base, new)
    true = true_stretch(base, new)
    if math.isnan(found):
        assert "ExplicitGraph" in repr(first) + repr(second)
    else:
        assert found >= true
        assert (found == math.inf) == (true == math.inf)
        if domain is LINE or isinstance(first, bp.PerAttribute):
            assert found == true


@settings(deadline=None)
@given(case=st.tuples(st.just(LINE), line, line), rows=st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_rows_of_a_person_move_in_groups(case, rows) -> None:
    domain, first, second = case
    base = policy(domain, first, rows_per_person=rows[0])
    new = policy(domain, second, rows_per_person=rows[1])
    assert factor(base, new) == true_stretch(base, new) * math.ceil(Fraction(*rows))


def test_large_domains_need_no_listing() -> None:
    domain = bp.Domain(lat=bp.Integer(0, 10**9), lon=bp.Integer(0, 10**9))
    near = policy(domain, bp.DistanceThreshold(10))
    assert price(near, policy(domain, bp.FullDomain())).factor == 1
    assert price(near, policy(domain, bp.DistanceThreshold(11))).factor == 1
    assert price(near, policy(domain, bp.Attributes())).factor == 2
    blocks, coarse = (policy(domain, bp.Partition(widths={"lat": w, "lon": w})) for w in (10, 20))
    with pytest.raises(RefusalError, match="not protect at all"):
        price(near, coarse)
    # Too many values to look at each: refused, though the one cut refines the other.
    with pytest.raises(RefusalError, match="no rule"):
        price(blocks, coarse)


def test_blocks_within_blocks_cost_nothing_more() -> None:
    domain = bp.Domain(a=bp.Integer(0, 4999), b=bp.Integer(0, 4999))
    fine, coarse, askew = (policy(domain, bp.Partition(widths={"a": w, "b": w})) for w in (10, 20, 15))
    assert price(fine, coarse).factor == 1
    for base, new in [(coarse, fine), (fine, askew)]:
        with pytest.raises(RefusalError, match="not protect at all"):
            price(base, new)


def test_explicit_pairs_on_a_large_plane_have_no_rule() -> None:
    domain = bp.Domain(a=bp.Integer(0, 999), b=bp.Integer(0, 999))
    pairs = policy(domain, bp.ExplicitGraph([((0, 0), (1, 1)), ((1, 1), (2, 2))]))
    assert price(pairs, policy(domain, bp.DistanceThreshold(1))).factor == 2
    with pytest.raises(RefusalError, match="no rule"):
        price(policy(domain, bp.DistanceThreshold(1)), pairs)


def test_many_bins_are_bounded_from_end_to_end() -> None:
    domain = bp.Domain(a=bp.Binned(list(range(0, 400, 2))))
    far, near = policy(domain, bp.DistanceThreshold(20)), policy(domain, bp.DistanceThreshold(10))
    assert price(near, far).factor == 1
    bound = price(far, near).factor
    assert bound == near.graph.hops((0,), (198,)) >= 2


def test_equal_policies_spelt_differently_are_equal() -> None:
    full = policy(LINE, bp.FullDomain())
    assert price(full, policy(LINE, bp.DistanceThreshold(6))) == SAME_POLICY


@pytest.mark.parametrize(
    ("base", "new", "reason"),
    [
        ({"size": "unknown"}, {}, "number of records secret"),
        ({"size": 5}, {"size": 6}, "states 5 records and this one 6"),
        ({"known": [bp.KnownCount({"a": 1})]}, {}, "known facts"),
        ({}, {"known": [bp.KnownCount({"a": 1})]}, "known facts"),
    ],
)
def test_options_that_do_not_combine_are_refused(base, new, reason) -> None:
    with pytest.raises(RefusalError, match=reason):
        price(policy(LINE, bp.FullDomain(), **base), policy(LINE, bp.FullDomain(), **new))


def test_a_stated_number_of_records_promises_the_same() -> None:
    stated, known = policy(LINE, bp.FullDomain(), size=5), policy(LINE, bp.FullDomain())
    assert price(stated, known).factor == price(known, stated).factor == 1


def test_domains_must_agree() -> None:
    base = policy(PLANE, bp.DistanceThreshold(2))
    with pytest.raises(RefusalError, match="domain is not"):
        price(base, policy(LINE, bp.FullDomain()))
    turned = bp.Domain(b=bp.Integer(0, 3), a=bp.Integer(0, 4))
    with pytest.raises(RefusalError, match="different order"):
        price(base, policy(turned, bp.FullDomain()))
    clamped = bp.Domain(a=bp.Integer(0, 6, outside="clamp"))
    with pytest.raises(RefusalError, match="domain is not"):
        price(policy(LINE, bp.FullDomain()), policy(clamped, bp.FullDomain()))
