"""A program as a user writes it, for type checkers: each ``assert_type`` is what an editor knows of a name.

``make check`` checks it with pyright in strict mode, and the tests run it.
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import blowfish_privacy as bp
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.mechanisms import Error
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.results import (
    ClustersResult,
    CumulativeResult,
    GridResult,
    HistogramResult,
    NumberResult,
    QuantilesResult,
    RangesResult,
    SyntheticResult,
    TablesResult,
    VectorResult,
)

Floats = NDArray[np.float64]


def declare() -> bp.Policy:
    """Declare a domain, what is secret in it, and what is known of it."""
    domain = bp.Domain(
        age=bp.Integer(17, 26),
        sex=bp.Categorical(["Female", "Male"]),
        wage=bp.Integer(0, 29, outside="clamp"),
    )
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), wage=bp.DistanceThreshold(10))
    policy = bp.Policy(domain, secrets=secrets, known=[bp.KnownMarginal("sex")], compensation="secret-moves")
    assert_type(policy.explain(), str)
    assert_type(bp.sensitivity(bp.Sum("wage"), policy), bp.Sensitivity)
    assert_type(bp.sensitivity(bp.Sum("wage"), policy).value, Fraction)
    return bp.Policy(domain, secrets=secrets)


def plan(session: bp.Session) -> None:
    """Look at a plan before anything is spent."""
    made = session.plan(bp.Histogram("age", "sex"), epsilon="0.3")
    assert_type(made, Plan[bp.Histogram])
    assert_type(made.query, bp.Histogram)
    assert_type(made.expected_error(), Error)
    assert_type(made.expected_error().rmse, float)
    assert_type(made.certificate, Certificate)
    assert_type(made.epsilon, Fraction | None)
    assert_type(made.explain(), str)
    assert_type(made.notices, list[str])
    assert_type(session.release(made), HistogramResult)
    named = session.plan(bp.Cumulative("wage"), epsilon="0.1", mechanism="ordered")
    assert_type(session.release(named), Any)


def release(session: bp.Session, folder: Path) -> None:
    """Release one of each kind, and read it."""
    ages = session.release(bp.Histogram("age", "sex"), epsilon="0.3", name="ages")
    assert_type(ages, HistogramResult)
    ages.to_csv(folder / "ages.csv")
    ages.save(folder / "ages.release.json")
    assert_type(ages.statement, str)

    wages = session.release(bp.Cumulative("wage"), epsilon="0.3")
    assert_type(wages, CumulativeResult)
    assert_type(wages.range(2, 9), float)
    assert_type(wages.interval(2, 9), tuple[float, float])

    assert_type(session.release(bp.Quantiles("wage", ["0.5"]), epsilon="0.3"), QuantilesResult)
    assert_type(session.release(bp.Median("wage"), epsilon="0.3"), QuantilesResult)
    assert_type(session.release(bp.Ranges("wage", [(0, 9), (10, 19)]), epsilon="0.3"), RangesResult)
    assert_type(session.release(bp.RangeGrid("age", "wage"), epsilon="0.3"), GridResult)

    mean = session.release(bp.Mean("wage"), error=2)
    assert_type(mean, NumberResult)
    assert_type(mean.value, float | int)
    assert_type(mean.error().interval("0.95"), float)
    assert_type(session.release(bp.Sum("wage"), epsilon=Fraction(1, 10)), NumberResult)
    assert_type(session.release(bp.Linear([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]], ["age"]), epsilon="0.3"), VectorResult)

    groups = session.release(bp.KMeans(["age", "wage"], k=2), epsilon=1)
    assert_type(groups, ClustersResult)
    tables = session.release(bp.Tables([["age", "sex"], ["sex"]]), epsilon="0.5")
    assert_type(tables, TablesResult)
    assert_type(session.release(bp.Synthetic(["age", "sex"]), epsilon="0.5"), SyntheticResult)


def account(session: bp.Session) -> None:
    """Ask the ledger."""
    ledger = session.ledger
    assert_type(ledger, Ledger)
    assert_type(session.remaining, Fraction)
    assert_type(ledger.balances, Mapping[str, Fraction])
    assert_type(ledger.entries(), tuple[Entry, ...])


def estimate(policy: bp.Policy) -> None:
    """Find clusters as scikit-learn does."""
    estimator = bp.KMeansEstimator(2, policy=policy, epsilon=1)
    table = np.column_stack([np.arange(500) % 10 + 17, np.arange(500) % 30])
    assert_type(estimator.fit(table).cluster_centers_, Floats)


def main(folder: Path) -> None:
    """Run all of it on a table that is made up."""
    policy = declare()
    counts = np.full((10, 2, 30), 40)
    session = bp.Session(bp.Counts(counts), policy, budget=50)
    plan(session)
    release(session, folder)
    account(session)
    domain = bp.Domain(age=bp.Integer(17, 26), wage=bp.Integer(0, 29))
    estimate(bp.Policy(domain, secrets=bp.DistanceThreshold(5)))


if __name__ == "__main__":
    main(Path())
