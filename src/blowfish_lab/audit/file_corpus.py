"""Policy files that say, between them, everything a policy file can say."""

from __future__ import annotations

from typing import Any


def _file(domain: Any, secrets: Any, releases: list[dict[str, Any]], **policy: Any) -> dict[str, Any]:
    named = [
        {"name": f"release {number}", **({} if {"error", "rho"} & set(entry) else {"epsilon": 0.5}), **entry}
        for number, entry in enumerate(releases)
    ]
    return {"version": 1, "policy": {"domain": domain, "secrets": secrets, **policy}, "releases": named}


_AGE = {"integer": [17, 90]}
_SEX = {"categorical": ["Female", "Male"]}
_WAGE = {"integer": [0, 200], "outside": "clamp", "missing": 0}
_INCOME = {"binned": [0, 10, 20.5, "100/3", 250], "outside": "clamp"}
_PLACE = {"hierarchy": {"levels": ["state", "county"], "tree": {"A": ["a", "b"], "B": ["c"], "C": ["d", "e"]}}}
_GRID = {"lat": {"integer": [0, 11]}, "lon": {"integer": [-5, 9]}}

CORPUS: tuple[dict[str, Any], ...] = (
    {
        **_file(
            {"age": _AGE, "sex": _SEX, "wage": _WAGE},
            {"per_attribute": {"age": {"threshold": 5}, "sex": "full", "wage": {"threshold": 20}}},
            [{"histogram": ["age", "sex"]}, {"cumulative": "wage"}, {"mean": "wage"}],
            size=48842,
        ),
        "data": "people.csv",
        "ledger": "people.ledger",
        "budget": 1.0,
    },
    _file({"x": {"integer": [0, 999]}}, "full", [{"cumulative": "x", "mechanism": "smooth-hierarchy"}, {"sum": "x"}]),
    _file(
        {"x": _WAGE}, {"threshold": 1}, [{"cumulative": "x", "mechanism": "ordered"}, {"cumulative": "x", "error": 5}]
    ),
    _file(
        {"x": _WAGE, "sex": _SEX},
        "full",
        [{"histogram": ["x", "sex"]}, {"sum": "x"}, {"mean": "x", "mechanism": "mean-offsets"}],
        size="unknown",
    ),
    _file(
        {"wage": _WAGE, "sex": _SEX, "w": {"decimal": [0.5, 20], "step": 0.1, "outside": "clamp"}},
        {"per_attribute": {"wage": {"threshold": 20}, "sex": "full", "w": {"threshold": 2}}},
        [
            {"histogram": ["sex"], "weight": "w"},
            {"sum": "wage", "weight": "w", "where": {"sex": "Female"}},
            {"mean": "wage", "weight": "w", "by": "sex", "mechanism": "weighted-offsets"},
        ],
        size=48842,
    ),
    _file(
        {"x": _WAGE, **_GRID},
        "add_remove",
        [{"kmeans": ["lat", "lon"], "k": 2, "mechanism": "counted-grid"}, {"median": "x", "by": ["lat"]}],
    ),
    _file(
        {"age": _AGE, "sex": _SEX, "wage": _WAGE},
        {"per_attribute": {"age": "full", "sex": "public", "wage": {"threshold": 20}}},
        [
            {"histogram": ["age"], "where": {"sex": "Female", "wage": [0, 20]}},
            {"mean": "wage", "by": "sex"},
            {"sum": "wage", "by": ["sex", "age"]},
            {"tables": {"ways": 2, "of": ["age", "sex", "wage"]}},
            {"tables": [["age"], ["age", "sex"]], "objective": [1, 2.5], "mechanism": "marginals"},
        ],
        size=48842,
    ),
    _file(
        {"age": _AGE, "sex": _SEX, "place": _PLACE},
        {"per_attribute": {"age": {"threshold": 5}, "sex": "public", "place": "full"}},
        [
            {
                "synthetic": ["age", "sex", "place@state"],
                "workload": 2,
                "keep": "sex",
                "mechanism": "synthetic-laplace",
            },
            {
                "synthetic": ["age", "sex"],
                "workload": [["age", "sex"]],
                "impossible": [{"age": [17, 20], "sex": "Male"}],
                "rho": 0.01,
                "mechanism": "synthetic",
            },
        ],
        size=5000,
    ),
    _file(
        {"x": _WAGE},
        {"threshold": "7/2"},
        [
            {"quantiles": "x", "at": [0.25, "1/2", 0.9], "mechanism": "ordered-hierarchical"},
            {"ranges": "x", "of": [[0, 20], [21, 200]], "mechanism": "laplace"},
        ],
    ),
    _file({"income": _INCOME}, {"threshold": 10}, [{"cumulative": "income"}, {"histogram": "income"}], size=1000),
    _file(_GRID, {"threshold": 3, "scale": {"lat": 1, "lon": "1/2"}}, [{"range_grid": ["lat", "lon"]}], size=5000),
    _file(_GRID, "attributes", [{"range_grid": ["lat", "lon"], "mechanism": "grid-flow"}], size=5000),
    {
        **_file(
            {**_GRID, "sex": _SEX},
            {"per_attribute": {"lat": {"threshold": 2}, "lon": "full", "sex": "public"}},
            [
                {"histogram": ["lat", "sex"], "rho": 0.01, "mechanism": "gaussian"},
                {"range_grid": ["lat", "lon"], "rho": 0.01, "mechanism": "gaussian-flow"},
                {"range_grid": ["lat", "lon"], "rho": "1/200", "mechanism": "gaussian-grid"},
                {"cumulative": "lat", "epsilon": 0.5, "delta": 1e-9, "mechanism": "gaussian-hierarchy"},
                {"cumulative": "lat", "rho": 0.002, "noise": "gaussian", "mechanism": "gaussian-ordered"},
                {"tables": [["lat"], ["lat", "sex"]], "rho": 0.002, "mechanism": "gaussian-marginals"},
                {"sum": "lon", "error": 5, "noise": "laplace"},
            ],
            size=5000,
        ),
        "budget": {"epsilon": 1, "delta": 1e-9},
    },
    _file(_GRID, "full", [{"range_grid": ["lat", "lon"], "mechanism": "grid-hierarchy"}], size=5000),
    _file(_GRID, "full", [{"range_grid": ["lat", "lon"], "mechanism": "adaptive-grid"}], size=5000),
    _file(
        _GRID,
        {"per_attribute": {"lat": {"threshold": 2}, "lon": "full"}},
        [
            {"kmeans": ["lat", "lon"], "k": 3},
            {"kmeans": ["lat", "lon"], "k": 2, "mechanism": "soft-grid"},
            {"kmeans": ["lat"], "k": 2, "mechanism": "lloyd"},
        ],
        size=20000,
    ),
    _file(_GRID, {"threshold": 2}, [{"kmeans": ["lat", "lon"], "k": 3, "mechanism": "soft-mesh"}], size=20000),
    _file(
        {"zone": {"integer": [0, 29]}, "zip": {"categorical": ["A", "B", "C", "D"]}},
        {"partition": {"widths": {"zone": 10}, "blocks": {"zip": [["A", "B"], ["C", "D"]]}}},
        [{"histogram": ["zone", "zip"]}, {"linear": {"attributes": ["zip"], "rows": [[0, 1, 1, "1/2"], [1, 0, 0, 2]]}}],
        rows_per_person=3,
    ),
    _file(
        {"level": {"categorical": ["low", "middle", "high"], "missing": "low"}},
        {"edges": [["low", "middle"], ["middle", "high"]]},
        [{"histogram": ["level"]}],
    ),
    _file(
        {"age": _AGE, "sex": _SEX},
        {"edges": [[{"age": 17, "sex": "Male"}, {"age": 18, "sex": "Male"}], [[30, "Female"], [40, "Male"]]]},
        [{"histogram": ["age"]}, {"sum": "age"}, {"cumulative": "age"}],
    ),
    _file(
        {"age": _AGE, "sex": _SEX, "wage": _WAGE},
        "attributes",
        [{"histogram": ["age", "sex"]}, {"cumulative": "wage"}, {"sum": "age"}],
        known=[{"marginal": ["sex"], "counts": [16192, 32650]}, {"count": {"age": [17, 25], "sex": "Female"}}],
        compensation="anywhere",
    ),
    _file(
        {"x": {"integer": [0, 5]}, "y": {"categorical": [1, 2, 3]}, "z": {"categorical": [True, False]}},
        {"per_attribute": {"x": {"partition": {"widths": 2}}, "y": "full", "z": "public"}},
        [{"histogram": ["x", "y", "z"]}, {"sum": "x"}],
        known=[
            {"marginal": ["y", "z"], "counts": [[3, 2], [1, 0], [2, 2]]},
            {"count": {"x": {"range": [0, 2]}}, "equals": 5},
        ],
        compensation="secret-moves",
        size=10,
    ),
    _file(
        {"x": {"integer": [0, 5]}, "y": {"categorical": [1, 2, 3]}},
        "attributes",
        [{"histogram": ["x", "y"]}, {"cumulative": "x"}],
        known=[{"count": {"x": {"values": [0, 3, 5]}, "y": [1, 2]}}, {"marginal": ["x"]}],
        size=1000,
    ),
    _file(
        {"age": _AGE, "wage": _WAGE, "consent": {"categorical": ["strict", "public", "near"]}},
        {
            "by": "consent",
            "strict": "full",
            "public": "public",
            "near": {"threshold": 10, "scale": {"age": 1, "wage": 2}},
        },
        [{"histogram": ["age", "consent"]}, {"cumulative": "wage"}],
    ),
    _file(
        {"x": {"integer": [0, 9]}, "y": {"categorical": [1, 2]}, "z": {"categorical": [True, False]}},
        {"by": "z", "true": {"by": "y", "1": "full", "2": {"partition": {"widths": 5}}}, "false": "attributes"},
        [{"histogram": ["x", "y", "z"]}],
    ),
    _file(
        {"place": {**_PLACE, "missing": "a"}, "sex": _SEX},
        "attributes",
        [
            {"histogram": ["place@state", "sex"]},
            {"histogram": "sex", "where": {"place@state": ["A", "B"]}, "by": "place"},
        ],
        size=5000,
    ),
    _file({"place": _PLACE}, {"within": "state"}, [{"histogram": "place"}, {"histogram": "place@state"}], size=5000),
    _file(
        {"place": _PLACE, "sex": _SEX},
        {"per_attribute": {"place": {"within": "state"}, "sex": "full"}},
        [{"histogram": ["place", "sex"]}],
    ),
    _file({"place": _PLACE, "sex": _SEX}, {"within": {"place": "state"}}, [{"histogram": ["sex"]}]),
    _file(
        {"day": {"date": ["2020-01-01", "2020-06-30"], "step": "week"}, "sex": _SEX},
        {"per_attribute": {"day": {"threshold": 2}, "sex": "full"}},
        [{"histogram": ["day", "sex"]}, {"median": "day", "where": {"day": ["2020-02-03", "2020-05-31"]}}],
    ),
    _file({"x": {"integer": [1, 6]}}, "public", [{"histogram": "x"}, {"mean": "x", "error": 0.5}], size=100),
    _file(
        {"x": {"integer": [0, 40]}},
        {"partition": {"blocks": {"x": [[0, 9], {"values": [10, 12]}, {"range": [13, 40]}, [11]]}}},
        [{"cumulative": "x"}, {"histogram": "x"}],
        known=[{"marginal": "x"}],
    ),
)
"""Files that load; every keyword and every mechanism occurs in one of them."""
