"""What public totals give back on the Adult census: errors of the counts as released, and of the counts shown.

    python benchmarks/public_totals.py --data FOLDER

The folder holds ``adult.csv`` ($BLOWFISH_DATA by default). Every number is a root mean squared error over all cells and
20 releases at epsilon 0.1, beside the one that is stated.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import numpy as np

import blowfish_privacy as bp

RUNS = 20


def main(folder: Path) -> None:
    """Release each table several times and compare with the truth."""
    with (folder / "adult.csv").open(newline="") as file:
        people = [(int(row["age"]), row["sex"], row["race"]) for row in csv.DictReader(file)]
    races = sorted({race for _, _, race in people})
    domain = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), race=bp.Categorical(races))
    true = np.zeros(domain.shape, dtype=np.int64)
    for age, sex, race in people:
        true[age - 17, int(sex == "Male"), races.index(race)] += 1
    sexes, full = bp.KnownMarginal("sex", counts=true.sum(axis=(0, 2))), bp.FullDomain()
    blocks = bp.Partition(widths={"age": 2})
    public = bp.PerAttribute(age=full, sex=bp.Public(), race=full)
    cases = [
        ("age, sex; sexes known", bp.Policy(domain, secrets=full, known=[sexes]), ("age", "sex")),
        ("race, sex; sexes known", bp.Policy(domain, secrets=full, known=[sexes]), ("race", "sex")),
        ("age; blocks of 2 years", bp.Policy(domain, secrets=blocks), ("age",)),
        ("race, sex; sex public", bp.Policy(domain, secrets=public), ("race", "sex")),
    ]
    columns = ("released", "stated", "shown", "stated", "whole", "women released", "women shown")
    print(f"{'table':25}" + "".join(f"{column:>{max(9, len(column) + 2)}}" for column in columns))
    for name, policy, names in cases:
        _compare(name, policy, names, true)


def _compare(name: str, policy: bp.Policy, names: tuple[str, ...], true: np.ndarray) -> None:
    kept = [policy.domain.axis(each) for each in names]
    table = true.sum(axis=tuple({0, 1, 2} - set(kept))).transpose(np.argsort(np.argsort(kept)))
    results = [
        bp.Session(bp.Counts(true), policy, budget=1).release(bp.Histogram(*names), epsilon="0.1") for _ in range(RUNS)
    ]
    shapes = [(result.noisy.reshape(table.shape), result.counts, result.consistent()) for result in results]
    released, shown, whole = (
        np.sqrt(np.mean([(each - table) ** 2 for each in kind])) for kind in zip(*shapes, strict=True)
    )
    raw, error = results[0].release.mechanism.expected_error().rmse, results[0].error().rmse
    women = [np.take(counts, 0, axis=names.index("sex")).sum() if "sex" in names else np.nan for counts in shapes[0]]
    print(f"{name:25}{released:10.1f}{raw:9.1f}{shown:9.1f}{error:9.1f}{whole:9.1f}{women[0]:16.0f}{women[1]:13.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("BLOWFISH_DATA", "data")))
    main(parser.parse_args().data)
