"""Axes with round numbers: 1, 2 or 5 times a power of ten apart, with separators in long ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import count
from math import ceil, floor, log10
from typing import Any

import numpy as np

from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.results.pictures.figure import plain_text, shorten_all

_MOST_LABELS = 11
_ROOM = 70
"""How many letters fit side by side below a picture."""
_LONGEST = 24
"""The letters of a name along an axis."""
_LONG = 10_000
"""From here on whole numbers have separators: years have none."""
_APART = 0.07
"""The least distance of ticks along a colour bar."""

Tick = tuple[float, str]


def label_values(axis: Any, domain: Domain, *, most: int = _MOST_LABELS, room: int = _ROOM) -> None:
    """Label some of the positions along an axis by the values that they stand for, and the axis by its attributes.

    Of numbers the round ones are labelled, as many as have room; bins at their edges; names are turned where they
    would touch.
    """
    sideways = axis.axis_name == "x"
    ticks = _ticks(domain, most)
    if len(domain.shape) == 1 and domain.attributes[0].ordered:
        while sideways and most > 2 and sum(len(text) + 2 for _, text in ticks) > room:
            most -= 1
            ticks = _ticks(domain, most)
    crowded = sideways and sum(len(text) for _, text in ticks) > room
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axis.set_ticks([place for place, _ in ticks], [plain_text(text) for _, text in ticks], **turned)
    axis.set_label_text(plain_text(" x ".join(domain.names)), fontsize=9)


def label_part(axis: Any, domain: Domain, first: float, last: float, *, most: int = 3) -> None:
    """Label a few values of one attribute between two positions, the roundest that are there."""
    fine, ticks = most, list[Tick]()
    while len(ticks) < 2 and fine < 4 * domain.size:
        fine *= 2
        ticks = [(place, text) for place, text in _ticks(domain, fine) if first <= place <= last]
    chosen = ticks[:: ceil(len(ticks) / most)] if ticks else []
    axis.set_ticks([place for place, _ in chosen], [plain_text(text) for _, text in chosen])


def label_numbers(axis: Any, words: str, *, most: int = 6) -> None:
    """Label an axis of numbers at round ones, and say what they are, in a line or several."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(number))
    axis.set_label_text(plain_text(words), fontsize=9)


def number(value: float, _: int | None = None) -> str:
    """Write the number of a tick: with separators, and without the traces of floating point."""
    return f"{value:,.10g}" if value else "0"


def without_sign(value: float, _: int | None = None) -> str:
    """Write the number of a tick of an axis that goes from zero to both sides."""
    return number(abs(value))


def with_interval(value: float, low: float, high: float) -> str:
    """Write a number with its interval, if it has one, to as many digits as the interval leaves."""
    if low == high:
        return deserved(value, 0)
    ends = " to ".join(deserved(end, high - low) for end in (low, high))
    return f"{deserved(value, high - low)} (95 % interval {ends})"


def deserved(value: float, width: float) -> str:
    """Write a number to as many digits as a 95 % interval of some width, about four standard errors, leaves."""
    if not width:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
    # Decimals down to the first digit of the width; of large numbers down to the second digit of the error.
    places = -floor(log10(width)) if width < 1 else min(1 - floor(log10(width / 4)), 0)
    return f"{round(float(value), places) + 0.0:,.{min(max(places, 0), 9)}f}"


def round_steps() -> Iterator[int]:
    """Go through 1, 2, 5, 10, 20, 50, ..."""
    return (digit * 10**power for power in count() for digit in (1, 2, 5))


def round_numbers(most: float, place: Any) -> list[float]:
    """Return zero and round numbers up to the most, as many as have room where ``place`` puts them, from 0 to 1."""
    if most <= 0:
        return [0.0]
    every = (digit * 10.0**power for power in range(floor(log10(most)) + 1) for digit in (1, 2, 5))
    chosen = [float(each) for each in every if each <= most]
    kept: list[float] = []
    # Downwards, and the first digit of a power of ten goes last.
    for each in sorted(chosen, key=lambda number: (not _is_power(number), -number)):
        if all(abs(place(each) - place(other)) >= _APART for other in [0.0, *kept]):
            kept.append(each)
    return [0.0, *sorted(kept)]


