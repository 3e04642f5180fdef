"""Repeatable bits for tests. Whoever knows the seed can take the noise off again."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from blowfish_privacy.noise import SimulationSource


class SeededSource(SimulationSource):
    """A :class:`~blowfish_privacy.noise.BitSource` that repeats itself: never for a real release.

    ``private`` is False, so that a release made with it says that it protects nobody. No seed is the default.
    """

    kind: ClassVar[str] = "seeded, not private"

    def __init__(self, seed: int) -> None:
        self._generator = np.random.PCG64(seed)
