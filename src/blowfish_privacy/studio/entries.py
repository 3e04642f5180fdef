"""What a form reads and writes: amounts on a slider, values of an attribute, and the releases of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from math import log
from typing import Any, Literal, TypeAlias

from blowfish_privacy.domain import Attribute, Date, Domain, Hierarchy
from blowfish_privacy.domain import Decimal as DecimalAttribute
from blowfish_privacy.errors import BlowfishError, QueryError
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import check_asked, read_asked, split
from blowfish_privacy.statements.plan import TITLES
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.exact import show, stated_amount

# Amounts on a slider: round decimals at even distances of a logarithmic scale, written exactly into the file.

Amount: TypeAlias = Decimal | Fraction
"""What a person stated: a decimal, or a fraction that no decimal is equal to."""

_STEPS = tuple(map(Decimal, ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")))
_RANGES = {"epsilon": (-3, 1), "rho": (-5, 1), "error": (-1, 6)}
"""Powers of ten between which a slider moves."""
_LEAST = Fraction(1, 10**300)


def amounts(key: str) -> list[Decimal]:
    """List the amounts that a slider stops at, from small to large."""
    least, most = _RANGES[key]
    found = [step.scaleb(power) for power in range(least, most) for step in _STEPS]
    # Written out and read again, so that a file has 10 and not 1E+1.
    return [Decimal(written(stop)) for stop in (*found, Decimal(1).scaleb(most))]


def nearest(amount: Fraction, stops: Sequence[Amount]) -> int:
    """Return the number of the stop that is nearest to an amount, by their ratio."""
    wanted = log(min(max(amount, _LEAST), 1 / _LEAST))
    return min(range(len(stops)), key=lambda number: abs(log(float(stops[number])) - wanted))


def written(amount: Amount) -> str:
    """Write an amount as a person would: without powers of ten and closing zeros."""
    if isinstance(amount, Fraction):
        return show(amount)
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_file(amount: Amount) -> int | Decimal | str:
    """Return what stands in a file for an amount: a number, or the text of a fraction that no decimal is equal to."""
    return amount if isinstance(amount, Decimal) else read_value(show(amount))


def read_amount(text: object) -> Amount | None:
    """Read an amount that a person typed; None if a file would not take it."""
    if why_not(text, "it") is not None:
        return None
    try:
        return Decimal(_plain(text))
    except InvalidOperation:
        return Fraction(_plain(text))


def why_not(text: object, what: str) -> str | None:
    """Say why what a person typed is no amount; None if it is one."""
    if not _plain(text):
        return f"{what} is missing: write a number above 0, like 0.5 or 1/3."
    try:
        stated_amount(_plain(text), what, error=QueryError)
    except QueryError as error:
        return f"{error.message} Write it like 0.5 or 1/3."
    return None


def _plain(text: object) -> str:
    return "" if text is None else str(text).strip().replace(",", ".")


def rounded_to_stop(amount: Fraction, key: str) -> Decimal:
    """Return the nearest amount that a slider stops at."""
    stops = amounts(key)
    return stops[nearest(amount, stops)]


# Values of an attribute as people write and choose them.

MOST_LISTED = 200
"""Values beyond which they are written, not chosen from a list."""


def position_of(attribute: Attribute, text: str) -> int | None:
    """Find the value that somebody wrote; None if there is none."""
    text = text.strip()
    if attribute.size <= 100_000 and text in (texts := attribute.texts()):
        return texts.index(text)
    for read in (int, float, str):
        try:
            return attribute.position(read(text))
        except (ValueError, OverflowError, BlowfishError):
            continue
    return None


def declared(attribute: Attribute) -> str:
    """Say in a few words what the values are."""
    many = f"{attribute.size:,} value{'s' * (attribute.size != 1)}"
    first, last = attribute.show(0), attribute.show(attribute.size - 1)
    if attribute.keyword == "integer":
        return f"whole numbers from {first} to {last}"
    if isinstance(attribute, DecimalAttribute):
        return f"numbers from {first} to {last} in steps of {show(attribute.spacing)}"
    if isinstance(attribute, Date):
        return f"{attribute.distance(Fraction(attribute.size))} from {attribute.start} to {attribute.end}"
    if attribute.ordered:
        return f"{attribute.size:,} bins from {first} to {last}"
    if isinstance(attribute, Hierarchy):
        return f"{many} in {len(attribute.level_sizes)} levels"
    return f"{attribute.size:,} categories"


# Choices of values, as a person types them and as a file writes them: ``25 to 54``, ``North, South``, ``Female``.

_TO = " to "


def condition_text(chosen: Any, attribute: Attribute | None) -> str:
    """Write a choice of values for a field of a form."""
    if isinstance(chosen, Mapping):
        return _TO.join(map(_text, chosen["range"])) if "range" in chosen else list_text(chosen["values"])
    if not isinstance(chosen, list):
        return _text(chosen)
    plain = not any(isinstance(part, list) for part in chosen)
    is_range = len(chosen) == 2 and plain and attribute is not None and attribute.ordered
    return _TO.join(map(_text, chosen)) if is_range else list_text(chosen)


def read_condition(text: str, attribute: Attribute) -> Any:
    """Read a choice of values as a file writes it: one, a range of an ordered attribute, or several."""
    whole = text.strip()
    if not attribute.ordered and whole in _spelt(attribute):
        # A value may hold a comma itself.
        return _spelt(attribute)[whole]

    def read(part: str) -> Any:
        if not attribute.ordered:
            return _spelt(attribute).get(part.strip(), part.strip())
        ends = part.replace("..", _TO).split(_TO)
        return [read_value(end) for end in ends] if len(ends) == 2 else read_value(part)

    parts = [read(part) for part in whole.split(",") if part.strip()]
    if len(parts) == 1:
        return parts[0]
    two_values = len(parts) == 2 and attribute.ordered and not any(isinstance(part, list) for part in parts)
    return {"values": parts} if two_values else parts


def list_text(values: Sequence[Any]) -> str:
    """Write a list of values, some of which may be ranges, for a field of a form."""
    return ", ".join(_TO.join(map(_text, value)) if isinstance(value, list) else _text(value) for value in values)


def read_list(text: str) -> list[Any]:
    """Read a list of numbers or names, separated by commas."""
    return [read_value(part) for part in text.split(",") if part.strip()]


def tables_text(tables: Sequence[Sequence[str]]) -> str:
    """Write tables for a field of a form: one in each line."""
    return "\n".join(", ".join(names) for names in tables)


def read_tables(text: str) -> list[list[str]]:
    """Read tables: one in each line, its attributes separated by commas."""
    lines = ([name.strip() for name in line.split(",") if name.strip()] for line in text.splitlines())
    return [names for names in lines if names]


def _spelt(attribute: Attribute) -> dict[str, Any]:
    """Return the values of an attribute without an order, by their spelling."""
    return {attribute.show(position): attribute.value(position) for position in range(min(attribute.size, 10_000))}


def read_value(text: str) -> Any:
    """Read a number as a file does; anything else stays the text that it is, which a file may refuse."""
    text = text.strip()
    if not text.lstrip("+-")[:1].isdigit():
        return text
    try:
        value = yaml_text.parse(text)
    except BlowfishError:
        return text
    return text if isinstance(value, dict | list) else value


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return written(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


# What can be released, in the words of the page, and the entries of a file that stand for it.
#
# An entry is the mapping under ``releases`` in a policy file, in plain values.

Takes: TypeAlias = Literal["one", "several", "two", "tables", "ways"]
Entry: TypeAlias = dict[str, Any]

AMOUNTS = ("epsilon", "rho", "error")
NOISES = {"": "the more accurate", "laplace": "Laplace", "gaussian": "Gaussian"}
_KEPT = ("name", *AMOUNTS, "delta", "noise", "where", "by")
"""What a release keeps when something else is asked for."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of release that a form can ask for."""

    keyword: str
    says: str
    takes: Takes
    also: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further keys with what they begin with."""
    least: int = 1
    """How many attributes it needs."""

    @property
    def title(self) -> str:
        """What it is called."""
        return "All small tables" if self.takes == "ways" else TITLES[self.keyword]

    @property
    def of_parts(self) -> bool:
        """Whether it may be asked of some records, and for groups of them."""
        return Query.kinds[self.keyword].instead_of_parts is None


_QUARTERS = [Decimal("0.25"), Decimal("0.5"), Decimal("0.75")]
KINDS = (
    Kind("histogram", "How many records have each combination of values.", "several"),
    Kind("cumulative", "How many records are at or below each value: every range and quantile.", "one"),
    Kind("mean", "The average of numbers, for everybody or for each group.", "one"),
    Kind("sum", "The total of numbers.", "one"),
    Kind("quantiles", "The values below which given shares of the records lie.", "one", {"at": _QUARTERS}),
    Kind("median", "The value in the middle.", "one"),
    Kind("tables", "Tables of counts that agree with each other, from one release.", "tables"),
    Kind("tables", "Every table of so many of the attributes; they agree with each other.", "ways", least=2),
    Kind("range_grid", "A grid of two ordered attributes: how many records are in any rectangle.", "two", least=2),
    Kind("kmeans", "The centres of groups of records that lie close together.", "several", {"k": 4}),
    Kind("synthetic", "Made-up records whose tables are close to those of the data.", "several", least=2),
)
BY_TITLE = {kind.title: kind for kind in KINDS}
WRITTEN: Mapping[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "at": ("Shares", list_text, read_list),
    "k": ("Clusters", str, read_value),
}
"""Further keys that are written: what their field is called, and how it shows and reads them."""


def kind_of(entry: Mapping[str, Any]) -> Kind | None:
    """Return the kind of an entry; None for one that only the file can change."""
    found = next((kind for kind in KINDS if kind.keyword in entry and _simple(entry[kind.keyword], kind)), None)
    known = {*_KEPT, "mechanism"} | ({found.keyword, *found.also} if found else set())
    return found if found is not None and {*entry} <= known else None


def _simple(asked: Any, kind: Kind) -> bool:
    """Say whether what is asked is written as a form writes it: tables as lists of names, not as a rule."""

    def named(table: Any) -> bool:
        return all(isinstance(name, str) for name in table)

    if kind.takes == "ways":
        return isinstance(asked, dict) and {*asked} == {"ways", "of"} and named(asked["of"])
    if kind.takes == "tables":
        return isinstance(asked, list) and all(isinstance(table, list) and named(table) for table in asked)
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
    # A map and clusters ask the same of each attribute as a distribution does: an order. Synthetic records ask nothing.
    alike = {"range_grid": "cumulative", "kmeans": "cumulative", "synthetic": "histogram"}
    keyword = alike.get(kind.keyword, kind.keyword)
    also = kind.also if keyword == kind.keyword else {}

    def suits(name: str) -> bool:
        asked: Any = name if kind.takes in ("one", "two") or keyword == "cumulative" else [name]
        try:
            query = read_asked({keyword: [[name]] if keyword == "tables" else asked, **also}, domain)
            check_asked(*split(query), domain)
        except BlowfishError:
            return False
        return True

    return tuple(filter(suits, domain))


def asked_for(kind: Kind, names: Sequence[str]) -> Any:
    """Write what is asked about some attributes, as a file does."""
    if kind.takes == "one":
        return names[0] if names else ""
    if kind.takes == "ways":
        return {"ways": min(2, len(names)), "of": list(names)}
    return [list(names)] if kind.takes == "tables" else list(names)


def with_names(entry: Entry, kind: Kind, names: Sequence[str]) -> Entry:
    """Ask the same about other attributes; what is asked about is no group any more."""
    asked = asked_for(kind, names)
    if kind.takes == "ways":
        asked["ways"] = min(entry[kind.keyword]["ways"], len(names))
    groups = [name for name in groups_of(entry) if name not in names]
    return with_key(with_key(entry, kind.keyword, asked), "by", groups)


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