def _is_power(number: float) -> bool:
    return number == 10.0 ** round(log10(number))


def _ticks(domain: Domain, most: int) -> list[Tick]:
    if len(domain.shape) == 1:
        return _ticks_of(domain.attributes[0], most)
    texts = (
        (place, ", ".join(a.show(p) for a, p in zip(domain.attributes, domain.unflat(place), strict=True)))
        for place in _every(domain.size, most)
    )
    return _named(texts)


def _ticks_of(attribute: Attribute, most: int) -> list[Tick]:
    """Choose positions of an attribute: round numbers, round edges of bins, the first days of years or months."""
    match attribute:
        case Numeric():
            low, high = attribute.lowest, attribute.number(attribute.size - 1)
            step = _fitting_step(low, high, most, attribute.spacing)
            values = [step * number for number in range(ceil(low / step), floor(high / step) + 1)]
            return _numbered([(float((value - low) / attribute.spacing), value) for value in values])
        case Binned():
            return _numbered([(place - 0.5, attribute.bounds[place]) for place in _round_edges(attribute, most)])
        case _ if isinstance(attribute.value(0), date):
            return _dates(attribute, most)
        case _:
            return _named((place, attribute.show(place)) for place in _every(attribute.size, most))


def _named(texts: Iterable[Tick]) -> list[Tick]:
    places, names = zip(*texts, strict=True)
    return list(zip(places, shorten_all(names, _LONGEST), strict=True))


def _every(size: int, most: int) -> range:
    return range(0, size, next(step for step in round_steps() if size <= most * step))


def _fitting_step(low: Fraction, high: Fraction, most: int, spacing: Fraction) -> Fraction:
    """Return the smallest round step, not below a spacing, of which no more than the most lie between two numbers."""
    steps = (Fraction(10) ** floor(log10(spacing)) * step for step in round_steps())
    return next(step for step in steps if step >= spacing and floor(high / step) - ceil(low / step) < most)


def _round_edges(attribute: Binned, most: int) -> Sequence[int]:
    """Choose edges that are multiples of one round number, if enough are; else every so many."""
    edges = attribute.bounds
    if len(edges) <= most:
        return range(len(edges))
    power = Fraction(10) ** (floor(log10(float((edges[-1] - edges[0]) / most))) - 1)
    for step in (power * each for each in round_steps()):
        chosen = [place for place, edge in enumerate(edges) if not edge % step]
        if len(chosen) <= most:
            return chosen if 2 * len(chosen) >= min(most, 8) else _every(len(edges), most)
    return _every(len(edges), most)


def _numbered(ticks: Sequence[tuple[float, Fraction]]) -> list[Tick]:
    long = any(abs(value) >= _LONG for _, value in ticks)
    return [(place, f"{float(value):,.10g}" if long else f"{float(value):.10g}") for place, value in ticks]


def _dates(attribute: Attribute, most: int) -> list[Tick]:
    """Choose the first dates of years, quarters or months, whichever have room; else every so many."""
    days: list[date] = [attribute.value(place) for place in range(attribute.size)]
    # Whether the first of all dates is the first day or week of its month, or a month.
    begins = len(days) > 1 and days[0].day <= (days[1] - days[0]).days
    years = [each.year for each in days]
    months = [12 * each.year + each.month - 1 for each in days]
    for units, step in ((months, 1), (months, 3), (months, 6), *((years, step) for step in (1, 2, 5, 10, 20, 50, 100))):
        changed = np.flatnonzero(np.diff(np.array(units) // step)) + 1
        first = [0] if begins and (units is months or days[0].month == 1) else []
        places = [place for place in [*first, *changed.tolist()] if units[place] % step == 0]
        if 2 <= len(places) <= most:
            return [(place, str(days[place].year) if units is years else f"{days[place]:%Y-%m}") for place in places]
    return [(place, attribute.show(place)) for place in _every(attribute.size, most)]
