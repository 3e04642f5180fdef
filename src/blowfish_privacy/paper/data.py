"""The paper's data, from a folder; or synthetic stand-ins of the same shape, which are nobody's.

The folder holds ``adult.csv`` (a header with ``capital_loss``), ``twitter_256x256.npy`` (counts of tweets, columns from
south to north, rows from west to east) and ``skin.tsv`` (blue, green, red, class).
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import DataError
from blowfish_privacy.paper.run import Run

Integers = npt.NDArray[np.int64]

CAPITAL_LOSSES = 4357
SKIN_RECORDS = 245_057
_ADULT_RECORDS, _TWEETS, _SIDE = 48_842, 193_563, 256


@lru_cache(maxsize=8)
def capital_loss(run: Run) -> Integers:
    """Count the records of every capital loss, 0 to 4356."""
    if run.data is None:
        return _synthetic_losses()
    try:
        with _file(run, "adult.csv").open(newline="") as file:
            losses = [int(row["capital_loss"]) for row in csv.DictReader(file)]
        return np.bincount(losses, minlength=CAPITAL_LOSSES).astype(np.int64)
    except (KeyError, ValueError):
        raise DataError("adult.csv needs a column capital_loss of whole numbers.") from None


@lru_cache(maxsize=8)
def tweets(run: Run) -> Integers:
    """Count tweets on a grid: longitude from west to east, then latitude from south to north."""
    if run.data is None:
        return _synthetic_tweets()
    counts: Any = np.load(_file(run, "twitter_256x256.npy"))
    if counts.shape != (_SIDE, _SIDE):
        raise DataError(f"twitter_256x256.npy holds an array of shape {counts.shape}.")
    return counts.astype(np.int64)


@lru_cache(maxsize=8)
def skin(run: Run) -> Integers:
    """Return blue, green and red of every record."""
    if run.data is None:
        return _synthetic_skin()
    table: Any = np.loadtxt(_file(run, "skin.tsv"), dtype=np.int64, skiprows=1, usecols=(0, 1, 2))
    return table


@lru_cache(maxsize=1)
def points_in_a_box() -> npt.NDArray[np.float64]:
    """Make the paper's synthetic data: 1000 points around 4 random centres in (0, 1)^4, deviation 0.2."""
    generator = np.random.default_rng(11)
    centres = generator.uniform(0, 1, (4, 4))
    places = centres[generator.integers(0, 4, 1000)] + generator.normal(0, 0.2, (1000, 4))
    return np.clip(places, 0, 1 - 1e-9)


def _file(run: Run, name: str) -> Path:
    path = Path(run.data or ".") / name
    if not path.is_file():
        raise DataError(f"{path} is not there.", hint="leave --data out for synthetic stand-ins.")
    return path


def _synthetic_losses() -> Integers:
    generator = np.random.default_rng(1)
    some = generator.normal(1870, 250, _ADULT_RECORDS // 21)
    chosen = np.clip(np.round(some / 13) * 13, 1, CAPITAL_LOSSES - 1).astype(np.int64)
    counts = np.bincount(chosen, minlength=CAPITAL_LOSSES)
    counts[0] = _ADULT_RECORDS - len(chosen)
    return counts.astype(np.int64)


def _synthetic_tweets() -> Integers:
    generator = np.random.default_rng(2)
    towns = generator.uniform(10, _SIDE - 10, (40, 2))
    shares = generator.dirichlet(np.full(40, 0.3))
    chosen = towns[generator.choice(40, _TWEETS, p=shares)] + generator.normal(0, 2.5, (_TWEETS, 2))
    places = np.clip(np.rint(chosen), 0, _SIDE - 1).astype(np.int64)
    return np.bincount(places[:, 0] * _SIDE + places[:, 1], minlength=_SIDE**2).reshape(_SIDE, _SIDE)


def _synthetic_skin() -> Integers:
    generator = np.random.default_rng(3)
    centres = generator.uniform(40, 215, (8, 3))
    chosen = centres[generator.choice(8, SKIN_RECORDS, p=generator.dirichlet(np.full(8, 1.0)))]
    return np.clip(np.rint(chosen + generator.normal(0, 22, chosen.shape)), 0, 255).astype(np.int64)
