"""What release documents say must not be overlooked, each where a reader looks for it.

Documents keep the notices of the plan that they were made from; a reader is told of what is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blowfish_privacy.release.reading import Release

_NOT_HIDDEN = ("NO NOISE", "NOT PRIVATE")
_TO_A_READER = {
    "so it will be published exactly.": "so it is published exactly.",
    " If that is not what you want, change the policy.": "",
    "there will be nothing but noise.": "there is nothing but noise.",
}


def to_a_reader(notice: str) -> str:
    """Say of what is published what its notice said of a plan."""
    for planned, published in _TO_A_READER.items():
        notice = notice.replace(planned, published)
    return notice


def not_hidden(releases: Iterable[Release]) -> Sequence[str]:
    """Return what documents say of numbers that no noise hides."""
    return [notice for notice in _all(releases) if notice.startswith(_NOT_HIDDEN)]


def on_exactness(releases: Iterable[Release]) -> Sequence[str]:
    """Return what else documents say, which is about how exact their numbers are."""
    return [notice for notice in _all(releases) if not notice.startswith(_NOT_HIDDEN)]


def _all(releases: Iterable[Release]) -> Sequence[str]:
    return sorted({to_a_reader(str(notice)) for release in releases for notice in release.body["notices"]})
