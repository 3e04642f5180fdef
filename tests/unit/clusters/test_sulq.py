"""The paper's lemma on k-means is false: runnable counterexamples."""

import os
from pathlib import Path

import numpy as np
import pytest

from blowfish_lab.paper.figure_1 import cluster_sums, not_private_published_sulq_kmeans

DATA = Path(os.environ.get("BLOWFISH_DATA", "absent"))


def changed(before, after, centers):
    return np.abs(cluster_sums(before, centers)[1] - cluster_sums(after, centers)[1]).sum()


def test_the_published_sensitivity_fails_on_three_values():
    # The record at 1 belongs to centre 0.5, the record at 2 to centre 2: one sum loses 1, the other gains 2.
    centers = np.array([[0.5], [2.0]])
    before, after = np.array([[0.0], [1.0]]), np.array([[0.0], [2.0]])
    assert changed(before, after, centers) == 3
    assert changed(before, after, centers) > 2 * 1


@pytest.mark.skipif(not (DATA / "skin.tsv").exists(), reason="the Skin data are not here")
def test_a_short_move_breaks_the_published_sensitivity_on_the_skin_data():
    table = np.loadtxt(DATA / "skin.tsv", skiprows=1, usecols=(0, 1, 2))
    sample = table[:: len(table) // 2000]
    theta, centers = (
        32,
        not_private_published_sulq_kmeans(
            sample, 4, epsilon=1e9, claimed_sensitivity=2 * 32, low=np.zeros(3), high=np.full(3, 255.0), seed=1
        ),
    )
    worst, length = 0.0, 0.0
    for place, record in enumerate(sample):
        for step in (27, -27):
            moved = np.clip(record + np.array([0, 0, step]), 0, 255)
            other = np.concatenate([sample[:place], moved[None], sample[place + 1 :]])
            change = changed(sample, other, centers)
            if change > worst:
                worst, length = change, float(np.abs(moved - record).sum())
    assert 0 < length <= theta
    assert worst > 600
    assert worst > 9 * (2 * theta)
