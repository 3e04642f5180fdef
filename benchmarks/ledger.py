"""How long a charge takes, by the number of entries a ledger holds, beside one durable insert into plain SQLite.

python benchmarks/ledger.py [--json] [--entries 1000 10000 100000]

Entries are copied within the database, since a hundred thousand charges would wait for the disk as often. The class
that is charged has as many regions as are kept apart, so that no charge has more to add up.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.ledger.composition import MOST_REGIONS
from blowfish_privacy.privacy.loss import Loss, PairClass, changing, region_of
from report import NOTHING, PRICE, Row

SIZES = (1_000, 10_000, 100_000)
DOMAIN = bp.Domain(town=bp.Integer(0, MOST_REGIONS), sex=bp.Categorical(["F", "M"]), age=bp.Integer(0, 99))
POLICY = bp.Policy(DOMAIN, secrets=bp.PerAttribute(town=bp.Public(), sex=bp.FullDomain(), age=bp.FullDomain()))
AMOUNT = Fraction(1, 10**6)


def town(number: int) -> PairClass:
    """The pairs that change sex in one town."""
    return PairClass("attribute", "sex", region_of(DOMAIN, {"town": Subset.of([number % MOST_REGIONS])}))


def charge(ledger: SqliteLedger, key: str, loss: Loss) -> None:
    """Charge once."""
    ledger.charge(loss=loss, policy=POLICY, key=key, description="a table", mechanism="laplace", policy_text="policy")


def filled(folder: Path, entries: int) -> SqliteLedger:
    """Make a ledger with so many entries."""
    ledger = SqliteLedger.create(folder / f"{entries}.ledger", budget=Fraction(1))
    charge(ledger, "first", Loss.of({changing("age"): AMOUNT, **{town(n): AMOUNT for n in range(MOST_REGIONS)}}))
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
            "INSERT INTO entries SELECT n, 'copy ' || n, made, policy, epsilon, charged, rule, description, content, "
            "mechanism, detail, chain || n, measure, '[]' FROM numbers CROSS JOIN entries",
            (entries,),
        )
        connection.execute("UPDATE account SET entries = ?", (entries,))
    return ledger


def plain(folder: Path) -> Callable[[], None]:
    """Return a durable insert of one row into an empty table, on a connection of its own as a charge has."""
    path = folder / "plain.sqlite"

    def insert() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("CREATE TABLE IF NOT EXISTS rows (text)")
            connection.execute("INSERT INTO rows VALUES ('x')")

    return insert


def measured(sizes: tuple[int, ...], rounds: int) -> dict[str, list[float]]:
    """Take turns: a charge to each ledger, and a plain insert."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledgers, insert = {size: filled(folder, size) for size in sizes}, plain(folder)
        times: dict[str, list[float]] = {"plain": [], **{str(size): [] for size in sizes}}
        for number in range(rounds):
            start = perf_counter()
            insert()
            times["plain"].append(perf_counter() - start)
            for size, ledger in ledgers.items():
                start = perf_counter()
                charge(ledger, f"new {number}", Loss.of({town(number): AMOUNT, changing("age"): AMOUNT}))
                times[str(size)].append(perf_counter() - start)
    return times


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report a charge beside a durable insert, and its growth with the number of entries."""
    times = measured(SIZES[:2] if quick else SIZES, 20 if quick else 100)
    *_, most = times
    against = zip(times[most], times["plain"], strict=True)
    growth = zip(times[most], times[str(SIZES[0])], strict=True)
    return [
        Row.of(f"seconds of a charge, {int(most):,} entries", "sqlite3, one durable insert", NOTHING, PRICE,
               [ours / theirs for ours, theirs in against]),
        Row.of(f"seconds of a charge, {int(most):,} entries", f"a charge with {SIZES[0]:,} entries", "the same", PRICE,
               [many / few for many, few in growth]),
    ]  # fmt: skip


def main() -> None:
    """Print the median of each size, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--entries", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    times = measured(tuple(options.entries), options.rounds)
    found = {
        name: {"median_ms": round(1000 * median(values), 2), "largest_ms": round(1000 * max(values), 2)}
        for name, values in times.items()
    }
    if options.json:
        print(json.dumps(found))
        return
    for name, found_times in found.items():
        what = "a plain durable insert" if name == "plain" else f"a charge, {int(name):>7,} entries"
        print(f"{what:28s} {found_times['median_ms']:8.2f} ms, at most {found_times['largest_ms']:.2f}")


if __name__ == "__main__":
    main()
