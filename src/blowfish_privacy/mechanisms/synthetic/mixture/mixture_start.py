"""Where the fit of a mixture starts: at records of the tree of attributes that depend on each other most.

Mixtures with the same pairs differ in larger tables, and the fit ends near where it starts. Records of a tree hold what
its pairs imply for larger tables and nothing else; the tree is the one with the most mutual information [chow1968].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blowfish_privacy.mechanisms.synthetic.mixture.evidence import Evidence, Pair
from blowfish_privacy.mechanisms.synthetic.tree.tree_records import Step, tree_records

Reals = NDArray[np.float32]

LEAST_INFORMATION = 1e-6
"""Attributes that tell less about each other are taken as independent."""


def tree_start(evidence: Evidence, many: int, generator: np.random.Generator) -> Reals:
    """Return the logarithms of the shares of components: each half-way between the margins and a record of a tree."""
    records = tree_records(tree_steps(evidence), many, generator)
    sizes = [len(margin) for margin in evidence.margins]
    places = records + (np.cumsum(sizes, dtype=np.int64) - np.array(sizes, dtype=np.int64))
    shares = np.tile(np.concatenate(evidence.margins), (many, 1))
    shares[np.arange(many)[:, None], places] += 1.0
    return np.log(shares / 2 + 1e-7).astype(np.float32)


def tree_steps(evidence: Evidence) -> list[Step]:
    """Cut the tree into one step for each attribute, given the attribute that it hangs on."""
    near: dict[int, list[Pair]] = {axis: [] for axis in range(len(evidence.margins))}
    for pair in _spanning(evidence):
        for axis in pair.axes:
            near[axis].append(pair)
    steps: list[Step] = []
    seen: set[int] = set()
    for root in near:
        waiting = [] if root in seen else [Step(root, (), evidence.margins[root])]
        while waiting:
            step = waiting.pop()
            steps.append(step)
            seen.add(step.axis)
            for pair in near[step.axis]:
                one, other = pair.axes
                child, table = (other, pair.shares) if one == step.axis else (one, pair.shares.T)
                if child not in seen:
                    waiting.append(Step(child, (step.axis,), np.maximum(table, 0.0)))
    return steps


def _spanning(evidence: Evidence) -> list[Pair]:
    """Choose the pairs with the most information that close no circle."""
    informative = [(information(evidence, pair), pair) for pair in evidence.pairs]
    informative.sort(key=lambda each: -each[0])
    part = list(range(len(evidence.margins)))
    chosen: list[Pair] = []
    for amount, pair in informative:
        one, other = (part[axis] for axis in pair.axes)
        if amount > LEAST_INFORMATION and one != other:
            chosen.append(pair)
            part = [one if each == other else each for each in part]
    return chosen


def information(evidence: Evidence, pair: Pair) -> float:
    """Return how much two attributes tell about each other, in natural units."""
    shares = np.maximum(pair.shares, 0.0)
    shares = shares / max(float(shares.sum()), 1e-300)
    independent = np.outer(*(evidence.margins[axis] for axis in pair.axes))
    return float((shares * np.log(np.maximum(shares, 1e-12) / np.maximum(independent, 1e-12))).sum())
