"""Repeatable bits for simulations on public numbers, so that everybody who repeats a simulation gets the same error."""

from __future__ import annotations

from hashlib import sha256
from typing import ClassVar

import numpy as np

from blowfish_privacy.noise.source import Words


class SimulationSource:
    """A :class:`BitSource` that everybody can reproduce: for public numbers only, never for a release.

    ``topic`` says what is simulated; different topics have independent sequences.
    """

    kind: ClassVar[str] = "simulation, not private"
    private: ClassVar[bool] = False

    def __init__(self, topic: str) -> None:
        self._generator = np.random.PCG64(int.from_bytes(sha256(topic.encode()).digest(), "big"))

    def words(self, count: int) -> Words:
        """Return the next ``count`` words of the topic's sequence."""
        return self._generator.random_raw((count + 1) // 2).astype("<u8").view("<u4")[:count]
