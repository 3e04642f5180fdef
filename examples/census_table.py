"""A census table: ages by sex for each region, each region at the cost of one, and the median wage.

    python examples/census_table.py [FOLDER]

The table is synthetic, so the released numbers can be compared with the true ones here.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

import blowfish_privacy as bp
from blowfish_privacy.cli.demo import synthetic_census

DOMAIN = bp.Domain(
    age=bp.Integer(17, 90),
    sex=bp.Categorical(["Female", "Male"]),
    region=bp.Categorical(["North", "East", "South", "West"]),
    wage=bp.Integer(0, 200, outside="clamp"),
)
POLICY = bp.Policy(
    DOMAIN,
    secrets=bp.PerAttribute(
        age=bp.DistanceThreshold(5),  # hidden among ages up to five years apart
        sex=bp.FullDomain(),  # hidden
        region=bp.Public(),  # everybody may know where a person lives
        wage=bp.DistanceThreshold(20),
    ),
)


def main(folder: Path) -> None:
    """Make the table, release, save, and compare."""
    (folder / "census.csv").write_text("\n".join(synthetic_census(20_000)) + "\n")
    session = bp.Session(folder / "census.csv", POLICY, budget="1.0", ledger=folder / "census.ledger", create=True)

    # No secret pair changes the region, so four tables cost as much as one.
    tables = session.release(bp.Histogram("age", "sex").by("region"), epsilon="0.5", name="ages")
    tables.save(folder / "ages.release.json")
    tables.to_csv(folder / "ages.csv")
    tables.plot(folder / "ages.png")

    wages = session.release(bp.Cumulative("wage"), epsilon="0.3", name="wages")
    wages.save(folder / "wages.release.json")
    wages.plot(folder / "wages.png")

    with (folder / "census.csv").open() as file:
        people = list(csv.DictReader(file))
    true = Counter((person["region"], person["age"], person["sex"]) for person in people)
    print("women aged 40    released  true")
    for region, table in tables.items():
        print(f"{region:17}{table.counts[40 - 17, 0]:8.1f}{true[region, '40', 'Female']:6}")
    ordered = sorted(int(person["wage"]) for person in people)
    print(f"median wage: released {wages.quantile('0.5')}, true {ordered[len(ordered) // 2]}")
    print(f"spent {float(session.ledger.budget - session.remaining)} of {float(session.ledger.budget)}")


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/census-table")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
