"""A mechanism that asks for counts of several sets of its query's attributes, through a whole release."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.mechanisms import Laplace
from registries import forgotten

DOMAIN = bp.Domain({name: bp.Integer(0, 9) for name in "abcdefghijkl"})


@pytest.fixture
def tables():
    """Define a mechanism that notes the tables it was given."""

    with forgotten():

        class Tables(Laplace):
            name = "tables"
            stated, asked, given = [], [], []

            @property
            def rows(self):
                return min(super().rows, 100)

            def tables(self, query):
                return self.stated

            def draw(self, aggregates, source):
                self.given.extend(aggregates.counts(self.asked))
                return super().draw(aggregates, source)

        yield Tables


@pytest.fixture
def columns():
    generator = np.random.default_rng(1)
    return {name: generator.integers(0, 10, 50) for name in DOMAIN.names}


@pytest.fixture
def session(columns):
    return bp.Session(open_engine(pa.table(columns)), bp.Policy(DOMAIN, secrets=bp.FullDomain()), budget=1)


def test_several_tables_are_one_read(tables, session, columns):
    tables.stated = tables.asked = [["b", "a"], ["a"], []]
    session.release(bp.Histogram("a", "b"), epsilon="0.25", mechanism="tables")
    pair = np.bincount(columns["b"] * 10 + columns["a"], minlength=100).reshape(10, 10)
    np.testing.assert_array_equal(tables.given[0], pair)
    np.testing.assert_array_equal(tables.given[1], pair.sum(axis=0))
    assert tables.given[2] == 50
    # One more for all attributes, which the mechanism asks for afterwards.
    assert session.engine.reads == 2


@pytest.mark.parametrize(
    ("query", "sets"), [(DOMAIN.names, [*combinations(DOMAIN.names, 11)]), ("a", [["a", "b"]]), ("a", [["a", "a"]])]
)
def test_tables_that_cannot_be_counted_are_refused_before_the_charge(tables, session, query, sets):
    tables.stated = tables.asked = sets
    with pytest.raises(BlowfishError, match="too large to count|no attribute 'b'|named twice"):
        session.release(bp.Histogram(*query), epsilon="0.5", mechanism="tables")
    assert session.ledger.spent == 0
    assert session.engine.reads == 0


def test_attributes_outside_the_query_are_never_counted(tables, session):
    tables.asked = [["a"], ["b"]]
    with pytest.raises(BlowfishError, match="no attribute 'b'"):
        session.release(bp.Histogram("a"), epsilon="0.5", mechanism="tables")
    assert session.engine.reads == 0
