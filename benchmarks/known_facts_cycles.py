"""How fast the most records that move together are found under secret-moves, and what the splitting is worth.

    python benchmarks/known_facts_cycles.py [--json] [--seconds 20]

Random disjoint boxes with known counts on a grid of 1000 x 1000 and distance-threshold secrets. The peer is OR-tools'
circuit constraint on the unsplit graph of all boxes and the outside, with the same time limit. Where a limit ends the
search, "most records" is the proven bound. Times depend on the machine; the ratios are the claim.
"""

from __future__ import annotations

import argparse
import json
from random import Random
from time import perf_counter

from ortools.sat.python import cp_model

import blowfish_privacy as bp
from blowfish_privacy.graphs.class_pairs import ClassPairs
from blowfish_privacy.known_facts.cycles import heaviest_cycle
from blowfish_privacy.known_facts.fact_model import Classes, classes_of, joined_classes
from report import AHEAD, Row

SIDE = 1000
CASES = [(50, 50), (50, 150), (200, 10), (200, 50), (200, 100), (400, 10), (400, 30), (400, 40), (400, 100)]


def boxes(many: int, seed: int) -> list[bp.KnownCount]:
    """Draw disjoint boxes with sides from 5 to 40."""
    random = Random(seed)
    drawn: list[tuple[int, int, int, int]] = []
    while len(drawn) < many:
        width, height = random.randint(5, 40), random.randint(5, 40)
        x, y = random.randint(1, SIDE - width), random.randint(1, SIDE - height)
        box = (x, y, x + width - 1, y + height - 1)
        if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in drawn):
            drawn.append(box)
    return [bp.KnownCount(where={"x": (x, right), "y": (y, top)}) for x, y, right, top in drawn]


def unsplit(classes: Classes, arcs: ClassPairs, seconds: float) -> int:
    """Give the whole graph to the solver and return its proven bound on the number of records."""
    model = cp_model.CpModel()
    both = [pair for a, b in arcs.pairs for pair in ((a, b), (b, a))]
    used = [model.new_bool_var("") for _ in both]
    loops = [(node, node, model.new_bool_var("")) for node in range(classes.size)]
    model.add_circuit([*((a, b, literal) for (a, b), literal in zip(both, used, strict=True)), *loops])
    model.add_bool_or(used)
    model.maximize(sum(used))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.solve(model)
    return int(solver.best_objective_bound)


def measure(many: int, theta: int, seconds: float) -> dict[str, object]:
    """Time one case and its peer."""
    domain = bp.Domain(x=bp.Integer(1, SIDE), y=bp.Integer(1, SIDE))
    known = boxes(many, seed=1)
    start = perf_counter()
    classes = classes_of(domain, known)
    arcs = joined_classes(bp.DistanceThreshold(theta).on(domain), classes)
    geometry = perf_counter() - start
    both = {arc: 0 for a, b in arcs.pairs for arc in ((a, b), (b, a))}
    start = perf_counter()
    found = heaviest_cycle(classes.size, both, [1] * classes.size, seconds=seconds)
    ours = perf_counter() - start
    start = perf_counter()
    peer = unsplit(classes, arcs, seconds)
    theirs = perf_counter() - start
    if found is None:
        raise SystemExit("boxes inside a grid always have an outside to exchange records with.")
    return {
        "boxes": many,
        "theta": theta,
        "most records": found.weight,
        "proven": "optimum" if found.exact else f"bound, {len(found.nodes)} found",
        "geometry_s": round(geometry, 2),
        "cycle_s": round(ours, 2),
        "unsplit most records": peer,
        "unsplit_s": round(theirs, 2),
        "time unsplit / ours": round(theirs / ours, 2),
        "bound unsplit / ours": round(peer / found.weight, 2),
    }


def rows(*, quick: bool, data: str | None) -> list[Row]:
    """Report the unsplit solver over ours, in time."""
    made = []
    for many, theta in CASES[:2] if quick else CASES[:5]:
        found = [measure(many, theta, 5 if quick else 20) for _ in range(3)]
        claim = f"seconds of the longest cycle of {many} boxes, theta {theta}"
        ratios = [each["time unsplit / ours"] for each in found]
        made.append(Row.of(claim, "ortools, the whole graph at once", "the same bound, given time", AHEAD, ratios))
    return made


def main() -> None:
    """Print one row for each number of boxes and threshold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=20)
    chosen = parser.parse_args()
    rows = [measure(many, theta, chosen.seconds) for many, theta in CASES]
    if chosen.json:
        print(json.dumps(rows, indent=2))
        return
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    main()
