"""Synthetic records of data other than Adult: constants that were settled there must do elsewhere too.

    python benchmarks/synthetic_other.py [--epsilons .1 1] [--seeds 1] [--records 50000] [--only NAME]

Made-up tables of 12 attributes: *groups*, twelve kinds of people, each with likings of their own; *copies*, the same,
where each attribute follows the one before it half of the time; *chain*, ordered attributes, each close to the one
before; *skewed*, independent attributes of 2 to 60 values of which few are common; *star*, eleven attributes that
follow the first; *three*, triples in which any two are independent and the third is the sum of both. The figure is the
mean total variation over all 220 tables of three attributes, at delta 1e-9.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from time import perf_counter

import numpy as np

import blowfish_privacy as bp
from adult import Positions, independent, resample, table_of, variation
from blowfish_privacy.privacy.measure import rho_of
from synthetic_cases import Maker, makers
from synthetic_scale import made_up

ATTRIBUTES = 12
DELTA = Fraction(1, 10**9)


def groups(many: int, generator: np.random.Generator) -> Positions:
    """Make twelve kinds of people."""
    kinds = generator.choice(12, many, p=generator.dirichlet(np.ones(12)))
    columns = []
    for size in (2, 3, 4, 5, 6, 8, 10, 10, 12, 15, 20, 30):
        likings = generator.dirichlet(np.full(size, 0.5), size=12)
        columns.append(
            (np.cumsum(likings, axis=1)[kinds] < generator.random(many)[:, None]).sum(axis=1).clip(0, size - 1)
        )
    return np.column_stack(columns).astype(np.int64)


def chain(many: int, generator: np.random.Generator) -> Positions:
    """Make ordered attributes of 16 values, each close to the one before."""
    place, columns = generator.normal(size=many), []
    for _ in range(ATTRIBUTES):
        place = 0.9 * place + np.sqrt(0.19) * generator.normal(size=many)
        columns.append(np.clip(np.floor(place * 3 + 8), 0, 15))
    return np.column_stack(columns).astype(np.int64)


def skewed(many: int, generator: np.random.Generator) -> Positions:
    """Make independent attributes of few common and many rare values."""
    columns = []
    for size in np.geomspace(2, 60, ATTRIBUTES).astype(int):
        shares = 1 / np.arange(1, size + 1) ** 1.5
        columns.append(generator.choice(size, many, p=shares / shares.sum()))
    return np.column_stack(columns).astype(np.int64)


def star(many: int, generator: np.random.Generator) -> Positions:
    """Make attributes that follow the first of them, seven times out of ten."""
    first = generator.integers(0, 10, many)
    columns = [first]
    for _ in range(ATTRIBUTES - 1):
        followed = generator.permutation(10)[first]
        columns.append(np.where(generator.random(many) < 0.7, followed, generator.integers(0, 10, many)))
    return np.column_stack(columns).astype(np.int64)


def three(many: int, generator: np.random.Generator) -> Positions:
    """Make triples that no pair tells anything about."""
    columns = []
    for _ in range(ATTRIBUTES // 3):
        one, two = generator.integers(0, 4, (2, many))
        columns += [one, two, (one + two) % 4]
    return np.column_stack(columns).astype(np.int64)


FAMILIES: dict[str, Callable[[int, np.random.Generator], Positions]] = {
    "groups": groups,
    "copies": lambda many, _: made_up(many, ATTRIBUTES, 10).astype(np.int64),
    "chain": chain,
    "skewed": skewed,
    "star": star,
    "three": three,
}


def error(way: Maker, domain: bp.Domain, records: Positions, epsilon: Fraction, seed: int) -> float:
    """Make records and compare their tables with the data's."""
    made, _ = way(domain, records, rho_of(epsilon, DELTA), seed)
    return variation(records, domain.shape, lambda axes: table_of(made, domain.shape, axes))


def main() -> None:
    """Print a line for each family, way and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", nargs="+", type=Fraction, default=[Fraction(1, 10), Fraction(1)])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--only", action="append", help="a part of the names of families to run")
    given = parser.parse_args()
    ways = {name: way for name, way in makers(None).items() if "public" not in name}
    for family, make in FAMILIES.items():
        if given.only and not any(part in family for part in given.only):
            continue
        records = make(given.records, np.random.default_rng(1))
        shape = tuple(int(size) for size in records.max(axis=0) + 1)
        domain = bp.Domain({f"a{axis}": bp.Integer(0, size - 1) for axis, size in enumerate(shape)})
        again = variation(records, shape, resample(records, shape, 0))
        alone = variation(records, shape, independent(records, shape))
        print(f"{family}: a resample {again:.4f}, independent attributes {alone:.4f}", flush=True)
        for name, way in ways.items():
            told = []
            for epsilon in given.epsilons:
                begin = perf_counter()
                found = [error(way, domain, records, epsilon, seed) for seed in range(given.seeds)]
                seconds = (perf_counter() - begin) / given.seeds
                told.append(f"{float(epsilon):g}: {np.mean(found):.4f} ({seconds:.0f} s)")
            print(f"  {name:<26} {'   '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
