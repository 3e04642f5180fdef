"""A table whose margins are public already: say so, and the noise accounts for it.

    python examples/known_marginals.py [FOLDER]

The number of women and men was published exactly by somebody else. Noise that ignored this would protect less than it
says (`blowfish demo attack`).
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

import blowfish_privacy as bp
from blowfish_privacy.cli.demo import synthetic_census

DOMAIN = bp.Domain(
    age=bp.Binned([17, 25, 35, 50, 65, 91]),
    sex=bp.Categorical(["Female", "Male"]),
    region=bp.Categorical(["North", "East", "South", "West"]),
)
SECRETS = bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), region=bp.Public())


def main(folder: Path) -> None:
    """State what is public, see what it costs, release a table that agrees with it, and see what that gives back."""
    lines = list(synthetic_census(20_000))
    people = [line.split(",") for line in lines[1:]]
    (folder / "census.csv").write_text("\n".join(lines) + "\n")
    public = Counter(sex for _, sex, *_ in people)  # printed in a yearbook

    yearbook = bp.KnownMarginal("sex", counts=dict(public))
    policy = bp.Policy(DOMAIN, secrets=SECRETS, known=[yearbook])
    words = policy.explain().split("\n\n")
    print(next(part for part in words if part.startswith("What the known facts do")))
    table = bp.Histogram("age", "sex", "region")
    finer = bp.KnownMarginal("sex", "region")
    for name, known in (("no count is public", []), ("the sexes are", [yearbook]), ("by region too", [finer])):
        found = bp.sensitivity(table, bp.Policy(DOMAIN, secrets=SECRETS, known=known))
        print(f"if {name}: one secret change moves the table by {found.value}")

    session = bp.Session(folder / "census.csv", policy, budget="1.0", ledger=folder / "census.ledger", create=True)
    released = session.release(table, epsilon="0.5", name="table")
    released.save(folder / "table.release.json")
    released.to_csv(folder / "table.csv")

    # What is shown meets the public totals: the noise that they reveal is taken away, for free.
    assert np.allclose(released.counts.sum(axis=(0, 2)), [public["Female"], public["Male"]])
    true = np.zeros(released.counts.shape)
    for age, sex, region, *_ in people:
        true[DOMAIN.cell({"age": int(age), "sex": sex, "region": region})] += 1
    print(f"one draw for each of {true.size} cells; over many releases {released.error().rmse:.2f} is expected")
    noisy = released.noisy.reshape(true.shape)
    for name, counts in (("with all of the noise", noisy), ("made to agree", released.counts)):
        print(f"root mean squared error {name}: {np.sqrt(((counts - true) ** 2).mean()):.2f}")


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/known-marginals")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
