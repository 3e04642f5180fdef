"""Public attributes: nothing is secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs.explicit_edges import ExplicitEdges
from blowfish_privacy.graphs.graph import SecretGraph, Secrets
from blowfish_privacy.support.file_forms import Bare


@dataclass(frozen=True)
class Public(Secrets):
    """No pair is secret; inside :class:`PerAttribute`, an attribute that everybody may know."""

    keyword = "public"
    file_form = Bare("public")

    def on(self, domain: Domain) -> SecretGraph:
        """Bind to a domain, as the graph without edges."""
        return ExplicitEdges(domain, frozenset())

    def to_file(self) -> str:
        """Write ``public``."""
        return "public"

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> Public:
        """Read ``public``."""
        return cls()
