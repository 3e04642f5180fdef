"""Integer noise: exact discrete Laplace and Gaussian draws, and how large they are."""

from blowfish_privacy.noise.bits import BitSource, SimulationSource, SystemSource
from blowfish_privacy.noise.gaussian import (
    LARGEST_VARIANCE,
    checked_variance,
    discrete_gaussian,
    gaussian_quantile,
    gaussian_variance,
)
from blowfish_privacy.noise.laplace import LARGEST_SCALE, checked_scale, discrete_laplace, quantile, variance

__all__ = [
    "LARGEST_SCALE",
    "LARGEST_VARIANCE",
    "BitSource",
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
