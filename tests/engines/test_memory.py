"""A histogram in place of a table."""

from __future__ import annotations

import numpy as np
import pytest

from blowfish_privacy.domain import Categorical, Domain, Integer
from blowfish_privacy.engines import Counts, Engine, open_engine
from blowfish_privacy.errors import DataError, DomainError

DOMAIN = Domain(a=Integer(0, 1), b=Categorical(["x", "y", "z"]), c=Integer(0, 3))


def test_marginals_in_the_order_named() -> None:
    array = np.random.default_rng(1).integers(0, 100, DOMAIN.shape)
    engine = open_engine(Counts(array))
    assert isinstance(engine, Engine)
    np.testing.assert_array_equal(engine.counts(DOMAIN, [["a", "b", "c"]])[0], array)
    np.testing.assert_array_equal(engine.counts(DOMAIN, [["c", "a"]])[0], array.sum(axis=1).T)
    np.testing.assert_array_equal(engine.counts(DOMAIN, [["c", "a", "b"]])[0], array.transpose(2, 0, 1))
    assert engine.counts(DOMAIN, [["b"]])[0].dtype == np.int64
    assert engine.reads == 4
    assert engine.rows() == array.sum()
    assert engine.check(DOMAIN).fits
    assert open_engine(engine) is engine
    with pytest.raises(DomainError):
        engine.counts(DOMAIN, [["absent"]])


def test_what_is_counted_cannot_change_afterwards() -> None:
    array = np.zeros(DOMAIN.shape, dtype=np.int64)
    engine = open_engine(Counts(array))
    array[0, 0, 0] = -5
    engine.counts(DOMAIN, [DOMAIN.names])[0][0, 0, 0] = 7
    assert engine.rows() == 0


@pytest.mark.parametrize(
    "bad", [[0.0, 1.0], [True, False], ["1"], [-1, 2], [2**63], [2**62, 2**62], [2**64 - 1] * 3, [None]]
)
def test_what_are_no_counts(bad: list[object]) -> None:
    with pytest.raises(DataError):
        Counts(np.array(bad))


def test_the_largest_total_is_exact() -> None:
    engine = open_engine(Counts(np.array([2**62, 2**62 - 1, 0], dtype=np.uint64)))
    assert engine.counts(Domain(a=Integer(0, 2)), [["a"]])[0].tolist() == [2**62, 2**62 - 1, 0]
    assert engine.rows() == 2**63 - 1


def test_the_shape_must_be_that_of_the_whole_domain() -> None:
    engine = open_engine(Counts([[1, 2], [3, 4]]))
    for ask in (lambda: engine.counts(DOMAIN, [["a"]]), lambda: engine.check(DOMAIN)):
        with pytest.raises(DataError, match=r"shape \(2, 2\), but the domain has \(2, 3, 4\)"):
            ask()
    assert engine.reads == 0
