"""The distribution of salaries: one release, every quantile, range and share; and what the threshold buys.

python examples/salary_cdf.py [FOLDER]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import blowfish_privacy as bp

DOMAIN = bp.Domain(salary=bp.Integer(0, 500, outside="clamp"))  # thousands; more counts as 500


def salaries(people: int) -> list[int]:
    """Draw salaries as they are: most of them moderate, a few very large."""
    chance = random.Random(3)
    return [int(chance.lognormvariate(3.6, 0.55)) for _ in range(people)]


def main(folder: Path) -> None:
    """Plan under several policies, release under one, and compare with the truth."""
    true = sorted(salaries(10_000))
    (folder / "salaries.csv").write_text("salary\n" + "\n".join(map(str, true)) + "\n")

    print("a salary is secret among salaries within ..   typical error of a range, in people")
    for theta in (5, 20, 100, None):
        secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
        planned = bp.Session(folder / "salaries.csv", bp.Policy(DOMAIN, secrets=secrets), budget=1)
        error = planned.plan(bp.Cumulative("salary"), epsilon="0.5").expected_error().rmse
        print(f"{'everything' if theta is None else f'{theta} thousand':>20}{error:24.1f}")

    policy = bp.Policy(DOMAIN, secrets=bp.DistanceThreshold(20))
    session = bp.Session(folder / "salaries.csv", policy, budget="1.0", ledger=folder / "salaries.ledger", create=True)
    released = session.release(bp.Cumulative("salary"), epsilon="0.5", name="salaries")
    released.save(folder / "salaries.release.json")
    released.plot(folder / "salaries.png")
    released.plot_error(folder / "errors.png")

    print("\nshare  released  true")
    for percent in (10, 25, 50, 75, 90):
        print(f"{percent:4} %{released.quantile(f'{percent / 100}'):10}{true[len(true) * percent // 100]:6}")
    count = sum(30 <= salary <= 60 for salary in true)
    print(f"30 to 60 thousand: released {released.range(30, 60):,.0f}, true {count:,}")
    print(f"estimated error of a range: {released.error().rmse:.1f}, guaranteed {released.error().guaranteed.rmse:.1f}")


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/salary-cdf")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
