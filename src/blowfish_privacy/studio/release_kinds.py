"""What can be released, in the words of the page, and the entries of a file that stand for it.

An entry is the mapping under ``releases`` in a policy file, in plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.queries.query import check_asked, read_asked, split
from blowfish_privacy.studio.amounts import Amount, in_file

Takes: TypeAlias = Literal["one", "several", "two", "tables", "ways"]
Entry: TypeAlias = dict[str, Any]

AMOUNTS = ("epsilon", "rho", "error")
_KEPT = ("name", *AMOUNTS, "delta", "noise", "where", "by")
"""What a release keeps when something else is asked for."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of release that a form can ask for."""

    keyword: str
    title: str
    says: str
    takes: Takes
    also: Mapping[str, Any]
    """Further keys with what they begin with."""
    of_parts: bool = True
    """Whether it may be asked of some records, and for groups of them."""
    least: int = 1
    """How many attributes it needs."""


KINDS = (
    Kind("histogram", "Table of counts", "How many records have each combination of values.", "several", {}),
    Kind("cumulative", "Distribution", "How many records are at or below each value: every range and quantile.",
         "one", {}),
    Kind("mean", "Mean", "The average of whole numbers, for everybody or for each group.", "one", {}),
    Kind("sum", "Sum", "The total of whole numbers.", "one", {}),
    Kind("quantiles", "Quantiles", "The values below which given shares of the records lie.",
         "one", {"at": [Decimal("0.25"), Decimal("0.5"), Decimal("0.75")]}),
    Kind("median", "Median", "The value in the middle.", "one", {}),
    Kind("tables", "Several tables", "Tables of counts that agree with each other, from one release.", "tables", {}),
    Kind("tables", "All small tables", "Every table of so many of the attributes; they agree with each other.",
         "ways", {}, least=2),
    Kind("range_grid", "Map", "A grid of two ordered attributes: how many records are in any rectangle.", "two", {},
         least=2),
    Kind("kmeans", "Clusters", "The centres of groups of records that lie close together.",
         "several", {"k": 4}, of_parts=False),
    Kind("synthetic", "Synthetic records", "Made-up records whose tables are close to those of the data.",
         "several", {}, of_parts=False, least=2),
)  # fmt: skip
BY_TITLE = {kind.title: kind for kind in KINDS}


def kind_of(entry: Mapping[str, Any]) -> Kind | None:
    """Return the kind of an entry; None for one that only the file can change."""
    found = next((kind for kind in KINDS if kind.keyword in entry and _simple(entry, kind)), None)
    known = {*_KEPT, "mechanism"} | ({found.keyword, *found.also} if found else set())
    return found if found is not None and {*entry} <= known else None


def _simple(entry: Mapping[str, Any], kind: Kind) -> bool:
    """Say whether what is asked is written as a form writes it: tables as lists of names, not as a rule."""
    asked = entry[kind.keyword]
    if kind.takes == "ways":
        return (
            isinstance(asked, dict)
            and {*asked} == {"ways", "of"}
            and all(isinstance(name, str) for name in asked["of"])
        )
    if kind.takes == "tables":
        return isinstance(asked, list) and all(
            isinstance(table, list) and all(isinstance(name, str) for name in table) for table in asked
        )
    return True


def names_of(entry: Mapping[str, Any], kind: Kind) -> list[str]:
    """List the attributes that an entry asks about."""
    asked = entry.get(kind.keyword, [])
    if isinstance(asked, dict):
        asked = asked.get("of", [])
    listed = asked if isinstance(asked, list) else [asked]
    return [name for each in listed for name in (each if isinstance(each, list) else [each])]


@lru_cache(maxsize=64)
def possible(kind: Kind, domain: Domain) -> tuple[str, ...]:
    """List the attributes that a kind of release can be asked about."""
    return tuple(name for name in domain if _possible(kind, name, domain))


