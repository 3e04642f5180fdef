"""Noise: our exact sampler against numpy's float Laplace and OpenDP's exact integer Laplace.

Run ``python benchmarks/noise.py`` (``--json`` for a machine). All samplers take turns within one run, so that
what is compared has met the same machine. A ratio is the median over the rounds of the ratio within a round;
its spread is the smallest and the largest. numpy's noise is not safe to release: it stands for the
speed of not caring. OpenDP draws fewer samples per round, and its time is scaled up to one sample.
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
TARGET_NUMPY, TARGET_OPENDP, TARGET_LARGEST_SCALE = 5, 100, 1000

Draw = Callable[[int], object]


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
    """One scale; times in nanoseconds per sample, the first call in milliseconds."""

    scale: int
    first_call: float
    ours: float
    numpy: float
    opendp: float | None
    ours_over_numpy: Ratio
    opendp_over_ours: Ratio | None

    @property
    def within_target(self) -> bool:
        """Whether the targets hold; they are set for scales up to 1000."""
        if self.scale > TARGET_LARGEST_SCALE:
            return True
        exact_enough = self.opendp_over_ours is None or self.opendp_over_ours.median >= TARGET_OPENDP
        return exact_enough and self.ours_over_numpy.median <= TARGET_NUMPY


def rows(*, quick: bool, data: str | None) -> list[Claim]:
    """Report ours over numpy, and OpenDP over ours."""
    made = []
    for scale in (1, 100) if quick else (1, 10, 100, 1000):
        found = measure(scale, 100_000 if quick else 1_000_000, 5_000 if quick else 20_000, 3 if quick else 9)
        pairs = [("numpy", "no privacy: floating-point noise leaks", PRICE, found.ours_over_numpy)]
        if found.opendp_over_ours is not None:
            exact = "exact integer Laplace noise, as ours"
            pairs.append(("opendp", exact, AHEAD, found.opendp_over_ours))
        for peer, guarantee, direction, ratio in pairs:
            spread = (ratio.median, ratio.smallest, ratio.largest)
            made.append(Claim.of(f"seconds of noise of scale {scale}", peer, guarantee, direction, spread))
    return made


def main() -> int:
    """Measure, print, and return 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--opendp-samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(scale, options.samples, options.opendp_samples, options.rounds) for scale in SCALES]
    if options.json:
        described = {"samples": options.samples, "opendp_samples": options.opendp_samples}
        json.dump({**described, "rounds": options.rounds, "rows": [asdict(row) for row in rows]}, sys.stdout)
        print()
    else:
        print_table(rows, options)
    return 0 if all(row.within_target for row in rows) else 1


def measure(scale: int, samples: int, opendp_samples: int, rounds: int) -> Row:
    """Let the samplers take turns at one scale."""
    generator = np.random.default_rng()
    first_call = seconds(lambda count: noise.discrete_laplace(Fraction(scale), count), 1)
    contenders: dict[str, tuple[Draw, int]] = {
        "ours": (lambda count: noise.discrete_laplace(scale, count), samples),
        "numpy": (lambda count: generator.laplace(0.0, scale, count), samples),
    }
    opendp = opendp_laplace(scale) if scale in COMPARED_WITH_OPENDP else None
    if opendp is not None:
        contenders["opendp"] = (opendp, opendp_samples)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(-1, rounds):
        for name, (draw, count) in contenders.items():
            elapsed = seconds(draw, count) / count * 1e9
            if turn >= 0:  # the round before the first warms up
                times[name].append(elapsed)
    theirs = times.get("opendp")
    return Row(
        scale=scale,
        first_call=first_call * 1e3,
        ours=median(times["ours"]),
        numpy=median(times["numpy"]),
        opendp=median(theirs) if theirs else None,
        ours_over_numpy=Ratio.between(times["ours"], times["numpy"]),
        opendp_over_ours=Ratio.between(theirs, times["ours"]) if theirs else None,
    )


def seconds(draw: Draw, count: int) -> float:
    """Time one call."""
    start = time.perf_counter()
    draw(count)
    return time.perf_counter() - start


def opendp_laplace(scale: int) -> Draw | None:
    """OpenDP's exact sampler, if it is installed."""
    try:
        import opendp.prelude as prelude
    except ImportError:
        return None
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T=int)), prelude.l1_distance(T=int)
    measurement = prelude.m.make_laplace(*space, scale=float(scale))
    return lambda count: measurement([0] * count)


def print_table(rows: list[Row], options: argparse.Namespace) -> None:
    """Print times and ratios for people."""
    print(f"{options.samples:,} samples per round, {options.rounds} rounds in turns; median (smallest .. largest)")
    print(f"OpenDP: {options.opendp_samples:,} samples per round, scaled to one sample")
    print()
    print(f"{'scale':>10} {'first call':>11} {'ours':>8} {'numpy':>8} {'OpenDP':>9}   ", end="")
    print(f"{'ours / numpy':<24} {'OpenDP / ours':<26}")
    for row in rows:
        opendp = "-" if row.opendp is None else f"{row.opendp:.0f} ns"
        print(f"{row.scale:>10} {row.first_call:>8.1f} ms {row.ours:>5.1f} ns {row.numpy:>5.1f} ns ", end="")
        print(f"{opendp:>9}   {row.ours_over_numpy!s:<24} {row.opendp_over_ours or '      -'!s:<26}", end="")
        print("" if row.within_target else " TARGET MISSED")
    print()
    print(f"Targets, scales 1 to 1000: at most {TARGET_NUMPY} times numpy; at least {TARGET_OPENDP} times ", end="")
    print("faster than OpenDP.")


if __name__ == "__main__":
    sys.exit(main())
