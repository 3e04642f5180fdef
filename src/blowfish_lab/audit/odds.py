"""Whether neighbours hold an attacker's odds: a search for known counts under which they would not.

docs/proofs/odds.md reduces the question to records that each have one of two values. Which of the two is a sign, and
what a record's change does to the known counts is its *effect*. All choices of signs under which the effects cancel
must be matched, those with a person's first value with those with the second, by minimal changes.

``python -m blowfish_lab.audit.odds --instances 20000`` tries all effects on up to three counts of a few records,
then random ones on more, and fails when one cannot be matched.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, combinations_with_replacement, product
from typing import TypeAlias

import click
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

Effect: TypeAlias = tuple[int, ...]
_MOST_CHOICES = 160


def can_be_matched(effects: Sequence[Effect]) -> bool | None:
    """Say whether minimal changes match all choices with the first record's first value with all of its second.

    None where the effects cancel under no choice of signs, or under too many to look at.
    """
    choices = _cancelling(effects)
    if not 0 < len(choices) <= _MOST_CHOICES:
        return None
    # With the first value: a choice s of the other records. With the second: the opposite of such a choice t. Between
    # them those records change in which s and t agree, and whatever lies in between agrees with s where s and t differ.
    differ = choices[:, None] ^ choices[None, :]
    between = (differ[:, None, :] & differ[:, :, None]) == 0
    minimal = between.sum(axis=2) == 1
    partners = maximum_bipartite_matching(csr_array(minimal), perm_type="column")
    return bool((np.asarray(partners) >= 0).all())


def all_effects(counts: int, records: int) -> Iterator[tuple[Effect, ...]]:
    """Go through all effects of some records on some counts, up to the order of the records and the signs."""
    kinds = [effect for effect in product((-1, 0, 1), repeat=counts) if next(filter(None, effect), 0) > 0]
    for several in combinations_with_replacement(kinds, records):
        for first in sorted(set(several)):
            others = list(several)
            others.remove(first)
            yield (first, *others)


def random_effects(source: random.Random) -> tuple[Effect, ...]:
    """Make the effects of some records on some counts."""
    counts, records = source.randint(2, 6), source.randint(4, 11)
    weight = source.choice([0.3, 0.5, 0.7])
    return tuple(
        tuple(source.choice((-1, 1)) if source.random() < weight else 0 for _ in range(counts)) for _ in range(records)
    )


def _cancelling(effects: Sequence[Effect]) -> npt.NDArray[np.int64]:
    """List the choices of signs, as bits, under which the first effect and the others add up to zero."""
    first, *others = effects
    numbers = np.arange(1 << len(others), dtype=np.int64)
    signs = 2 * (numbers[:, None] >> np.arange(len(others)) & 1) - 1
    totals = signs @ np.array(others, dtype=np.int64).reshape(len(others), len(first)) + np.array(first)
    return numbers[(totals == 0).all(axis=1)]


@click.command()
@click.option("--instances", type=click.IntRange(1), default=2_000, show_default=True, help="Random effects to try.")
@click.option("--seed", type=int, default=0, show_default=True)
def main(instances: int, seed: int) -> None:
    """Look for effects under which neighbours would not hold an attacker's odds."""
    few = chain.from_iterable(
        all_effects(counts, records) for counts, most in ((1, 9), (2, 8), (3, 6)) for records in range(1, most + 1)
    )
    source = random.Random(seed)  # noqa: S311
    for title, tried in (("all effects of few records", few), ("random effects", _random(source, instances))):
        matched = 0
        for effects in tried:
            matchable = can_be_matched(effects)
            matched += matchable is True
            if matchable is False:
                click.echo(f"NOT MATCHED: {effects}")
                sys.exit(1)
        click.echo(f"{title}: {matched:,} matched, none failed.")


def _random(source: random.Random, instances: int) -> Iterator[tuple[Effect, ...]]:
    made = 0
    while made < instances:
        effects = random_effects(source)
        if 3 <= len(_cancelling(effects)) <= _MOST_CHOICES:
            made += 1
            yield effects


if __name__ == "__main__":
    main()
