"""Levels in words and in documents, and which of them allow an estimate."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms.ordered.levels import CumulativeLevel, DifferenceLevel, Level, TotalLevel
from blowfish_privacy.mechanisms.ordered.segment import Segment
from blowfish_privacy.mechanisms.row_noise import RowNoise
from blowfish_privacy.policies import Policy
from blowfish_privacy.support.exact import exact

MOST_OVERLAP = 16
"""Hats that overlap more often than this would cost time and tell nothing more."""


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
    distinct = {(type(level), level.spacing, level.unit) for level in levels}
    return levels[0].unit == 1 and differences and len(distinct) == len(levels)


def level_words(level: Level) -> str:
    """Name the rows of a level and their noise."""
    scale = f"({level.noise.words(level.scale, level.unit)})"
    if isinstance(level, TotalLevel):
        return f"the number of records {scale}"
    if isinstance(level, CumulativeLevel):
        blocks = f"cumulative counts added up in blocks of {level.spacing:,}"
        return f"{'the cumulative counts' if level.spacing == 1 else blocks} {scale}"
    if level.unit == 1:
        return f"single counts {scale}"
    reach = f" that reach {level.unit:,}" if level.unit > level.spacing else ""
    return f"overlapping bins {level.spacing:,} apart{reach} {scale}"


def level_to_document(level: Level) -> dict[str, Any]:
    """Write kind, spacing and scale, and how far bins overlap where it is further than to the next."""
    scale = {level.noise.key: str(level.scale)}
    if isinstance(level, TotalLevel):
        return {"total": True, **scale}
    overlap = {"overlap": level.overlap} if isinstance(level, DifferenceLevel) and level.overlap > 1 else {}
    return {"cumulative": isinstance(level, CumulativeLevel), "spacing": level.spacing, **overlap, **scale}


def level_from_document(written: dict[str, Any], noise: RowNoise) -> Level:
    """Read kind, spacing, overlap and scale."""
    scale = exact(written[noise.key], f"a noise {noise.key}", error=SpecError)
    if "total" in written:
        return TotalLevel(1, scale, noise)
    spacing, overlap, cumulative = written["spacing"], written.get("overlap", 1), written["cumulative"]
    if type(cumulative) is not bool or not all(type(each) is int and each >= 1 for each in (spacing, overlap)):
        raise SpecError("the document is damaged: a spacing is not a positive whole number.")
    if overlap > MOST_OVERLAP:
        raise SpecError("the document is damaged: its bins overlap more often than any release's do.")
    return CumulativeLevel(spacing, scale, noise) if cumulative else DifferenceLevel(spacing, scale, noise, overlap)


def levels_of_hats(written: list[dict[str, Any]], noise: RowNoise) -> tuple[DifferenceLevel, ...]:
    """Read levels of which the first is single values and the others are different bins."""
    levels = [level_from_document(each, noise) for each in written]
    hats = tuple(level for level in levels if isinstance(level, DifferenceLevel))
    if len({(level.spacing, level.unit) for level in hats}) != len(levels) or not hats or hats[0].unit != 1:
        raise SpecError("the document is damaged: its levels do not allow an estimate.")
    return hats
