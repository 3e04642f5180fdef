import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.privacy.public_totals import records_total


def consistent_counts(noisy, records):
    return Constraints.of([records_total(len(noisy), records)]).whole(noisy)


NOISY = st.lists(st.integers(-50, 200), min_size=1, max_size=30)


@given(NOISY, st.integers(0, 1000))
def test_consistent_counts_are_counts_with_the_public_total(noisy, records):
    counts = consistent_counts(np.array(noisy), records)
    assert counts.dtype == np.int64
    assert counts.sum() == records
    assert (counts >= 0).all()


def test_the_projection_is_the_nearest_point():
    noisy, records = np.array([30.0, -12, 8, 3, 55]), 70
    nearest = minimize(
        lambda y: ((y - noisy) ** 2).sum(),
        np.full(5, records / 5),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda y: y.sum() - records},
        tol=1e-12,
    )
    assert consistent_counts(noisy, records) == pytest.approx(nearest.x, abs=1)


@given(NOISY)
def test_counts_that_are_consistent_stay(noisy):
    counts = np.abs(np.array(noisy))
    assert consistent_counts(counts, int(counts.sum())).tolist() == counts.tolist()
