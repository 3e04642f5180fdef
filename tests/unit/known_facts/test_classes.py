"""The search over sets of moves ends, and where."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.graphs.per_attribute import CartesianGraph
from blowfish_privacy.known_facts import atoms
from blowfish_privacy.known_facts.atoms import Move
from blowfish_privacy.known_facts.fact_model import classes_of, joined_classes
from blowfish_privacy.queries.query import LinearForm, Query
from blowfish_privacy.testing.strategies import MAKERS, domains, known_facts, secrets
from effort import examples
from registries import forgotten

EDGE = ((0,), (1,))


def all_effects(rank):
    """Every effect on so many counts, secret and not."""
    effects = [effect for effect in product((-1, 0, 1), repeat=rank) if any(effect)]
    return [Move(effect, (), 1, (0, 1), secret) for effect in effects for secret in (None, EDGE)]


@pytest.mark.parametrize(("rank", "longest"), [(1, 2), (2, 4), (3, 10)])
def test_no_set_of_moves_is_longer(rank, longest, monkeypatch):
    kept = []
    keep = atoms._keep

    def note(states, key, state):
        kept.append(len(state.moves))
        keep(states, key, state)

    monkeypatch.setattr(atoms, "_keep", note)
    monkeypatch.setitem(atoms._PROVEN, rank, longest + 5)
    found = atoms.search(all_effects(rank), records=None)
    assert (found.longest, found.value) == (longest, longest)
    assert sum(effect for move in found.moves for effect in move.effect) == 0
    # Nothing unfinished was left when the search ended: it is complete for any number of records.
    assert max(kept) == longest - 1
    assert atoms._PROVEN[rank] > longest


def test_the_number_of_records_limits_the_search():
    assert atoms.search(all_effects(3), records=5).longest == 5
    assert atoms.search(all_effects(4), records=9) is None
    assert atoms.search(all_effects(4), records=None) is None
    assert atoms.search(all_effects(4), records=3).longest == 3


def test_a_set_without_a_secret_move_does_not_count():
    moves = [Move((1,), (), 1, (0, 1)), Move((-1,), (), 1, (1, 0))]
    assert atoms.search(moves, records=None).value == 0
    assert atoms.search([*moves, Move((1,), (), 0, (0, 1), EDGE)], records=None).value == 1


def test_single_valued_classes_cancel():
    there, back = Move((1,), (-1,), 1, (0, 1), EDGE), Move((-1,), (1,), 1, (1, 0))
    assert atoms.search([there, back], records=None).value == 2
    gone = Move((-1,), (0,), 1, (1, 2))
    assert atoms.search([there, gone], records=None).value == 3


# Which classes secret pairs join, against going through all pairs of values.


def by_enumeration(graph, classes):
    pairs, touched = set(), defaultdict(set)
    for x, y in combinations(graph.domain.cells(), 2):
        a, b = classes.of(x), classes.of(y)
        if a != b and graph.adjacent(x, y):
            pairs.add((min(a, b), max(a, b)))
            touched[a].add(x)
            touched[b].add(y)
    return tuple(sorted(pairs)), tuple(len(touched[c]) >= 2 for c in range(classes.size))


@st.composite
def graphs_and_classes(draw, kind):
    domain = draw(domains(40, 3, kind))
    known = draw(st.lists(known_facts(domain), min_size=1, max_size=4))
    return draw(secrets(domain, kind)).on(domain), classes_of(domain, known)


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_arcs_are_those_found_by_enumeration(kind, data):
    graph, classes = data.draw(graphs_and_classes(kind))
    found = joined_classes(graph, classes)
    pairs, ends = by_enumeration(graph, classes)
    assert found.exact
    assert found.pairs == pairs
    assert all(said or not true for said, true in zip(found.ends, ends, strict=True))
    # Along the attributes of a product only a bound is found, and other graphs may be one, or have one as a part.
    if kind is bp.Attributes or not has_products(graph):
        assert tuple(found.ends) == ends


def has_products(graph):
    return isinstance(graph, CartesianGraph) or any(map(has_products, getattr(graph, "parts", ())))


@given(data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_blocks_of_equal_width_are_never_counted(data):
    domain = bp.Domain(a=bp.Integer(0, data.draw(st.integers(0, 14))), b=bp.Integer(0, data.draw(st.integers(0, 4))))
    widths = {name: data.draw(st.integers(1, 5)) for name in domain}
    classes = classes_of(domain, data.draw(st.lists(known_facts(domain), min_size=1, max_size=3)))
    graph = bp.Partition(widths=widths).on(domain)
    found = joined_classes(graph, classes)
    assert (found.pairs, tuple(found.ends)) == by_enumeration(graph, classes)


class Odd(SecretGraph):
    """A graph of a kind nobody has heard of: positions whose sum is odd are secret from each other."""

    def __init__(self, domain):
        self.domain = domain

    def adjacent(self, x, y):
        return sum(x) % 2 == 1 and sum(y) % 2 == 1 and x != y

    hops = component = connected = project = widest_edge = joins = _canonical = _words = None


def line(size, *boxes):
    domain = bp.Domain(v=bp.Integer(0, size - 1))
    return domain, classes_of(domain, [bp.KnownCount(where={"v": box}) for box in boxes])


def test_an_unknown_graph_is_enumerated_where_it_is_small_and_complete_where_it_is_large():
    domain, classes = line(6, [0], [1, 2])
    found = joined_classes(Odd(domain), classes)
    assert found.exact
    assert (found.pairs, tuple(found.ends)) == by_enumeration(Odd(domain), classes)
    domain, classes = line(1000, [0], [1, 2])
    found = joined_classes(Odd(domain), classes)
    assert not found.exact
    assert found.pairs == ((0, 1), (0, 2), (1, 2))
    assert all(found.ends)


def test_only_the_values_next_to_a_cut_are_touched():
    # The counts of 0..499 and of 500..999 are known, theta = 1: only 499 and 500 are joined, one value of each class.
    domain, classes = line(1000, (0, 499))
    assert not joined_classes(bp.DistanceThreshold(1).on(domain), classes).ends.any()
    assert joined_classes(bp.DistanceThreshold(2).on(domain), classes).ends.all()


def test_large_domains_are_not_enumerated():
    domain = bp.Domain(x=bp.Integer(0, 10**9 - 1), y=bp.Integer(0, 10**9 - 1))
    known = [bp.KnownCount(where={"x": (0, 9), "y": (0, 9)}), bp.KnownCount(where={"x": (12, 20), "y": (11, 20)})]
    classes = classes_of(domain, known)
    outside = classes.of((10**8, 10**8))
    start = perf_counter()
    near, far = (joined_classes(bp.DistanceThreshold(t).on(domain), classes).pairs for t in (4, 5))
    # From (9, 9) to (12, 11) are 3 + 2 = 5 steps.
    assert all(outside in pair for pair in near)
    assert len(far) == len(near) + 1 == 3
    assert len(joined_classes(bp.Partition(widths={"x": 3, "y": 3}).on(domain), classes).pairs) == 2
    assert len(joined_classes(bp.Attributes().on(domain), classes).pairs) == 2
    assert perf_counter() - start < 1


def test_too_many_arcs_are_refused():
    domain = bp.Domain(x=bp.Integer(0, 1999))
    classes = classes_of(domain, [bp.KnownMarginal("x")])
    with pytest.raises(RefusalError, match="too many pairs of classes"):
        joined_classes(bp.FullDomain().on(domain), classes)
    # Neighbouring values only: 1,999 arcs.
    assert len(joined_classes(bp.DistanceThreshold(1).on(domain), classes).pairs) == 1999


def test_numbers_too_large_for_exact_distances_give_a_superset():
    domain = bp.Domain(x=bp.Integer(0, 2**61))
    classes = classes_of(domain, [bp.KnownCount(where={"x": (0, 5)}), bp.KnownCount(where={"x": (50, 60)})])
    found = joined_classes(bp.DistanceThreshold(3).on(domain), classes)
    assert not found.exact
    assert len(found.pairs) == 3


# A fact that costs nothing is not said to cross others.


DOMAIN = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["Female", "Male"]), region=bp.Categorical(["N", "S"]))

SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(2), sex=bp.FullDomain(), region=bp.Public())

CROSSING = [
    bp.KnownMarginal("sex"),
    bp.KnownCount(where={"age": (0, 1)}),
    bp.KnownCount(where={"age": (2, 3)}),
    bp.KnownCount(where={"age": (4, 5)}),
]


@pytest.mark.parametrize("free", [bp.KnownMarginal("region"), bp.KnownCount(where={"region": "N"})])
def test_free_facts_are_not_said_to_cross(free):
    policy = bp.Policy(DOMAIN, secrets=SECRETS, known=[free, *CROSSING])
    with pytest.raises(RefusalError, match="cross each other") as caught:
        bp.sensitivity(bp.Histogram("age", "sex", "region"), policy)
    assert "age" in caught.value.message
    assert "region" not in caught.value.message


def test_whole_block_counts_are_free_and_not_said_to_cross():
    secrets = bp.PerAttribute(
        age=bp.DistanceThreshold(2), sex=bp.FullDomain(), region=bp.Partition(blocks={"region": [["N"], ["S"]]})
    )
    policy = bp.Policy(DOMAIN, secrets=secrets, known=[*CROSSING, bp.KnownMarginal("region")])
    with pytest.raises(RefusalError) as caught:
        bp.sensitivity(bp.Histogram("age", "sex", "region"), policy)
    assert "region" not in caught.value.message


# Known facts and forms of a kind that they have never heard of.


class OddForm(LinearForm):
    outputs = 2

    def __init__(self, domain):
        self.domain = domain

    def column(self, x):
        return [x[0] % 2, int(x[0] < 4)]

    def worst_edge(self, graph):
        return max(graph.edges(), key=lambda edge: self.change(*edge), default=None), True

    def heaviest(self):
        return (1,)

    def answer(self, counts):
        return self.as_matrix() @ counts.reshape(-1)


def odd():
    class Odd(Query):
        """Counts records at odd values in one output, and all below four in another."""

        keyword = "odd"
        attributes = ("v",)

        def on(self, domain):
            return OddForm(domain)

        def to_file(self, domain):
            return {"odd": "v"}

        @classmethod
        def from_file(cls, entry):
            return cls()

    return Odd()


def test_a_form_that_nobody_knows_has_the_general_spans():
    domain = bp.Domain(v=bp.Integer(0, 6))
    known = [bp.KnownCount(where={"v": (0, 2)})]
    same = bp.Linear([[v % 2 for v in range(7)], [int(v < 4) for v in range(7)]], attributes=["v"])
    with forgotten():
        asked = odd()
    for graph in (bp.FullDomain(), bp.DistanceThreshold(2)):
        for compensation in ("anywhere", "secret-moves"):
            policy = bp.Policy(domain, secrets=graph, known=known, compensation=compensation)
            assert bp.sensitivity(asked, policy).value == bp.sensitivity(same, policy).value
