"""Running a mechanism on a table: many times, or once without noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Assignment, Lattice, TableAggregates
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.noise import BitSource, SystemSource

Counts = npt.NDArray[np.int64]


class Remembered(TableAggregates):
    """Aggregates that remember their answers: between outputs only the noise changes."""

    def lattice_sums(self, lattice: Lattice) -> Counts:
        """Add up, unless the answer is remembered."""
        return self._once(lattice, super().lattice_sums)

    def assignments(self, assignment: Assignment) -> Counts:
        """Assign, unless the answer is remembered."""
        return self._once(assignment, super().assignments)

    def _once(self, question: Any, answer: Callable[[Any], Counts]) -> Counts:
        if question not in self._answers:
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.clear()
            self._answers[question] = answer(question)
        return self._answers[question].copy()

    @cached_property
    def _answers(self) -> dict[Any, Counts]:
        return {}


_MOST_ANSWERS = 5_000


def outputs(mechanism: Mechanism, table: Remembered, many: int) -> list[npt.NDArray[Any]]:
    """Run a mechanism many times on one table."""
    return _run(mechanism, table, many, SystemSource())


def exact_rows(mechanism: Mechanism, table: Remembered) -> npt.NDArray[Any]:
    """Return what a mechanism shows of a table when all its draws of noise are 0; an attacker who knows it can tell."""
    return _run(mechanism, table, 1, _Silence())[0]


def _run(mechanism: Mechanism, table: Remembered, many: int, source: BitSource) -> list[npt.NDArray[Any]]:
    return [np.asarray(mechanism.draw(table, source)).reshape(-1) for _ in range(many)]


class _Silence:
    """Words that draw no noise: below every threshold of the sampler's tables."""

    kind: ClassVar[str] = "silence"
    private: ClassVar[bool] = False

    def words(self, count: int) -> npt.NDArray[np.uint32]:
        return np.zeros(count, dtype=np.uint32)
