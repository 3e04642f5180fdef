"""Private k-means: ratios of objectives on real and made data, and speed, beside the published figures.

    python benchmarks/kmeans.py [--data FOLDER] [--repeats 50] [--quick] [--rows 100000000] [--only PART]

Ratio: the sum of squared distances of all records to the nearest private centre, over that of a non-private run. As in
the 2014 paper the reference is Lloyd's algorithm with 10 rounds from a uniform start (mean of 50 runs), k = 4; "best"
is scikit-learn's best of 20 (cabs and made data: 15) restarts. Ours is bounded (epsilon, policy)-Blowfish. KMeans of
diffprivlib, which make bench compares at the same epsilon, is unbounded (add or remove) differential privacy.
The data (Skin, tweets, cabs) are read from a folder, by default $BLOWFISH_DATA; without it only made data are used.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as Lloyd

import blowfish_privacy as bp
from blowfish_privacy.aggregates import Axis, Lattice, RecordAggregates, Run, TableAggregates
from blowfish_privacy.engines import open_engine
from blowfish_privacy.mechanisms.clusters.centres import cluster, nearest_centre
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.release.plan import make_plan
from report import AHEAD, NOTHING, PRICE, Row

EPSILONS = ("0.1", "0.5", "1")
PUBLISHED = {
    ("skin01", "full"): (35, 5.6, 4.7),
    ("skin01", "theta 256"): (12.5, 3.2, 2.2),
    ("skin01", "theta 128"): (9.5, 2.4, 1.6),
    ("skin01", "theta 64"): (6, 2, 1.4),
    ("skin01", "theta 32"): (5, 1.8, 1.25),
    ("skin01", "attributes"): (15, 3.4, 2.1),
    ("synthetic", "full"): (180, 8, 4.3),
    ("synthetic", "theta 0.25"): (5.7, 2.6, 1.7),
    ("synthetic", "theta 0.1"): (3.7, 2.5, 1.6),
    ("twitter", "full"): (1.29, 1.0, 1.0),
    ("twitter", "blocks of 26 x 26"): (1.007, 1, 1),
    ("twitter", "blocks of 8 x 8"): (1.007, 1, 1),
    ("twitter", "blocks of 3 x 3"): (1.007, 1, 1),
}


def objective(places: np.ndarray, weights: np.ndarray, centers: np.ndarray) -> float:
    """Add up the squared distances to the nearest centre."""
    near = centers[nearest_centre(places, centers)]
    return float(weights @ ((places - near) ** 2).sum(axis=1))


def reference(places: np.ndarray, weights: np.ndarray, k: int, box: tuple[float, float]) -> float:
    """Run Lloyd's algorithm, 10 rounds from a uniform start, and return the mean objective of 50 runs."""
    generator, found = np.random.default_rng(0), []
    for _ in range(50):
        centers = generator.uniform(*box, (k, places.shape[1]))
        for _ in range(10):
            labels = nearest_centre(places, centers)
            sizes = np.bincount(labels, weights, minlength=k)
            sums = np.stack([np.bincount(labels, weights * column, minlength=k) for column in places.T], axis=1)
            centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-12)[:, None], centers)
        found.append(objective(places, weights, centers))
    return float(np.mean(found))


def best_of(places: np.ndarray, weights: np.ndarray, k: int, restarts: int) -> float:
    """Return the objective of the best of several non-private restarts."""
    return float(Lloyd(k, n_init=restarts, random_state=0).fit(places, sample_weight=weights).inertia_)


