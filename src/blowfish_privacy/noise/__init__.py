"""Integer noise: exact discrete Laplace and Gaussian draws, and how large they are."""

from blowfish_privacy.noise.discrete_gaussian import LARGEST_VARIANCE, checked_variance, discrete_gaussian
from blowfish_privacy.noise.discrete_laplace import LARGEST_SCALE, checked_scale, discrete_laplace
from blowfish_privacy.noise.gaussian_spread import gaussian_quantile, gaussian_variance
from blowfish_privacy.noise.simulation import SimulationSource
from blowfish_privacy.noise.source import BitSource, SystemSource
from blowfish_privacy.noise.spread import quantile, variance

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
