"""Categorical attributes: named values without an order; hierarchies: those that are the leaves of a named tree."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, Attribute, Outside, Positions, Subset
from blowfish_privacy.errors import DataError, DomainError, SpecError, brief, brief_name, nearest
from blowfish_privacy.support.file_forms import Form, InSchema, Wanted, listed
from blowfish_privacy.support.limits import FILE_CHARACTERS, HIERARCHY_LEAVES
from blowfish_privacy.support.text import worded

_LARGEST = 2**62
_INTEGER = {"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST}
_CATEGORIES: TypeAlias = Annotated[
    list[str] | list[Annotated[int, Interval(ge=-_LARGEST, le=_LARGEST)]] | list[bool],
    Len(1),
    InSchema(
        {"anyOf": [listed(kind, least=1, unique=True) for kind in ({"type": "string"}, _INTEGER, {"type": "boolean"})]}
    ),
    Wanted(
        "a list of names: all text, all whole numbers or all truth values",
        "write categorical: [Female, Male], with quotes around a name that looks like a number.",
    ),
]


@dataclass(frozen=True)
class Categorical(Attribute):
    """A list of categories: all text, all whole numbers, or all booleans.

    >>> Categorical(["Female", "Male"]).size
    2
    """

    categories: Sequence[str | int | bool]
    _: KW_ONLY
    outside: Outside = ERROR
    missing: object = ERROR

    keyword = "categorical"
    file_form = Form(
        {"categorical": _CATEGORIES},
        {
            "outside": Annotated[Literal["error"], Wanted("left out, since categories cannot be clamped")],
            "missing": Annotated[str | int | bool, MISSING_WANTED],
        },
        example="{categorical: [Female, Male]}",
    )
    ordered = False
    column_type = "categories"

    def __post_init__(self) -> None:
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise DomainError(f"categories must be a list, got {brief(self.categories)}.")
        if not self.categories:
            raise DomainError("a categorical attribute needs at least one category.")
        object.__setattr__(self, "categories", tuple(self.categories))
        kinds = {type(category) for category in self.categories}
        if len(kinds) != 1 or not kinds <= {str, int, bool}:
            raise DomainError(
                "categories must be all text, all whole numbers or all booleans, "
                f"got {', '.join(sorted(kind.__name__ for kind in kinds))}.",
                hint="put quotes around a category that looks like a number; use Binned for measurements.",
            )
        if len(self._lookup) != len(self.categories):
            twice = next(c for i, c in enumerate(self.categories) if self._lookup[c] != i)
            raise DomainError(f"the category {brief(twice)} is listed twice.")
        try:
            "".join(map(str, self.categories)).encode()
        except UnicodeEncodeError:
            raise DomainError("a category is not valid text.", hint="it contains an unpaired surrogate.") from None
        if kinds == {int} and any(abs(int(category)) > _LARGEST for category in self.categories):
            raise DomainError("whole-number categories must lie within +-2^62.")
        self._check_rules()

    @cached_property
    def _lookup(self) -> dict[object, int]:
        return {category: position for position, category in enumerate(self.categories)}

    @property
    def kind(self) -> type:
        """The type of the values that a column holds, which all categories share."""
        return type(self.categories[0])

    @property
    def spelt(self) -> Mapping[Any, int]:
        """The values that a column may hold, with their positions."""
        return self._lookup

    @property
    def plain(self) -> str:
        return {str: "text", bool: "true or false", int: "plain whole numbers"}[self.kind]

    @property
    def size(self) -> int:
        return len(self.categories)

    def say(self, position: int) -> str:
        return worded(self.show(position))

    def position(self, value: object) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        if type(plain) is not type(self.categories[0]) or plain not in self._lookup:
            raise DomainError(
                f"{brief(value)} is not a declared category.", hint=nearest(str(value), map(str, self.categories))
            )
        return self._lookup[plain]

    def value(self, position: int) -> str | int | bool:
        return self.categories[position]

    def gap(self, first: int, second: int) -> Fraction:
        raise DomainError("categories have no distance.", hint="use full, partition or edges for this attribute.")

    def subset(self, chosen: object) -> Subset:
        if isinstance(chosen, tuple):
            raise DomainError(
                "a pair is a range, and categories have no order.",
                hint="use a list for a set of categories.",
            )
        if isinstance(chosen, list | set | frozenset):
            return Subset.of(self.position(value) for value in chosen)
        return Subset.of([self.position(chosen)])

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind != "O":
            names, inverse = np.unique(column, return_inverse=True)
            return self._encode(names.astype(object))[inverse] if len(names) else np.zeros(0, dtype=np.int64)
        values: list[object] = column.tolist()
        if any(type(value) is not self.kind for value in values):
            raise DataError(f"the column must hold {self.kind.__name__} values, like its declared categories.")
        lookup = self.spelt
        return np.fromiter((lookup.get(value, -1) for value in values), dtype=np.int64, count=len(values))

    def to_file(self) -> dict[str, Any]:
        return {"categorical": list(self.categories), **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Categorical:
        return cls(body["categorical"], **cls._rules_from_file(body))


# Hierarchies: values are the leaves of a named tree, such as country > state > county.

Leaf: TypeAlias = str | int
TreePath: TypeAlias = tuple[Leaf, ...]


def check_levels(levels: object, reserved: str) -> tuple[str, ...]:
    """Return the names of levels, or refuse them."""
    if isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
        raise DomainError(f"levels must be a list of names, got {brief(levels)}.", hint='["state", "county"].')
    for name in levels:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or reserved in name:
            raise DomainError(f"the name of a level must be text without {reserved!r}, got {brief_name(name)}.")
    if len(set(levels)) < len(levels):
        raise DomainError("two levels have the same name.")
    return tuple(levels)


def leaves(levels: Sequence[str], tree: object) -> tuple[TreePath, ...]:
    """Return the path to each leaf of nested mappings and lists, from left to right."""
    paths: list[TreePath] = []
    parents: list[dict[Leaf, TreePath]] = [{} for _ in levels]
    for path in _walk(tree, len(levels), ()):
        for depth, (name, level) in enumerate(zip(path, levels, strict=True)):
            above = parents[depth].setdefault(name, path[:depth])
            if above != path[:depth]:
                raise DomainError(
                    f"the {level} {brief(name)} is in two places: {_branch(above)} and {_branch(path[:depth])}.",
                    hint="a name stands for one thing on its level; add what tells the two apart.",
                )
        paths.append(path)
        if len(paths) > HIERARCHY_LEAVES:
            raise DomainError(
                f"a hierarchy has at most {HIERARCHY_LEAVES:,} leaves.", hint="leave out the lowest level."
            )
    return tuple(paths)


def _walk(tree: Any, depth: int, above: TreePath) -> Iterator[TreePath]:
    branches: Iterable[tuple[Any, Any]]
    if depth > 1 and isinstance(tree, Mapping):
        branches = tree.items()
    elif depth == 1 and isinstance(tree, list | tuple):
        branches = ((name, None) for name in tree)
    else:
        raise DomainError(
            f"{_branch(above)} must be a {'mapping' if depth > 1 else 'list'}, got {brief(tree)}.",
            hint="every leaf is equally deep: a mapping for each level but the last, and lists of names there.",
        )
    if not tree:
        raise DomainError(f"{_branch(above)} is empty.", hint="leave it out.")
    for name, below in branches:
        fitting = isinstance(name, str) or (depth == 1 and isinstance(name, int) and not isinstance(name, bool))
        if not fitting or (isinstance(name, str) and not name.strip()):
            raise DomainError(
                f"{_branch(above)} has the name {brief_name(name)}, which is not text.",
                hint="names are not empty; put quotes around one that looks like a number.",
            )
        if depth > 1:
            yield from _walk(below, depth - 1, (*above, name))
        else:
            yield (*above, name)


def _branch(above: TreePath) -> str:
    return f"the branch {' > '.join(map(brief, above))}" if above else "the tree"


def nested(paths: Sequence[TreePath]) -> Any:
    """Return the tree with these paths, as nested mappings and lists."""
    if len(paths[0]) == 1:
        return [leaf for (leaf,) in paths]
    below: dict[Leaf, list[TreePath]] = {}
    for name, *rest in paths:
        below.setdefault(name, []).append(tuple(rest))
    return {name: nested(rest) for name, rest in below.items()}


def read_csv(path: str | PathLike[str]) -> tuple[list[str], Any]:
    """Read the levels and the tree from a CSV file: a column for each level, a row for each leaf."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            text = file.read(FILE_CHARACTERS + 1)
        rows = _rows(text)
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not CSV in UTF-8"
        raise DomainError(f"the hierarchy in {brief(str(path))} cannot be read: {reason}.") from None
    if len(text) > FILE_CHARACTERS:
        raise DomainError(f"the file of a hierarchy has at most {FILE_CHARACTERS:,} characters.")
    return _tree(rows)


