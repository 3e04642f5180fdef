"""Levels in words and in documents, and which of them allow an estimate."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level, TotalLevel
from blowfish_privacy.mechanisms.ordered.segment import Segment
from blowfish_privacy.policies import Policy
from blowfish_privacy.support.exact import exact, rounded


def measurable(segment: Segment, policy: Policy) -> bool:
    """Say whether levels begin at spacing 1, differences first, with at most one cumulative level at the end.

    Where the number of records is secret, the end is the total, and all others are differences.
    """
    levels = segment.levels
    if policy.size == "unknown":
        levels = levels[:-1]
        if not segment.has_total or not levels or isinstance(levels[-1], CumulativeLevel):
            return False
    elif segment.stretch.size == 1 or not levels:
        return segment.stretch.size == 1 and not levels
    differences = all(isinstance(level, DifferenceLevel) for level in levels[:-1])
    return levels[0].spacing == 1 and differences and len({level.spacing for level in levels}) == len(levels)


def level_words(level: Level) -> str:
    """Name the rows of a level and their noise."""
    scale = f"(scale {rounded(level.scale)})"
    if isinstance(level, TotalLevel):
        return f"the number of records {scale}"
    if isinstance(level, CumulativeLevel):
        blocks = f"cumulative counts added up in blocks of {level.spacing:,}"
        return f"{'the cumulative counts' if level.spacing == 1 else blocks} {scale}"
    return f"single counts {scale}" if level.spacing == 1 else f"overlapping bins {level.spacing:,} apart {scale}"


def level_to_document(level: Level) -> dict[str, Any]:
    """Write kind, spacing and scale."""
    if isinstance(level, TotalLevel):
        return {"total": True, "scale": str(level.scale)}
    return {"cumulative": isinstance(level, CumulativeLevel), "spacing": level.spacing, "scale": str(level.scale)}


def level_from_document(written: dict[str, Any]) -> Level:
    """Read kind, spacing and scale."""
    if "total" in written:
        return TotalLevel(1, exact(written["scale"], "a noise scale", error=SpecError))
    kind = CumulativeLevel if written["cumulative"] else DifferenceLevel
    spacing = written["spacing"]
    if type(spacing) is not int or spacing < 1 or type(written["cumulative"]) is not bool:
        raise SpecError("the document is damaged: a spacing is not a positive whole number.")
    return kind(spacing, exact(written["scale"], "a noise scale", error=SpecError))
