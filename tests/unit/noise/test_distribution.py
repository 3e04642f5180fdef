"""Is it the right distribution? Each test also shows that it would notice the wrong one.

The bits are the operating system's, so each run is a fresh experiment. Every test rejects a right sampler
with a probability of about 1e-9 (``FALSE_ALARM``), the whole file with less than 1e-7.
"""

from fractions import Fraction

import numpy as np
import pytest

from blowfish_privacy import noise
from blowfish_privacy.noise.digit import Digit
from blowfish_privacy.noise.laplace import GeometricLaw, _Sampler, _sampler
from unit.noise import chi_square

pytestmark = pytest.mark.fresh_bits

FALSE_ALARM = 1e-9
COUNT = 1_000_000
SCALES = [
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(100),
    Fraction(1000),
    Fraction(1025),
    Fraction(50_000),
    Fraction(10**6),
    Fraction(2 * 10**6),
    Fraction(10**9),
]


def cumulative(scale: Fraction, places: np.ndarray) -> np.ndarray:
    """P(Z <= z): q^-z / (1 + q) below 0 and 1 - q^(z + 1) / (1 + q) from 0 on."""
    rate = float(1 / scale)
    tail = np.exp(-rate * np.where(places < 0, -places, places + 1)) / (1 + np.exp(-rate))
    return np.where(places < 0, tail, 1 - tail)


def cuts(scale: Fraction) -> np.ndarray:
    """About 60 cut points; the outermost leave at least 5e-5 on each side, 50 of 10^6 draws."""
    levels = np.concatenate([[1e-4, 1e-3], np.linspace(0.01, 0.5, 28)])
    deep = np.array([noise.quantile(scale, str(1 - 2 * level + 1e-12)) for level in levels])
    places = np.unique(np.concatenate([-deep - 1, deep]))
    below = cumulative(scale, places)
    return places[(below > 5e-5) & (below < 1 - 5e-5)]


def p_value(draws: np.ndarray, scale: Fraction) -> float:
    """Chi-square against the exact probabilities of the cells between the cut points."""
    places = cuts(scale)
    return chi_square.p_value(draws, places, cumulative(scale, places))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_distribution_is_the_exact_one(scale: Fraction) -> None:
    assert p_value(noise.discrete_laplace(scale, COUNT), scale) > FALSE_ALARM


@pytest.mark.parametrize("mutation", [Fraction(49, 50), Fraction(51, 50)], ids=["too little", "too much"])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_two_percent_of_noise_too_little_or_too_much_is_noticed(scale: Fraction, mutation: Fraction) -> None:
    assert p_value(noise.discrete_laplace(scale * mutation, COUNT), scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10)], ids=str)
def test_a_sampler_that_counts_zero_twice_is_noticed(scale: Fraction) -> None:
    draws = noise.discrete_laplace(scale, COUNT)
    magnitude = np.where(draws < 0, -1 - draws, draws)
    fair_sign = 1 - 2 * (noise.SystemSource().words(COUNT) & np.uint32(1)).astype(np.int64)
    assert p_value(magnitude * fair_sign, scale) < FALSE_ALARM


def test_rounded_floats_are_noticed() -> None:
    rounded = np.rint(np.random.default_rng().laplace(0, 1, COUNT)).astype(np.int64)
    assert p_value(rounded, Fraction(1)) < FALSE_ALARM


@pytest.mark.parametrize("length", [1, 2, 7])
def test_restarting_behind_a_short_table_changes_nothing(length: int) -> None:
    """With so short a table most draws restart, many of them several times."""
    scale = Fraction(5)
    usual = _sampler(scale)
    short = _Sampler(Digit.tabulate(GeometricLaw(1 / scale), length), (), usual.sign)
    assert p_value(short.draw(300_000, noise.SystemSource()), scale) > FALSE_ALARM
    # The mutant that forgets where it restarted: the magnitude is folded back into the table.
    draws = usual.draw(300_000, noise.SystemSource())
    assert p_value(np.where(draws < 0, -1 - (-1 - draws) % length, draws % length), scale) < FALSE_ALARM


def low_digit_p_value(draws: np.ndarray, scale: Fraction) -> float:
    """Chi-square of (sign, magnitude modulo 1024), jointly: 2 x 1024 cells."""
    sign = (draws < 0).astype(np.int64)
    magnitude = np.where(draws < 0, -1 - draws, draws)
    observed = np.bincount(sign * 1024 + magnitude % 1024, minlength=2048)
    rate = float(1 / scale)
    digit = np.exp(-rate * np.arange(1024))
    signs = np.exp(-rate * np.arange(2))
    return chi_square.of_cells(observed, np.outer(signs / signs.sum(), digit / digit.sum()).ravel())


@pytest.mark.parametrize("scale", [Fraction(1025), Fraction(10**6), Fraction(10**9)], ids=str)
def test_the_lowest_digit_of_a_large_scale_is_right(scale: Fraction) -> None:
    draws = noise.discrete_laplace(scale, COUNT)
    assert low_digit_p_value(draws, scale) > FALSE_ALARM
    # Mutants: a last bit that is always 0, and one that follows the sign.
    assert low_digit_p_value(draws // 2 * 2, scale) < FALSE_ALARM
    assert low_digit_p_value(np.where(draws < 0, draws | 1, draws), scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", [1, 10, 300])
def test_opendp_draws_from_the_same_distribution(scale: int) -> None:
    """Two-sample chi-square against an independent exact sampler, and ten percent off on both sides."""
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T=int)), prelude.l1_distance(T=int)
    theirs = np.array(prelude.m.make_laplace(*space, scale=float(scale))([0] * 50_000))
    places = cuts(Fraction(scale))[2:-2]
    assert chi_square.two_sample_p_value(noise.discrete_laplace(scale, COUNT), theirs, places) > FALSE_ALARM
    for mutation in (Fraction(9, 10), Fraction(11, 10)):
        ours = noise.discrete_laplace(scale * mutation, COUNT)
        assert chi_square.two_sample_p_value(ours, theirs, places) < FALSE_ALARM
