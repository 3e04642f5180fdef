"""No value of a person is secret: nothing is, or only whether they are in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blowfish_privacy.domain import Domain
from blowfish_privacy.graphs.explicit import ExplicitEdges
from blowfish_privacy.graphs.graph import SecretGraph, Secrets
from blowfish_privacy.support.file_forms import Bare


@dataclass(frozen=True)
class Public(Secrets):
    """No pair is secret; inside :class:`PerAttribute`, an attribute that everybody may know."""

    keyword = "public"
    file_form = Bare("public")

    def on(self, domain: Domain) -> SecretGraph:
        return ExplicitEdges(domain, frozenset())

    def to_file(self) -> str:
        return "public"

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> Public:
        return cls()


@dataclass(frozen=True)
class AddRemove(Secrets):
    """Whether a person is in the table is secret: add-or-remove differential privacy, the usual definition.

    The same as :class:`Public` with ``size="unknown"``, which it implies. Between any two values of a person lie two
    steps: one record is removed, another added.
    """

    keyword = "add_remove"
    file_form = Bare("add_remove")
    size = "unknown"

    def on(self, domain: Domain) -> SecretGraph:
        return Public().on(domain)

    def to_file(self) -> str:
        return "add_remove"

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> AddRemove:
        return cls()
