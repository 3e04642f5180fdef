"""A census table that anybody may download: made-up records, judged before they are published.

    python examples/synthetic_census.py [FOLDER]

The records are made twice, at the same epsilon: with each attribute secret by itself, and with everything secret at
once. The table behind them is made up too, so how far they are from it may be shown here; of a real table that
comparison is for its custodian only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.cli.demo import FAMILY, REGIONS, SCHOOLS, WORK, synthetic_census
from blowfish_privacy.results.pictures.figure import label_values, start_figure
from blowfish_privacy.results.result import counted

DOMAIN = bp.Domain(
    age=bp.Binned([17, 25, 35, 45, 55, 68, 91]),
    sex=bp.Categorical(["Female", "Male"]),
    region=bp.Categorical(list(REGIONS)),
    wage=bp.Binned([0, 20, 40, 60, 80, 201], outside="clamp"),
    school=bp.Categorical(list(SCHOOLS)),
    work=bp.Categorical(list(WORK)),
    family=bp.Categorical(list(FAMILY)),
)
POLICIES = {
    "each attribute secret": bp.Policy(DOMAIN, secrets=bp.Attributes()),
    "everything secret at once": bp.Policy(DOMAIN, secrets=bp.FullDomain()),
}
# From 68 on nobody works: what no record can have is not made up either.
PEOPLE = bp.Synthetic(DOMAIN.names, 2, impossible=[{"age": (68, 91), "work": list(WORK[:-1])}])


def main(folder: Path) -> None:
    """Make the records, write them, and compare."""
    (folder / "census.csv").write_text("\n".join(synthetic_census(20_000)) + "\n")
    distances: dict[str, list[float]] = {}
    records: dict[str, Any] = {}
    for secrets, policy in POLICIES.items():
        session = bp.Session(folder / "census.csv", policy, budget={"epsilon": 1, "delta": "1e-9"})
        made = session.release(PEOPLE, epsilon="0.2", delta="1e-9", name=secrets)
        compared = session.compare(made)  # exact: for the custodian, not to publish
        distances[secrets] = [compared.ways[ways].mean for ways in (1, 2, 3)]
        records[secrets] = made
        print(f"{secrets}: distance {', '.join(f'{each:.3f}' for each in distances[secrets])}")

    people = records["each attribute secret"]
    print(people.quality().explain())
    people.save(folder / "people.release.json")
    people.to_csv(folder / "people.csv")
    people.to_parquet(folder / "people.parquet")
    people.plot(folder / "quality.png")  # made from the release alone: may be published
    (true,) = session.engine.counts(DOMAIN, [("family", "age")])
    draw(people, true, distances, folder / "comparison.svg")


def draw(people: Any, true: np.ndarray, distances: dict[str, list[float]], path: Path) -> None:
    """Draw one table of the data and of the records, and how far tables of one to three attributes are apart."""
    figure, (left, middle, right) = start_figure(11, 3.6, 1, 3, width_ratios=[1, 1, 1.1])
    made = counted(people.positions(), DOMAIN.axes(["family", "age"]), DOMAIN.shape)
    for axes, counts, title in ((left, true, "the data"), (middle, made, "synthetic records")):
        axes.imshow(counts, aspect="auto", cmap="Blues", vmin=0, vmax=true.max())
        for (row, column), count in np.ndenumerate(counts):
            colour = "white" if count > true.max() / 2 else "black"
            axes.text(column, row, f"{count:,}", ha="center", va="center", fontsize=7, color=colour)
        label_values(axes.yaxis, DOMAIN.project(["family"]))
        label_values(axes.xaxis, DOMAIN.project(["age"]), room=24)
        axes.set_title(title)
    for number, (secrets, means) in enumerate(distances.items()):
        right.bar(np.arange(3) + 0.4 * number - 0.2, means, width=0.38, label=secrets, color=("#0072B2", "0.6")[number])
    right.set_xticks(range(3), ["1 attribute", "2", "3"])
    right.set_xlabel("tables of")
    right.set_title("distance from the data at epsilon 0.2")
    right.legend(fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/synthetic-census")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
