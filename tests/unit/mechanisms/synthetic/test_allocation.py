"""Limits are shared out as far as they go, and as well when the sharing stops early."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blowfish_privacy.mechanisms.synthetic import costs
from blowfish_privacy.mechanisms.synthetic.costs import allocated
from blowfish_privacy.privacy.loss import changing

CLASSES = [changing(name) for name in "abcd"]
TABLES = st.lists(st.sets(st.sampled_from(CLASSES), min_size=1), min_size=1, max_size=8)


@st.composite
def shares(draw):
    weights = [{pairs: Fraction(2) for pairs in sorted(each, key=CLASSES.index)} for each in draw(TABLES)]
    importance = [draw(st.floats(0.5, 1000)) for _ in weights]
    room = {pairs: draw(st.fractions(Fraction(1, 100), 10, max_denominator=100)) for pairs in CLASSES}
    return weights, importance, room, draw(st.sampled_from([0.5, 1.0]))


@settings(deadline=None, max_examples=60)
@given(case=shares())
def test_no_class_is_overdrawn_and_some_class_of_every_table_is_used_up(case):
    weights, _, room, _ = case
    scales = allocated(*case)
    used = {
        pairs: sum(
            (each[pairs] / scale for each, scale in zip(weights, scales, strict=True) if pairs in each), Fraction(0)
        )
        for pairs in CLASSES
    }
    assert all(used[pairs] <= room[pairs] for pairs in CLASSES)
    assert max(float(used[pairs] / room[pairs]) for pairs in CLASSES) > 0.999


@settings(deadline=None, max_examples=30)
@given(case=shares())
def test_stopping_early_changes_nothing_that_matters(case):
    early = allocated(*case)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(costs, "_SETTLED", -1.0)
        late = allocated(*case)
    assert [float(each) for each in early] == pytest.approx([float(each) for each in late], rel=1e-5)


def test_a_table_of_scale_one_is_not_taken_for_settled():
    (scale,) = allocated([{CLASSES[0]: Fraction(2)}], [2.0], {CLASSES[0]: Fraction(1, 5)}, 1.0)
    assert scale == pytest.approx(10, rel=1e-6)
