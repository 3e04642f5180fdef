"""SmartNoise's synthesisers (AIM and MST), run by the interpreter of an environment of their own.

    python benchmarks/baselines/smartnoise.py {aim,mst} RECORDS.npz OUT.npy --rho 0.0150 --many 48842 [--ways 2]

RECORDS.npz holds ``records`` (one row for each) and ``shape``. They protect a record that comes or goes; changing one
moves two cells of each table and twice the score of a choice. So for the guarantee of ours, a change, they run at a
smaller rho: AIM spends nine tenths on tables (twice the loss) and one on choices (four times), MST two thirds and one.
Records are drawn independently: the rounding that mbi 1.1 has by default gives two children of one parent their values
in the same order, which makes them depend on each other (mbi 2 shuffles them, but SmartNoise 1.0.8 does not admit it).
This file imports nothing of ours, and nothing of theirs until it runs.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from time import perf_counter

import numpy as np

CHANGE_COSTS = {"aim": 0.9 * 2 + 0.1 * 4, "mst": 2 / 3 * 2 + 1 / 3 * 4}
"""What changing a record loses, in units of the rho that each is given for records that come or go."""


def main() -> None:
    """Fit, draw as many records, and print the seconds and the peak of memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanism", choices=CHANGE_COSTS)
    parser.add_argument("records", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rho", type=float, required=True)
    parser.add_argument("--many", type=int, required=True)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=None, help="of AIM; 16 for each attribute if not given")
    parser.add_argument("--seed", type=int, default=0, help="of what it draws with numpy; its noise has none")
    given = parser.parse_args()
    with np.load(given.records) as file:
        records, shape = file["records"], [int(size) for size in file["shape"]]
    np.random.seed(given.seed)
    begin = perf_counter()
    rho = given.rho / CHANGE_COSTS[given.mechanism]
    made = aim(records, shape, rho, given) if given.mechanism == "aim" else mst(records, shape, rho, given.many)
    seconds = perf_counter() - begin
    np.save(given.out, made.astype(np.int64))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": round(seconds, 1), "megabytes": round(peak)}))


def aim(records: np.ndarray, shape: list[int], rho: float, given: argparse.Namespace) -> np.ndarray:
    """Run AIM at a rho of zero-concentrated privacy, for all tables of so many attributes that it admits."""
    from mbi import Dataset, Domain
    from snsynth.aim import AIMSynthesizer

    names = [f"a{axis}" for axis in range(len(shape))]
    synthesizer = AIMSynthesizer(degree=given.ways, rounds=given.rounds, verbose=True)
    synthesizer.rho = rho
    data = Dataset(records, Domain(names, shape))
    synthesizer.AIM(data, synthesizer.get_workload(data, degree=given.ways, max_cells=synthesizer.max_cells))
    return columns(synthesizer.synthesizer.synthetic_data(rows=given.many, method="sample"), names)


def mst(records: np.ndarray, shape: list[int], rho: float, many: int) -> np.ndarray:
    """Run MST at a rho of zero-concentrated privacy."""
    import snsynth.mst.mst as package
    from mbi import Dataset, Domain

    names = [f"a{axis}" for axis in range(len(shape))]
    package.cdp_rho = lambda epsilon, delta: rho
    synthesizer = package.MSTSynthesizer()
    synthesizer.MST(Dataset(records, Domain(names, shape)), 1.0, 1e-9)
    return columns(
        synthesizer.undo_compress_fn(synthesizer.synthesizer.synthetic_data(rows=many, method="sample")), names
    )


def columns(dataset, names: list[str]) -> np.ndarray:
    """Take the columns of a data set in the order of the domain."""
    frame = dataset.df
    return np.column_stack([np.asarray(frame[name]) for name in names])


if __name__ == "__main__":
    main()
