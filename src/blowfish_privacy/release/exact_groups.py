"""What must not be overlooked in a release of groups: some may be published exactly, while noise protects others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from blowfish_privacy.domain import quoted, worded

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan
    from blowfish_privacy.release.reading import Release

NO_NOISE = "NO NOISE"
_LISTED = 10


def planned_exactly(plan: Plan) -> list[str]:
    """Say which groups of a plan will be published exactly, where others will not."""
    if not plan.parts or not plan.amount:
        return []
    by = plan.policy.domain.project(plan.selection.by)
    said = _of_groups((by.say(cell), part.notices) for cell, part in plan.parts.items())
    return [notice for notice in said if notice.startswith(NO_NOISE)]


def notices_of(releases: Sequence[Release]) -> list[str]:
    """Return what documents say must not be overlooked, of the release or of its groups."""
    return sorted({*_of_groups((_group(each.group), map(str, each.body["notices"])) for each in releases)})


def _group(values: Mapping[str, object]) -> str:
    return " and ".join(f"{quoted(name)} {worded(str(value))}" for name, value in values.items())


def _of_groups(said: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Say of some groups only that they have no noise; what else is said is said of the release."""
    every, by_notice = 0, dict[str, list[str]]()
    for group, notices in said:
        every += 1
        for notice in notices:
            by_notice.setdefault(notice, []).append(group)
    return [
        _named(notice, groups) if notice.startswith(NO_NOISE) and len(groups) < every else notice
        for notice, groups in by_notice.items()
    ]


def _named(notice: str, groups: Sequence[str]) -> str:
    more = len(groups) - _LISTED
    listed = "; ".join(groups[:_LISTED]) + (f"; and {more:,} more groups" if more > 0 else "")
    return f"{NO_NOISE} for {listed}{notice.removeprefix(NO_NOISE)}"
