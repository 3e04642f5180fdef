"""Made-up data on which constants are settled, in one and in two dimensions; equal seeds give equal data.

Densities are public and records are drawn from them. ``DEVELOPMENT_*`` may be looked at while a constant is chosen,
``HELD_OUT_*`` were made after the constants were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Density1 = Callable[[np.ndarray, np.random.Generator], np.ndarray]
Density2 = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def _hill(x: np.ndarray, centre: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((x - centre) / width) ** 2)


def _spikes(x: np.ndarray, dice: np.random.Generator, many: int, even: float) -> np.ndarray:
    density = np.full(x.shape, even / x.size)
    places = dice.choice(x.size, size=min(many, x.size), replace=False)
    density.reshape(-1)[places] += (1 - even) * dice.dirichlet(np.full(len(places), 0.5))
    return density


def _steps(x: np.ndarray, dice: np.random.Generator, many: int) -> np.ndarray:
    heights, ends = dice.gamma(0.5, size=many), np.sort(dice.random(many - 1))
    return heights[np.searchsorted(ends, x)] + 1e-3


DEVELOPMENT_1: Mapping[str, Density1] = {
    "flat": lambda x, dice: np.ones(len(x)),
    "falling slowly": lambda x, dice: 1.5 - x,
    "one hill": lambda x, dice: _hill(x, 0.32, 0.1),
    "wide hill": lambda x, dice: _hill(x, 0.6, 0.3) + 0.05,
    "three hills": lambda x, dice: _hill(x, 0.2, 0.03) + 0.5 * _hill(x, 0.5, 0.08) + 0.3 * _hill(x, 0.9, 0.02),
    "Zipf, in order": lambda x, dice: 1 / (1 + np.arange(len(x))) ** 1.1,
    "Zipf, shuffled": lambda x, dice: dice.permutation(1 / (1 + np.arange(len(x))) ** 1.1),
    "steps": lambda x, dice: _steps(x, dice, 12),
    "spiky": lambda x, dice: _spikes(x, dice, 40, 0.1),
    "hill and spikes": lambda x, dice: 0.5 * _hill(x, 0.4, 0.15) / 400 + 0.5 * _spikes(x, dice, 25, 0.0),
    "far group": lambda x, dice: 0.99 * _hill(x, 0.07, 0.02) + 0.01 * _hill(x, 0.95, 0.02),
    "rounded to tens": lambda x, dice: _hill(x, 0.4, 0.2) * np.where(np.arange(len(x)) % 10 == 0, 20, 1),
}


def _clusters(x: np.ndarray, y: np.ndarray, dice: np.random.Generator, many: int, width: float) -> np.ndarray:
    weights, centres = dice.dirichlet(np.full(many, 0.5)), dice.random((many, 2))
    widths = width * dice.gamma(2.0, size=many) / 2 + 0.002
    parts = zip(weights, centres, widths, strict=True)
    return sum(w * _hill(x, a, s) * _hill(y, b, s) / s**2 for w, (a, b), s in parts) + np.zeros(x.shape)


def _roads(x: np.ndarray, y: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    density = np.full(x.shape, 1e-4)
    for _ in range(12):
        angle, offset = dice.random() * np.pi, dice.random() - 0.5
        away = (x - 0.5) * np.sin(angle) - (y - 0.5) * np.cos(angle) - offset
        density += dice.gamma(1.0) * _hill(away, 0.0, 0.006)
    return density


def _rough(x: np.ndarray, y: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    """Make a city: dense in the middle, and every cell differs from its neighbours."""
    centre = _hill(x, 0.5, 0.25) * _hill(y, 0.45, 0.25) + 0.02
    return centre * np.exp(dice.normal(scale=1.0, size=x.shape))


DEVELOPMENT_2: Mapping[str, Density2] = {
    "flat": lambda x, y, dice: np.ones(x.shape),
    "one hill": lambda x, y, dice: _hill(x, 0.4, 0.15) * _hill(y, 0.6, 0.2),
    "rough city": _rough,
    "clusters": lambda x, y, dice: _clusters(x, y, dice, 30, 0.03),
    "tiny clusters": lambda x, y, dice: _clusters(x, y, dice, 60, 0.004),
    "points": lambda x, y, dice: _spikes(x, dice, 150, 0.0),
    "points on a plain": lambda x, y, dice: _spikes(x, dice, 100, 0.3),
    "roads": _roads,
    "diagonal": lambda x, y, dice: _hill(x - y, 0.0, 0.02) + 1e-4,
    "corner": lambda x, y, dice: np.where((x < 0.02) | (y < 0.02), 1.0, 1e-4) / (0.02 + x + y) ** 2,
    "far group": lambda x, y, dice: (
        _hill(x, 0.15, 0.04) * _hill(y, 0.2, 0.05) + 0.01 * _hill(x, 0.93, 0.02) * _hill(y, 0.9, 0.02)
    ),
}


def _walk(x: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    return np.exp(dice.normal(scale=6 / len(x) ** 0.5, size=len(x)).cumsum())


def _cascade(x: np.ndarray, y: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    """Halve again and again, each time with other weights: rough at every scale."""
    density = np.ones((1, 1))
    while len(density) < len(x):
        density = density.repeat(2, axis=0).repeat(2, axis=1)
        density *= np.exp(dice.normal(scale=0.9, size=density.shape))
    return density[: len(x), : len(x)]


def _districts(x: np.ndarray, y: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    return dice.gamma(0.4, size=(9, 9))[(x * 9).astype(int), (y * 9).astype(int)] + 1e-4


def _islands(x: np.ndarray, y: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    """Make clusters with heavy tails."""
    parts = zip(dice.dirichlet(np.full(15, 0.7)), dice.random((15, 2)), dice.gamma(1.0, size=15), strict=True)
    return sum(w / (1e-4 * (0.2 + s) + (x - a) ** 2 + (y - b) ** 2) ** 1.5 for w, (a, b), s in parts) + 0 * x


HELD_OUT_1: Mapping[str, Density1] = {
    "exponential": lambda x, dice: np.exp(-6 * x),
    "both ends": lambda x, dice: 0.1 + (2 * x - 1) ** 4,
    "a third, evenly": lambda x, dice: np.where(np.abs(x - 0.55) < 1 / 6, 1.0, 1e-4),
    "comb": lambda x, dice: np.where(np.arange(len(x)) % 37 == 3, 1.0, 0.0) * (1.2 - x) + 1e-6,
    "random walk": _walk,
    "Pareto with gaps": lambda x, dice: (1 + 50 * x) ** -1.5 * (dice.random(len(x)) < 0.2) + 1e-7,
    "a plain and one value": lambda x, dice: np.where(np.arange(len(x)) == len(x) // 3, len(x), 1.0),
    "tide": lambda x, dice: 1.1 + np.sin(9 * x),
}
"""Made after every constant was settled."""


HELD_OUT_2: Mapping[str, Density2] = {
    "ring": lambda x, y, dice: _hill(np.hypot(x - 0.5, y - 0.5), 0.33, 0.02) + 1e-4,
    "districts": _districts,
    "islands": _islands,
    "cascade": _cascade,
    "river": lambda x, y, dice: _hill(y - 0.5 - 0.3 * np.sin(7 * x), 0.0, 0.008) * (0.3 + x) + 1e-5,
    "towns on a lattice": lambda x, y, dice: (np.cos(50 * x) * np.cos(50 * y)).clip(0.9) - 0.9 + 1e-4,
    "tide": lambda x, y, dice: 1.2 + np.sin(6 * x + 4 * y),
    "half a plain": lambda x, y, dice: np.where(x + y < 0.9, 1.0, 1e-5),
}
"""Made after every constant was settled."""


def line(density: Density1, size: int, records: int, seed: int = 0) -> np.ndarray:
    """Draw a histogram of so many values and records."""
    dice = np.random.default_rng([1, size, seed])
    weights = density((np.arange(size) + 0.5) / size, dice)
    return dice.multinomial(records, weights / weights.sum())


def grid(density: Density2, side: int, records: int, seed: int = 0) -> np.ndarray:
    """Draw a square grid of so many cells along each side, and records."""
    dice = np.random.default_rng([2, side, seed])
    places = (np.arange(side) + 0.5) / side
    weights = density(*np.meshgrid(places, places, indexing="ij"), dice)
    return dice.multinomial(records, (weights / weights.sum()).reshape(-1)).reshape(side, side)
