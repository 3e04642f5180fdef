"""A policy per person: a public column chooses the secrets of each record [he2014, section 3.1, at its end]."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from blowfish_privacy.domain import Attribute, Domain, Subset
from blowfish_privacy.errors import BlowfishError, PolicyError, SpecError, brief, brief_name, nearest
from blowfish_privacy.graphs.by_value_graph import by_value
from blowfish_privacy.graphs.graph import SECRETS_FORM, SecretGraph, Secrets
from blowfish_privacy.support.file_forms import Form, Wanted

_EXAMPLE = "{by: consent, strict: full, open: public}"


class ByValue(Secrets):
    """Each value of a column has its own secrets: ``ByValue("consent", {"strict": FullDomain(), "open": Public()})``.

    Every value of the column must be named, and its secrets are those of the other attributes. No secret pair changes
    the column itself: who has which value of it may be shown exactly. So it must be declared before the data are seen,
    and must not depend on what is secret.
    """

    keyword = "by"
    file_form = Form(
        {"by": Annotated[str, Wanted("the name of an attribute", f"write {_EXAMPLE}.")]},
        example=_EXAMPLE,
        others=SECRETS_FORM,
        schema={"minProperties": 2},
    )

    def __init__(self, column: str, secrets: Mapping[Any, Secrets]) -> None:
        if not isinstance(column, str):
            raise PolicyError(f"the column that chooses the secrets is named by text, got {brief_name(column)}.")
        if not isinstance(secrets, Mapping) or not secrets:
            raise PolicyError(
                f"secrets must map the values of {column} to graphs, got {brief(secrets)}.",
                hint='ByValue("consent", {"strict": FullDomain(), "open": Public()}).',
            )
        self.column = column
        self.secrets: Mapping[Any, Secrets] = MappingProxyType(dict(secrets))
        for value, choice in self.secrets.items():
            if not isinstance(choice, Secrets):
                raise PolicyError(f"the secrets of each value of {column} must be a graph, got {brief(choice)}.")
            if choice.size is not None:
                raise PolicyError(
                    f"the secrets of {column} {brief(value)} cannot be {choice.keyword}: that is about whole tables.",
                    hint="use it alone, or size: unknown beside other secrets.",
                )
            if _written(value) == "by":
                raise PolicyError(
                    f'{column} has a value called "by", which a policy file takes for the column\'s name.',
                    hint="give the value another name.",
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return ByValue, (self.column, dict(self.secrets))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByValue) and (self.column, self.secrets) == (other.column, other.secrets)

    def __hash__(self) -> int:
        return hash((self.column, frozenset(self.secrets.items())))

    def __repr__(self) -> str:
        shown = ", ".join(f"{value!r}: {brief(choice)}" for value, choice in self.secrets.items())
        return f"ByValue({self.column!r}, {{{shown}}})"

    def on(self, domain: Domain) -> SecretGraph:
        """Bind the secrets of each value to the other attributes."""
        others, chosen = _others(self.column, domain), self._by_position(domain)
        bound: dict[int, SecretGraph] = {}
        for position, choice in sorted(chosen.items()):
            try:
                bound[id(choice)] = bound.get(id(choice)) or choice.on(others)
            except BlowfishError as error:
                raise error.within(f"{self.column} {domain[self.column].show(position)}") from None
        return by_value(domain, self.column, [bound[id(chosen[position])] for position in range(len(chosen))])

    def within(self, domain: Domain, box: Mapping[str, Subset]) -> Secrets:
        """Let the values outside the box have the secrets of one inside; all others choose their own as before."""
        others, chosen, attribute = _others(self.column, domain), self._by_position(domain), domain[self.column]
        rest = {name: subset for name, subset in box.items() if name != self.column}
        kept = box.get(self.column, Subset.span(0, attribute.size))
        asked = {position: position if position in kept else kept.first for position in chosen}
        return ByValue(
            self.column, {attribute.value(at): chosen[own].within(others, rest) for at, own in asked.items()}
        )

    def _by_position(self, domain: Domain) -> dict[int, Secrets]:
        attribute = domain[self.column]
        chosen: dict[int, Secrets] = {}
        for value, choice in self.secrets.items():
            position = domain.position(self.column, value)
            if position in chosen:
                raise PolicyError(f"{self.column} {attribute.show(position)} has secrets twice.")
            chosen[position] = choice
        if len(chosen) < attribute.size:
            lacking = next(position for position in range(attribute.size) if position not in chosen)
            raise _lacking(PolicyError, self.column, attribute.show(lacking))
        return chosen

    def to_file(self) -> dict[str, Any]:
        """Write ``{by: column, value: .., ..}``."""
        return {"by": self.column, **{_written(value): choice.to_file() for value, choice in self.secrets.items()}}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> ByValue:
        """Read ``{by: column, value: .., ..}``."""
        column = body["by"]
        if column not in domain:
            raise SpecError(f"unknown attribute {brief(column)}.", hint=nearest(column, domain))
        others, values = _others(column, domain), _values(domain[column], len(body))
        if domain[column].size >= len(body):
            raise _lacking(SpecError, column, next(value for value in values if value not in body))
        read: dict[str, Secrets] = {}
        chosen: dict[Any, Secrets] = {}
        for written, choice in body.items():
            if written != "by":
                try:
                    read.setdefault(same := json.dumps(choice, default=str), Secrets.read(choice, others))
                except BlowfishError as error:
                    raise error.within(f"{column} {written}") from None
                chosen[values.get(written, written)] = read[same]
        return cls(column, chosen)


def _others(column: str, domain: Domain) -> Domain:
    if column not in domain:
        raise PolicyError(f"secrets are chosen by an unknown attribute {brief(column)}.", hint=nearest(column, domain))
    others = [name for name in domain if name != column]
    if not others:
        raise PolicyError(f"there is no attribute besides {column} to keep secret.")
    return domain.project(others)


def _lacking(kind: type[BlowfishError], column: str, value: str) -> BlowfishError:
    return kind(
        f"the secrets have no entry for {column} {brief(value)}.",
        hint="name every value of the column; people without secrets are Public() ('public' in a file).",
    )


def _written(value: object) -> str:
    """Write a value as a key, which in JSON is text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(attribute: Attribute, most: int) -> dict[str, Any]:
    """Return as many values of an attribute as are needed, by the text that a key is."""
    values = (attribute.value(position) for position in range(min(attribute.size, most)))
    return {_written(value): value for value in values}
