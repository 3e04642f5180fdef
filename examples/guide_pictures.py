"""The pictures of the guides: what each kind of release looks like, drawn by one command.

    python examples/guide_pictures.py docs/pictures

All people are made up. The noise is seeded, so that the pictures can be drawn again: such a release is for show only,
and says so.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.batch import plan_releases
from blowfish_privacy.cli.demo import POLICY, synthetic_census
from blowfish_privacy.engines import open_engine
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import PublicNumbers
from blowfish_privacy.results.pictures.errors import compare_plans, draw_errors
from blowfish_privacy.results.pictures.figure import BLUE, start_figure, state_below, svg
from blowfish_privacy.results.pictures.intervals import IntervalsDrawing
from blowfish_privacy.statements.policy import given_up
from blowfish_privacy.testing.seeded import SeededSource

MADE_UP = "All people here are made up, and the noise is predictable: for show only."
PLACES = {"North": ["Ald", "Bree", "Corve"], "South": ["Dorn", "Esk"], "West": ["Fell", "Gorse", "Holm", "Inver"]}
THRESHOLDS = {"any two wages secret": None, "those within 20": 20, "those within 5": 5}


def main(folder: Path) -> None:
    """Draw all of them."""
    table = folder / "census.csv"
    table.write_text("\n".join(synthetic_census(20_000)) + "\n")
    file = spec.loads(POLICY)
    session = bp.Session(table, file.policy, budget=100, source=SeededSource(2014))

    def made(query: Any, name: str, epsilon: str = "0.3") -> Any:
        return session.release(query, epsilon=epsilon, name=name)

    ages, wages = made(bp.Histogram("age", "sex"), "ages"), made(bp.Cumulative("wage"), "wages")
    drawn = {
        "pyramid": ages.figure(),
        "distribution": wages.figure(),
        "range-errors": wages.error_figure(),
        "quantiles": made(bp.queries.Quantiles("wage"), "quartiles").figure(),
        "groups": made(bp.Mean("wage").by("work"), "mean wages", "0.1").figure(),
        "group-quantiles": made(bp.queries.Quantiles("wage").by("region"), "quartiles of wages").figure(),
        "tables": made(bp.Tables([["age", "sex"], ["school", "work"], ["family"], ["age"]]), "tables", "0.5").figure(),
        "clusters": made(bp.KMeans(["age", "wage"], k=3), "clusters").figure(),
        "map": town().figure(),
        "hierarchy": places().figure(),
        "unknown-size": unknown_size(session),
        "known-facts": known_facts(),
        "accuracy": gains(file, table),
        "readme": readme(session, ages, wages),
    }
    for name, figure in drawn.items():
        if name != "accuracy":
            state_below(figure, MADE_UP)
        (folder / f"{name}.svg").write_bytes(svg(figure))
    table.unlink()


def town() -> Any:
    """Release the homes in a town of two centres, where blocks up to 3 apart are secret."""
    east, north = np.mgrid[0:100, 0:60]
    crowd = 900 * np.exp(-((east - 30) ** 2 + (north - 20) ** 2) / 40) + 1
    crowd += 60 * np.exp(-((east - 70) ** 2 + (north - 40) ** 2) / 150)
    domain = bp.Domain(east=bp.Integer(0, 99), north=bp.Integer(0, 59))
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(3))
    session = bp.Session(bp.Counts(np.rint(crowd).astype(int)), policy, budget=1, source=SeededSource(3))
    return session.release(bp.RangeGrid("east", "north"), epsilon="0.3", name="homes")


def places() -> Any:
    """Release towns and the regions that they lie in, two tables that agree."""
    domain = bp.Domain(place=bp.Hierarchy(["region", "town"], PLACES))
    counts = np.array([5210, 830, 390, 2960, 140, 1720, 610, 95, 3045])
    session = bp.Session(
        bp.Counts(counts), bp.Policy(domain, secrets=bp.FullDomain()), budget=1, source=SeededSource(5)
    )
    return session.release(bp.Tables([["place@region"], ["place@town"]]), epsilon="0.05", name="people")


def unknown_size(session: bp.Session) -> Any:
    """Compare a mean with one of a table where it is secret who is in it."""
    policy = session.policy
    secret = bp.Policy(policy.domain, secrets=policy.secrets, size="unknown")
    rows = {
        f"number of people {words}": bp.Session(session.engine, chosen, budget=1, source=SeededSource(8))
        .release(bp.Mean("wage"), epsilon="0.3", name="mean wage")
        .intervals_shown()
        for words, chosen in {"public": policy, "secret": secret}.items()
    }
    return IntervalsDrawing(rows, "mean wage at epsilon 0.3").figure()


def known_facts() -> Any:
    """Compare the error of a table under facts that everybody knows."""
    domain = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain())
    known = {
        "nothing known": [],
        "how many are 17 to 25": [bp.KnownCount({"age": (17, 25)})],
        "how many of each sex": [bp.KnownMarginal("sex")],
    }
    counts = bp.Counts(np.full(domain.shape, 100))
    errors = {
        name: bp.Session(counts, bp.Policy(domain, secrets=secrets, known=facts), budget=1)
        .plan(bp.Histogram("age", "sex"), epsilon="0.3")
        .expected_error()
        .rmse
        for name, facts in known.items()
    }
    figure, axes = start_figure(8, 1.9)
    draw_errors(axes, errors, (BLUE, "#B25400", "#00674B"))
    axes.set_title("typical error of a count of ages by sex, at epsilon 0.3", loc="left", fontsize=9)
    return figure


def gains(file: spec.PolicyFile, table: Path) -> Any:
    """Compare the demo's releases with plain differential privacy."""
    plans = plan_releases(file, PublicNumbers(file.policy, lambda: open_engine(table)))
    return compare_plans([plan for plan in plans if plan.amount], f"{given_up(file.policy)} The people are made up.")


def readme(session: bp.Session, ages: Any, wages: Any) -> Any:
    """Draw what can be published, and how exact it is under three policies."""
    figure, (left, middle, right) = start_figure(12, 4, columns=3, width_ratios=[1, 1, 0.8])
    ages.draw(left)
    left.set_title("Ages by sex, with 95 % intervals", fontsize=10)
    wages.density().draw(middle)
    middle.set_title("Wages, from a release of all ranges", fontsize=10)
    domain, errors = bp.Domain(wage=session.policy.domain["wage"]), dict[str, float | None]()
    for words, threshold in THRESHOLDS.items():
        secrets = bp.FullDomain() if threshold is None else bp.DistanceThreshold(threshold)
        policy = bp.Policy(domain, secrets=secrets, size=20_000)
        plan = bp.Session(session.engine, policy, budget=1).plan(bp.Cumulative("wage"), epsilon="0.3")
        errors[words] = plan.expected_error().rmse
    draw_errors(right, errors, ("0.65", "#56A3D0", BLUE))
    right.set_ylim(2.9, -0.9)
    right.spines["left"].set_visible(False)
    right.set_title("Typical error of a range of wages,\nof 20,000 people at epsilon 0.3", fontsize=10)
    return figure


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/guide-pictures")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
