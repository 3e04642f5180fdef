"""Measuring all single attributes and all pairs at once: nothing is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.mechanisms.synthetic.steps.looks import Looks
from blowfish_privacy.mechanisms.synthetic.steps.transcript import Step

_SINGLE = 3.0
"""How much more an attribute by itself matters: every table of a model rests on it."""


def importance_of(shape: Sequence[int], axes: Axes) -> float:
    """Say how much the noise of a table matters: more in large tables, though a fit evens most of it out."""
    return (_SINGLE if len(axes) == 1 else 1.0) * prod(shape[axis] for axis in axes) ** 0.25


def measure_all_pairs(looks: Looks, exact: Sequence[Axes], pairs: Sequence[Axes]) -> list[Step]:
    """Measure every attribute and every pair with all that may be lost."""
    shape = looks.costs.domain.shape
    for axes in exact:
        looks.look(axes, Fraction(0))
    single = [(axis,) for axis in range(len(shape))]
    tables = [axes for axes in (*single, *pairs) if axes not in looks.known]
    looks.share(tables, [importance_of(shape, axes) for axes in tables], Fraction(1))
    return looks.steps
