"""How well draws fit probabilities, as a p-value."""

import numpy as np
from scipy import stats


def p_value(draws: np.ndarray, places: np.ndarray, cumulative: np.ndarray) -> float:
    """Chi-square of the cells between the places; ``cumulative`` has P(Z <= place) of each."""
    observed = np.bincount(np.searchsorted(places, draws, side="left"), minlength=len(places) + 1)
    return of_cells(observed, np.diff(cumulative, prepend=0, append=1))


def of_cells(observed: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square of counts against the probabilities of their cells."""
    expected = probabilities * observed.sum()
    return float(stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(observed) - 1))


def two_sample_p_value(ours: np.ndarray, theirs: np.ndarray, places: np.ndarray) -> float:
    """Chi-square of two samples against each other."""
    counts = np.array(
        [np.bincount(np.searchsorted(places, draws), minlength=len(places) + 1) for draws in (ours, theirs)]
    )
    return float(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 100]).pvalue)
