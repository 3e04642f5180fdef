"""Releases for each value of public attributes, at the cost of the costliest group."""

from __future__ import annotations

from typing import Any, Protocol

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Asked, Selected
from blowfish_privacy.queries.query import checked_groups, split


class Releasing(Protocol):
    """A session, as far as it matters here."""

    policy: Policy

    def release(self, query: Selected, **options: Any) -> Any:
        """Release a query of groups."""
        ...


class Parallel:
    """Releases for groups of records that no secret pair meets two of: ``session.release(query.by(..))``, checked."""

    def __init__(self, session: Releasing, attributes: tuple[str, ...]) -> None:
        self._session, self._by = session, checked_groups(attributes)
        for name in self._by:
            _ = session.policy.domain[name]
            if session.policy.graph.changes(name):
                raise RefusalError(
                    f"releases for each value of {name} cannot be charged their maximum: {name} is secret, so a "
                    "person may move between groups.",
                    hint="release the query by(..) it: the noise then covers both groups.",
                )

    def release(self, query: Asked, **options: Any) -> Any:
        """Release a query for each group; options are those of :meth:`Session.release`."""
        plain, selection = split(query)
        return self._session.release(Selected(plain, selection).by(*self._by), **options)
