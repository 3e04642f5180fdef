"""The edges of a product of three attributes are those that its definition names."""

from __future__ import annotations

from itertools import product

import blowfish_privacy as bp


def test_every_edge_of_every_attribute_is_listed_once():
    domain = bp.Domain(age=bp.Integer(0, 3), sex=bp.Categorical(["F", "M"]), zone=bp.Integer(0, 2))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(1), sex=bp.FullDomain(), zone=bp.DistanceThreshold(1))
    graph = secrets.on(domain)
    cells = [*product(*map(range, domain.shape))]
    right = {frozenset((x, y)) for x in cells for y in cells if x != y and graph.adjacent(x, y)}
    listed = [frozenset(edge) for edge in graph.edges()]
    assert len(listed) == len(right)
    assert set(listed) == right
