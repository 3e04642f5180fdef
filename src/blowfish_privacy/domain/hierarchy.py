"""Hierarchies: attributes whose values are the leaves of a named tree, such as country > state > county."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from annotated_types import Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, Attribute, Outside, Positions
from blowfish_privacy.domain.categorical import Categorical
from blowfish_privacy.domain.subset import Subset
from blowfish_privacy.domain.tree import Leaf, check_levels, leaves, nested, read_csv
from blowfish_privacy.errors import DomainError, SpecError, nearest
from blowfish_privacy.support.file_forms import Form, Published, Wanted

AT = "@"
"""Stands between an attribute and one of its levels: ``place@state``."""

_EXAMPLE = "{levels: [state, county], tree: {Bavaria: [Munich, Passau], Hesse: [Kassel]}}"
_LEVELS: TypeAlias = Annotated[
    list[str], Len(1), Wanted("a list of the names of levels, from the top", "write levels: [state, county].")
]
_TREE: TypeAlias = Annotated[
    dict[str, Any] | list[Any],
    Len(1),
    Published({"type": ["object", "array"], "minProperties": 1, "minItems": 1}),
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

    def at(self, name: str) -> Level:
        """Return one of the levels as an attribute."""
        if name not in self.levels:
            raise DomainError(f"there is no level {name!r}.", hint=nearest(str(name), self.levels))
        return self._views[name]

    @cached_property
    def _views(self) -> dict[str, Level]:
        return {name: Level(self, name) for name in self.levels}

    def canonical(self) -> dict[str, Any]:
        """Write the declaration such that the order of names does not matter."""
        return {
            **super().canonical(),
            "hierarchy": {"levels": list(self.levels), "paths": sorted(map(list, self.paths))},
        }

    def to_file(self) -> dict[str, Any]:
        """Write ``{hierarchy: {levels: [..], tree: {..}}}``: the tree itself, wherever it was read from."""
        return {"hierarchy": {"levels": list(self.levels), "tree": self.tree}, **self._rules_to_file()}

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Hierarchy:
        """Read ``{hierarchy: {levels: [..], tree: {..}}}``."""
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
        """Put the tree in the place of a file."""
        if set(body["hierarchy"]) != {"file"}:
            return body
        levels, tree = read_csv(folder / body["hierarchy"]["file"])
        return {**body, "hierarchy": {"levels": levels, "tree": tree}}


@dataclass(frozen=True, init=False, repr=False)
class Level(Categorical):
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
        """The type of the leaves, which the column holds."""
        return self.hierarchy.kind

    @cached_property
    def positions(self) -> Positions:
        """For each leaf, the position of its value on this level."""
        depth = self.hierarchy.levels.index(self.name)
        found = (self._lookup[path[depth]] for path in self.hierarchy.paths)
        positions = np.fromiter(found, dtype=np.int64, count=self.hierarchy.size)
        positions.flags.writeable = False
        return positions

    @property
    def spelt(self) -> Mapping[Any, int]:
        """The leaves, with the positions of their values on this level."""
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
        """The position of the leaf that missing values are counted at; None if they are errors."""
        leaf = self.hierarchy.missing_position
        return None if leaf is None else int(self.positions[leaf])

    def to_file(self) -> dict[str, Any]:
        """Refuse: what is declared is the hierarchy."""
        raise DomainError(
            f"the level {self.name!r} of a hierarchy is not an attribute of its own.",
            hint=f"declare the hierarchy, and ask for its level: place{AT}{self.name}.",
        )


def levels_of(attributes: Mapping[str, Attribute]) -> Iterator[tuple[str, Level]]:
    """Go through the levels of all hierarchies, each with its name."""
    hierarchies = ((name, each) for name, each in attributes.items() if isinstance(each, Hierarchy))
    return ((f"{name}{AT}{level}", each.at(level)) for name, each in hierarchies for level in each.levels)
