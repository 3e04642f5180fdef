"""Known facts on large domains: the sensitivity of the full histogram from geometry, beside going through the values.

The peer is the straightforward way: find out for every value of the domain which known counts count it (numpy), and
number the different answers. It is timed on a million values and multiplied up to the size of the domain.
"""

from __future__ import annotations

import random
import statistics
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

import blowfish_privacy as bp
import blowfish_privacy.known_facts.theorems  # before anything is timed
from blowfish_privacy.known_facts.fact_model import fact_model
from report import AHEAD, Row

REPEATS = 3
VALUES = 1_000_000


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report going through the values over ours."""
    made = []
    warnings.simplefilter("ignore")
    for name, make in cases():
        policy, ratios, theirs = make(), [], 0.0
        for turn in range(REPEATS):
            fact_model.cache_clear()
            start = time.process_time()
            with suppress(bp.RefusalError):
                bp.sensitivity(bp.Histogram(*policy.domain.names), policy)
            ours = time.process_time() - start
            # Going through the values takes long, and about as long each time.
            theirs = theirs if quick and turn else _timed(partial(number_classes, policy))
            ratios.append(policy.domain.size / VALUES * theirs / ours)
        claim = f"seconds of a sensitivity under {name}, {policy.domain.size:,} values"
        peer = "numpy, going through the values (extrapolated)"
        made.append(Row.of(claim, peer, "only the classes of the facts", AHEAD, ratios))
    return made


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| facts | cells | sensitivity | seconds | going through the values takes |")
    print("|---|---|---|---|---|")
    for name, make in cases():
        policy = make()
        query = bp.Histogram(*policy.domain.names)
        seconds, said = [], ""
        for _ in range(REPEATS):
            fact_model.cache_clear()
            start = time.process_time()
            try:
                found = bp.sensitivity(query, policy)
                said = f"{found.value}{'' if found.exact else ' at most'}"
            except bp.RefusalError:
                said = "refused"
            seconds.append(time.process_time() - start)
        ratio = policy.domain.size / VALUES * _timed(partial(number_classes, policy)) / statistics.median(seconds)
        print(
            f"| {name} | {policy.domain.size:.0e} | {said} | {statistics.median(seconds):.3f} "
            f"({min(seconds):.3f}-{max(seconds):.3f}) | {ratio:,.0f} times as long |"
        )


def cases() -> list[tuple[str, Callable[[], bp.Policy]]]:
    """List the facts to try."""
    sizes = {"a": 10, "b": 10, "c": 10, "d": 1000, "e": 1000}
    wide = bp.Domain({name: bp.Integer(1, size) for name, size in sizes.items()})
    grid = bp.Domain(x=bp.Integer(0, 999), y=bp.Integer(0, 999))
    places = bp.Domain(place=bp.Integer(0, 99_999), age=bp.Integer(0, 99))
    levels = [
        bp.KnownCount({"place": (start, start + width - 1)})
        for width in (50_000, 10_000, 1_000, 100)
        for start in range(0, 100_000, width)
    ]
    fine, coarse = bp.KnownMarginal("a", "b", "c"), bp.KnownMarginal("a", "b")
    near = bp.DistanceThreshold(5)
    return [
        ("a marginal of 1,000 cells", lambda: bp.Policy(wide, secrets=bp.Attributes(), known=[fine])),
        ("the marginal and a coarser one", lambda: bp.Policy(wide, secrets=bp.Attributes(), known=[coarse, fine])),
        ("nested places, four levels", lambda: bp.Policy(places, secrets=near, known=levels)),
        ("200 disjoint boxes", lambda: bp.Policy(grid, secrets=near, known=boxes(200, disjoint=True))),
        ("200 overlapping boxes", lambda: bp.Policy(grid, secrets=near, known=boxes(200, disjoint=False))),
        ("500 times one box", lambda: bp.Policy(grid, secrets=near, known=boxes(1, disjoint=True) * 500)),
    ]


def boxes(number: int, *, disjoint: bool) -> list[bp.KnownCount]:
    """Make random boxes on the grid."""
    source, made = random.Random(7), list[tuple[int, int, int, int]]()
    while len(made) < number:
        x, y, width, height = (source.randrange(high) for high in (960, 960, 40, 40))
        apart = all(x > a + w or a > x + width or y > b + h or b > y + height for a, b, w, h in made)
        if apart or not disjoint:
            made.append((x, y, width, height))
    return [bp.KnownCount({"x": (x, x + w), "y": (y, y + h)}) for x, y, w, h in made]


def number_classes(policy: bp.Policy) -> int:
    """Number the classes of many values by asking every known count about every value."""
    shape = policy.domain.shape
    cells = np.unravel_index(np.random.default_rng(1).integers(0, policy.domain.size, VALUES), shape)
    named = dict(zip(policy.domain.names, cells, strict=True))
    signature = np.zeros(VALUES, dtype=np.int64)
    for number, counted in enumerate(c for fact in policy.known for c in fact.counted(policy.domain)):
        inside = np.ones(VALUES, dtype=bool)
        for name, subset in counted.box.items():
            inside &= np.logical_or.reduce([(named[name] >= low) & (named[name] < high) for low, high in subset.runs])
        signature = signature * 3 + inside * (number + 1)
    return len(np.unique(signature))


def _timed(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


if __name__ == "__main__":
    main()
