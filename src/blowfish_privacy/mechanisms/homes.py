"""Where the mechanisms of this package are defined: they are imported when one of them is asked for."""

from __future__ import annotations

ALIKE = {"gaussian": "gaussian", "laplace": "laplace"}
GIVING = {
    "clusters": {
        "counted-grid": "clusters.counted_grid",
        "lloyd": "clusters.lloyd",
        "soft-grid": "clusters.soft_grid",
        "soft-mesh": "clusters.soft_mesh",
    },
    "grid": {
        **ALIKE,
        "adaptive-grid": "grid.adaptive_grid",
        "gaussian-flow": "grid.gaussian_flow",
        "gaussian-grid": "grid.gaussian_grid",
        "grid-flow": "grid.grid_flow",
        "grid-hierarchy": "grid.grid_hierarchy",
    },
    "numbers": {**ALIKE, "mean-offsets": "mean_offsets", "weighted-offsets": "weighted_mean"},
    "cumulative": {
        **ALIKE,
        "gaussian-hierarchy": "ordered.gaussian_hierarchy",
        "gaussian-ordered": "ordered.gaussian_hierarchy",
        "smooth-hierarchy": "ordered.smooth_hierarchy",
        "ordered": "ordered.ordered",
        "ordered-hierarchical": "ordered.ordered_hierarchical",
    },
    "records": {"synthetic": "synthetic.synthetic", "synthetic-laplace": "synthetic.synthetic"},
    "tables": {
        "gaussian-marginals": "tables.gaussian.gaussian_marginals",
        "marginals": "tables.marginals",
    },
}
"""The modules of the mechanisms that give each kind of answer, by name; among equals the first is chosen."""
HOMES = {name: module for giving in GIVING.values() for name, module in giving.items()}
