"""Synthetic records of many attributes: seconds, peak of memory and error, as records and attributes grow.

    python benchmarks/synthetic_scale.py [--attributes 100] [--values 10] [--records 1000000] [--epsilon 1]

The data are made up: every record belongs to one of twelve groups, which have likings of their own, and each attribute
follows the one before it half of the time. Everything is done that a release does after reading the rows: planning,
certifying, counting, choosing, measuring, fitting; then as many records are drawn, in pieces. The error is the mean
total variation over 300 random tables of three attributes, beside that of independent attributes and of a resample.
Runs in one process: the peak is that of all, the data (one byte for each value) included.
"""

from __future__ import annotations

import argparse
import resource
from fractions import Fraction
from math import prod
from time import perf_counter

import numpy as np
import numpy.typing as npt

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.privacy.measure import rho_of
from synthetic_cases import ATTRIBUTES, FULL, mechanism_of, policy_of

PIECE = 100_000
GROUPS = 12
TABLES = 300
Columns = npt.NDArray[np.uint8]


def made_up(records: int, attributes: int, values: int) -> Columns:
    """Make records whose attributes depend on a hidden group and on their neighbour, one column after the other."""
    generator = np.random.default_rng(1)
    columns = np.zeros((records, attributes), dtype=np.uint8, order="F")
    groups = generator.integers(0, GROUPS, records, dtype=np.uint8)
    for axis in range(attributes):
        likings = np.cumsum(generator.dirichlet(np.full(values, 0.5), size=GROUPS), axis=1)
        ends = np.minimum(likings, 1.0).astype(np.float32)
        drawn = np.zeros(records, dtype=np.uint8)
        chance = generator.random(records, dtype=np.float32)
        for value in range(values - 1):
            drawn += chance > ends[groups, value]
        following = generator.random(records, dtype=np.float32) < 0.5 if axis else np.zeros(records, dtype=bool)
        columns[:, axis] = np.where(following, columns[:, axis - 1], drawn)
    return columns


def table_of(columns: Columns, shape: tuple[int, ...], axes: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Count the records in every cell of a table."""
    cells = np.zeros(len(columns), dtype=np.int32)
    for axis in axes:
        cells = cells * np.int32(shape[axis]) + columns[:, axis]
    return np.bincount(cells, minlength=prod(shape[axis] for axis in axes)).astype(np.float64)


def errors(columns: Columns, made: Columns, shape: tuple[int, ...]) -> list[float]:
    """Return the mean distance of the data's tables from those of the records, of independence, and of a resample."""
    generator = np.random.default_rng(2)
    again = columns[generator.integers(0, len(columns), len(columns))]
    found: list[list[float]] = []
    for _ in range(TABLES):
        axes = tuple(int(axis) for axis in np.sort(generator.choice(len(shape), 3, replace=False)))
        truth, alone = table_of(columns, shape, axes), np.ones(())
        for axis in axes:
            alone = np.multiply.outer(alone, table_of(columns, shape, (axis,)) / len(columns)).ravel()
        others = (
            table_of(made, shape, axes) * len(columns) / len(made),
            alone * len(columns),
            table_of(again, shape, axes),
        )
        found.append([float(np.abs(truth - other).sum()) / 2 / len(columns) for other in others])
    return [float(each) for each in np.mean(found, axis=0)]


def main() -> None:
    """Time each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, default=100)
    parser.add_argument("--values", type=int, default=10)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--policy", choices=[ATTRIBUTES, FULL], default=ATTRIBUTES)
    given = parser.parse_args()
    columns = made_up(given.records, given.attributes, given.values)
    domain = bp.Domain({f"a{axis}": bp.Integer(0, given.values - 1) for axis in range(given.attributes)})
    policy, rho = policy_of(domain, given.policy), rho_of(given.epsilon, Fraction(1, 10**9))
    print(
        f"{given.attributes} attributes of {given.values} values, {given.records:,} records, {given.policy},", end=" "
    )
    print(f"epsilon {float(given.epsilon):g}, delta 1e-9 (rho {float(rho):.4g})")
    begin = perf_counter()

    def done(what: str) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {what:<28} {perf_counter() - begin:>7.1f} s  {peak:>6.0f} MB", flush=True)

    mechanism = mechanism_of(bp.Synthetic(list(domain.names)), policy, rho, given.records)
    done("planned")
    mechanism.certify(policy)
    done("certified")
    noisy = mechanism.draw(RecordAggregates(domain, list(columns.T)), SystemSource())
    done("measured")
    model = mechanism.model(noisy, given.records)
    done("fitted")
    generator, made = np.random.default_rng(3), np.zeros_like(columns)
    for start in range(0, given.records, PIECE):
        many = min(PIECE, given.records - start)
        made[start : start + many] = model.records(many, generator)
    done("drawn")
    ours, alone, again = errors(columns, made, domain.shape)
    print(f"  tables of three: {ours:.4f}; independent attributes {alone:.4f}; a resample of the data {again:.4f}")


if __name__ == "__main__":
    main()
