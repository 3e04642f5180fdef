"""Noise: our exact samplers against numpy's floats and OpenDP's exact integers, Laplace and Gaussian.

Run ``python benchmarks/noise.py`` (``--json`` for a machine). All samplers take turns within one run, so that
what is compared has met the same machine. A ratio is the median over the rounds of the ratio within a round;
its spread is the smallest and the largest. numpy's noise is not safe to release: it stands for the
speed of not caring; Gaussian floats are rounded to whole numbers. OpenDP draws fewer samples per round, and its time
is scaled up to one sample.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import median

import numpy as np

from blowfish_privacy import noise
from report import AHEAD, PRICE
from report import Row as Claim

SCALES = [1, 10, 100, 1000, 10**6, 10**9]
COMPARED_WITH_OPENDP = {1, 10, 100, 1000, 10**6}
TARGET_LARGEST_SCALE = 1000

Draw = Callable[[int], object]


@dataclass(frozen=True)
class Law:
    """One kind of noise; each sampler takes a scale (for Gaussian noise sigma) and then a count."""

    name: str
    called: str
    """What a row calls noise of a scale."""
    ours: Callable[[Fraction], Draw]
    numpy: Callable[[int], Draw]
    opendp: Callable[[int], Draw | None]
    target_numpy: int
    target_opendp: int


@dataclass(frozen=True)
class Ratio:
    """Middle and extremes over the rounds."""

    median: float
    smallest: float
    largest: float

    @classmethod
    def between(cls, slow: list[float], fast: list[float]) -> Ratio:
        """Divide round by round."""
        ratios = [one / other for one, other in zip(slow, fast, strict=True)]
        return cls(median(ratios), min(ratios), max(ratios))

    def __str__(self) -> str:
        return f"{self.median:7.1f} ({self.smallest:.1f} .. {self.largest:.1f})"


@dataclass(frozen=True)
class Row:
    """One scale of a law; times in nanoseconds per sample, the first call in milliseconds."""

    law: str
    scale: int
    first_call: float
    ours: float
    numpy: float
    opendp: float | None
    ours_over_numpy: Ratio
    opendp_over_ours: Ratio | None
    within_target: bool


def rows(*, quick: bool, data: str | None) -> list[Claim]:
    """Report ours over numpy, and OpenDP over ours."""
    made = []
    for law in LAWS:
        for scale in (1, 100) if quick else (1, 10, 100, 1000):
            found = measure(law, scale, 100_000 if quick else 1_000_000, 5_000 if quick else 20_000, 3 if quick else 9)
            pairs = [("numpy", "no privacy: floating-point noise leaks", PRICE, found.ours_over_numpy)]
            if found.opendp_over_ours is not None:
                pairs.append(("opendp", f"exact integer {law.name} noise, as ours", AHEAD, found.opendp_over_ours))
            for peer, guarantee, direction, ratio in pairs:
                spread = (ratio.median, ratio.smallest, ratio.largest)
                made.append(Claim.of(f"seconds of {law.called} {scale}", peer, guarantee, direction, spread))
    return made


def main() -> int:
    """Measure, print, and return 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--opendp-samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    turns = options.samples, options.opendp_samples, options.rounds
    rows = [measure(law, scale, *turns) for law in LAWS for scale in SCALES]
    if options.json:
        described = {"samples": options.samples, "opendp_samples": options.opendp_samples}
        json.dump({**described, "rounds": options.rounds, "rows": [asdict(row) for row in rows]}, sys.stdout)
        print()
    else:
        print_table(rows, options)
    return 0 if all(row.within_target for row in rows) else 1


