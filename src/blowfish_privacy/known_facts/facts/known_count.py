"""The number of records that satisfy a condition, assumed to be known to everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Annotated, Any

from blowfish_privacy.domain import (
    CHOICE_FORM,
    Box,
    Domain,
    Subset,
    choice_from_file,
    choice_to_file,
    quoted,
    read_box,
    worded,
)
from blowfish_privacy.errors import PolicyError, brief
from blowfish_privacy.known_facts.facts.fact import COUNT_FORM, Fact
from blowfish_privacy.support.file_forms import Form, Several, Wanted
from blowfish_privacy.support.limits import RECORDS


@dataclass(frozen=True)
class CountedBox:
    """The number of records inside a box; None if everybody knows it but the policy does not state it."""

    box: Box
    count: int | None


class KnownCount(Fact):
    """The number of records that satisfy a condition: ``KnownCount(where={"age": (17, 25), "sex": "F"}, count=1234)``.

    A pair is an inclusive range, a list a set of values. The count may be omitted: the noise depends mainly on
    *what* is known.
    """

    keyword = "count"
    file_form = Form(
        {"count": Several(dict, CHOICE_FORM, "attributes", "count: {age: [17, 25], sex: Female}", least=1)},
        {"equals": Annotated[COUNT_FORM | None, Wanted("a whole number from 0 to 2^53")]},
        example="{count: {age: [17, 25]}, equals: 1234}",
    )

    def __init__(self, where: Mapping[str, Any], count: int | None = None) -> None:
        if not isinstance(where, Mapping) or not where:
            raise PolicyError(f"a known count needs a condition, got {brief(where)}.", hint="where={'age': (17, 25)}.")
        self.where: dict[str, Any] = deepcopy(dict(where))
        self.count: int | None = None if count is None else checked_count(count)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownCount) and (self.where, self.count) == (other.where, other.count)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"KnownCount(where={self.where!r}, count={self.count})"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the condition names."""
        return tuple(self.where)

    def box(self, domain: Domain) -> dict[str, Subset]:
        """Return the condition as positions; attributes of which every value is selected are dropped."""
        for name in self.where:
            if name not in domain and domain.resolves(name):
                raise PolicyError(
                    f"a known count names a level: {name}.", hint="list the values of the attribute that lie below it."
                )
        return read_box(domain, self.where, what="a known count", error=PolicyError)

    def counted(self, domain: Domain) -> Iterator[CountedBox]:
        """Yield the single box and its count."""
        yield CountedBox(self.box(domain), self.count)

    def words(self, domain: Domain, *, whole: bool = False) -> str:
        """Put the fact into words; long lists of values are cut short unless the ``whole`` is asked for."""
        said = [f"{quoted(name)} {_show_choice(domain, name, self.where[name], whole=whole)}" for name in self.where]
        stated = "" if self.count is None else f" ({self.count:,})"
        return f"how many records have {' and '.join(said)}{stated}"

    def canonical(self, domain: Domain) -> Any:
        """Return the selected positions and the count as plain JSON values."""
        box = self.box(domain)
        return {
            "count": {name: _choice(domain, name, box[name]) for name in sorted(box)},
            "equals": self.count,
        }

    def to_file(self, domain: Domain) -> dict[str, Any]:
        """Write ``{count: {..}, equals: c}``."""
        written: dict[str, Any] = {"count": {name: choice_to_file(chosen) for name, chosen in self.where.items()}}
        return written if self.count is None else {**written, "equals": self.count}

    @classmethod
    def from_file(cls, body: Mapping[str, Any], domain: Domain) -> KnownCount:
        """Read ``{count: {..}, equals: c}``."""
        where = {n: choice_from_file(domain[n], v) if n in domain else v for n, v in body["count"].items()}
        return cls(where, body.get("equals"))


def checked_count(value: Any) -> int:
    """Return a stated count as an int, or refuse it."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= int(value) <= RECORDS:
        raise PolicyError(f"a known count must be a whole number from 0 to 2^53, got {brief(value)}.")
    return int(value)


def _choice(domain: Domain, name: str, subset: Subset) -> Any:
    attribute = domain[name]
    return [list(run) for run in subset.runs] if attribute.ordered else sorted(repr(attribute.value(p)) for p in subset)


def _show_choice(domain: Domain, name: str, chosen: Any, *, whole: bool) -> str:
    if isinstance(chosen, tuple):
        return f"from {chosen[0]} to {chosen[1]}"
    if isinstance(chosen, list | set | frozenset | range):
        if whole and domain[name].ordered:
            runs = domain[name].subset(chosen).runs
            ends = [(domain[name].show(start), domain[name].show(stop - 1)) for start, stop in runs]
            return " or ".join(low if low == high else f"from {low} to {high}" for low, high in ends)
        if whole:
            return " or ".join(map(domain[name].say, domain[name].subset(chosen)))
        shown = [domain[name].say(position) for position in islice(domain[name].subset(chosen), 7)]
        return " or ".join(shown[:6]) + (" or .." if len(shown) > 6 else "")
    return str(chosen) if domain[name].ordered else worded(str(chosen))