class Case:
    """A data set: its domain, its records, and what they are compared with."""

    def __init__(
        self, name: str, domain: bp.Domain, aggregates: Any, places: np.ndarray, weights: np.ndarray, k: int
    ) -> None:
        self.name, self.domain, self.aggregates, self.k = name, domain, aggregates, k
        self.places, self.weights, self.records = places, weights, int(weights.sum())

    def ratios(
        self, secrets: Any, epsilon: str, repeats: int, base: float, mechanism: str | None = None
    ) -> tuple[Any, np.ndarray]:
        """Release and cluster many times; return the mechanism and the ratios of objectives."""
        policy = bp.Policy(self.domain, secrets=secrets)
        query = bp.KMeans(list(self.domain.names), k=self.k)
        plan = make_plan(query, policy, epsilon=epsilon, records=self.records, mechanism=mechanism)
        found = []
        for repeat in range(repeats):
            noisy = plan.mechanism.draw(self.aggregates, SystemSource())
            centers = cluster(plan.mechanism.points(noisy, self.records), self.k, seed=repeat).centers
            found.append(objective(self.places, self.weights, centers) / base)
        return plan.mechanism, np.array(found)


def placed(name: str, domain: bp.Domain, places: np.ndarray, k: int) -> Case:
    """Make a case of records."""
    positions = tuple(
        domain[n].encode(places[:, axis] if isinstance(domain[n], bp.Binned) else places[:, axis].astype(int))
        for axis, n in enumerate(domain.names)
    )
    return Case(name, domain, RecordAggregates(domain, positions), places.astype(float), np.ones(len(places)), k)


def counted(name: str, counts: np.ndarray, k: int) -> Case:
    """Make a case of a map of counts."""
    domain = bp.Domain(a=bp.Integer(0, counts.shape[0] - 1), b=bp.Integer(0, counts.shape[1] - 1))
    filled = np.argwhere(counts > 0)
    return Case(
        name, domain, TableAggregates(domain, counts), filled.astype(float), counts[counts > 0].astype(float), k
    )


def synthetic() -> Case:
    """Make the paper's synthetic data: 1000 points around 4 random centres in (0, 1)^4, deviation 0.2."""
    generator = np.random.default_rng(11)
    centers = generator.uniform(0, 1, (4, 4))
    places = np.clip(centers[generator.integers(0, 4, 1000)] + generator.normal(0, 0.2, (1000, 4)), 0, 1 - 1e-9)
    edges = [Fraction(n, 1024) for n in range(1025)]
    return placed("synthetic", bp.Domain({name: bp.Binned(edges) for name in "abcd"}), places, 4)