def measure(law: Law, scale: int, samples: int, opendp_samples: int, rounds: int) -> Row:
    """Let the samplers take turns at one scale."""
    ours = law.ours(Fraction(scale))
    first_call = seconds(ours, 1)
    contenders: dict[str, tuple[Draw, int]] = {"ours": (ours, samples), "numpy": (law.numpy(scale), samples)}
    opendp = law.opendp(scale) if scale in COMPARED_WITH_OPENDP else None
    if opendp is not None:
        contenders["opendp"] = (opendp, opendp_samples)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(-1, rounds):
        for name, (draw, count) in contenders.items():
            elapsed = seconds(draw, count) / count * 1e9
            if turn >= 0:  # the round before the first warms up
                times[name].append(elapsed)
    theirs = times.get("opendp")
    over_numpy = Ratio.between(times["ours"], times["numpy"])
    over_ours = Ratio.between(theirs, times["ours"]) if theirs else None
    return Row(
        law=law.name,
        scale=scale,
        first_call=first_call * 1e3,
        ours=median(times["ours"]),
        numpy=median(times["numpy"]),
        opendp=median(theirs) if theirs else None,
        ours_over_numpy=over_numpy,
        opendp_over_ours=over_ours,
        within_target=scale > TARGET_LARGEST_SCALE
        or (over_numpy.median <= law.target_numpy and (over_ours is None or over_ours.median >= law.target_opendp)),
    )


def seconds(draw: Draw, count: int) -> float:
    """Time one call."""
    start = time.process_time()
    draw(count)
    return time.process_time() - start


def numpy_laplace(scale: int) -> Draw:
    """Draw numpy's floats."""
    generator = np.random.default_rng()
    return lambda count: generator.laplace(0.0, scale, count)


def numpy_gaussian(sigma: int) -> Draw:
    """Draw numpy's floats, rounded to whole numbers."""
    generator = np.random.default_rng()
    return lambda count: np.rint(generator.standard_normal(count) * sigma).astype(np.int64)


def opendp_laplace(scale: int) -> Draw | None:
    """OpenDP's exact sampler, if it is installed."""
    return opendp_draw("make_laplace", "l1_distance", int, scale)


def opendp_gaussian(sigma: int) -> Draw | None:
    """OpenDP's exact sampler, if it is installed."""
    return opendp_draw("make_gaussian", "l2_distance", float, sigma)


def opendp_draw(maker: str, distance: str, distance_type: type, scale: int) -> Draw | None:
    """Draw by a measurement of OpenDP's of vectors of whole numbers."""
    try:
        import opendp.prelude as prelude
    except ImportError:
        return None
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T=int)), getattr(prelude, distance)(T=distance_type)
    measurement = getattr(prelude.m, maker)(*space, scale=float(scale))
    return lambda count: measurement([0] * count)


LAWS = (
    Law(
        "Laplace",
        "noise of scale",
        lambda scale: lambda count: noise.discrete_laplace(scale, count),
        numpy_laplace,
        opendp_laplace,
        target_numpy=5,
        target_opendp=100,
    ),
    Law(
        "Gaussian",
        "Gaussian noise of sigma",
        lambda sigma: lambda count: noise.discrete_gaussian(sigma**2, count),
        numpy_gaussian,
        opendp_gaussian,
        target_numpy=3,
        target_opendp=300,
    ),
)


def print_table(rows: list[Row], options: argparse.Namespace) -> None:
    """Print times and ratios for people."""
    print(f"{options.samples:,} samples per round, {options.rounds} rounds in turns; median (smallest .. largest)")
    print(f"OpenDP: {options.opendp_samples:,} samples per round, scaled to one sample")
    print()
    print(f"{'law':<9} {'scale':>10} {'first call':>11} {'ours':>8} {'numpy':>8} {'OpenDP':>9}   ", end="")
    print(f"{'ours / numpy':<24} {'OpenDP / ours':<26}")
    for row in rows:
        opendp = "-" if row.opendp is None else f"{row.opendp:.0f} ns"
        print(f"{row.law:<9} {row.scale:>10} {row.first_call:>8.1f} ms ", end="")
        print(f"{row.ours:>5.1f} ns {row.numpy:>5.1f} ns ", end="")
        print(f"{opendp:>9}   {row.ours_over_numpy!s:<24} {row.opendp_over_ours or '      -'!s:<26}", end="")
        print("" if row.within_target else " TARGET MISSED")
    print()
    for law in LAWS:
        print(f"Targets, {law.name}, scales 1 to {TARGET_LARGEST_SCALE}: ", end="")
        print(f"at most {law.target_numpy} times numpy; at least {law.target_opendp} times faster than OpenDP.")


if __name__ == "__main__":
    sys.exit(main())
