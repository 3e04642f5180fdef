"""Definition 4.1 of the paper, as printed and with its natural repairs, by exhaustion over small tables [he2014].

Tables D1 and D2 that satisfy the facts are neighbours if T(D1, D2), the secret moves between them, is not empty, and no
D3 that satisfies the facts has (a) T(D1, D3) strictly inside T(D1, D2), or (b) the same T and only some of the changes.
With D3 = D1, whose T is empty, (a) always applies.

``python -m blowfish_lab.paper.neighbour_repairs`` counts the random policies under which a repair is not symmetric.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from enum import Enum
from itertools import combinations, combinations_with_replacement, product

import click

from blowfish_privacy.domain import Cell, Domain, Integer
from blowfish_privacy.errors import BlowfishWarning
from blowfish_privacy.graphs import ExplicitGraph
from blowfish_privacy.known_facts.facts import KnownCount
from blowfish_privacy.policies import Policy
from blowfish_privacy.testing.oracle import Database, is_secret_move, satisfies


class Repair(Enum):
    """What condition 3(a) is read as."""

    NONE = "as printed"
    OTHER_TABLE = "D3 is another table than D1"
    OTHER_MOVES = "T(D1, D3) is not empty"


def tables(policy: Policy, records: int) -> list[Database]:
    """List all tables that satisfy the facts."""
    return [table for table in product(policy.domain.cells(), repeat=records) if satisfies(policy, table)]


def neighbours_of(policy: Policy, first: Database, repair: Repair) -> set[Database]:
    """Return all neighbours of a table by the printed definition, repaired."""
    by_moves: dict[frozenset[tuple[int, Cell, Cell]], list[tuple[Database, frozenset[tuple[int, Cell]]]]] = {}
    for third in tables(policy, len(first)):
        if third != first or repair is Repair.NONE:
            by_moves.setdefault(_moves(policy, first, third), []).append((third, _changes(first, third)))
    forbidding = [moves for moves in by_moves if moves or repair is not Repair.OTHER_MOVES]
    return {
        second
        for moves, alike in by_moves.items()
        if moves and not any(fewer < moves for fewer in forbidding)
        for second, changes in alike
        if not any(less < changes for _, less in alike)
    }


def _moves(policy: Policy, first: Database, second: Database) -> frozenset[tuple[int, Cell, Cell]]:
    pairs = enumerate(zip(first, second, strict=True))
    return frozenset((i, x, y) for i, (x, y) in pairs if x != y and is_secret_move(policy, x, y))


def _changes(first: Database, second: Database) -> frozenset[tuple[int, Cell]]:
    return frozenset(enumerate(first)) ^ frozenset(enumerate(second))


def asymmetric(policy: Policy, records: int, repair: Repair) -> tuple[Database, Database] | None:
    """Find a table with a neighbour whose neighbour it is not."""
    known: dict[Database, set[Database]] = {}

    def near(table: Database) -> set[Database]:
        if table not in known:
            known[table] = neighbours_of(policy, table, repair)
        return known[table]

    for first in combinations_with_replacement(policy.domain.cells(), records):
        for second in near(first) if satisfies(policy, first) else ():
            # Records are interchangeable: both tables in the order that sorts the second.
            order = sorted(range(records), key=second.__getitem__)
            if tuple(first[i] for i in order) not in near(tuple(second[i] for i in order)):
                return first, second
    return None


def random_policies(number: int, seed: int) -> Iterator[tuple[Policy, int]]:
    """Make policies of 3 or 4 values and 2 or 3 records, with random secret pairs and one or two known counts."""
    source = random.Random(seed)  # noqa: S311
    for _ in range(number):
        values, records = source.choice([3, 4]), source.choice([2, 3])
        every = [*combinations(range(values), 2)]
        pairs = source.sample(every, source.randint(1, len(every)))
        table = [source.randrange(values) for _ in range(records)]
        counted = [source.sample(range(values), source.randint(1, values - 1)) for _ in range(source.choice([1, 2]))]
        known = [KnownCount({"v": inside}, sum(value in inside for value in table)) for inside in counted]
        domain = Domain(v=Integer(0, values - 1))
        yield Policy(domain, secrets=ExplicitGraph(pairs), known=known, compensation="anywhere"), records


@click.command()
@click.option("--policies", "number", default=2_500, show_default=True, help="How many random policies.")
@click.option("--seed", default=1, show_default=True)
def main(number: int, seed: int) -> None:
    """Count the random policies under which a repaired definition of neighbours is not symmetric."""
    warnings.simplefilter("ignore", BlowfishWarning)
    policies = [*random_policies(number, seed)]
    for repair in (Repair.OTHER_TABLE, Repair.OTHER_MOVES):
        many = sum(asymmetric(policy, records, repair) is not None for policy, records in policies)
        click.echo(f"{repair.value}: not symmetric under {many:,} of {number:,} policies")


if __name__ == "__main__":
    main()
