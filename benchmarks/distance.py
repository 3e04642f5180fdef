"""How long ``policy.distance`` takes on a domain of 10^12 cells, and what breadth-first search would cost.

    python benchmarks/distance.py [--json]

Times are of the processor and depend on the machine; the ratio to breadth-first search on the same small domain,
measured in the same run, and the fact that the answer's cost does not grow with the domain are the claims.
"""

from __future__ import annotations

import argparse
import json
from statistics import median
from time import process_time

import blowfish_privacy as bp
from blowfish_privacy.testing.oracle import hops_by_search
from report import AHEAD, Row

KINDS = {
    "full domain": bp.FullDomain(),
    "attributes": bp.Attributes(),
    "partition": bp.Partition(widths={"a": 10, "b": 10}),
    "threshold, equal units": bp.DistanceThreshold(10),
    "threshold, units 3 and 2": bp.DistanceThreshold(10, scale={"a": 3, "b": 2}),
    "per attribute": bp.PerAttribute(a=bp.DistanceThreshold(7), b=bp.FullDomain()),
}


def seconds(call, repeats: int) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats):
        start = process_time()
        call()
        times.append(process_time() - start)
    return median(times)


def measure(name: str) -> dict[str, object]:
    """Time one kind of graph on a large and on a small domain."""
    large = bp.Policy(bp.Domain(a=bp.Integer(1, 10**6), b=bp.Integer(1, 10**6)), secrets=KINDS[name])
    small = bp.Policy(bp.Domain(a=bp.Integer(1, 25), b=bp.Integer(1, 25)), secrets=KINDS[name])
    corner = {"a": 1, "b": 1}
    on_large = seconds(lambda: large.distance(corner, {"a": 10**6, "b": 10**6}), 51)
    on_small = seconds(lambda: small.distance(corner, {"a": 25, "b": 25}), 51)
    search = seconds(lambda: hops_by_search(small.graph, (0, 0)), 3)
    return {
        "graph": name,
        "cells_10^12_microseconds": round(on_large * 1e6, 1),
        "cells_625_microseconds": round(on_small * 1e6, 1),
        "search_on_625_microseconds": round(search * 1e6),
        "search_over_ours_on_625": round(search / on_small),
    }


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report breadth-first search on 625 cells over ours on 10^12 cells."""
    made = []
    for name in KINDS:
        found = [measure(name) for _ in range(2 if quick else 5)]
        ratios = [each["search_on_625_microseconds"] / each["cells_10^12_microseconds"] for each in found]
        claim = f"seconds of a distance in 10^12 cells, {name}"
        made.append(Row.of(claim, "breadth-first search of 625 cells", "the same hops", AHEAD, ratios))
    return made


def main() -> None:
    """Print one row for each kind of graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    rows = [measure(name) for name in KINDS]
    if parser.parse_args().json:
        print(json.dumps(rows, indent=2))
        return
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    main()
