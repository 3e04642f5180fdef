"""Is it the right Gaussian distribution? Each test also shows that it would notice the wrong one.

The bits are those that belong to each test's name, so no test fails by chance. With other bits, a right sampler
would be rejected with a probability of about 1e-9 (``FALSE_ALARM``) per test.
"""

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from blowfish_privacy import noise
from blowfish_privacy.noise.gaussian import _Composed
from unit.noise import chi_square

FALSE_ALARM = 1e-9
COUNT = 1_000_000
SIGMAS = [
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(100),
    Fraction(1000),
    Fraction(1024),
    Fraction(1025),
    Fraction(10_001, 7),
    Fraction(50_000),
    Fraction(10**6),
    Fraction(10**9),
]


def cumulative(sigma: Fraction, places: np.ndarray) -> np.ndarray:
    """P(Z <= z): a sum of all weights, or from sigma 100 on the integral to z + 1/2.

    By the formula of Euler and Maclaurin the integral is wrong by z phi(z / sigma) / (24 sigma^3) at most, below
    2e-6 at sigma 100, where 10^6 draws do not see less than 1e-4.
    """
    if sigma >= 100:
        root = math.sqrt(2) * float(sigma)
        return np.array([(1 + math.erf((float(z) + 0.5) / root)) / 2 for z in places])
    values = np.arange(-int(12 * sigma) - 4, int(12 * sigma) + 5)
    weights = np.exp(-(values**2) / (2 * float(sigma) ** 2))
    return np.array([weights[values <= z].sum() for z in places]) / weights.sum()


def cuts(sigma: Fraction) -> np.ndarray:
    """About 60 cut points; the outermost leave at least 5e-5 on each side, 50 of 10^6 draws."""
    levels = np.concatenate([[1e-4, 1e-3], np.linspace(0.01, 0.5, 28)])
    deep = np.array([noise.gaussian_quantile(sigma**2, str(1 - 2 * level + 1e-12)) for level in levels])
    places = np.unique(np.concatenate([-deep - 1, deep]))
    below = cumulative(sigma, places)
    return places[(below > 5e-5) & (below < 1 - 5e-5)]


def p_value(draws: np.ndarray, sigma: Fraction) -> float:
    places = cuts(sigma)
    return chi_square.p_value(draws, places, cumulative(sigma, places))


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_distribution_is_the_exact_one(sigma: Fraction) -> None:
    assert p_value(noise.discrete_gaussian(sigma**2, COUNT), sigma) > FALSE_ALARM


@pytest.mark.parametrize("mutation", [Fraction(49, 50), Fraction(51, 50)], ids=["too little", "too much"])
@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_two_percent_of_noise_too_little_or_too_much_is_noticed(sigma: Fraction, mutation: Fraction) -> None:
    assert p_value(noise.discrete_gaussian((sigma * mutation) ** 2, COUNT), sigma) < FALSE_ALARM


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_tails_cut_off_are_noticed(sigma: Fraction) -> None:
    """Draws past three deviations are brought back to there: 0.3 percent of them."""
    draws = noise.discrete_gaussian(sigma**2, COUNT)
    end = math.floor(3 * sigma) if sigma > 1 else 0 if sigma < 1 else 2
    assert p_value(np.clip(draws, -end, end), sigma) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(10)], ids=str)
def test_a_sampler_that_counts_zero_twice_is_noticed(sigma: Fraction) -> None:
    """The half of the bell from 0 on, with a fair sign: zero comes up twice as often as it should."""
    draws = noise.discrete_gaussian(sigma**2, COUNT)
    kept = draws[draws >= 0]
    signs = 1 - 2 * (noise.SystemSource().words(len(kept)) & np.uint32(1)).astype(np.int64)
    assert p_value(kept * signs, sigma) < FALSE_ALARM


def test_rounded_floats_are_noticed() -> None:
    rounded = np.rint(np.random.default_rng().normal(0, 1, COUNT)).astype(np.int64)
    assert p_value(rounded, Fraction(1)) < FALSE_ALARM


SMALL = [(Fraction(7), 1), (Fraction(50), 2), (Fraction(33), 2), (Fraction(997, 3), 4)]


def every_value_p_value(draws: np.ndarray, sigma_squared: Fraction) -> float:
    """Chi-square with one cell for every value of at least 5e-5."""
    values = np.arange(-200, 201)
    weights = np.exp(-(values**2) / (2 * float(sigma_squared)))
    below = np.cumsum(weights) / weights.sum()
    kept = (below > 5e-5) & (below < 1 - 5e-5)
    return chi_square.p_value(draws, values[kept], below[kept])


@pytest.mark.parametrize(("sigma_squared", "leading"), SMALL, ids=str)
def test_the_way_of_large_sigmas_is_right_for_small_ones(
    sigma_squared: Fraction, leading: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With leading digits of 1 to 4 in place of 64 most candidates are rejected, and every value is seen often."""
    monkeypatch.setattr(import_module(_Composed.__module__), "_LEADING_SIGMA", leading)
    sampler = _Composed.of(sigma_squared)
    draws = sampler.draw(40_000, noise.SystemSource())
    assert every_value_p_value(draws, sigma_squared) > FALSE_ALARM
    # Mutants: everything is accepted; the sign does not count; one value of the low bits is missing.
    everything = _Composed(sigma_squared, sampler.shift, sampler.width, sampler.leading, sampler.accepted | 2**16 - 1)
    assert every_value_p_value(everything.draw(40_000, noise.SystemSource()), sigma_squared) < FALSE_ALARM
    assert every_value_p_value(np.where(draws < 0, draws + 1, draws), sigma_squared) < FALSE_ALARM
    assert every_value_p_value(draws[draws != 1], sigma_squared) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [Fraction(10**6), Fraction(10**9)], ids=str)
def test_the_last_bits_of_a_large_sigma_are_uniform(sigma: Fraction) -> None:
    """Of (sign, z modulo 1024), 2 x 1024 cells, whose probabilities differ by a share of 4e-4 at sigma 10^6."""
    draws = noise.discrete_gaussian(sigma**2, COUNT)

    def cells(values: np.ndarray) -> float:
        observed = np.bincount((values < 0) * 1024 + values % 1024, minlength=2048)
        return chi_square.of_cells(observed, np.full(2048, 1 / 2048))

    assert cells(draws) > FALSE_ALARM
    assert cells(draws // 2 * 2) < FALSE_ALARM
    assert cells(np.where(draws < 0, draws | 1, draws)) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [1, 10, 300])
def test_opendp_draws_from_the_same_distribution(sigma: int) -> None:
    """Two-sample chi-square against an independent exact sampler, and ten percent off on both sides."""
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T=int)), prelude.l2_distance(T=float)
    theirs = np.array(prelude.m.make_gaussian(*space, scale=float(sigma))([0] * 50_000))
    places = cuts(Fraction(sigma))[2:-2]
    assert chi_square.two_sample_p_value(noise.discrete_gaussian(sigma**2, COUNT), theirs, places) > FALSE_ALARM
    for mutation in (Fraction(9, 10), Fraction(11, 10)):
        ours = noise.discrete_gaussian((sigma * mutation) ** 2, COUNT)
        assert chi_square.two_sample_p_value(ours, theirs, places) < FALSE_ALARM
