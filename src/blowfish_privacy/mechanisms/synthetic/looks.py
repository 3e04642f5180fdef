"""What was done to the data, step by step, and how that is written as whole numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np

from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.synthetic.costs import MOST_SCALE, Accountant, Costs, allocated
from blowfish_privacy.mechanisms.synthetic.model import Axes, Known, Measurement, combined
from blowfish_privacy.noise import BitSource
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.support.arrays import Integers

_DAMAGED = "the document is damaged: its steps cannot be read."


@dataclass(frozen=True, eq=False)
class TableChoice:
    """Tables were chosen by how far the model was from them."""

    coefficient: Fraction
    """What a difference of one record is multiplied by, in the exponent."""
    classes: tuple[int, ...]
    """The classes of secret pairs that the tables to choose from tell apart, by their numbers."""
    chosen: tuple[Axes, ...] = ()


@dataclass(frozen=True, eq=False)
class Look:
    """A table was measured."""

    axes: Axes
    scale: Fraction
    """Of the noise; 0 where there is none."""
    noisy: Integers


Step: TypeAlias = TableChoice | Look


def encoded(steps: Sequence[Step]) -> Integers:
    """Write steps one after the other: 0 and a choice, or the number of attributes and a table."""
    parts: list[Integers] = []
    for step in steps:
        if isinstance(step, TableChoice):
            head = [0, *step.coefficient.as_integer_ratio(), len(step.classes), *step.classes, len(step.chosen)]
            tables = [number for axes in step.chosen for number in (len(axes), *axes)]
            parts.append(np.array([*head, *tables], dtype=np.int64))
        else:
            head = [len(step.axes), *step.axes, *step.scale.as_integer_ratio()]
            parts += [np.array(head, dtype=np.int64), step.noisy.reshape(-1)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def decoded(numbers: Integers, shape: Sequence[int]) -> list[Step]:
    """Read what :func:`encoded` writes."""
    return list(_steps(numbers, shape))


def _steps(numbers: Integers, shape: Sequence[int]) -> Iterator[Step]:
    place = 0

    def take(many: int) -> Integers:
        nonlocal place
        if not 0 <= many <= len(numbers) - place:
            raise SpecError(_DAMAGED)
        place += many
        return numbers[place - many : place]

    def one() -> int:
        return int(take(1)[0])

    def several() -> tuple[int, ...]:
        return tuple(int(each) for each in take(one()))

    def table(axes: Axes) -> Axes:
        if not axes or [*axes] != sorted({*axes}) or not 0 <= axes[0] <= axes[-1] < len(shape):
            raise SpecError(_DAMAGED)
        return axes

    def ratio() -> Fraction:
        above, below = (int(each) for each in take(2))
        if above < 0 or below < 1:
            raise SpecError(_DAMAGED)
        return Fraction(above, below)

    while place < len(numbers):
        many = one()
        if many == 0:
            coefficient, classes = ratio(), several()
            yield TableChoice(coefficient, classes, tuple(table(several()) for _ in range(one())))
            continue
        axes = table(tuple(int(each) for each in take(many)))
        scale, sizes = ratio(), [shape[axis] for axis in axes]
        yield Look(axes, scale, take(prod(sizes)).reshape(sizes))


# Looking at tables: each look is paid for before it is taken.


@dataclass(frozen=True, eq=False)
class Looks:
    """The exact counts, what is known of them so far, and what that has cost."""

    costs: Costs
    limits: Mapping[PairClass, Fraction]
    counts: Mapping[Axes, Integers]
    """The exact counts of all tables that may be looked at, axes ascending."""
    source: BitSource
    steps: list[Step] = field(default_factory=list[Step])
    known: dict[Axes, Known] = field(default_factory=dict[Axes, Known])

    @cached_property
    def accountant(self) -> Accountant:
        """What every class has lost, and may still lose."""
        return Accountant(self.limits)

    def look(self, axes: Axes, scale: Fraction) -> None:
        """Measure a table, once its cost is counted; without noise only where it tells no secrets."""
        counts = self.counts[axes]
        if scale:
            self.accountant.charge(self.costs.of_look(axes, scale))
            counts = counts + self.costs.tariff.law.draw(scale, counts.size, source=self.source).reshape(counts.shape)
        elif self.costs.weights(axes):
            raise PolicyError(NO_NOISE)
        self.steps.append(Look(axes, scale, counts))
        told = Measurement(axes, counts, self.costs.tariff.variance(scale))
        earlier = self.known.get(axes)
        self.known[axes] = combined([told])[axes] if earlier is None else earlier.with_another(told)

    def share(self, tables: Sequence[Axes], importance: Sequence[float], share: Fraction) -> None:
        """Measure several tables with a share of every limit, what matters most with least noise."""
        room = {pairs: min(share * limit, self.accountant.room[pairs]) for pairs, limit in self.limits.items()}
        weights = [self.costs.weights(axes) for axes in tables]
        for axes, scale in zip(tables, allocated(weights, importance, room, self.costs.tariff.power), strict=True):
            if scale < MOST_SCALE:
                self.look(axes, scale)


# Measuring all single attributes and all pairs at once: nothing is chosen.

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
