"""Which records a release is about, and the groups it is made for.

Every query takes both: ``Mean("wage").where(sex="Female").by("region")``. What is asked is then the query of the
records that the condition selects, once for each group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from blowfish_privacy.domain import (
    CHOICE_FORM,
    Cell,
    Domain,
    Subset,
    choice_from_file,
    choice_to_file,
    left,
    quoted,
    read_box,
)
from blowfish_privacy.errors import QueryError, brief, brief_name
from blowfish_privacy.support.file_forms import Names, Several

if TYPE_CHECKING:
    from blowfish_privacy.queries.query import Query

SELECTION_FORM = {
    "where": Several(dict, CHOICE_FORM, "attributes", "where: {age: [17, 25], sex: Female}", least=1),
    "by": Names,
}
"""What every query may say beside what it asks."""


@dataclass(frozen=True)
class Selection:
    """A condition on the records, and attributes whose values make groups of them; both may be empty."""

    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    by: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it looks at."""
        return tuple(dict.fromkeys([*self.where, *self.by]))

    def __bool__(self) -> bool:
        return bool(self.where or self.by)

    def box(self, domain: Domain) -> dict[str, Subset]:
        """Return the condition as positions."""
        return read_box(domain, self.where, what="where", error=QueryError)

    def is_everything(self, domain: Domain) -> bool:
        """Say whether all records are selected, and make one group."""
        return not self.by and not self.box(domain)

    def groups(self, domain: Domain) -> Iterator[Cell]:
        """Go through the groups: positions of the attributes they are made by. Without any, all records are one."""
        box = self.box(domain)
        return product(*(left(domain, box, name) for name in self.by))

    def to_file(self) -> dict[str, Any]:
        """Write ``{where: {..}, by: [..]}``, without what is empty."""
        written: dict[str, Any] = {}
        if self.where:
            written["where"] = {name: choice_to_file(chosen) for name, chosen in self.where.items()}
        return {**written, "by": list(self.by)} if self.by else written

    @classmethod
    def from_file(cls, entry: Mapping[str, Any], domain: Domain) -> Selection:
        """Read what :meth:`to_file` writes beside a query."""
        chosen = entry.get("where", {}).items()
        where = {name: choice_from_file(domain[name], v) if domain.resolves(name) else v for name, v in chosen}
        by = entry.get("by", ())
        return cls(where, tuple(by) if isinstance(by, list | tuple) else (by,))

    def words(self, domain: Domain) -> str:
        """Say which records and which groups, worded to follow what is asked; nothing if all records are one."""
        named = domain.project(self.where) if self.where else domain
        said = [f"{quoted(name)} {_chosen(domain, name, subset)}" for name, subset in self.box(named).items()]
        where = f", of the records with {' and '.join(said)}" if said else ""
        return where + (f", for each {' and '.join(map(quoted, self.by))}" if self.by else "")


ALL_RECORDS = Selection()
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Selected:
    """A query of some records, or of groups of them: what :meth:`Query.where` and :meth:`Query.by` return."""

    query: Query
    selection: Selection

    def where(self, condition: Mapping[str, Any] | None = None, /, **named: Any) -> Selected:
        """Select further: a record must satisfy this condition and those before it."""
        chosen = checked_condition(condition, named)
        twice = [name for name in chosen if name in self.selection.where]
        if twice:
            raise QueryError(f"there is a condition on {twice[0]} already.", hint="state it once.")
        return replace(self, selection=replace(self.selection, where={**self.selection.where, **chosen}))

    def weighted(self, weight: str) -> Selected:
        """Count every record that is selected as often as an attribute says."""
        return replace(self, query=self.query.weighted(weight))

    def by(self, *names: str) -> Selected:
        """Ask for each value of some attributes."""
        return replace(self, selection=replace(self.selection, by=checked_groups((*self.selection.by, *names))))


def checked_attribute(name: object) -> str:
    """Return the name of an attribute that something is asked about, or refuse it."""
    if not isinstance(name, str):
        raise QueryError(f"an attribute's name must be text, got {brief_name(name)}.")
    return name


def checked_condition(condition: object, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of a condition by attribute, or refuse it."""
    if condition is not None and not isinstance(condition, Mapping):
        raise QueryError(f"a condition maps attributes to values, got {brief(condition)}.", hint='where(sex="Female").')
    chosen = {**(condition or {}), **named}
    if not chosen:
        raise QueryError("a condition needs at least one attribute.", hint='where(sex="Female", age=(17, 25)).')
    return {checked_attribute(name): choice for name, choice in chosen.items()}


def checked_groups(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes of groups, or refuse them."""
    if len(names) == 1 and isinstance(names[0], list | tuple):
        names = tuple(names[0])
    if not names or not all(isinstance(name, str) for name in names):
        raise QueryError("groups need the names of attributes, at least one.", hint='by("region", "sex").')
    if len(set(names)) < len(names):
        raise QueryError("groups name an attribute twice.")
    return tuple(checked_attribute(name) for name in names)


def _chosen(domain: Domain, name: str, subset: Subset) -> str:
    attribute = domain[name]
    if attribute.ordered:
        runs = [(attribute.show(start), attribute.show(stop - 1)) for start, stop in subset.runs[:_MOST_SHOWN]]
        said = [low if low == high else f"from {low} to {high}" for low, high in runs]
        return " or ".join(said) + (" or .." if len(subset.runs) > _MOST_SHOWN else "")
    shown = [attribute.say(position) for position in [*subset][:_MOST_SHOWN]]
    return " or ".join(shown) + (" or .." if len(subset) > _MOST_SHOWN else "")
