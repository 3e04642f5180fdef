"""Randomness that repeats itself: a test that draws noise never fails by chance."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from unittest.mock import patch
from zlib import crc32

import numpy as np

from blowfish_privacy.noise import SystemSource
from blowfish_privacy.testing.seeded import SeededSource


@contextmanager
def predictable_bits(name: str) -> Generator[None]:
    """Let what draws the operating system's bits, here and in numpy, draw the bits that belong to a name."""
    seed = crc32(name.encode())
    source, seeds, generator = SeededSource(seed), np.random.SeedSequence(seed), np.random.default_rng

    def numpys(given=None):
        return generator(seeds.spawn(1)[0] if given is None else given)

    with (
        patch.object(SystemSource, "words", lambda _, count: source.words(count)),
        patch.object(np.random, "default_rng", numpys),
    ):
        yield