def skin(folder: Path, share: int) -> Case:
    """Read the Skin data, or one record in ``share`` of them at random."""
    table = np.loadtxt(folder / "skin.tsv", dtype=int, skiprows=1, usecols=(0, 1, 2))
    chosen = np.random.default_rng(7).permutation(len(table))[: len(table) // share]
    domain = bp.Domain({name: bp.Integer(0, 255) for name in ("blue", "green", "red")})
    return placed("skin01" if share > 1 else "skin", domain, table[chosen], 4)


def shared_data(folder: Path) -> list[Case]:
    """Read one in a hundred of Skin, the tweets and the cabs."""
    tweets, cabs = (
        np.load(folder / name).astype(np.int64) for name in ("twitter_256x256.npy", "sf_cabs_start_256x256.npy")
    )
    return [skin(folder, 100), counted("twitter", tweets, 4), counted("San Francisco cabs", cabs, 8)]


def shapes() -> list[Case]:
    """Make three data sets of difficult shapes: heavy-tailed, few cells and a far group, a ring."""
    generator = np.random.default_rng(23)
    heavy = 256 + 12 * generator.standard_t(1.5, (100_000, 2))
    far = np.concatenate([generator.normal((60, 60), 1.5, (99_000, 2)), generator.normal((470, 440), 3, (1000, 2))])
    angle = generator.uniform(0, 2 * np.pi, 100_000)
    radius = generator.normal(180, 6, 100_000)
    ring = 256 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    domain = bp.Domain(a=bp.Integer(0, 511), b=bp.Integer(0, 511))
    made = (("heavy-tailed", heavy, 6), ("few cells, a far group", far, 3), ("ring", ring, 8))
    return [placed(name, domain, np.clip(np.rint(places), 0, 511), k) for name, places, k in made]


def held_out() -> list[Case]:
    """Make three data sets that no constant was chosen with: heavy-tailed, few cells and a far group, two rings."""
    generator = np.random.default_rng(20_261_115)
    sides = generator.choice((-1, 1), (80_000, 2))
    heavy = (150, 330) + sides * generator.lognormal(2.5, 1.2, (80_000, 2))
    groups = generator.choice(4, 120_000, p=(0.5, 0.3, 0.19, 0.01))
    middles = np.array([(100, 400), (112, 396), (96, 380), (500, 20)])
    far = middles[groups] + generator.integers(-2, 3, (120_000, 2))
    angle = generator.uniform(0, 2 * np.pi, 100_000)
    radius = generator.choice((60, 200), 100_000, p=(0.3, 0.7)) + generator.normal(0, 4, 100_000)
    rings = 256 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    domain = bp.Domain(a=bp.Integer(0, 511), b=bp.Integer(0, 511))
    made = (("heavy-tailed, off the middle", heavy, 5), ("few cells, a far group", far, 4), ("two rings", rings, 7))
    return [placed(name, domain, np.clip(np.rint(places), 0, 511), k) for name, places, k in made]


def report(rows: Iterable[list[str]], title: str, header: list[str]) -> None:
    """Print a table."""
    print(f"\n{title}\n\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def shown(ratios: np.ndarray) -> str:
    """Write mean and quartiles."""
    low, high = np.quantile(ratios, (0.25, 0.75))
    return f"{ratios.mean():.3f} ({low:.3f} to {high:.3f})"


HEADER = [
    "data",
    "policy",
    "mechanism",
    *(f"epsilon {e}: mean (quartiles)" for e in EPSILONS),
    "published",
    "over the best of restarts",
]


def accuracy(cases: list[tuple[Case, dict[str, Any], tuple[float, float]]], repeats: int) -> None:
    """Print the ratios of the paper's figure."""
    rows = []
    for case, policies, box in cases:
        base = reference(case.places, case.weights, case.k, box)
        best = best_of(case.places, case.weights, case.k, 20)
        for name, secrets in policies.items():
            cells, kinds, over = [], [], []
            for epsilon in EPSILONS:
                kind, ratios = case.ratios(secrets, epsilon, repeats, base)
                cells.append(shown(ratios))
                kinds.append(kind.name)
                over.append(f"{ratios.mean() * base / best:.3f}")
            published = PUBLISHED.get((case.name, name))
            said = " / ".join(map(str, published)) if published else "-"
            rows.append([case.name, name, "/".join(dict.fromkeys(kinds)), *cells, said, " / ".join(over)])
    report(rows, f"Ratio to non-private k-means (10 rounds, uniform start), {repeats} repeats", HEADER)


def rival(case: Case, epsilon: str, repeats: int) -> list[float]:
    """Return the objectives of diffprivlib's centres."""
    from diffprivlib.models import KMeans as Rival

    low, high = ([float(v) for v in side] for side in zip(*(_ends(a) for a in case.domain.attributes), strict=True))
    records = np.repeat(case.places, case.weights.astype(int), axis=0)
    found = []
    for _ in range(repeats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = Rival(case.k, epsilon=float(epsilon), bounds=(low, high)).fit(records)
        found.append(objective(case.places, case.weights, np.asarray(fitted.cluster_centers_)))
    return found


def _ends(attribute: Any) -> tuple[float, float]:
    return (
        (attribute.bounds[0], attribute.bounds[-1])
        if isinstance(attribute, bp.Binned)
        else (attribute.low, attribute.high)
    )


def against_best(cases: list[Case], repeats: int, title: str) -> None:
    """Print ratios to the best of 15 restarts, mesh and plain grid side by side."""
    rows = []
    for case in cases:
        best = best_of(case.places, case.weights, case.k, 15)
        for mechanism in (None, "soft-grid"):
            cells = [shown(case.ratios(bp.FullDomain(), e, repeats, best, mechanism)[1]) for e in EPSILONS]
            rows.append([f"{case.name}, k = {case.k}, n = {case.records:,}", mechanism or "default", *cells])
    report(
        rows,
        f"{title}, {repeats} repeats",
        ["data", "mechanism", *(f"epsilon {e}: mean (quartiles)" for e in EPSILONS)],
    )


Times = list[tuple[float, float]]


def times_on_skin(folder: Path, rounds: int) -> Times:
    """Time all of Skin, from plan to centres, beside scikit-learn's KMeans with 20 restarts on the raw points."""
    import pandas as pd

    table = np.loadtxt(folder / "skin.tsv", dtype=np.int64, skiprows=1, usecols=(0, 1, 2))
    frame = pd.DataFrame(table, columns=["blue", "green", "red"])
    policy = bp.Policy(bp.Domain({name: bp.Integer(0, 255) for name in frame}), secrets=bp.FullDomain())
    points, times = table.astype(float), []
    for _ in range(rounds):
        start = perf_counter()
        Lloyd(4, n_init=20).fit(points)
        middle = perf_counter()
        _ = bp.Session(frame, policy, budget=1).release(bp.KMeans(list(frame), k=4), epsilon="0.5").centers
        times.append((perf_counter() - middle, middle - start))
    return times


def times_in_sql(rows: int, rounds: int) -> Times:
    """Time sums on a lattice beside the plain GROUP BY over the same grid cells, both in DuckDB on one file."""
    import duckdb

    domain = bp.Domain(a=bp.Integer(0, 999), b=bp.Integer(0, 999))
    runs = [Run.centred(0, 1000, 1, 64)] * 2
    lattice = Lattice(tuple(Axis((run,), run.step) for run in runs))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        duckdb.connect().execute(
            f"COPY (SELECT (hash(i) % 1000)::INTEGER AS a, (hash(i + 1000000007) % 1000)::INTEGER AS b "
            f"FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)"
        )
        engine, connection = open_engine(str(path)), duckdb.connect()
        cell = "((2 * {0} + 1) * 64 // 2000)"
        cells = f"{cell.format('a')} * 64 + {cell.format('b')}"
        raw = f"SELECT {cells} AS cell, count(*) FROM read_parquet('{path}') GROUP BY 1"
        times = []
        for turn in range(rounds + 1):
            start = perf_counter()
            connection.execute(raw).fetchnumpy()
            middle = perf_counter()
            engine.lattice_sums(domain, domain.names, lattice)
            if turn:
                times.append((perf_counter() - middle, middle - start))
    return times


def speed(times: Times, title: str, ours: str, theirs: str) -> None:
    """Print two times and their ratio."""
    ratios = [first / second for first, second in times]
    seconds = [f"{median(t[place] for t in times):.2f}" for place in (0, 1)]
    spread = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    report([[*seconds, spread]], f"{title}: seconds", [ours, theirs, "ratio (spread)"])


def cost_by_dimension() -> None:
    """Time plan, release and centres of 100,000 records in one to eight dimensions."""
    import pandas as pd

    rows, generator = [], np.random.default_rng(3)
    for dimensions in range(1, 9):
        names = [f"x{n}" for n in range(dimensions)]
        frame = pd.DataFrame(generator.integers(0, 100, (100_000, dimensions)), columns=names)
        policy = bp.Policy(bp.Domain({name: bp.Integer(0, 99) for name in names}), secrets=bp.FullDomain())
        times = []
        for _ in range(3):
            start = perf_counter()
            result = bp.Session(frame, policy, budget=1).release(bp.KMeans(names, k=4), epsilon="0.5")
            middle = perf_counter()
            _ = result.centers
            times.append((middle - start, perf_counter() - middle))
        kind, values = result.release.mechanism.name, len(result.release.noisy)
        rows.append([str(dimensions), kind, f"{values:,}", *(f"{median(t[n] for t in times):.2f}" for n in (0, 1))])
    report(
        rows, "100,000 records by dimension, epsilon 0.5: seconds", ["d", "mechanism", "numbers", "release", "centres"]
    )


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report the speed beside scikit-learn and GROUP BY, and diffprivlib's objective over ours on every data set."""
    many, rounds = (10**6, 3) if quick else (10**8, 5)
    claim = f"seconds of sums on a 64 x 64 lattice, {many:,} rows"
    ratios = [ours / theirs for ours, theirs in times_in_sql(many, rounds)]
    made = [Row.of(claim, "duckdb, GROUP BY over the same cells", NOTHING, PRICE, ratios)]
    if data:
        ratios = [ours / theirs for ours, theirs in times_on_skin(Path(data), rounds)]
        claim = "seconds of k-means on all of Skin, k = 4"
        made.append(Row.of(claim, "scikit-learn, 20 restarts on the raw points", NOTHING, PRICE, ratios))
    try:
        import diffprivlib.models  # noqa: F401
    except ImportError:
        return made
    guarantee = "add-or-remove differential privacy, floating-point noise, warns when bounds come from the data"
    repeats, rounds = (1, 3) if quick else (10, 5)
    for case in [synthetic(), *(shared_data(Path(data)) if data else [])]:
        for epsilon in EPSILONS:
            _, ours = case.ratios(bp.FullDomain(), epsilon, rounds * repeats, 1.0)
            both = np.array([rival(case, epsilon, rounds * repeats), ours]).reshape(2, rounds, repeats).mean(axis=2)
            ratios = (both[0] / both[1]).tolist()
            claim = f"mean squared distance of k-means on {case.name}, full domain, epsilon {epsilon}"
            made.append(Row.of(claim, "diffprivlib", guarantee, AHEAD, ratios))
    return made


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("BLOWFISH_DATA", "data")))
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--quick", action="store_true", help="3 repeats, 10^6 rows")
    parser.add_argument("--only", choices=["accuracy", "cabs", "shapes", "speed"])
    options = parser.parse_args()
    repeats, rows = (3, 10**6) if options.quick else (options.repeats, options.rows)
    here = options.data.exists()

    def wanted(part: str) -> bool:
        return options.only in (None, part)

    if wanted("accuracy"):
        near = {"theta 0.25": bp.DistanceThreshold("0.25"), "theta 0.1": bp.DistanceThreshold("0.1")}
        cases: list[Any] = [(synthetic(), {"full": bp.FullDomain(), **near}, (0, 1))]
        if here:
            thetas = {f"theta {theta}": bp.DistanceThreshold(theta) for theta in (256, 128, 64, 32)}
            skins = {"full": bp.FullDomain(), **thetas, "attributes": bp.Attributes()}
            blocks = {f"blocks of {w} x {w}": bp.Partition(widths={"a": w, "b": w}) for w in (26, 8, 3)}
            colours, tweets, _ = shared_data(options.data)
            cases += [(colours, skins, (0, 255)), (tweets, {"full": bp.FullDomain(), **blocks}, (0, 255))]
        accuracy(cases, repeats)
    if wanted("cabs") and here:
        against_best([shared_data(options.data)[2]], repeats, "Ratio to the best of 15 restarts")
    if wanted("shapes"):
        against_best(shapes(), repeats, "Difficult shapes: ratio to the best of 15 restarts")
        against_best(held_out(), repeats, "Shapes that no constant was chosen with: ratio to the best of 15 restarts")
    if wanted("speed"):
        rounds = 3 if options.quick else 5
        if here:
            times = times_on_skin(options.data, rounds)
            speed(times, "All of Skin, k = 4, epsilon 0.5", "ours", "scikit-learn, 20 restarts, raw")
        title = f"Sums of {rows:,} rows on a 64 x 64 lattice in DuckDB"
        speed(times_in_sql(rows, rounds), title, "lattice", "GROUP BY")
        cost_by_dimension()


if __name__ == "__main__":
    main()
