"""What makes synthetic records in the benchmark: ours under three policies, published ways of ours, and SmartNoise's.

Each gets the records, what they may cost (rho) and a seed, and gives as many made-up records.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import blowfish_privacy as bp
from adult import PUBLIC, Positions
from baselines.published_synthesis import Curator, aim, mst
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.mechanisms import GaussianSynthetic
from blowfish_privacy.mechanisms.synthetic.model import Measurement, combined
from blowfish_privacy.mechanisms.synthetic.tree import fit_tree
from blowfish_privacy.noise import SystemSource

FULL, ATTRIBUTES, FOUR_PUBLIC = "full domain", "attribute secrets", "+ four public"
PUBLISHED = ("AIM-like, full domain", "AIM-like, fewer rounds", "MST-like, full domain")
FEWER_ROUNDS = 2
"""For each attribute, to begin with: the best of 2, 4, 8 and 16 at epsilon 0.1, on the data that it is measured on."""
SMARTNOISE = Path(__file__).parent / "baselines" / "smartnoise.py"
Made = tuple[Positions, dict[str, float]]
Maker = Callable[[bp.Domain, Positions, Fraction, int], Made]
"""Makes records of a domain at a rho, by a seed; with its own seconds and megabytes where it runs by itself."""


def policy_of(domain: bp.Domain, policy: str) -> bp.Policy:
    """Say what is secret under one of the three policies."""
    if policy == FULL:
        return bp.Policy(domain, secrets=bp.FullDomain())
    if policy == ATTRIBUTES:
        return bp.Policy(domain, secrets=bp.Attributes())
    each = {name: bp.Public() if name in PUBLIC else bp.FullDomain() for name in domain.names}
    return bp.Policy(domain, secrets=bp.PerAttribute(**each))


def mechanism_of(query: bp.Synthetic, policy: bp.Policy, rho: Fraction, records: int) -> GaussianSynthetic:
    """Plan a release of synthetic records."""
    return GaussianSynthetic.calibrated(query, policy, rho=rho, records=records)


def ours(policy: str) -> Maker:
    """Make records with the library."""

    def make(domain: bp.Domain, records: Positions, rho: Fraction, seed: int) -> Made:
        mechanism = mechanism_of(bp.Synthetic(list(domain.names)), policy_of(domain, policy), rho, len(records))
        noisy = mechanism.draw(RecordAggregates(domain, list(records.T)), SystemSource())
        model = mechanism.model(noisy, len(records))
        return model.records(len(records), np.random.default_rng(seed)), {}

    return make


def published(way: Callable[..., Any]) -> Maker:
    """Make records with one of the baselines, under full-domain secrets."""

    def make(domain: bp.Domain, records: Positions, rho: Fraction, seed: int) -> Made:
        factors: dict[Any, Any] = {}

        def fit(measured: list[tuple[tuple[int, ...], np.ndarray, float]]) -> Any:
            known = combined(Measurement(axes, noisy.astype(np.int64), variance) for axes, noisy, variance in measured)
            found = fit_tree(domain.shape, len(records), known, start=factors)
            factors.update(found.factors)
            return found.model

        generator = np.random.default_rng(seed)
        model = way(Curator(records, domain.shape, generator), float(rho), fit)
        return model.records(len(records), generator), {}

    return make


def smartnoise(way: str, python: str) -> Maker:
    """Make records with SmartNoise, by the interpreter of its environment."""

    def make(domain: bp.Domain, records: Positions, rho: Fraction, seed: int) -> Made:
        with TemporaryDirectory() as folder:
            given, out = Path(folder) / "records.npz", Path(folder) / "made.npy"
            np.savez(given, records=records, shape=np.array(domain.shape))
            command = [python, str(SMARTNOISE), way, str(given), str(out)]
            command += ["--rho", str(float(rho)), "--many", str(len(records)), "--seed", str(seed)]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
            return np.load(out), json.loads(told.stdout.splitlines()[-1])

    return make


def makers(python: str | None) -> dict[str, Maker]:
    """List every way by its name; SmartNoise's only where there is an interpreter for it."""
    found = {
        FULL: ours(FULL),
        ATTRIBUTES: ours(ATTRIBUTES),
        FOUR_PUBLIC: ours(FOUR_PUBLIC),
        **dict(zip(PUBLISHED, map(published, (aim, partial(aim, rounds_each=FEWER_ROUNDS), mst)), strict=True)),
    }
    if python is not None:
        found |= {f"SmartNoise {way.upper()}, full domain": smartnoise(way, python) for way in ("aim", "mst")}
    return found