def _possible(kind: Kind, name: str, domain: Domain) -> bool:
    # A map and clusters ask the same of each attribute as a distribution does: an order. Synthetic records ask nothing.
    alike = {"range_grid": "cumulative", "kmeans": "cumulative", "synthetic": "histogram"}
    keyword = alike.get(kind.keyword, kind.keyword)
    asked: Any = name if kind.takes in ("one", "two") or keyword == "cumulative" else [name]
    also = kind.also if keyword == kind.keyword else {}
    try:
        query = read_asked({keyword: [[name]] if keyword == "tables" else asked, **also}, domain)
        check_asked(*split(query), domain)
    except BlowfishError:
        return False
    return True


def asked_for(kind: Kind, names: Sequence[str]) -> Any:
    """Write what is asked about some attributes, as a file does."""
    if kind.takes == "one":
        return names[0] if names else ""
    if kind.takes == "ways":
        return {"ways": min(2, len(names)), "of": list(names)}
    return [list(names)] if kind.takes == "tables" else list(names)


def available(domain: Domain) -> list[Kind]:
    """List the kinds that the attributes of a domain allow."""
    return [kind for kind in KINDS if len(possible(kind, domain)) >= kind.least]


def begun(kind: Kind, domain: Domain) -> Entry:
    """Begin a release with the first attributes that suit it."""
    fitting = possible(kind, domain)
    many = {"two": 2, "several": 2 if kind.keyword == "kmeans" else 1, "one": 1, "tables": 2, "ways": 4}[kind.takes]
    if kind.keyword == "synthetic":
        many = len(fitting)
    return {kind.keyword: asked_for(kind, fitting[:many]), **kind.also}


def changed_kind(entry: Entry, kind: Kind, domain: Domain) -> Entry:
    """Ask for another kind, about the same attributes where that is possible."""
    old, fitting = kind_of(entry), possible(kind, domain)
    names = [name for name in (names_of(entry, old) if old else []) if name in fitting]
    asked = begun(kind, domain)
    if len({*names}) >= kind.least and kind.takes != "two":
        asked[kind.keyword] = asked_for(kind, [*dict.fromkeys(names)])
    kept = {key: value for key, value in entry.items() if key in _KEPT}
    if not kind.of_parts:
        kept = {key: value for key, value in kept.items() if key not in ("where", "by")}
    looked_at = {*names_of(asked, kind)}
    if "by" in kept:
        groups = [name for name in groups_of(kept) if name not in looked_at]
        kept = {key: value for key, value in kept.items() if key != "by"} | ({"by": groups} if groups else {})
    return {"name": kept.pop("name", "release"), **asked, **kept}


def groups_of(entry: Mapping[str, Any]) -> list[str]:
    """List the attributes whose values an entry is asked for each of."""
    by = entry.get("by", [])
    return list(by) if isinstance(by, list) else [by]


def with_key(entry: Entry, key: str, value: Any) -> Entry:
    """Set a key of an entry, or take it out where there is no value; keys keep their places."""
    if value in (None, "", [], {}):
        return {each: old for each, old in entry.items() if each != key}
    return {**entry, key: value}


def with_amount(entry: Entry, key: str, amount: Amount) -> Entry:
    """State what may be spent, or the error to solve for, in the place of what was stated before."""
    value = in_file(amount)
    stated = {key if each in AMOUNTS else each: value if each in AMOUNTS else old for each, old in entry.items()}
    if key not in stated:
        stated[key] = value
    if key == "rho":
        stated.pop("delta", None)
    return stated


def amount_of(entry: Mapping[str, Any]) -> tuple[str, Any]:
    """Return which amount an entry states, and how much."""
    return next(((key, entry[key]) for key in AMOUNTS if key in entry), ("epsilon", None))


def new_name(wanted: str, taken: Iterable[str]) -> str:
    """Choose a name that no release has, in lower case letters too."""
    folded = {name.casefold() for name in taken}
    names = (wanted if number == 1 else f"{wanted} {number}" for number in range(1, len(folded) + 2))
    return next(name for name in names if name.casefold() not in folded)
