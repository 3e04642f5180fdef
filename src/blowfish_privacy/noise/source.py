"""Where random bits come from.

Noise is only as secret as its bits. The one source for real releases is the operating system's generator; a
seeded source for tests lives in :mod:`blowfish_privacy.testing.seeded` and marks what it touches.
"""

from __future__ import annotations

import os
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 32
Words: TypeAlias = NDArray[np.uint32]


class BitSource(Protocol):
    """Independent, uniformly random 32-bit words.

    ``kind`` is written into every release document. ``private`` is False for a source whose words somebody
    can predict: a release made with it protects nobody and must say so.
    """

    kind: ClassVar[str]
    private: ClassVar[bool]

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words; no word is ever handed out twice."""
        ...


class SystemSource:
    """The operating system's generator, ``os.urandom``.

    It keeps no state in this process, so a forked child cannot repeat its parent's noise and threads cannot
    share a word.
    """

    kind: ClassVar[str] = "operating system"
    private: ClassVar[bool] = True

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words."""
        return np.frombuffer(os.urandom(count * (WORD_BITS // 8)), dtype=np.uint32)