def read_levels(text: str) -> tuple[list[str], Any]:
    """Read the same from a text, whatever stands around a name: lines of levels as a person types or pastes them."""
    try:
        rows = _rows(text.replace("\t", ","))
    except csv.Error:
        raise DomainError("the lines of a hierarchy cannot be read.", hint="write names with commas between.") from None
    return _tree([[name.strip() for name in row] for row in rows if any(name.strip() for name in row)])


def _rows(text: str) -> list[list[str]]:
    return [row for row in csv.reader(StringIO(text, newline=""), strict=True) if row]


def _tree(rows: list[list[str]]) -> tuple[list[str], Any]:
    levels, *places = rows or [[]]
    if not places or not levels:
        raise DomainError(
            "the file of a hierarchy has no rows.", hint="its first line names the levels, and each other line a leaf."
        )
    uneven = next((number for number, row in enumerate(places, 1) if len(row) != len(levels)), None)
    if uneven is not None:
        raise DomainError(
            f"row {uneven} of the hierarchy has {len(places[uneven - 1])} names, and there are {len(levels)} levels.",
            hint="every leaf is equally deep; repeat a name where a level is missing.",
        )
    return levels, nested([tuple(row) for row in places])


AT = "@"
"""Stands between an attribute and one of its levels: ``place@state``."""

