"""How long one update of the studio takes: a changed epsilon, planned again with all that the room of releases shows.

python benchmarks/studio.py [--json]

For each kind of release and size: the median of several updates, in milliseconds of processor time, each with an amount
that was never planned before. ``shown`` is the plan, its typical error and that of plain differential privacy;
``pictures`` adds the errors by size and by table; ``kept`` is the same update when it was planned before.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from blowfish_privacy.release import spec
from blowfish_privacy.studio.planning import PlanCache, Planning
from blowfish_privacy.support import yaml_text

ROUNDS = 5


def files() -> dict[str, dict[str, Any]]:
    """Return bodies of files with one release each, by what they are about; the amount is filled in later."""
    made: dict[str, dict[str, Any]] = {}
    for size in (1_000, 10_000, 100_000):
        line = {"x": {"integer": [0, size - 1]}}
        near = {"per_attribute": {"x": {"threshold": size // 100}}}
        made[f"cumulative, {size:,} values"] = _body(line, near, {"cumulative": "x"})
        made[f"cumulative, {size:,} values, all secret"] = _body(line, "full", {"cumulative": "x"})
        made[f"histogram, {size:,} values"] = _body(line, near, {"histogram": ["x"]})
        made[f"cumulative for an error, {size:,} values"] = _body(line, near, {"cumulative": "x"})
        made[f"cumulative in rho, {size:,} values"] = _body(line, near, {"cumulative": "x"})
        made[f"mean, {size:,} values"] = _body(line, near, {"mean": "x"})
    for side in (32, 316):
        square = {"x": {"integer": [0, side - 1]}, "y": {"integer": [0, side - 1]}}
        near = {"per_attribute": {"x": {"threshold": 3}, "y": {"threshold": 3}}}
        made[f"grid, {side} by {side}"] = _body(square, near, {"range_grid": ["x", "y"]})
        made[f"clusters, {side} by {side}"] = _body(square, near, {"kmeans": ["x", "y"], "k": 4})
    people = {
        "age": {"integer": [17, 90]},
        "sex": {"categorical": ["Female", "Male"]},
        "wage": {"integer": [0, 199]},
    }
    some = {"per_attribute": {"age": {"threshold": 5}, "sex": "full", "wage": {"threshold": 20}}}
    made["three tables"] = _body(people, some, {"tables": [["age", "sex"], ["sex", "wage"], ["age", "wage"]]})
    made["mean by group"] = _body(people, some, {"mean": "wage", "by": ["sex"]})
    return made


def _body(domain: dict[str, Any], secrets: Any, asked: dict[str, Any]) -> dict[str, Any]:
    policy = {"domain": domain, "secrets": secrets, "size": 100_000}
    return {"version": 1, "policy": policy, "releases": [{"name": "one", **asked}]}


def update(name: str, body: dict[str, Any], cache: PlanCache) -> dict[str, float]:
    """Time updates of one file."""
    key = "rho" if "rho" in name else "error" if "error" in name else "epsilon"
    times: dict[str, list[float]] = {"shown": [], "pictures": [], "kept": []}
    for number in range(ROUNDS + 1):
        release = {**body["releases"][0], key: round((20 if key == "error" else 0.3) * (1 + number / 5), 3)}
        file = spec.loads(yaml_text.write({**body, "releases": [release]}))
        start = process_time()
        planning = Planning.of(file, Path(), cache)
        shown = process_time()
        said = planning.outcomes[0].said
        if said is None:
            raise SystemExit(f"{name}: {planning.outcomes[0].problem}")
        _ = said.by_size, said.by_part
        pictures = process_time()
        Planning.of(file, Path(), cache)
        for part, seconds in zip(times, (shown - start, pictures - start, process_time() - pictures), strict=True):
            times[part].append(1000 * seconds)
    # The first update fills what is kept for the size; a person who moves a slider meets the others.
    return {part: round(median(values[1:]), 1) for part, values in times.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cache = PlanCache()
    found = {name: update(name, body, cache) for name, body in files().items()}
    if options.json:
        print(json.dumps(found))
        return
    print(f"{'one update, milliseconds of processor time':44}{'shown':>9}{'pictures':>10}{'kept':>7}")
    for name, times in found.items():
        print(f"{name:44}{times['shown']:9.1f}{times['pictures']:10.1f}{times['kept']:7.1f}")


if __name__ == "__main__":
    main()
