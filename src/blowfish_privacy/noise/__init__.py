"""Integer noise: exact discrete Laplace and Gaussian draws, how large they are, and both laws as values."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.noise.bits import BitSource, SimulationSource, SystemSource
from blowfish_privacy.noise.gaussian import (
    LARGEST_VARIANCE,
    checked_variance,
    discrete_gaussian,
    gaussian_quantile,
    gaussian_variance,
)
from blowfish_privacy.noise.laplace import LARGEST_SCALE, checked_scale, discrete_laplace, quantile, variance
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import Number

__all__ = [
    "DISCRETE_GAUSSIAN",
    "DISCRETE_LAPLACE",
    "LARGEST_SCALE",
    "LARGEST_VARIANCE",
    "BitSource",
    "Law",
    "SimulationSource",
    "SystemSource",
    "checked_scale",
    "checked_variance",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian_quantile",
    "gaussian_variance",
    "quantile",
    "variance",
]


@dataclass(frozen=True)
class Law:
    """The distribution of noise of a scale, on whole numbers, around zero.

    The scale is that of the discrete Laplace distribution, and sigma^2 of the discrete Gaussian.
    """

    name: str
    variance: Callable[[Fraction], float]
    quantile: Callable[[Fraction, Number], int]
    """How far from zero a draw is at most, with a probability."""
    draw: Callable[..., Integers]
    """Draws noise of a scale: so many numbers, from a source of bits."""
    check: Callable[[object], Fraction]
    """Refuses a scale that cannot be drawn from."""


DISCRETE_LAPLACE = Law("discrete Laplace", variance, quantile, discrete_laplace, checked_scale)
DISCRETE_GAUSSIAN = Law("discrete Gaussian", gaussian_variance, gaussian_quantile, discrete_gaussian, checked_variance)
