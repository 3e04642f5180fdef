"""What the rows of a mesh weigh: a far group is kept as surely as it stands out from the noise."""

from math import log

import numpy as np
import pytest
from scipy.sparse import csr_array

from blowfish_privacy.mechanisms.clusters.soft_mesh import Masses, stand_out

NODES = 200
BESIDE = csr_array(
    (
        np.ones(2 * NODES - 2),
        (np.arange(2 * NODES - 2) // 2 + np.arange(2 * NODES - 2) % 2, np.arange(2 * NODES - 2) // 2),
    ),
    shape=(NODES, NODES - 1),
)
"""Leaves in a line, each of which shares two neighbouring rows."""


def weights(far, *, near=(900.0, 1000.0), noise=10.0):
    noisy = np.zeros(NODES)
    noisy[:2], noisy[150] = near, far
    return stand_out(noisy, BESIDE, 2000.0, noise)


def test_a_far_row_weighs_what_it_measures_times_the_odds_that_it_is_no_noise():
    # 100 of 200 rows have noise above zero, and 100 exp(-m / 10) of them above m; with 0.1 of them the odds are even.
    even = 10 * log(100 / 0.1)
    shares = [weights(far)[150] / weights(far)[:2].sum() * 1900 / far for far in (even - 20, even, even + 60)]
    assert shares == pytest.approx([1 / (1 + np.exp(2)), 0.5, 1 / (1 + np.exp(-6))], rel=1e-9)


@pytest.mark.parametrize("far", [0.0, 30.0, 60.0, 300.0])
@pytest.mark.parametrize("noise", [0.0, 10.0])
def test_weights_add_up_to_the_total(far, noise):
    assert weights(far, noise=noise).sum() == pytest.approx(2000)


def test_a_far_group_is_kept_although_the_rest_adds_up_to_the_total_without_it():
    kept = weights(150.0, near=(1000.0, 1100.0))
    assert kept[150] > 120
    # Rows beside the rest that are not needed for the total are noise.
    noisy = np.zeros(NODES)
    noisy[:3] = 1000.0, 1100.0, 40.0
    assert stand_out(noisy, BESIDE, 2000.0, 10.0)[2] == 0


def test_a_cell_whose_parts_would_be_lost_in_the_noise_of_the_mesh_is_not_cut():
    look = np.zeros((8, 8))
    look[1, 1], look[6, 6] = 900.0, 100.0
    masses = Masses(look.reshape(-1), 3, 2, 1000, 1.0)
    fine, coarse = (masses.mesh(6, 10_000, noise)[0] for noise in (1.0, 30.0))
    assert len(coarse.levels) < len(fine.levels)
    assert fine.levels.max() == 6
    # 100 records are below nine times a noise of 30, so the quarter of the box in which they lie stays whole.
    assert (coarse.levels[(coarse.places >> np.maximum(coarse.levels - 1, 0)[:, None] == 1).all(axis=1)] == 1).all()
