import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression, linprog

from blowfish_privacy.mechanisms.ordered.ordered_family import _nearest, nearest_in_absolute, nearest_in_squares

VALUES = st.lists(st.integers(-9, 9), min_size=1, max_size=12).map(lambda values: np.array(values, dtype=float))


def smallest_absolute_error(values):
    """The optimum by linear programming: x non-decreasing, t >= |x - values|, the sum of t smallest."""
    size = len(values)
    eye, zero = np.eye(size), np.zeros((max(size - 1, 0), size))
    steps = np.diff(np.eye(size), axis=0) if size > 1 else zero
    limits = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.hstack([-steps, zero])])
    bounds = np.concatenate([values, -values, np.zeros(len(steps))])
    return linprog(np.r_[np.zeros(size), np.ones(size)], A_ub=limits, b_ub=bounds, bounds=(None, None)).fun


@given(VALUES)
@settings(deadline=None)
def test_absolute_values_are_minimised_by_both_ends_and_their_middle(values):
    best = smallest_absolute_error(values)
    high, low = _nearest(values), -_nearest(-values[::-1])[::-1]
    for found in (high, low, nearest_in_absolute(values)):
        assert (np.diff(found) >= 0).all()
        assert np.abs(found - values).sum() == pytest.approx(best)


@given(VALUES)
@settings(deadline=None)
def test_squares_leave_ordered_values_alone(values):
    ordered = np.sort(values)
    assert nearest_in_squares(ordered) == pytest.approx(ordered)
    assert nearest_in_absolute(ordered) == pytest.approx(ordered)
    assert (np.diff(nearest_in_squares(values)) >= -1e-12).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60).map(np.array))
@settings(deadline=None)
def test_few_values_are_pooled_to_the_same_bits_as_many(values):
    assert nearest_in_squares(values).tolist() == isotonic_regression(values).x.tolist()