_EXAMPLE = "{levels: [state, county], tree: {Bavaria: [Munich, Passau], Hesse: [Kassel]}}"
_LEVELS: TypeAlias = Annotated[
    list[str], Len(1), Wanted("a list of the names of levels, from the top", "write levels: [state, county].")
]
_TREE: TypeAlias = Annotated[
    dict[str, Any] | list[Any],
    Len(1),
    InSchema({"type": ["object", "array"], "minProperties": 1, "minItems": 1}),
    Wanted(
        "a mapping from names to what lies below them, and at the last level a list of names",
        f"write {_EXAMPLE}, with quotes around a name that looks like a number.",
    ),
]
_DECLARED = Form(
    {},
    {"levels": _LEVELS, "tree": _TREE, "file": Annotated[str, Len(1), Wanted("the path of a CSV file")]},
    example=f"hierarchy: {_EXAMPLE}",
    schema={
        "oneOf": [{"required": ["file"], "maxProperties": 1}, {"required": ["levels", "tree"], "maxProperties": 2}]
    },
)


@dataclass(frozen=True, init=False, repr=False)
class Hierarchy(Categorical):
    """The leaves of a tree with named levels: its values are the leaves, and each level is a coarser view of them.

    ``tree`` has a mapping for each level but the last, whose names are lists. Every name stands below one other only,
    and a query may ask for a level by name: ``Histogram("place@state")``.

    >>> place = Hierarchy(["state", "county"], {"Bavaria": ["Munich", "Passau"], "Hesse": ["Kassel"]})
    >>> place.size, place.level_sizes, place.level("state").tolist()
    (3, {'state': 2, 'county': 3}, [0, 0, 1])
    """

    levels: tuple[str, ...]
    paths: tuple[tuple[Leaf, ...], ...]
    """For each leaf, the names from the top level down to itself."""

    keyword = "hierarchy"
    file_form = Form(
        {"hierarchy": _DECLARED},
        {
            "outside": Annotated[Literal["error"], Wanted("left out, since categories cannot be clamped")],
            "missing": Annotated[str | int, MISSING_WANTED],
        },
        example=f"{{hierarchy: {_EXAMPLE}}}",
    )

    def __init__(self, levels: Sequence[str], tree: Any, *, outside: Outside = ERROR, missing: object = ERROR) -> None:
        named = check_levels(levels, AT)
        paths = leaves(named, tree)
        fields = {"levels": named, "paths": paths, "categories": [path[-1] for path in paths]}
        for name, value in {**fields, "outside": outside, "missing": missing}.items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    @classmethod
    def from_csv(cls, path: str | PathLike[str], *, missing: object = ERROR) -> Hierarchy:
        """Read a CSV file with one column for each level, named in its first line, and one row for each leaf."""
        return cls(*read_csv(path), missing=missing)

    def __hash__(self) -> int:
        return hash((self.levels, len(self.paths), self.paths[0]))

    def __repr__(self) -> str:
        return f"Hierarchy({list(self.levels)}, {self.tree})"

    @property
    def tree(self) -> Any:
        """The tree, as it is declared."""
        return nested(self.paths)

    def level(self, name: str) -> Positions:
        """Return for each leaf the position of its value on a level."""
        return self.at(name).positions

    @property
    def level_sizes(self) -> dict[str, int]:
        """The number of values of each level, from the top."""
        return {name: self.at(name).size for name in self.levels}

    def at(self, name: str) -> HierarchyLevel:
        """Return one of the levels as an attribute."""
        if name not in self.levels:
            raise DomainError(f"there is no level {name!r}.", hint=nearest(str(name), self.levels))
        return self._views[name]

    @cached_property
    def _views(self) -> dict[str, HierarchyLevel]:
        return {name: HierarchyLevel(self, name) for name in self.levels}

    def canonical(self) -> dict[str, Any]:
        return {
            **super().canonical(),
            "hierarchy": {"levels": list(self.levels), "paths": sorted(map(list, self.paths))},
        }

    def to_file(self) -> dict[str, Any]:
        return {"hierarchy": {"levels": list(self.levels), "tree": self.tree}, **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Hierarchy:
        declared = body["hierarchy"]
        if set(declared) != {"levels", "tree"}:
            raise SpecError(
                "a hierarchy has levels and a tree.",
                hint="or a file, in a policy file that is itself read from a folder."
                if "file" in declared
                else f"write {_EXAMPLE}, or {{file: places.csv}}.",
            )
        return cls(declared["levels"], declared["tree"], **cls._rules_from_file(body))

    @classmethod
    def gathered(cls, body: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        if set(body["hierarchy"]) != {"file"}:
            return body
        levels, tree = read_csv(folder / body["hierarchy"]["file"])
        return {**body, "hierarchy": {"levels": levels, "tree": tree}}


@dataclass(frozen=True, init=False, repr=False)
class HierarchyLevel(Categorical):
    """One level of a hierarchy, as an attribute: ``domain["place@state"]``. The data's column holds the leaves."""

    hierarchy: Hierarchy
    name: str

    def __init__(self, hierarchy: Hierarchy, name: str) -> None:
        depth = hierarchy.levels.index(name)
        names = [*dict.fromkeys(path[depth] for path in hierarchy.paths)]
        fields = {"hierarchy": hierarchy, "name": name, "categories": tuple(names), "outside": ERROR}
        for field, value in {**fields, "missing": hierarchy.missing}.items():
            object.__setattr__(self, field, value)

    def __hash__(self) -> int:
        return hash((self.hierarchy, self.name))

    def __repr__(self) -> str:
        return f"{self.hierarchy!r}.at({self.name!r})"

    @property
    def kind(self) -> type:
        return self.hierarchy.kind

    @cached_property
    def positions(self) -> Positions:
        """For each leaf, the position of its value on this level."""
        depth = self.hierarchy.levels.index(self.name)
        looked_up = (self._lookup[path[depth]] for path in self.hierarchy.paths)
        positions = np.fromiter(looked_up, dtype=np.int64, count=self.hierarchy.size)
        positions.flags.writeable = False
        return positions

    @property
    def spelt(self) -> Mapping[Any, int]:
        return self._spelt

    @cached_property
    def _spelt(self) -> dict[object, int]:
        return dict(zip(self.hierarchy.categories, self.positions.tolist(), strict=True))

    @cached_property
    def subtrees(self) -> list[tuple[int, int]]:
        """For each value of this level, the run of positions of the leaves below it."""
        # They are neighbours, since a tree is read from one branch to the next.
        starts = np.flatnonzero(np.diff(self.positions, prepend=-1)).tolist()
        return [*zip(starts, [*starts[1:], self.hierarchy.size], strict=True)]

    def leaves(self, values: Subset) -> Subset:
        """Return the positions of the leaves that lie below some values of this level."""
        return Subset.union(self.subtrees[value] for value in values)

    @property
    def missing_position(self) -> int | None:
        leaf = self.hierarchy.missing_position
        return None if leaf is None else int(self.positions[leaf])

    def to_file(self) -> dict[str, Any]:
        raise DomainError(
            f"the level {self.name!r} of a hierarchy is not an attribute of its own.",
            hint=f"declare the hierarchy, and ask for its level: place{AT}{self.name}.",
        )


def levels_of(attributes: Mapping[str, Attribute]) -> Iterator[tuple[str, HierarchyLevel]]:
    """Go through the levels of all hierarchies, each with its name."""
    hierarchies = ((name, tree) for name, tree in attributes.items() if isinstance(tree, Hierarchy))
    return ((f"{name}{AT}{level}", tree.at(level)) for name, tree in hierarchies for level in tree.levels)
