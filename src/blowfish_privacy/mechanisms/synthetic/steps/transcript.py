"""What was done to the data, step by step, and how that is written as whole numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TypeAlias

import numpy as np

from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.support.arrays import Integers

_DAMAGED = "the document is damaged: its steps cannot be read."


@dataclass(frozen=True, eq=False)
class Choice:
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


Step: TypeAlias = Choice | Look


def encoded(steps: Sequence[Step]) -> Integers:
    """Write steps one after the other: 0 and a choice, or the number of attributes and a table."""
    parts: list[Integers] = []
    for step in steps:
        if isinstance(step, Choice):
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
            yield Choice(coefficient, classes, tuple(table(several()) for _ in range(one())))
            continue
        axes = table(tuple(int(each) for each in take(many)))
        scale, sizes = ratio(), [shape[axis] for axis in axes]
        yield Look(axes, scale, take(prod(sizes)).reshape(sizes))
