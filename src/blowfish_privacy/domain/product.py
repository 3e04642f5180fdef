"""The declared domain of a table: the product of its attributes, and conditions on them.

In Python a tuple is a range and a list is a set of values; a file only has lists. There, two values of an ordered
attribute stand for the range between them; ``{range: [a, b]}`` and ``{values: [..]}`` say explicitly which is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain.attribute import Attribute, Positions, Subset, check_positions
from blowfish_privacy.domain.categorical import AT, Hierarchy, HierarchyLevel, levels_of
from blowfish_privacy.domain.numbers import Bin
from blowfish_privacy.errors import (
    BlowfishError,
    DataError,
    DomainError,
    SpecError,
    brief,
    brief_name,
    located,
    nearest,
)
from blowfish_privacy.support.exact import exact, plain
from blowfish_privacy.support.file_forms import Value, Wanted
from blowfish_privacy.support.limits import ATTRIBUTES
from blowfish_privacy.support.text import quoted

Cell: TypeAlias = tuple[int, ...]
"""A value of the whole domain: one position for each attribute, in the domain's order."""

_LARGEST_FLAT = 2**63 - 1


class Domain:
    """All values that a record can have: finite, public and declared, never inferred from the data.

    >>> domain = Domain(age=Integer(17, 90), sex=Categorical(["Female", "Male"]))
    >>> domain.size, domain.flat(domain.cell({"age": 18, "sex": "Male"}))
    (148, 3)

    Names that are not Python identifiers go into a mapping: ``Domain({"capital loss": Integer(0, 4356)})``.
    """

    __slots__ = ("__dict__", "_attributes")

    def __init__(self, attributes: Mapping[str, Attribute] | None = None, /, **named: Attribute) -> None:
        if attributes is not None and not isinstance(attributes, Mapping):
            raise DomainError(f"a domain must map names to attributes, got {brief(attributes)}.")
        declared = {**(attributes or {}), **named}
        if not declared:
            raise DomainError("a domain needs at least one attribute.")
        if len(declared) != len(attributes or {}) + len(named):
            raise DomainError("an attribute is declared twice.")
        if len(declared) > ATTRIBUTES:
            raise DomainError(f"a domain has at most {ATTRIBUTES:,} attributes, got {len(declared):,}.")
        for name, attribute in declared.items():
            if not isinstance(name, str) or not name or len(name) > 200 or not name.isprintable():
                raise DomainError(f"an attribute's name must be printable text, got {brief_name(name)}.")
            if not isinstance(attribute, Attribute):
                raise DomainError(
                    f"{name} must be an attribute, got {type(attribute).__name__}.",
                    hint="use Integer(low, high), Categorical([..]) or Binned([..]).",
                )
        for name, view in levels_of(declared):
            if declared.get(name, view) != view:
                raise DomainError(
                    f"{name} is an attribute, and also a level of another.", hint="rename the attribute or the level."
                )
        self._attributes = MappingProxyType(declared)

    def __reduce__(self) -> tuple[Any, ...]:
        return Domain, (dict(self._attributes),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and list(self._attributes.items()) == list(other._attributes.items())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self._attributes.items()))

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{name}={attribute!r}' for name, attribute in self._attributes.items())})"

    def __getitem__(self, name: str) -> Attribute:
        """Return an attribute, or a level of a hierarchy: ``domain["place@state"]``."""
        if name in self._attributes:
            return self._attributes[name]
        declared, _, level = name.rpartition(AT) if isinstance(name, str) else ("", "", "")
        hierarchy = self._attributes.get(declared)
        if not isinstance(hierarchy, Hierarchy):
            raise DomainError(
                f"the domain has no attribute {brief_name(name)}.", hint=nearest(str(name), self._attributes)
            )
        with located(declared):
            return hierarchy.at(level)

    def resolves(self, name: object) -> bool:
        """Say whether a name is that of an attribute, or of a level of one."""
        declared, _, level = name.rpartition(AT) if isinstance(name, str) else ("", "", "")
        hierarchy = self._attributes.get(declared)
        return name in self._attributes or (isinstance(hierarchy, Hierarchy) and level in hierarchy.levels)

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in the order declared."""
        return tuple(self._attributes)

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes, in the order declared."""
        return tuple(self._attributes.values())

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    def column(self, name: str) -> str:
        """Return the name of the column that holds an attribute: that of ``place@state`` is ``place``."""
        attribute = self[name]
        return name.removesuffix(f"{AT}{attribute.name}") if isinstance(attribute, HierarchyLevel) else name

    def axis(self, name: str) -> int:
        """Return the index within a cell of an attribute, or of the one that a level belongs to."""
        return self.names.index(name if name in self._attributes else self.column(name))

    def axes(self, names: Sequence[str]) -> list[int]:
        """Return the indexes within a cell of attributes, of each on one level only."""
        axes = [self.axis(name) for name in names]
        twice = next((name for at, name in enumerate(names) if axes[at] in axes[:at]), None)
        if twice is not None:
            raise DomainError(
                f"{self.names[self.axis(twice)]} is looked at on two levels at once.",
                hint="name the lower one; the counts of a level are sums of those below it.",
            )
        return axes

    def seen(self, names: Sequence[str]) -> Callable[[Cell], Cell]:
        """Return what a query of some attributes, or levels of them, sees of a cell."""
        views = [(self.axis(name), self.view(name)) for name in names]
        return lambda cell: tuple(
            cell[axis] if positions is None else int(positions[cell[axis]]) for axis, positions in views
        )

    def view(self, name: str) -> Positions | None:
        """Return the position on a level of each value of its hierarchy; None for the attributes themselves."""
        attribute = None if name in self._attributes else self[name]
        return attribute.positions if isinstance(attribute, HierarchyLevel) else None

    def project(self, names: Iterable[str]) -> Domain:
        """Return the domain of some attributes, or levels of them, in the order given."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise DomainError(f"attribute names are needed, got {brief(names)}.")
        chosen = list(names)
        if len(set(chosen)) != len(chosen):
            raise DomainError(f"an attribute is named twice in {chosen}.")
        return Domain({name: self[name] for name in chosen})

    def cell(self, record: Mapping[str, object]) -> Cell:
        """Turn a record into a cell; it must have a value for every attribute."""
        if not isinstance(record, Mapping):
            raise DomainError(f"a record must map attributes to values, got {brief(record)}.")
        for name in record:
            _ = self[name]
        lacking = [name for name in self.names if name not in record]
        if lacking:
            raise DomainError(f"the record has no value for {', '.join(lacking)}.")
        return tuple(self.position(name, record[name]) for name in self.names)

    def position(self, name: str, value: object) -> int:
        """Return the position of a value of an attribute; an error names the attribute."""
        try:
            return self[name].position(value)
        except DomainError as error:
            raise error.within(name) from None

    def record(self, cell: Cell) -> dict[str, Any]:
        """Turn a cell back into a record."""
        _ = self.flat(cell)
        return {
            name: attribute.value(position)
            for (name, attribute), position in zip(self._attributes.items(), cell, strict=True)
        }

    def show(self, cell: Cell) -> str:
        """Write a cell as text: ``age 30, sex Male``."""
        return ", ".join(
            f"{name} {attribute.show(p)}" for (name, attribute), p in zip(self._attributes.items(), cell, strict=True)
        )

    def say(self, cell: Cell) -> str:
        """Write a cell for use inside a sentence, with names in quotation marks: ``“age” 30, “sex” Male``."""
        values = zip(self._attributes.items(), cell, strict=True)
        return ", ".join(f"{quoted(name)} {attribute.say(position)}" for (name, attribute), position in values)

    def flat(self, cell: Cell) -> int:
        """Return the number of a cell; the last attribute varies fastest."""
        if len(cell) != len(self.shape) or not all(0 <= p < k for p, k in zip(cell, self.shape, strict=True)):
            raise DomainError("the positions are outside the domain.")
        return sum(position * stride for position, stride in zip(cell, self._strides, strict=True))

    def unflat(self, number: int) -> Cell:
        """Turn the number of a cell back into the cell."""
        if not 0 <= number < self.size:
            raise DomainError("the cell number is outside the domain.")
        return self._unflat(number)

    def _unflat(self, number: int) -> Cell:
        return tuple(number // stride % size for stride, size in zip(self._strides, self.shape, strict=True))

    def cells(self) -> Iterator[Cell]:
        """Yield all cells in the order of their numbers; for small domains only."""
        return map(self._unflat, range(self.size))

    def encode(self, columns: Mapping[str, Iterable[Any]]) -> Positions:
        """Return the cell numbers of the records of a table, given as columns."""
        self._check_flat()
        missing = [name for name in self.names if name not in columns]
        if missing:
            raise DataError(
                f"the table has no column {', '.join(missing)}.", hint=nearest(missing[0], map(str, columns))
            )
        numbers: Positions | None = None
        for name, attribute in self._attributes.items():
            with located(name):
                positions = attribute.encode(columns[name])
            if numbers is not None and len(positions) != len(numbers):
                raise DataError("the columns have different lengths.")
            numbers = positions if numbers is None else numbers * attribute.size + positions
        return np.zeros(0, dtype=np.int64) if numbers is None else numbers

    def decode(self, numbers: npt.ArrayLike) -> dict[str, npt.NDArray[Any]]:
        """Turn cell numbers back into columns of values."""
        self._check_flat()
        flat = check_positions(numbers, self.size)
        columns = zip(self._attributes.items(), self._strides, strict=True)
        return {name: attribute.decode(flat // stride % attribute.size) for (name, attribute), stride in columns}

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def _check_flat(self) -> None:
        if self.size > _LARGEST_FLAT:
            raise DomainError("the domain has too many cells to number in 64 bits.", hint="use fewer attributes.")


Box: TypeAlias = Mapping[str, Subset]
"""The positions that a record must have to lie inside, by attribute; attributes that are not named do not matter."""


def read_box(domain: Domain, where: Mapping[str, Any], *, what: str, error: type[BlowfishError]) -> dict[str, Subset]:
    """Return a condition as positions; attributes of which every value is selected are dropped.

    A condition on a level of a hierarchy is one on the leaves below it.
    """
    box: dict[str, Subset] = {}
    for name, chosen in where.items():
        if not domain.resolves(name):
            raise error(f"{what} names an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain))
        with located(f"{what}: {name}", error):
            box = narrowed(domain, box, name, domain[name].subset(chosen))
        if not len(box[domain.names[domain.axis(name)]]):
            raise error(f"{what} selects no value of {name}.", hint="leave it out.")
    return {name: subset for name, subset in box.items() if len(subset) < domain[name].size}


def narrowed(domain: Domain, box: Box, name: str, subset: Subset) -> dict[str, Subset]:
    """Keep the records inside a box whose values of an attribute, or of a level of one, lie in a set."""
    attribute, declared = domain[name], domain.names[domain.axis(name)]
    leaves = attribute.leaves(subset) if isinstance(attribute, HierarchyLevel) and name != declared else subset
    return {**box, declared: leaves & box[declared] if declared in box else leaves}


def left(domain: Domain, box: Box, name: str) -> Subset:
    """Return the values of an attribute, or of a level of one, that records inside a box have."""
    declared, view = domain.names[domain.axis(name)], domain.view(name)
    if declared not in box:
        return Subset.span(0, domain[name].size)
    return box[declared] if view is None else Subset.of(view[[*box[declared]]].tolist())


_VALUES: TypeAlias = Annotated[list[Value | Annotated[list[Value], Len(2, 2)]], Len(1)]
_SPELT: TypeAlias = (
    Annotated[dict[Literal["range"], Annotated[list[Value], Len(2, 2)]], Len(1)]
    | Annotated[dict[Literal["values"], _VALUES], Len(1)]
)
BLOCK_FORM: TypeAlias = _VALUES | _SPELT
"""Several values."""
CHOICE_FORM: TypeAlias = Annotated[
    Value | _VALUES | _SPELT,
    Wanted("a value, a list of values, {range: [a, b]} or {values: [..]}", "write {age: [17, 25], sex: Female}."),
]
"""One value or several."""


def choice_from_file(attribute: Attribute, written: Any) -> Any:
    """Read a choice: ``30``, ``[17, 25]``, ``[a, b, c]``, ``{range: [17, 25]}``, ``{values: [17, 25]}``."""
    if isinstance(written, Mapping):
        return tuple(written["range"]) if "range" in written else _values(written["values"])
    if not isinstance(written, list):
        return written
    two_ends = len(written) == 2 and not any(isinstance(part, list) for part in written)
    return tuple(written) if attribute.ordered and two_ends else _values(written)


def choice_to_file(chosen: Any) -> Any:
    """Write a choice such that :func:`choice_from_file` reads it back unchanged."""
    if isinstance(chosen, Bin | tuple):
        return {"range": _value_to_file(chosen)}
    if isinstance(chosen, list | set | frozenset | range):
        return {"values": [_value_to_file(part) for part in chosen]}
    return _value_to_file(chosen)


def _values(written: list[Any]) -> list[Any]:
    return [tuple(part) if isinstance(part, list) else part for part in written]


def _value_to_file(value: Any) -> Any:
    if isinstance(value, Bin):
        value = (value.low, value.high)
    if isinstance(value, tuple):
        return [_value_to_file(end) for end in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):
        return value.isoformat()[:10]
    return plain(exact(value, "a value", error=SpecError)) if isinstance(value, Fraction | Decimal | float) else value
