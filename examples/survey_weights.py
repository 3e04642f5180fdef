"""A survey that asked old people more often than young ones, and what weights make of it.

    python examples/survey_weights.py [FOLDER]

The people are made up, so how many there are of each age may be shown beside what the survey says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.cli.demo import synthetic_census
from blowfish_privacy.results.pictures.figure import label_values, start_figure

PEOPLE = 60_000
DOMAIN = bp.Domain(
    age=bp.Binned([17, 25, 35, 45, 55, 65, 75, 91]),
    sex=bp.Categorical(["Female", "Male"]),
    wage=bp.Integer(0, 200, outside="clamp"),
    w=bp.Decimal("0.5", 20, "0.1", outside="clamp"),  # how many people a record stands for
)
# Anybody may know how likely a person was to be asked, and so the weight; what they answered is secret.
POLICY = bp.Policy(
    DOMAIN,
    secrets=bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), wage=bp.DistanceThreshold(20), w=bp.Public()),
)


def main(folder: Path) -> None:
    """Make the survey, release counts and means with and without weights, and compare."""
    people = [line.split(",") for line in synthetic_census(PEOPLE)][1:]
    asked = [f"{person[0]},{person[1]},{person[3]},{weight}" for person, weight in chosen(people)]
    (folder / "survey.csv").write_text("\n".join(["age,sex,wage,w", *asked]) + "\n")
    session = bp.Session(folder / "survey.csv", POLICY, budget="1.0")

    plan = session.plan(bp.Histogram("age").weighted("w"), epsilon="0.3", name="people")
    print(plan.explain())
    weighted = session.release(plan)
    plain = session.release(bp.Histogram("age"), epsilon="0.3", name="records")
    mean = session.release(bp.Mean("wage").weighted("w"), epsilon="0.2", name="mean wage")
    for result in (weighted, plain, mean):
        result.save(folder / f"{result.name}.release.json")

    true = np.histogram([int(person[0]) for person in people], bins=[17, 25, 35, 45, 55, 65, 75, 91])[0]
    wage = np.mean([int(person[3]) for person in people])
    print(f"{len(asked):,} of {PEOPLE:,} people were asked; the weighted counts add up to {weighted.values.sum():,.0f}")
    print(f"weighted mean of the wage {mean.value:.2f}, of all people {wage:.2f}")
    draw(weighted, plain, true, folder / "weights.svg")


def chosen(people: list[list[str]]) -> Iterator[tuple[list[str], str]]:
    """Ask one in twenty of the youngest and one in two of the oldest; a weight is one over that."""
    for number, person in enumerate(people):
        share = 0.05 + 0.45 * (int(person[0]) - 17) / 73
        # Fractional parts of multiples of an irrational number: the same people every time.
        if number * 0.4142135624 % 1.0 < share:
            yield person, f"{1 / share:.1f}"


def draw(weighted: Any, plain: Any, true: np.ndarray, path: Path) -> None:
    """Draw the noisy shares of the ages with and without weights, and those of all people."""
    figure, axes = start_figure(8, 4)
    places = np.arange(len(true))
    axes.bar(places, true / true.sum(), color="0.85", label="all people, made up")
    for result, shift, colour, label in (
        (plain, -0.15, "#D55E00", "records of the survey"),
        (weighted, 0.15, "#0072B2", "weighted by w"),
    ):
        total = result.values.sum()
        width = result.error().interval("0.95") / total
        axes.errorbar(places + shift, result.values / total, yerr=width, fmt="o", capsize=4, color=colour, label=label)
    label_values(axes.xaxis, DOMAIN.project(["age"]))
    axes.set_ylabel("share, with its 95 % interval")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/survey-weights")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
