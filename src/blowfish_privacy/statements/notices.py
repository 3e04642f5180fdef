"""What release documents say must not be overlooked, each where a reader looks for it.

Documents keep the notices of the plan that they were made from; a reader is told of what is published.
"""

from __future__ import annotations

from collections.abc import Sequence

from blowfish_privacy.release.document import NO_NOISE
from blowfish_privacy.release.reading import Release, notices_of

_NOT_HIDDEN = (NO_NOISE, "NOT PRIVATE")
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


def not_hidden(releases: Sequence[Release]) -> Sequence[str]:
    """Return what documents say of numbers that no noise hides."""
    return [notice for notice in to_readers(releases) if notice.startswith(_NOT_HIDDEN)]


def on_exactness(releases: Sequence[Release]) -> Sequence[str]:
    """Return what else documents say, which is about how exact their numbers are."""
    return [notice for notice in to_readers(releases) if not notice.startswith(_NOT_HIDDEN)]


def to_readers(releases: Sequence[Release]) -> Sequence[str]:
    """Return all that documents say must not be overlooked, of the release or of its groups."""
    return [to_a_reader(notice) for notice in notices_of(releases)]
