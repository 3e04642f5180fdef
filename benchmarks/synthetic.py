"""Synthetic records of Adult: how far their tables are from the data's, and what a classifier learns from them.

    python benchmarks/synthetic.py FOLDER [--seeds 3] [--epsilons .1 1 2] [--only NAME] [--smartnoise PYTHON]

FOLDER holds ``adult.csv``, cut into 14 attributes as ``adult.py`` says: figures stated elsewhere are for other classes,
and compare only roughly. At each epsilon, with delta 1e-9, kept by the same rho for everybody:

- *tables*: the mean total variation over all 364 tables of three attributes between the data and as many made-up
  records;
- *AUC*: two thirds of the data, drawn by the seed, are synthesised; scikit-learn's gradient boosting, as it comes,
  learns the income from the made-up records and is tested on the real ones of the other third;
- seconds and peak megabytes of making the records of the whole data, in a process of its own.

Ours is run under three policies; AIM and MST are straightforward versions of ours (``baselines``) under full-domain
secrets, on the same junction tree. With ``--smartnoise``, the interpreter of an environment with ``smartnoise-synth``,
its AIM and MST are run as well, at a rho that guarantees the same for a record that is changed (see there).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import numpy as np

import blowfish_privacy as bp
from adult import Positions, adult, independent, resample, table_of, variation
from blowfish_privacy.privacy.measure import rho_of
from report import AHEAD, OURS, Row
from synthetic_cases import ATTRIBUTES, FULL, PUBLISHED, Maker, makers

DELTA = Fraction(1, 10**9)
NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
LABEL = "income"
STRONGER = "bounded differential privacy, which protects whole records: a stronger promise than attribute secrets"


@dataclass(frozen=True)
class Found:
    """What one run gave."""

    tables: float
    auc: float
    seconds: float
    megabytes: float


def run(maker: Maker, folder: Path, epsilon: Fraction, seed: int, *, learn: bool = True) -> Found:
    """Make records once of all data and once of two thirds, and judge both."""
    domain, records = adult(folder)
    rho = rho_of(epsilon, DELTA)
    begin = perf_counter()
    made, told = maker(domain, records, rho, seed)
    seconds = told.get("seconds", perf_counter() - begin)
    peak = told.get("megabytes", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    tables = variation(records, domain.shape, lambda axes: table_of(made, domain.shape, axes))
    if not learn:
        return Found(tables, float("nan"), seconds, peak)
    train, test = halves(records, seed)
    return Found(tables, auc(domain, maker(domain, train, rho, seed)[0], test), seconds, peak)


def halves(records: Positions, seed: int) -> tuple[Positions, Positions]:
    """Split the records at random: two thirds to learn from, one to test on."""
    order = np.random.default_rng([seed, 1]).permutation(len(records))
    cut = 2 * len(records) // 3
    return records[order[:cut]], records[order[cut:]]


def auc(domain: bp.Domain, train: Positions, test: Positions) -> float:
    """Learn the income from some records, and return the area under the curve on others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    label = domain.axis(LABEL)
    features = [axis for axis in range(len(domain.names)) if axis != label]
    categories = [domain.names[axis] not in NUMBERS for axis in features]
    if len(np.unique(train[:, label])) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(categorical_features=categories, random_state=0)
    model.fit(train[:, features], train[:, label])
    return float(roc_auc_score(test[:, label], model.predict_proba(test[:, features])[:, 1]))


def reference(folder: Path, seeds: Sequence[int]) -> None:
    """Print what no synthesis can pass and what each should: the data themselves, and independent attributes."""
    domain, records = adult(folder)
    drawn = [variation(records, domain.shape, resample(records, domain.shape, seed)) for seed in seeds]
    real = [auc(domain, *halves(records, seed)) for seed in seeds]
    alone = variation(records, domain.shape, independent(records, domain.shape))
    print(f"{'a resample of the data':<34} {'':>6}  {np.mean(drawn):.4f}   {np.mean(real):.3f} (real records)")
    print(f"{'independent attributes':<34} {'':>6}  {alone:.4f}")


def apart(name: str, given: argparse.Namespace, epsilon: Fraction, seed: int) -> Found:
    """Run in a process of its own, so that the peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(named, (name, given.smartnoise, given.data, epsilon, seed, not given.tables_only))


def named(name: str, smartnoise: str | None, folder: Path, epsilon: Fraction, seed: int, learn: bool) -> Found:  # noqa: FBT001
    """Run what has this name."""
    return run(makers(smartnoise)[name], folder, epsilon, seed, learn=learn)


def rows(*, quick: bool = False, data: str | None = None) -> list[Row]:
    """Compare the tables of ours with those of published ways, at epsilon 1; on real data only."""
    if data is None:
        return []
    ways, made = makers(None), []
    errors = {
        name: [run(ways[name], Path(data), Fraction(1), seed, learn=False).tables for seed in range(1 if quick else 3)]
        for name in (FULL, ATTRIBUTES, *PUBLISHED)
    }
    for policy, promise in ((FULL, OURS), (ATTRIBUTES, STRONGER)):
        for peer in PUBLISHED:
            claim = f"total variation of 3-way tables of synthetic records, Adult, epsilon 1, delta 1e-9, {policy}"
            ratios = [theirs / ours for theirs, ours in zip(errors[peer], errors[policy], strict=True)]
            made.append(Row.of(claim, f"{peer}, own version", promise, AHEAD, ratios))
    return made


def main() -> None:
    """Print a line for each way and each epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", nargs="+", type=Fraction, default=[Fraction(1, 10), Fraction(1), Fraction(2)])
    parser.add_argument("--only", action="append", help="a part of the names to run")
    parser.add_argument("--smartnoise", metavar="PYTHON", help="an interpreter that has smartnoise-synth")
    parser.add_argument("--tables-only", action="store_true", help="train no classifiers")
    given = parser.parse_args()
    print(f"{'':<34} epsilon tables  (from - to)       AUC   seconds  megabytes")
    if not given.only:
        reference(given.data, range(given.seeds))
    for name in makers(given.smartnoise):
        if given.only and not any(part in name for part in given.only):
            continue
        for epsilon in given.epsilons:
            found = [apart(name, given, epsilon, seed) for seed in range(given.seeds)]
            tables = [each.tables for each in found]
            print(
                f"{name:<34} {float(epsilon):>6g}  {np.mean(tables):.4f} ({min(tables):.4f} - {max(tables):.4f})"
                f"  {np.mean([each.auc for each in found]):.3f}  {np.median([each.seconds for each in found]):>7.1f}"
                f"  {max(each.megabytes for each in found):>7.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
