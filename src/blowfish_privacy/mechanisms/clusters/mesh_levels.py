"""The lattices on which a soft mesh measures: one for its first look, and one for each depth the mesh may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from blowfish_privacy.aggregates import Axis, Lattice, Run
from blowfish_privacy.aggregates.lattice import MOST_NODES
from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms.clusters.synopsis import whole_numbers
from blowfish_privacy.queries.counts import HistogramForm
from blowfish_privacy.support.exact import exact

_DEEPEST = 9

LatticeOf = Callable[[HistogramForm, int, Sequence[int]], Lattice]
"""Lays a lattice of 2^depth cells along every axis, with the given resolutions."""


@dataclass(frozen=True)
class MeshLevel:
    """A lattice of 2^depth cells along every axis that may be measured, with its shares and its noise."""

    depth: int
    resolutions: tuple[int, ...]
    scale: Fraction

    def to_document(self) -> dict[str, Any]:
        """Write depth, resolutions and scale."""
        return {"depth": self.depth, "resolutions": list(self.resolutions), "scale": str(self.scale)}

    @classmethod
    def from_document(cls, written: dict[str, Any], form: HistogramForm) -> Self:
        """Read depth, resolutions and scale."""
        depth = written["depth"]
        if type(depth) is not int or not 1 <= depth <= _DEEPEST:
            raise SpecError(f"the document is damaged: a depth is not a whole number from 1 to {_DEEPEST}.")
        scale = exact(written["scale"], "a noise scale", error=SpecError)
        return cls(depth, whole_numbers(written["resolutions"], form), scale)


def centred_lattice(form: HistogramForm, depth: int, resolutions: Sequence[int]) -> Lattice:
    """Lay nodes in the middles of the cells, for the first look."""
    return _lattice([Run.centred(0, size, 1, 2**depth) for size in form.domain.shape], resolutions)


def cornered_lattice(form: HistogramForm, depth: int, resolutions: Sequence[int]) -> Lattice:
    """Lay nodes on the corners of the cells, for a mesh."""
    return _lattice([Run.cornered(size, 2**depth) for size in form.domain.shape], resolutions)


def _lattice(runs: Sequence[Run], resolutions: Sequence[int]) -> Lattice:
    return Lattice(tuple(Axis((run,), resolution) for run, resolution in zip(runs, resolutions, strict=True)))


def deepest(form: HistogramForm) -> int:
    """Return the depth at which the longest axis has one value per cell, or the deepest that fits in memory."""
    depth = min(_DEEPEST, max((size - 1).bit_length() for size in form.domain.shape))
    while depth > 1 and (2**depth + 1) ** len(form.domain.shape) > MOST_NODES:
        depth -= 1
    return max(depth, 1)
