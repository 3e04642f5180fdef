"""The plain hierarchical mechanism as the paper builds it: nodes are cut into equal children, down to single values.

Every node but the root gets noise of scale 2 h / epsilon. A record that moves changes two nodes on each of the h levels
by one, which loses epsilon; this part of the paper holds as printed.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from blowfish_privacy.noise import discrete_laplace
from blowfish_privacy.support.arrays import Floats


def widths(size: int, fan_out: int) -> list[int]:
    """Return the widths of the nodes from the root down to single values."""
    levels = [size]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // fan_out))
    return levels


def prefix_errors(sizes: list[int], scale: Fraction) -> Floats:
    """Draw the noise of all nodes; return what it adds to the number of records below every cut point.

    It does not depend on the records: the answer is the exact count plus the noise of the nodes that make it up.
    """
    cuts = np.arange(sizes[0] + 1)
    errors = np.zeros(sizes[0] + 1)
    inside = cuts.copy()
    parent = np.zeros_like(cuts)
    for wide, narrow in pairwise(sizes):
        children = -(-wide // narrow)
        noise = discrete_laplace(scale, (int(parent.max()) + 1, children))
        before = np.concatenate([np.zeros((len(noise), 1)), np.cumsum(noise, axis=1)], axis=1)
        child = inside // narrow
        errors += before[parent, child]
        # A node that lies wholly before the cut is counted above; the cut goes on inside the next one.
        parent, inside = parent * (children + 1) + child, inside - child * narrow
    # The total is public.
    errors[-1] = 0.0
    return errors


def random_range_error(off: Floats, ranges: int, generator: np.random.Generator) -> float:
    """Return the mean squared error of random ranges, from the errors at all cut points."""
    ends = np.sort(generator.integers(0, len(off), (ranges, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    return float(np.mean((off[ends[:, 1]] - off[ends[:, 0]]) ** 2))
