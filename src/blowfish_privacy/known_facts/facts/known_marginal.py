"""The number of records for every combination of values of some attributes, assumed to be known to everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from math import prod
from typing import Annotated, Any, TypeAlias

from annotated_types import Len

from blowfish_privacy.domain import Domain, Subset, quoted
from blowfish_privacy.errors import DomainError, PolicyError, brief, brief_name, nearest
from blowfish_privacy.known_facts.facts.fact import COUNT_FORM, Fact
from blowfish_privacy.known_facts.facts.known_count import CountedBox, checked_count
from blowfish_privacy.support.file_forms import Form, Names, Published, Wanted
from blowfish_privacy.support.limits import MARGINAL_CELLS, RECORDS

_NESTED = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": RECORDS}, {"type": "array"}]}
_COUNTS: TypeAlias = Annotated[
    Annotated[list[COUNT_FORM | list[Any]], Len(1), Published({"type": "array", "items": _NESTED, "minItems": 1})]
    | Annotated[dict[Any, COUNT_FORM], Len(1)]
    | None,
    Wanted("whole numbers from 0 to 2^53, in the order declared or by value", "write counts: [16192, 32650]."),
]


class KnownMarginal(Fact):
    """The number of records for every combination of values of some attributes: ``KnownMarginal("sex", counts=..)``.

    ``counts`` is a mapping from value (or tuple of values) to count, or a list in the domain's order, nested for
    several attributes. It may be omitted.
    """

    keyword = "marginal"
    file_form = Form(
        {"marginal": Names},
        {"counts": _COUNTS},
        example="{marginal: [sex], counts: [16192, 32650]}",
    )

    def __init__(self, *attributes: str, counts: Any = None) -> None:
        if not attributes or not all(isinstance(name, str) for name in attributes):
            raise PolicyError(f"a known marginal needs the names of its attributes, got {brief(attributes)}.")
        if len(set(attributes)) < len(attributes):
            raise PolicyError(f"a known marginal names an attribute twice: {', '.join(attributes)}.")
        self.attributes: tuple[str, ...] = tuple(attributes)
        # A pandas Series, such as value_counts() gives, says which count is whose; an array is in the declared order.
        listed = counts.to_dict() if hasattr(counts, "to_dict") else counts
        self.given: Any = listed.tolist() if hasattr(listed, "tolist") else deepcopy(listed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownMarginal) and (self.attributes, self.given) == (
            other.attributes,
            other.given,
        )

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"KnownMarginal({', '.join(map(repr, self.attributes))}, counts={self.given!r})"

    def projected(self, domain: Domain) -> Domain:
        """Return the domain of the marginal's attributes."""
        for name in self.attributes:
            if name not in domain:
                raise PolicyError(
                    f"a known marginal names an unknown attribute {brief_name(name)}.", hint=nearest(name, domain)
                )
        marginal = domain.project(self.attributes)
        if marginal.size > MARGINAL_CELLS:
            names = ", ".join(self.attributes)
            raise PolicyError(
                f"the marginal of {names} has {marginal.size:,} cells; at most {MARGINAL_CELLS:,} are supported.",
                hint="declare coarser values, for example bins.",
            )
        return marginal

    def counts(self, domain: Domain) -> tuple[int, ...] | None:
        """Return the counts, one for each cell of the marginal in the domain's order; None if they are not stated."""
        marginal = self.projected(domain)
        if self.given is None:
            return None
        if isinstance(self.given, Mapping):
            return _from_mapping(marginal, self.given)
        flat = _flatten(self.given, marginal.shape)
        if flat is None:
            shape = " x ".join(map(str, marginal.shape))
            raise PolicyError(f"the counts of the marginal of {', '.join(self.attributes)} must be a list of {shape}.")
        return tuple(checked_count(count) for count in flat)

    def counted(self, domain: Domain) -> Iterator[CountedBox]:
        """Yield every cell as a box with its count."""
        marginal = self.projected(domain)
        counts = self.counts(domain)
        for number, cell in enumerate(marginal.cells()):
            positions = zip(marginal.names, cell, strict=True)
            box = {name: Subset.of([position]) for name, position in positions if marginal[name].size > 1}
            yield CountedBox(box, None if counts is None else counts[number])

    def words(self, domain: Domain, *, whole: bool = False) -> str:
        """Put the fact into words, with its counts if they are few; the ``whole`` of it says where the others are."""
        counts = self.counts(domain)
        marginal = self.projected(domain)
        stated = ""
        if counts is not None and len(counts) <= 6:
            cells = (f"{marginal.say(cell)}: {count:,}" for cell, count in zip(marginal.cells(), counts, strict=True))
            stated = f" ({', '.join(cells)})"
        elif counts is not None and whole:
            stated = f" ({len(counts):,} counts, in the document)"
        return f"how many records have each {' and '.join(map(quoted, self.attributes))}{stated}"

    def canonical(self, domain: Domain) -> Any:
        """Return the counts by value, so that the order of attributes and categories does not matter."""
        alphabetical = domain.project(sorted(self.attributes))
        counts = self.counts(domain)
        if counts is None:
            return {"marginal": list(alphabetical.names), "counts": None}
        marginal = self.projected(domain)
        by_cell = {
            tuple(repr(marginal.record(cell)[name]) for name in alphabetical.names): count
            for cell, count in zip(marginal.cells(), counts, strict=True)
        }
        return {
            "marginal": list(alphabetical.names),
            "counts": [[*cell, count] for cell, count in sorted(by_cell.items())],
        }

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{marginal: [..], counts: [..]}``, the counts in the domain's order."""
        counts = self.counts(domain)
        return {"marginal": list(self.attributes), **({} if counts is None else {"counts": list(counts)})}

    @classmethod
    def from_file(cls, body: Mapping[str, Any], domain: Domain) -> KnownMarginal:
        """Read ``{marginal: [..], counts: ..}``."""
        names = body["marginal"] if isinstance(body["marginal"], list) else [body["marginal"]]
        return cls(*names, counts=body.get("counts"))


def _from_mapping(marginal: Domain, given: Mapping[Any, Any]) -> tuple[int, ...]:
    counts: dict[int, int] = {}
    for key, count in given.items():
        values = key if isinstance(key, tuple) else (key,)
        if len(values) != len(marginal.names):
            raise PolicyError(f"{brief(key)} does not give a value for each of {', '.join(marginal.names)}.")
        try:
            cell = marginal.cell(dict(zip(marginal.names, values, strict=True)))
        except DomainError as error:
            raise PolicyError(f"known marginal: {error.message}", hint=error.hint) from None
        if marginal.flat(cell) in counts:
            raise PolicyError(f"the known marginal gives two counts for {marginal.show(cell)}.")
        counts[marginal.flat(cell)] = checked_count(count)
    if len(counts) < marginal.size:
        stray = next(number for number in range(marginal.size) if number not in counts)
        raise PolicyError(
            f"the known marginal gives no count for {marginal.show(marginal.unflat(stray))}.",
            hint="give every count, 0 included.",
        )
    return tuple(counts[number] for number in range(marginal.size))


def _flatten(counts: Any, shape: Sequence[int]) -> list[Any] | None:
    if not isinstance(counts, list | tuple):
        return None
    if len(shape) == 1 or (len(counts) == prod(shape) and not any(isinstance(c, list | tuple) for c in counts)):
        return list(counts) if len(counts) == prod(shape) else None
    parts = [_flatten(part, shape[1:]) for part in counts]
    if len(parts) != shape[0] or any(part is None for part in parts):
        return None
    return [count for part in parts if part is not None for count in part]
