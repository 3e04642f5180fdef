"""What a whole product costs: five one-way tables, two means by groups and a cumulative histogram of Adult.

Under attribute secrets a secret pair changes one attribute, so each release is charged to the attributes that it looks
at, and the budget spent is the largest balance. Under a full domain every release is charged to all pairs, and epsilons
add up. Both products ask the same questions at the same epsilons.

    python benchmarks/product.py --data FOLDER

reads ``adult.csv`` from the folder (by default $BLOWFISH_DATA) and prints the balances, and the sum of the epsilons.
"""

from __future__ import annotations

import argparse
import os
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run

EPSILON = Fraction(3, 10)
COLUMNS = ["age", "workclass", "education", "marital_status", "race", "sex", "hours_per_week", "capital_loss"]


def table(folder: Path) -> pd.DataFrame:
    """Read the columns of the product; missing values of Adult are a category of their own."""
    frame = pd.read_csv(folder / "adult.csv", skipinitialspace=True)
    frame.columns = [column.strip().replace("-", "_") for column in frame.columns]
    return frame[COLUMNS]


def domain(frame: pd.DataFrame) -> bp.Domain:
    """Declare the domain; the categories of Adult are public documentation."""
    categories = {
        name: bp.Categorical(sorted(frame[name].unique()))
        for name in ("workclass", "education", "marital_status", "race", "sex")
    }
    return bp.Domain(
        age=bp.Integer(17, 90), hours_per_week=bp.Integer(1, 99), capital_loss=bp.Integer(0, 4356), **categories
    )


def product() -> list[tuple[str, object]]:
    """List the releases: what is asked, and what it is called."""
    one_way = ["age", "workclass", "education", "marital_status", "race"]
    return [
        *((f"{name} table", bp.Histogram(name)) for name in one_way),
        ("hours by sex", bp.Mean("hours_per_week").by("sex")),
        ("hours by race", bp.Mean("hours_per_week").by("race")),
        ("capital loss", bp.Cumulative("capital_loss")),
    ]


def main() -> None:
    """Release the product under both policies, each in a ledger of its own, and show the ledgers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("BLOWFISH_DATA", "data")))
    frame = table(parser.parse_args().data)
    declared = domain(frame)
    for name, secrets in (("attributes", bp.Attributes()), ("full domain", bp.FullDomain())):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "product.ledger"
            policy = bp.Policy(declared, secrets=secrets)
            session = bp.Session(frame, policy, budget=3, ledger=path, create=True)
            print(f"\nsecrets: {name}, every release at epsilon {float(EPSILON)}")
            for title, asked in product():
                plan = session.plan(asked, epsilon=EPSILON, name=title)
                session.release(plan)
                error = plan.expected_error()
                print(f"  {title}: {plan.certificate.mechanism}, error of {error.of} {error.rmse:.3g}")
            run(["ledger", "show", str(path)])
            total = sum(entry.epsilon for entry in session.ledger.entries())
            print(f"spent {float(session.ledger.spent)}; the epsilons add up to {float(total)}")


if __name__ == "__main__":
    main()
