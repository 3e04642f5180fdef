"""How a fact that everybody knows is spelt in a policy file.

A fact of one's own is a :class:`KnownCount` or a :class:`KnownMarginal` with a keyword and a form of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from annotated_types import Interval

from blowfish_privacy.domain import Domain
from blowfish_privacy.support.file_forms import OneOf, kind_of, register
from blowfish_privacy.support.limits import RECORDS

COUNT_FORM: TypeAlias = Annotated[int, Interval(ge=0, le=RECORDS)]


class Fact(ABC):
    """A part of a policy file about the number of records."""

    keyword: ClassVar[str]
    """How the fact is spelt: ``{marginal: [sex]}``."""
    file_form: ClassVar[Any]
    """The form of that spelling, further keys included; unless stated, anything may follow the keyword."""
    kinds: ClassVar[dict[str, type[Fact]]] = {}
    """Every kind of fact that is defined, by its keyword."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a kind of fact known by its keyword."""
        super().__init_subclass__(**options)
        register(Fact.kinds, cls)

    @abstractmethod
    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write the fact as it stands in a policy file for a domain."""

    @classmethod
    @abstractmethod
    def from_file(cls, body: Mapping[str, Any], domain: Domain) -> Fact:
        """Read what :meth:`to_file` writes."""

    @classmethod
    def read(cls, body: Mapping[str, Any], domain: Domain) -> Fact:
        """Read a fact of whatever kind a policy file names."""
        return kind_of(Fact.kinds, body).from_file(body, domain)


FACT_FORM = OneOf("KnownFact", Fact.kinds, "a known fact", "{marginal: [sex]}, or {count: {age: [17, 25]}}")
