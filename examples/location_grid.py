"""A map of where people live: which quarter is public, which block inside it is secret.

    python examples/location_grid.py [FOLDER]

Under a partition the counts of quarters are published exactly, which the library says loudly, and noise goes only
where it is needed. Homes are synthetic: three towns on a map of 32 by 32 blocks.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

import blowfish_privacy as bp

SIDE, QUARTER = 32, 8
DOMAIN = bp.Domain(east=bp.Integer(0, SIDE - 1), north=bp.Integer(0, SIDE - 1))
POLICY = bp.Policy(DOMAIN, secrets=bp.Partition(widths={"east": QUARTER, "north": QUARTER}))
TOWNS = [(8, 10, 3), (22, 20, 4), (25, 5, 2)]


def homes(people: int) -> np.ndarray:
    """Scatter homes around three towns."""
    chance = random.Random(2)  # a table that anybody can make again; noise is never seeded
    counts = np.zeros((SIDE, SIDE), dtype=np.int64)
    for _ in range(people):
        x, y, spread = chance.choice(TOWNS)
        place = (min(max(round(chance.gauss(middle, spread)), 0), SIDE - 1) for middle in (x, y))
        counts[tuple(place)] += 1
    return counts


def quarters() -> bp.Linear:
    """Ask for the count of each quarter: a one for every block inside it."""
    east, north = np.indices((SIDE, SIDE)).reshape(2, -1)
    quarter = (east // QUARTER) * (SIDE // QUARTER) + north // QUARTER
    rows = (quarter[None, :] == np.arange((SIDE // QUARTER) ** 2)[:, None]).astype(int)
    return bp.Linear(rows.tolist(), attributes=["east", "north"])


def main(folder: Path) -> None:
    """Release quarters exactly and blocks with noise, and compare."""
    true = homes(30_000)
    session = bp.Session(bp.Counts(true), POLICY, budget="1.0", ledger=folder / "homes.ledger", create=True)

    exact = session.release(quarters(), epsilon="0.1", name="quarters")  # costs nothing: nothing in it is secret
    for notice in exact.notices:
        print("notice:", notice)
    noisy = session.release(bp.Histogram("east", "north"), epsilon="0.5", name="blocks")
    for released in (exact, noisy):
        released.save(folder / f"{released.name}.release.json")
    noisy.plot(folder / "blocks.png")

    better = noisy.consistent()  # whole numbers that add up to the exact quarters; post-processing, so free
    np.savetxt(folder / "map.csv", better, delimiter=",", fmt="%d")
    errors = [np.abs(counts - true).mean() for counts in (noisy.noisy.reshape(true.shape), better)]
    print(f"16 quarters, exact; 1,024 blocks; spent {float(1 - session.remaining)}")
    print(f"mean error of a block: {errors[0]:.2f}, after adding up to quarters: {errors[1]:.2f}")


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/location-grid")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
