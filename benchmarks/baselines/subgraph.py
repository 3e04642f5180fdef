"""The subgraph strategy of 2016 for a distance threshold on a line [haney2016].

Replace the policy graph by a tree that keeps secret pairs near: the last value of every block of theta values is joined
to that of the next block, and every other value to the last one of its block. Two values at most theta apart are at
most 3 steps apart in the tree, so a mechanism that hides one step at epsilon / 3 hides a secret pair at epsilon. A step
changes one edge of the tree by one: the number of records up to a block's end, or the count of one other value. The
former get Laplace noise, the latter Privelet in every block. It promises the same (epsilon, policy)-Blowfish as ours.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from baselines.privelet import privelet, privelet_counts
from blowfish_privacy.noise import discrete_laplace


def subgraph(counts: np.ndarray, theta: int | None, epsilon: Fraction) -> np.ndarray:
    """Return the estimate of the cumulative histogram; without a threshold it is Privelet."""
    size = len(counts)
    if theta is None or theta >= size:
        padded = np.zeros(1 << (size - 1).bit_length(), dtype=np.int64)
        padded[:size] = counts
        return privelet(padded, epsilon)[:size]
    share = epsilon / (1 if theta == 1 else 3)
    blocks = -(-size // theta)
    padded = np.zeros(blocks * theta, dtype=np.int64)
    padded[:size] = counts
    table = padded.reshape(blocks, theta)
    ends = np.cumsum(table.sum(axis=1)).astype(float)
    ends[:-1] += discrete_laplace(1 / share, blocks - 1)
    if theta == 1:
        return ends
    inner = np.zeros((blocks, 1 << max(theta - 2, 0).bit_length()), dtype=np.int64)
    inner[:, : theta - 1] = table[:, :-1]
    below = np.concatenate([[0.0], ends[:-1]])
    partial = np.cumsum(privelet_counts(inner, share, changes=1), axis=1)[:, : theta - 1]
    return np.concatenate([below[:, None] + partial, ends[:, None]], axis=1).reshape(-1)[:size]
