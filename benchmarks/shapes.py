"""Made-up data on which constants are settled, in one and in two dimensions; equal seeds give equal data.

Densities are public and records are drawn from them. ``DEVELOPMENT_*`` may be looked at while a constant is chosen.
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
